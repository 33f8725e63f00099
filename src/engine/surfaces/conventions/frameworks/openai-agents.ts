/**
 * The OpenAI Agents SDK in OpenTelemetry (opentelemetry-python-contrib
 * `opentelemetry-instrumentation-openai-agents-v2`): its attributes beside OpenTelemetry GenAI, which
 * `otel-genai.ts` reads. Its other instrumentations are in `openllmetry.ts`, `openinference.ts` and
 * `logfire.ts`. Data only.
 *
 * Left out: `gen_ai.guardrail.*`, `gen_ai.handoff.*` (names), audio formats, voices.
 */
import type { Convention } from '../../reader/convention.ts';
import { text } from '../rows.ts';

export const OPENAI_AGENTS: Convention = {
  name: 'openai-agents',
  kinds: [
    {
      // Listed, because the model's name beside them would make them chat calls.
      key: 'gen_ai.operation.name',
      kinds: {
        transcription: 'other',
        speech: 'other',
        speech_generation: 'other',
        speech_group: 'other',
        guardrail: 'other',
        handoff: 'other',
      },
    },
  ],
  attributes: [
    { key: 'gen_ai.transcription.text', read: text('step_input') },
    // Text to be spoken by the agent.
    { key: 'gen_ai.speech.input_text', read: text('agent_output') },
  ],
  run: {
    // its own spelling
    placeholders: ['readacted'],
  },
};
