/**
 * Codex CLI (openai/codex `codex-rs/otel/src/events`): log events under the service `codex*`. Data
 * only.
 *
 * The same events on spans carry lengths only. Left out: `codex.conversation_starts` (settings),
 * counts, ids; the text of a model's answer comes only from versions with `codex.agent_response`.
 */
import type { AttributeRow, Convention } from '../../reader/convention.ts';
import { event, structure, text } from '../rows.ts';

const TOOL_NAME: AttributeRow = { key: 'tool_name', read: text('tool_name') };

export const CODEX: Convention = {
  name: 'codex',
  appliesTo: { scopes: ['codex'], services: ['codex', 'Codex'] },
  events: [
    event('codex.user_prompt', 'agent', [{ key: 'prompt', read: text('step_input') }]),
    event('codex.tool_result', 'tool', [
      TOOL_NAME,
      { key: 'arguments', read: structure('tool_args') },
      { key: 'output', read: structure('tool_result') },
    ]),
    event('codex.tool_decision', 'tool', [TOOL_NAME]),
    event('codex.agent_response', 'llm', [{ key: 'response', read: text('agent_output') }]),
    // Their `error.message` is read as on any step.
    event('codex.api_request', 'llm'),
    event('codex.sse_event', 'llm'),
    event('codex.websocket_request', 'llm'),
    event('codex.websocket_event', 'llm'),
  ],
  run: {
    names: { sessionId: { 'conversation.id': 140 } },
    placeholders: ['[REDACTED]'],
    cutFlags: ['output_truncated', 'response_truncated'],
    cutMark: { pattern: /\s*\[\.\.\. telemetry preview truncated \.\.\.\]$/, last: ']' },
    sizes: [
      // Its spans carry lengths, its log events the texts.
      ...['prompt', 'arguments', 'output', 'response'].map((text) => ({
        key: `${text}_length`,
        texts: [text],
      })),
      // Of `codex.sse_event`: the model answered. Gemini CLI's events have the same key beside the text.
      { key: 'output_token_count', texts: ['response', 'response_text'] },
    ],
  },
};
