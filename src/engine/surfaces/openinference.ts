/**
 * OpenInference (Arize `spec/semantic_conventions.md`, `spec/tool_calling.md`): messages told leaf by
 * leaf, `input.value` and `output.value` by the span's kind. Data only.
 *
 * Left out: `llm.tools.*`, `llm.invocation_parameters`, `metadata`, `tag.tags` and prompt templates
 * (the operator's), vectors, ids. `tool.parameters` are arguments with some producers and their
 * schema with others; a schema is no text.
 */
import type { Convention } from './convention.ts';

const KIND = 'openinference.span.kind';
const WRAPPERS = ['message', 'message_content', 'tool_call'];

export const OPENINFERENCE: Convention = {
  name: 'openinference',
  on: { attributes: [KIND] },
  kinds: [
    {
      key: KIND,
      kinds: {
        llm: 'llm',
        tool: 'tool',
        agent: 'agent',
        chain: 'chain',
        prompt: 'chain',
        retriever: 'retriever',
        reranker: 'other',
        embedding: 'other',
        guardrail: 'other',
        evaluator: 'other',
        unknown: 'other',
      },
    },
  ],
  attributes: [
    {
      prefix: 'llm.input_messages.',
      read: { as: 'flattened', side: 'input', wrappers: WRAPPERS },
    },
    { prefix: 'llm.prompts.', suffix: '.text', read: { as: 'text', place: 'step_input' } },
    { key: 'llm.prompts', read: { as: 'text', place: 'step_input' } },
    { key: 'tool.name', read: { as: 'text', place: 'tool_name' } },
    { key: 'tool_call.function.name', read: { as: 'text', place: 'tool_name' } },
    { key: 'tool_call.function.arguments', read: { as: 'structure', place: 'tool_args' } },
    {
      key: 'tool.parameters',
      schemaWith: KIND,
      read: { as: 'structure', place: 'tool_args' },
    },
    { key: 'reranker.query', read: { as: 'text', place: 'step_input' } },
    {
      prefix: 'embedding.embeddings.',
      suffix: '.embedding.text',
      read: { as: 'text', place: 'step_input' },
    },
    {
      prefix: 'retrieval.documents.',
      suffix: '.document.content',
      read: { as: 'structure', place: 'tool_result' },
    },
    {
      prefix: 'retrieval.documents.',
      suffix: '.document.metadata',
      read: { as: 'structure', place: 'tool_result' },
    },
    {
      prefix: 'reranker.output_documents.',
      suffix: '.document.content',
      read: { as: 'structure', place: 'tool_result' },
    },
    {
      prefix: 'llm.output_messages.',
      read: { as: 'flattened', side: 'output', wrappers: WRAPPERS },
    },
    { prefix: 'llm.choices.', suffix: '.text', read: { as: 'text', place: 'agent_output' } },
    // Beside messages told properly these repeat the whole request and response, tools included.
    {
      key: 'input.value',
      raw: 'input',
      read: { as: 'exchange', side: 'input', place: { tool: 'tool_args', else: 'step_input' } },
    },
    {
      key: 'output.value',
      raw: 'output',
      read: {
        as: 'exchange',
        side: 'output',
        place: {
          tool: 'tool_result',
          retriever: 'tool_result',
          llm: 'agent_output',
          agent: 'agent_output',
          else: 'step_output',
        },
      },
    },
  ],
  events: [],
};
