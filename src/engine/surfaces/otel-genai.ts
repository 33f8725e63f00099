/**
 * OpenTelemetry GenAI semantic conventions, current (semantic-conventions ≤ v1.41 `docs/gen-ai`,
 * since then semantic-conventions-genai `model/gen-ai/registry.yaml`). Data only.
 *
 * Left out on purpose: `gen_ai.system_instructions` and `gen_ai.tool.definitions` (the operator's
 * own text, the same in every run), ids, descriptions and evaluations (not text of the run).
 */
import type { Convention } from './convention.ts';

export const OTEL_GENAI: Convention = {
  name: 'opentelemetry-genai',
  attributes: [
    { key: 'gen_ai.input.messages', read: { as: 'messages', side: 'input' } },
    { key: 'gen_ai.retrieval.query.text', read: { as: 'text', place: 'step_input' } },
    { key: 'gen_ai.memory.query.text', read: { as: 'text', place: 'step_input' } },
    { key: 'gen_ai.tool.name', read: { as: 'text', place: 'tool_name' } },
    { key: 'gen_ai.tool.call.arguments', read: { as: 'structure', place: 'tool_args' } },
    { prefix: 'gen_ai.prompt.variable.', read: { as: 'text', place: 'tool_args' } },
    { key: 'gen_ai.tool.call.result', read: { as: 'structure', place: 'tool_result' } },
    { key: 'gen_ai.retrieval.documents', read: { as: 'structure', place: 'tool_result' } },
    {
      key: 'gen_ai.memory.records',
      // Records found are a result; records to be written are what the caller handed over.
      read: { as: 'structure', place: { retriever: 'tool_result', else: 'tool_args' } },
    },
    { key: 'gen_ai.output.messages', read: { as: 'messages', side: 'output' } },
  ],
  events: [{ event: 'gen_ai.client.inference.operation.details', carries: 'attributes' }],
};
