/**
 * Future AGI's traceAI (future-agi/traceAI `python/fi_instrumentation/fi_types.py`): OpenInference's keys, which
 * `openinference.ts` reads, with its own kinds and the values as they were sent. Data only.
 *
 * Left out: `eval.input`, tools and their descriptions, metadata.
 */
import type { Convention } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { text } from '../rows.ts';
import { OPENINFERENCE_KINDS } from './openinference.ts';

export const TRACE_AI: Convention = {
  name: 'trace-ai',
  appliesTo: {
    scopes: ['traceai', 'fi_instrumentation'],
    attributes: ['fi.span.kind', 'gen_ai.span.kind', 'raw.input', 'raw.output'],
  },
  kinds: [
    { key: 'fi.span.kind', kinds: OPENINFERENCE_KINDS },
    { key: 'gen_ai.span.kind', kinds: OPENINFERENCE_KINDS },
  ],
  attributes: [
    { key: 'query', raw: 'equal', read: text(INPUT_SURFACE) },
    { key: 'response', raw: 'equal', read: text(OUTPUT_SURFACE) },
    {
      key: 'raw.input',
      raw: 'input',
      read: { as: 'exchange', side: 'input', surface: INPUT_SURFACE, encoded: true },
    },
    {
      key: 'raw.output',
      raw: 'output',
      read: { as: 'exchange', side: 'output', surface: OUTPUT_SURFACE, encoded: true },
    },
  ],
};
