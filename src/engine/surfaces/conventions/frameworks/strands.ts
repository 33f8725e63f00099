/**
 * Strands Agents (`src/strands/telemetry/tracer.py` of sdk-python, `src/telemetry/tracer.ts` of
 * sdk-typescript): the kinds of its spans. Its text is in message events and, if enabled, in the operation's details, which
 * `otel-genai-deprecated.ts` (with their use on tool spans and cycles) and `otel-genai.ts` read. Data
 * only.
 *
 * Left out: `gen_ai.agent.system_prompt`, `gen_ai.agent.tools`, ids of cycles.
 */
import type { Convention } from '../../reader/convention.ts';
import { RESULT } from '../../reader/messages/part-shapes.ts';

export const STRANDS: Convention = {
  name: 'strands',
  kinds: [
    { key: 'gen_ai.operation.name', kinds: { invoke_swarm: 'agent', invoke_graph: 'agent' } },
    { names: { execute_event_loop_cycle: 'chain', execute_agent_loop_cycle: 'chain' } },
  ],
  parts: {
    byType: { interrupt_response: RESULT },
  },
};
