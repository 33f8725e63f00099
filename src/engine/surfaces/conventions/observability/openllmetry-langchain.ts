/**
 * OpenLLMetry's instrumentation of LangChain and LangGraph (traceloop/openllmetry
 * `packages/opentelemetry-instrumentation-langchain/…/callback_handler.py`): its own envelopes, on
 * the keys of `openllmetry.ts` and on those of tool calls. Data only.
 *
 * Left out: `tags`, `metadata` and `kwargs` beside a step's input and output: settings of the program.
 */
import type { Convention, ValueEnvelope } from '../../reader/convention.ts';
import { structure } from '../rows.ts';
import { entityRows } from './openllmetry.ts';

/** `inputs` of a chain; of a tool also as a Python repr; `query` of a retriever. */
const INPUT: ValueEnvelope = {
  take: ['inputs', 'input_str', 'query'],
  beside: ['tags', 'metadata', 'kwargs'],
};

/** `outputs` of a chain; `output` of a tool, which may be a message; else of a retriever. */
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
    { key: 'gen_ai.tool.call.arguments', read: structure('tool_args', INPUT) },
    { key: 'gen_ai.tool.call.result', read: structure('tool_result', OUTPUT) },
  ],
};
