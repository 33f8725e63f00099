/**
 * Pydantic AI (pydantic/pydantic-ai `pydantic_ai_slim/pydantic_ai/_instrumentation.py`,
 * `models/instrumented.py`), every version of its instrumentation. From the second on its model
 * spans, from the third on its tool spans are OpenTelemetry GenAI, which `otel-genai.ts` reads. Data
 * only.
 *
 * Left out: `model_request_parameters`, `gen_ai.tool.definitions`, instructions, `metadata`,
 * `pydantic_ai.tool.deferral.*`, ids; messages of a conversation that earlier runs sent.
 */
import type { Convention } from '../../reader/convention.ts';
import { messages, structure } from '../rows.ts';

export const PYDANTIC_AI: Convention = {
  name: 'pydantic-ai',
  appliesTo: {
    scopes: ['pydantic-ai'],
    attributes: ['pydantic_ai.all_messages', 'all_messages_events'],
  },
  kinds: [
    { has: 'pydantic_ai.all_messages', kind: 'agent' },
    { has: 'all_messages_events', kind: 'agent' },
    // `agent run`
    { names: { agent: 'agent', 'running tools': 'chain' } },
  ],
  attributes: [
    {
      key: 'pydantic_ai.all_messages',
      earlierBy: 'pydantic_ai.new_message_index',
      read: messages('input'),
    },
    { key: 'all_messages_events', read: { as: 'events' } },
    { key: 'events', read: { as: 'events' } },
    { key: 'tool_arguments', read: structure('tool_args') },
    { key: 'tool_response', read: structure('tool_result') },
    { key: 'final_result', read: structure('agent_output') },
  ],
  run: {
    names: { agentName: { agent_name: 70 }, model: { model_name: 130 } },
  },
};
