/**
 * OpenTelemetry GenAI semantic conventions, deprecated but still sent: prompt and completion on
 * the span (≤ v1.27), content events, one event per message (v1.28–v1.36,
 * `model/gen-ai/deprecated`), as span events or log records. Data only.
 *
 * `gen_ai.system.message` and its developer twin are left out: the operator's own text.
 */
import type { Convention, EncodingSender } from '../../reader/convention.ts';
import { INPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { exchange, messages } from '../rows.ts';

/** Strands Agents; its cycles name no provider. */
const STRANDS: EncodingSender = {
  provider: 'strands-agents',
  keys: ['event_loop.cycle_id', 'agent_loop.cycle_id'],
};

export const OTEL_GENAI_DEPRECATED: Convention = {
  name: 'opentelemetry-genai-deprecated',
  attributes: [
    { key: 'gen_ai.prompt', read: exchange('input', INPUT_SURFACE) },
    {
      key: 'gen_ai.completion',
      read: {
        as: 'exchange',
        side: 'output',
        surface: {
          tool: 'tool_result',
          retriever: 'tool_result',
          chain: 'step_output',
          else: 'agent_output',
        },
      },
    },
  ],
  events: [
    { event: 'gen_ai.content.prompt', carries: 'attributes' },
    { event: 'gen_ai.content.completion', carries: 'attributes' },
    { event: 'gen_ai.system.message', carries: 'nothing' },
    { event: 'gen_ai.developer.message', carries: 'nothing' },
    {
      event: 'gen_ai.user.message',
      carries: 'message',
      side: 'input',
      role: 'user',
      encodedBy: STRANDS,
    },
    {
      event: 'gen_ai.assistant.message',
      carries: 'message',
      side: 'input',
      role: 'assistant',
      encodedBy: STRANDS,
    },
    {
      event: 'gen_ai.tool.message',
      carries: 'message',
      side: 'input',
      role: 'tool',
      // Strands: a tool span's arguments; its result is a choice.
      onTool: { surface: 'tool_args', provider: STRANDS.provider },
      encodedBy: STRANDS,
    },
    { event: 'gen_ai.function.message', carries: 'message', side: 'input', role: 'tool' },
    {
      event: 'gen_ai.choice',
      carries: 'message',
      side: 'output',
      role: 'assistant',
      onTool: { surface: 'tool_result' },
      encodedBy: STRANDS,
      // Strands: results of the tools that were called in the cycle before this answer.
      beside: [{ key: 'tool.result', read: messages('output') }],
    },
    // Named after the author, a tool or a framework.
    { event: 'gen_ai.*.message', carries: 'message', side: 'input', role: 'user' },
  ],
};
