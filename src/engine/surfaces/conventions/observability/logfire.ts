/**
 * Logfire (pydantic/logfire `logfire/_internal/integrations/llm_providers`,
 * `integrations/openai_agents.py`, `constants.py`): clients of model providers, the OpenAI Agents SDK,
 * and the spans that it sends for such as have not ended. Data only.
 *
 * Left out: `logfire.msg` (a line for people, made of other attributes), `logfire.*`,
 * `model_settings`, tools and instructions inside requests, `agent_trace_id`. What a user names
 * otherwise on spans of one's own is not known.
 */
import type { AttributeRow, Convention, Place } from '../../reader/convention.ts';

const INPUT: Place = { tool: 'tool_args', else: 'step_input' };

const OUTPUT: Place = {
  tool: 'tool_result',
  llm: 'agent_output',
  agent: 'agent_output',
  else: 'step_output',
};

function exchanges(side: 'input' | 'output', keys: readonly string[]): AttributeRow[] {
  const place = side === 'input' ? INPUT : OUTPUT;
  return keys.map((key) => ({ key, read: { as: 'exchange', side, place } }));
}

/** Spans of a run that goes on, which are sent once more, whole, when they have ended. */
export const LOGFIRE_PENDING: Convention = {
  name: 'logfire-pending',
  kinds: [{ key: 'logfire.span_type', kinds: { pending_span: 'duplicate' } }],
  attributes: [],
  events: [],
};

export const LOGFIRE_OPENAI_AGENTS: Convention = {
  name: 'logfire-openai-agents',
  on: { scopes: ['logfire.openai_agents'] },
  kinds: [
    // Names are templates.
    {
      names: {
        'Function: {name}': 'tool',
        'Agent run: {name!r}': 'agent',
        'OpenAI Agents trace: {name}': 'chain',
      },
    },
  ],
  attributes: [
    { key: 'name', onKinds: ['tool'], read: { as: 'text', place: 'tool_name' } },
    // What the events tell, once more.
    { key: 'raw_input', raw: 'input', read: { as: 'messages', side: 'input' } },
    {
      key: 'response',
      raw: 'output',
      read: { as: 'messages', side: 'output', envelope: { take: ['output'] } },
    },
    {
      key: 'error',
      read: { as: 'structure', place: { tool: 'tool_result', else: 'step_output' } },
    },
  ],
  events: [],
};

export const LOGFIRE: Convention = {
  name: 'logfire',
  on: { scopes: ['logfire'] },
  attributes: [
    { key: 'events', read: { as: 'events' } },
    {
      key: 'request_data',
      raw: 'input',
      read: {
        as: 'messages',
        side: 'input',
        envelope: { take: ['messages', 'input', 'contents', 'prompt'] },
      },
    },
    ...exchanges('input', ['prompt', 'input']),
    {
      key: 'response_data',
      raw: 'output',
      read: {
        as: 'messages',
        side: 'output',
        envelope: { take: ['message', 'combined_chunk_content', 'output', 'text'] },
      },
    },
    ...exchanges('output', ['output', 'response', 'result']),
  ],
  events: [],
};
