/**
 * The OpenAI Agents SDK as OpenTelemetry tells it (opentelemetry-python-contrib
 * `opentelemetry-instrumentation-openai-agents-v2`): what it has beside OpenTelemetry GenAI, which
 * `otel-genai.ts` reads. Its other instrumentations stand in `openllmetry.ts`, `openinference.ts` and
 * `logfire.ts`. Data only.
 *
 * Left out: `gen_ai.guardrail.*`, `gen_ai.handoff.*` (names), audio formats, voices.
 */
import type { Convention } from '../../reader/convention.ts';

export const OPENAI_AGENTS: Convention = {
  name: 'openai-agents',
  kinds: [
    {
      // Named, so that the model's name beside them does not make them calls of a model that talks.
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
    { key: 'gen_ai.transcription.text', read: { as: 'text', surface: 'step_input' } },
    // What the agent is to say aloud.
    { key: 'gen_ai.speech.input_text', read: { as: 'text', surface: 'agent_output' } },
  ],
  events: [],
  run: {
    // its own spelling
    placeholders: ['readacted'],
  },
};
