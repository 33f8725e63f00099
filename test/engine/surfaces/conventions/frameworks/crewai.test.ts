/**
 * CrewAI as OpenLLMetry instruments it (traceloop/openllmetry
 * `packages/opentelemetry-instrumentation-crewai`). Contents are invented.
 */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function step(name: string, attributes: JsonObject): Step {
  return span({ name, scopeName: 'opentelemetry.instrumentation.crewai', attributes });
}

it('the crew: what it came to, not how it was set up', () => {
  const crew = step('crewai.workflow', {
    'crewai.crew.agents': '[{"role":"planner","backstory":"You are old."}]',
    'crewai.crew.tasks': '[{"description":"Plan."}]',
    'crewai.crew.tasks_output': '["planned"]',
    'crewai.crew.result': 'A plan.',
  });
  expect(extractSurfaces([crew]).kinds).toEqual(['agent']);
  expect(read(crew)).toEqual([
    'agent_output: ["planned"]',
    'agent_output: planned',
    'agent_output: A plan.',
  ]);
});

it('a task: its description, its context, and the agent’s output', () => {
  const task = step('Plan a trip.task', {
    'traceloop.span.kind': 'task',
    'gen_ai.operation.name': 'invoke_agent',
    'crewai.task.description': 'Plan a trip',
    'crewai.task.context': 'to the sea',
    'crewai.task.expected_output': 'A list.',
    'traceloop.entity.output': 'Bring a hat.',
  });
  const texts = read(task);
  expect(texts.slice(0, 2)).toEqual(['step_input: Plan a trip', 'step_input: to the sea']);
  expect(texts.at(-1)).toMatch(/^(agent|step)_output: Bring a hat\.$/);
  expect(texts).toHaveLength(3);
});

it('an agent: its role, goal and backstory are the operator’s', () => {
  const agent = step('planner.agent', {
    'traceloop.span.kind': 'agent',
    'crewai.agent.role': 'planner',
    'crewai.agent.goal': 'plans',
    'crewai.agent.backstory': 'You are old.',
    'traceloop.entity.output': 'A plan.',
  });
  expect(read(agent)).toEqual(['agent_output: A plan.']);
});
