/**
 * Owns what kind of step a span or log record is, where that decides on which surface its text
 * stands. First fit wins, as in the table; it must never depend on a span's name alone.
 */
import type { JsonObject } from '../../model.ts';

export type StepKind = 'tool' | 'llm' | 'agent' | 'chain' | 'retriever' | 'other';

/** `gen_ai.operation.name` → kind: the convention's own values and those seen in the wild. */
const OPERATION_KINDS: Readonly<Record<string, StepKind>> = {
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
};

const TOOL_KEYS = ['gen_ai.tool.name', 'gen_ai.tool.call.id'];
const MODEL_KEYS = ['gen_ai.request.model', 'gen_ai.response.model'];

/** The kind of step these attributes belong to. */
export function stepKindOf(attributes: JsonObject): StepKind {
  const operation = attributes['gen_ai.operation.name'];
  if (typeof operation === 'string' && Object.hasOwn(OPERATION_KINDS, operation)) {
    return OPERATION_KINDS[operation] ?? 'other';
  }
  // `tools/call` is a tool step on either side of the wire; other MCP methods are not.
  if (attributes['mcp.method.name'] === 'tools/call') return 'tool';
  const has = (key: string) => attributes[key] !== undefined;
  if (operation === undefined && TOOL_KEYS.some(has)) return 'tool';
  return MODEL_KEYS.some(has) ? 'llm' : 'other';
}
