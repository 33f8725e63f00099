/**
 * CrewAI as OpenLLMetry tells it (traceloop/openllmetry
 * `packages/opentelemetry-instrumentation-crewai`). What it tells on keys of its own or of
 * OpenTelemetry GenAI stands in `openllmetry.ts` and `otel-genai.ts`, CrewAI under OpenInference in
 * `openinference.ts`. Data only.
 *
 * Left out: `crewai.agent.*` (role, goal, backstory: the operator's), `crewai.crew.agents`,
 * `crewai.crew.tasks`, `crewai.task.tools`, `crewai.task.expected_output` and all else that is how a
 * crew was set up. CrewAI's own telemetry goes to its makers.
 */
import type { Convention } from '../../reader/convention.ts';

export const CREWAI: Convention = {
  name: 'crewai',
  appliesTo: {
    scopes: ['opentelemetry.instrumentation.crewai'],
    attributes: ['crewai.crew.result', 'crewai.crew.tasks_output', 'crewai.task.description'],
  },
  kinds: [{ names: { 'crewai.workflow': 'agent' } }],
  attributes: [
    { key: 'crewai.task.description', read: { as: 'text', surface: 'step_input' } },
    { key: 'crewai.task.context', read: { as: 'text', surface: 'step_input' } },
    { key: 'crewai.crew.tasks_output', read: { as: 'text', surface: 'agent_output' } },
    // `crewai.crew.result`; a class derived from `Crew` is told by its own name.
    { prefix: 'crewai.', suffix: '.result', read: { as: 'text', surface: 'agent_output' } },
  ],
  events: [],
};
