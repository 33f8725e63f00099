/**
 * CrewAI as instrumented by OpenLLMetry (traceloop/openllmetry
 * `packages/opentelemetry-instrumentation-crewai`). Its attributes of OpenLLMetry and OpenTelemetry
 * GenAI are read by `openllmetry.ts` and `otel-genai.ts`, CrewAI under OpenInference by
 * `openinference.ts`. Data only.
 *
 * Left out: `crewai.agent.*` (role, goal, backstory: the operator's), `crewai.crew.agents`,
 * `crewai.crew.tasks`, `crewai.task.tools`, `crewai.task.expected_output` and other settings of a
 * crew. CrewAI's own telemetry is sent to its makers.
 */
import type { Convention } from '../../reader/convention.ts';
import { text } from '../rows.ts';

export const CREWAI: Convention = {
  name: 'crewai',
  appliesTo: {
    scopes: ['opentelemetry.instrumentation.crewai'],
    attributes: ['crewai.crew.result', 'crewai.crew.tasks_output', 'crewai.task.description'],
  },
  kinds: [{ names: { 'crewai.workflow': 'agent' } }],
  attributes: [
    { key: 'crewai.task.description', read: text('step_input') },
    { key: 'crewai.task.context', read: text('step_input') },
    { key: 'crewai.crew.tasks_output', read: text('agent_output') },
    // `crewai.crew.result`; of a class derived from `Crew` by its own name.
    { prefix: 'crewai.', suffix: '.result', read: text('agent_output') },
  ],
};
