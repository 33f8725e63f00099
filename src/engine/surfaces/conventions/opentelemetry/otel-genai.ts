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
import { kindsOf, messages, structure, text } from '../rows.ts';

/** `gen_ai.operation.name` → kind: the convention's own values and those seen in the wild. */
const OPERATIONS: Readonly<Record<string, StepKind>> = kindsOf({
  tool: ['execute_tool', 'tool_call'],
  llm: [
    'chat',
    'generate_content',
    'text_completion',
    'completion',
    'generate',
    'response',
    'fetch_response',
    'llm_call',
    'llm_request',
  ],
  agent: ['invoke_agent', 'create_agent', 'agent_call', 'plan', 'user_prompt'],
  chain: ['invoke_workflow', 'execute_task', 'agent_step', 'chain', 'parser'],
  retriever: ['retrieval', 'vector_db_retrieve', 'search_memory'],
  // Listed, because a model's or tool's name beside them would make them another kind.
  other: [
    'embeddings',
    'rerank',
    'create_memory',
    'update_memory',
    'upsert_memory',
    'delete_memory',
    'create_memory_store',
    'delete_memory_store',
    'apply_guardrail',
  ],
});

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
    { key: 'gen_ai.input.messages', read: messages('input') },
    { key: 'gen_ai.retrieval.query.text', read: text('step_input') },
    { key: 'gen_ai.memory.query.text', read: text('step_input') },
    { key: 'gen_ai.tool.name', read: text('tool_name') },
    {
      key: 'gen_ai.tool.call.arguments',
      schemaWith: 'openinference.span.kind',
      read: structure('tool_args'),
    },
    { prefix: 'gen_ai.prompt.variable.', read: text('tool_args') },
    { key: 'gen_ai.tool.call.result', read: structure('tool_result') },
    { key: 'gen_ai.retrieval.documents', read: structure('tool_result') },
    {
      key: 'gen_ai.memory.records',
      // Records found are a result; records to be written are arguments.
      read: structure({ retriever: 'tool_result', else: 'tool_args' }),
    },
    { key: 'gen_ai.output.messages', read: messages('output') },
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
