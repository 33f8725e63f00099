/**
 * Laminar (its SDKs lmnr-ai/lmnr-ts and lmnr-ai/lmnr-python, mlflow/mlflow
 * `mlflow/tracing/otel/translation/laminar.py`). Its model calls are instrumented by OpenLLMetry, which
 * `openllmetry.ts` and `otel-genai.ts` read; here are the input and output of Laminar's spans, strings
 * as they are or as JSON, by version. Data only.
 *
 * Left out: `lmnr.association.properties.*`, `lmnr.span.path` and other ids, versions.
 */
import type { Convention } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { exchange, kindsOf, text } from '../rows.ts';

export const LAMINAR: Convention = {
  name: 'laminar',
  appliesTo: {
    scopes: ['lmnr'],
    attributes: ['lmnr.span.type', 'lmnr.span.input', 'lmnr.span.output'],
  },
  kinds: [
    {
      key: 'lmnr.span.type',
      kinds: kindsOf({
        tool: ['tool'],
        // `cached`: a replayed answer
        llm: ['llm', 'cached'],
        agent: ['executor'],
        chain: ['default', 'pipeline', 'evaluation'],
        other: ['evaluator', 'human_evaluator'],
      }),
    },
  ],
  attributes: [
    { of: 'name', onKinds: ['tool'], read: text('tool_name') },
    { key: 'lmnr.span.input', read: exchange('input', INPUT_SURFACE) },
    { key: 'lmnr.span.output', read: exchange('output', OUTPUT_SURFACE) },
  ],
  run: {
    names: {
      sessionId: { 'lmnr.association.properties.session_id': 210 },
      userId: { 'lmnr.association.properties.user_id': 170 },
    },
  },
};
