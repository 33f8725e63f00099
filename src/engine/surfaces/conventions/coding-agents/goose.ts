/**
 * Goose (block/goose `crates/goose/src/agents`, `crates/goose/src/providers`): fields of Rust's `tracing`
 * spans, exported by `crates/goose/src/otel`. Data only.
 *
 * Left out: `model_config`.
 */
import type { Convention } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { exchange, messages } from '../rows.ts';

export const GOOSE: Convention = {
  name: 'goose',
  appliesTo: { scopes: ['goose'], services: ['goose'] },
  kinds: [
    {
      names: {
        reply: 'agent',
        dispatch_tool_call: 'tool',
        complete: 'llm',
        complete_with_model: 'llm',
        stream: 'llm',
      },
    },
  ],
  attributes: [
    { key: 'user_message', read: messages('input') },
    { key: 'trace_input', read: messages('input') },
    { key: 'trace_output', read: messages('output') },
    { key: 'input', read: exchange('input', INPUT_SURFACE) },
    { key: 'output', read: exchange('output', OUTPUT_SURFACE) },
  ],
};
