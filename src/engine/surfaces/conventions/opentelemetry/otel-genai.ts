/**
 * OpenTelemetry GenAI semantic conventions, current (semantic-conventions ≤ v1.41 `docs/gen-ai`,
 * since then semantic-conventions-genai `model/gen-ai/registry.yaml`, unreleased, as of November 2026).
 * Data only.
 *
 * Left out on purpose: `gen_ai.system_instructions` (the operator's own text), `gen_ai.tool.definitions` (kept in the
 * inventory of tools: no field of rules is for them), both the same in every run; ids, descriptions and evaluations (not text of the run).
 */

import type { StepKind } from '../../../../model/steps.ts';
import type { Convention } from '../../reader/convention.ts';

/** `gen_ai.operation.name` → kind: the convention's own values and those seen in the wild. */
const OPERATIONS: Readonly<Record<string, StepKind>> = {
  execute_tool: 'tool',
  tool_call: 'tool',
  chat: 'llm',
  generate_content: 'llm',
  text_completion: 'llm',
  completion: 'llm',
  generate: 'llm',
  response: 'llm',
  fetch_response: 'llm',
  llm_call: 'llm',
  llm_request: 'llm',
  invoke_agent: 'agent',
  create_agent: 'agent',
  agent_call: 'agent',
  plan: 'agent',
  user_prompt: 'agent',
  invoke_workflow: 'chain',
  execute_task: 'chain',
  agent_step: 'chain',
  chain: 'chain',
  parser: 'chain',
  retrieval: 'retriever',
  vector_db_retrieve: 'retriever',
  search_memory: 'retriever',
  // Listed, because a model's or tool's name beside them would make them another kind.
  embeddings: 'other',
  rerank: 'other',
  create_memory: 'other',
  update_memory: 'other',
  upsert_memory: 'other',
  delete_memory: 'other',
  create_memory_store: 'other',
  delete_memory_store: 'other',
  apply_guardrail: 'other',
};

export const OTEL_GENAI: Convention = {
  name: 'opentelemetry-genai',
  kinds: [
    { key: 'gen_ai.operation.name', kinds: OPERATIONS },
    // Of client and server; other MCP methods are no tool step.
    { key: 'mcp.method.name', kinds: { 'tools/call': 'tool' } },
    { has: 'gen_ai.tool.name', kind: 'tool' },
    { has: 'gen_ai.tool.call.id', kind: 'tool' },
    { has: 'gen_ai.request.model', kind: 'llm' },
    { has: 'gen_ai.response.model', kind: 'llm' },
  ],
  attributes: [
    { key: 'gen_ai.input.messages', read: { as: 'messages', side: 'input' } },
    { key: 'gen_ai.retrieval.query.text', read: { as: 'text', surface: 'step_input' } },
    { key: 'gen_ai.memory.query.text', read: { as: 'text', surface: 'step_input' } },
    { key: 'gen_ai.tool.name', read: { as: 'text', surface: 'tool_name' } },
    {
      key: 'gen_ai.tool.call.arguments',
      schemaWith: 'openinference.span.kind',
      read: { as: 'structure', surface: 'tool_args' },
    },
    { prefix: 'gen_ai.prompt.variable.', read: { as: 'text', surface: 'tool_args' } },
    { key: 'gen_ai.tool.call.result', read: { as: 'structure', surface: 'tool_result' } },
    { key: 'gen_ai.retrieval.documents', read: { as: 'structure', surface: 'tool_result' } },
    {
      key: 'gen_ai.memory.records',
      // Records found are a result; records to be written are arguments.
      read: { as: 'structure', surface: { retriever: 'tool_result', else: 'tool_args' } },
    },
    { key: 'gen_ai.output.messages', read: { as: 'messages', side: 'output' } },
  ],
  events: [{ event: 'gen_ai.client.inference.operation.details', carries: 'attributes' }],
  run: {
    names: {
      agentName: { 'gen_ai.agent.name': 20, 'gen_ai.workflow.name': 30 },
      model: { 'gen_ai.response.model': 10, 'gen_ai.request.model': 20 },
      sessionId: { 'gen_ai.conversation.id': 10, 'gen_ai.session.id': 180 },
    },
    agentSpanName: /^(?:invoke_agent|invoke_workflow) (.+)$/,
    references: /^gen_ai\..*_ref$/,
  },
};
