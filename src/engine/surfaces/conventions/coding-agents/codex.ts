/**
 * Codex CLI (openai/codex `codex-rs/otel/src/events`): log events under the service `codex*`. Data
 * only.
 *
 * The same events on spans carry lengths only. Left out: `codex.conversation_starts` (settings),
 * counts, ids; the text of a model's answer comes only from versions with `codex.agent_response`.
 */
import type { AttributeRow, Convention } from '../../reader/convention.ts';

const TOOL_NAME: AttributeRow = { key: 'tool_name', read: { as: 'text', surface: 'tool_name' } };

export const CODEX: Convention = {
  name: 'codex',
  appliesTo: { scopes: ['codex'], services: ['codex', 'Codex'] },
  events: [
    {
      event: 'codex.user_prompt',
      kind: 'agent',
      carries: 'own',
      attributes: [{ key: 'prompt', read: { as: 'text', surface: 'step_input' } }],
    },
    {
      event: 'codex.tool_result',
      kind: 'tool',
      carries: 'own',
      attributes: [
        TOOL_NAME,
        { key: 'arguments', read: { as: 'structure', surface: 'tool_args' } },
        { key: 'output', read: { as: 'structure', surface: 'tool_result' } },
      ],
    },
    { event: 'codex.tool_decision', kind: 'tool', carries: 'own', attributes: [TOOL_NAME] },
    {
      event: 'codex.agent_response',
      kind: 'llm',
      carries: 'own',
      attributes: [{ key: 'response', read: { as: 'text', surface: 'agent_output' } }],
    },
    // Their `error.message` is read as on any step.
    { event: 'codex.api_request', kind: 'llm', carries: 'own', attributes: [] },
    { event: 'codex.sse_event', kind: 'llm', carries: 'own', attributes: [] },
    { event: 'codex.websocket_request', kind: 'llm', carries: 'own', attributes: [] },
    { event: 'codex.websocket_event', kind: 'llm', carries: 'own', attributes: [] },
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
