/**
 * Logfire (pydantic/logfire `logfire/_internal/integrations/llm_providers`,
 * `integrations/openai_agents.py`, `constants.py`): clients of model providers, the OpenAI Agents SDK,
 * and the pending spans that it sends before a span ends. Data only.
 *
 * Left out: `logfire.msg` (a line for people, made of other attributes), `logfire.*`,
 * `model_settings`, tools and instructions inside requests, `agent_trace_id`. Attributes that a user
 * chooses on manual spans are not known.
 */
import type { AttributeRow, Convention, SurfaceByKind } from '../../reader/convention.ts';
import { ERROR_SURFACE, INPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { messages, structure, text } from '../rows.ts';

const OUTPUT: SurfaceByKind = {
  tool: 'tool_result',
  llm: 'agent_output',
  agent: 'agent_output',
  else: 'step_output',
};

function exchanges(side: 'input' | 'output', keys: readonly string[]): AttributeRow[] {
  const surface = side === 'input' ? INPUT_SURFACE : OUTPUT;
  return keys.map((key) => ({ key, read: { as: 'exchange', side, surface } }));
}

/** Spans that have not ended; they are sent again when they have. */
export const LOGFIRE_PENDING: Convention = {
  name: 'logfire-pending',
  kinds: [{ key: 'logfire.span_type', kinds: { pending_span: 'duplicate' } }],
};

export const LOGFIRE_OPENAI_AGENTS: Convention = {
  name: 'logfire-openai-agents',
  appliesTo: { scopes: ['logfire.openai_agents'] },
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
    { key: 'name', onKinds: ['tool'], read: text('tool_name') },
    // The same as the events.
    { key: 'raw_input', raw: 'input', read: messages('input') },
    { key: 'response', raw: 'output', read: messages('output', { take: ['output'] }) },
    { key: 'error', read: structure(ERROR_SURFACE) },
  ],
};

export const LOGFIRE: Convention = {
  name: 'logfire',
  appliesTo: { scopes: ['logfire'] },
  attributes: [
    { key: 'events', read: { as: 'events' } },
    {
      key: 'request_data',
      raw: 'input',
      read: messages('input', { take: ['messages', 'input', 'contents', 'prompt'] }),
    },
    ...exchanges('input', ['prompt', 'input']),
    {
      key: 'response_data',
      raw: 'output',
      read: messages('output', { take: ['message', 'combined_chunk_content', 'output', 'text'] }),
    },
    ...exchanges('output', ['output', 'response', 'result']),
  ],
  run: {
    failure: { key: 'logfire.level_num', atLeast: 17 },
    // The scrubber replaces a value that looks like a secret, and lists what it replaced.
    withheldFlags: ['logfire.scrubbed'],
  },
};
