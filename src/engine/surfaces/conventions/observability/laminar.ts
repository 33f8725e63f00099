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

export const LAMINAR: Convention = {
  name: 'laminar',
  appliesTo: {
    scopes: ['lmnr'],
    attributes: ['lmnr.span.type', 'lmnr.span.input', 'lmnr.span.output'],
  },
  kinds: [
    {
      key: 'lmnr.span.type',
      kinds: {
        tool: 'tool',
        llm: 'llm',
        // A replayed answer.
        cached: 'llm',
        executor: 'agent',
        default: 'chain',
        pipeline: 'chain',
        evaluation: 'chain',
        evaluator: 'other',
        human_evaluator: 'other',
      },
    },
  ],
  attributes: [
    { of: 'name', onKinds: ['tool'], read: { as: 'text', surface: 'tool_name' } },
    { key: 'lmnr.span.input', read: { as: 'exchange', side: 'input', surface: INPUT_SURFACE } },
    { key: 'lmnr.span.output', read: { as: 'exchange', side: 'output', surface: OUTPUT_SURFACE } },
  ],
  run: {
    names: {
      sessionId: { 'lmnr.association.properties.session_id': 210 },
      userId: { 'lmnr.association.properties.user_id': 170 },
    },
  },
};
