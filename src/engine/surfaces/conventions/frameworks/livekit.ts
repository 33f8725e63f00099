/**
 * LiveKit Agents (livekit/agents `livekit-agents/livekit/agents/telemetry/trace_types.py`). Since 1.7.0
 * keys of content have a part `pii`; since 1.8.0 there is OpenTelemetry GenAI beside them, which
 * `otel-genai.ts` reads. Data only.
 *
 * Left out: `lk.instructions` (the operator's), `lk.function_tools`, rooms, participants and phone
 * numbers, session options, timings, ids.
 */
import type { AttributeRow, Convention, RowReading } from '../../reader/convention.ts';
import { messages, structure, text } from '../rows.ts';

/** Without `lk.` or `lk.pii.`, in reading order. */
const CONTENT: Readonly<Record<string, RowReading>> = {
  user_input: text('step_input'),
  user_transcript: text('step_input'),
  chat_ctx: messages('input', { take: ['items'], beside: [] }),
  'function_tool.name': text('tool_name'),
  'function_tool.arguments': structure('tool_args'),
  'function_tool.output': structure('tool_result'),
  'response.text': text('agent_output'),
  'response.function_calls': messages('output'),
  // Text to be spoken by the agent.
  input_text: text('agent_output'),
};

const ROWS = Object.entries(CONTENT).flatMap(([name, read]): (AttributeRow & { key: string })[] => [
  { key: `lk.pii.${name}`, read },
  { key: `lk.${name}`, read },
]);

export const LIVEKIT: Convention = {
  name: 'livekit',
  appliesTo: { scopes: ['livekit-agents'], attributes: ROWS.map(({ key }) => key) },
  kinds: [
    {
      names: {
        function_tool: 'tool',
        llm_node: 'llm',
        llm_request: 'llm',
        agent_turn: 'agent',
        start_agent_activity: 'agent',
      },
    },
    { has: 'lk.function_tool.name', kind: 'tool' },
    { has: 'lk.pii.chat_ctx', kind: 'llm' },
    { has: 'lk.chat_ctx', kind: 'llm' },
  ],
  attributes: ROWS,
  run: {
    // `lk.room_sid`: a room is one conversation.
    names: { agentName: { 'lk.agent_name': 90 }, sessionId: { 'lk.room_sid': 240 } },
  },
};
