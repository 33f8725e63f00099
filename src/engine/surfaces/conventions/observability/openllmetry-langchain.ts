/**
 * OpenLLMetry's instrumentation of LangChain and LangGraph (traceloop/openllmetry
 * `packages/opentelemetry-instrumentation-langchain/…/callback_handler.py`): envelopes of its own, on
 * the keys of `openllmetry.ts` and on those of tool calls. Data only.
 *
 * Left out: `tags`, `metadata` and `kwargs` beside what a step took and gave: settings of the program.
 */
import type { Convention, ValueEnvelope } from '../../reader/convention.ts';
import { entityRows } from './openllmetry.ts';

/** Of a chain `inputs`, of a tool `inputs` and the same as Python writes it, of a retriever `query`. */
const INPUT: ValueEnvelope = {
  take: ['inputs', 'input_str', 'query'],
  beside: ['tags', 'metadata', 'kwargs'],
};

/** Of a chain `outputs`, of a tool `output`, which may be a message about it, of a retriever the rest. */
const OUTPUT: ValueEnvelope = {
  take: [['output', 'kwargs', 'content'], ['output', 'content'], 'output', 'outputs', 'documents'],
  beside: ['kwargs', 'count'],
};

export const OPENLLMETRY_LANGCHAIN: Convention = {
  name: 'openllmetry-langchain',
  appliesTo: {
    scopes: ['opentelemetry.instrumentation.langchain', '@traceloop/instrumentation-langchain'],
  },
  attributes: [
    ...entityRows(INPUT, OUTPUT),
    {
      key: 'gen_ai.tool.call.arguments',
      mayBeCut: true,
      read: { as: 'structure', surface: 'tool_args', envelope: INPUT },
    },
    {
      key: 'gen_ai.tool.call.result',
      mayBeCut: true,
      read: { as: 'structure', surface: 'tool_result', envelope: OUTPUT },
    },
  ],
  events: [],
};
