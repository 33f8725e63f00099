/**
 * LiteLLM (BerriAI/litellm `litellm/integrations/opentelemetry.py`). Its messages are OpenTelemetry
 * GenAI, or in older versions flattened, with tool calls as
 * `gen_ai.completion.<call>.function_call.*`, which `openllmetry.ts` reads. Here: the names of its
 * calls, and its log records, whose bodies are messages. Data only.
 *
 * Left out: the span `raw_gen_ai_request` (`llm.<provider>.*`: the request and the answer once more, as
 * Python writes them, system prompt and tools included), `llm.request.functions.*`, `metadata.*`,
 * `hidden_params`, guardrail answers.
 */

import type { StepKind } from '../../../../model/steps.ts';
import type { Convention } from '../../reader/convention.ts';
import { kindsOf, text } from '../rows.ts';

/** `call_type`; each also with the prefix `a`, for asynchronous. */
const CALLS: Readonly<Record<string, StepKind>> = kindsOf({
  llm: ['completion', 'text_completion', 'responses', 'anthropic_messages', 'generate_content'],
  embedding: ['embedding'],
  other: ['rerank', 'image_generation', 'transcription', 'speech', 'moderation'],
});

const KINDS = Object.fromEntries(
  Object.entries(CALLS).flatMap(([name, kind]) => [
    [name, kind],
    [`a${name}`, kind],
  ]),
);

export const LITELLM: Convention = {
  name: 'litellm',
  appliesTo: { scopes: ['litellm'], services: ['litellm'] },
  kinds: [
    { key: 'gen_ai.operation.name', kinds: KINDS },
    { key: 'llm.request.type', kinds: KINDS },
  ],
  attributes: [
    // On its log records, the text without the author, who is named in the body.
    { key: 'gen_ai.prompt', raw: 'input', read: text('step_input') },
    { key: 'message.content', raw: 'output', read: text('agent_output') },
  ],
  events: [
    { event: 'gen_ai.content.prompt', carries: 'message', side: 'input', role: 'user' },
    { event: 'gen_ai.content.completion', carries: 'message', side: 'output', role: 'assistant' },
  ],
  run: { placeholders: ['redacted-by-litellm'], eventNameKey: 'event_name' },
};
