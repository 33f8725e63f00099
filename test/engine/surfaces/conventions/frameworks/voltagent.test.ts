/**
 * VoltAgent as its sources have it (VoltAgent/voltagent
 * `packages/core/src/agent/open-telemetry/trace-context.ts`, mlflow/mlflow
 * `mlflow/tracing/otel/translation/voltagent.py`). Contents are invented.
 */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function traced(attributes: JsonObject): Step {
  return span({
    scopeName: '@voltagent/core',
    attributes: {
      'entity.id': 'x',
      'entity.type': 'agent',
      'entity.name': 'x',
      'conversation.id': 'x',
      'operation.id': 'x',
      ...attributes,
    },
  });
}

it('an agent', () => {
  const step = traced({
    'agent.state': 'completed',
    'agent.instructions': 'operator',
    'agent.messages': '[{"role":"system","content":"operator"},{"role":"user","content":"in"}]',
    'ai.model.name': 'x',
    input: 'in',
    output: 'out',
  });
  expect(extractSurfaces([step]).kinds).toEqual(['agent']);
  expect(read(step)).toEqual(['step_input: in', 'agent_output: out']);
});

it('a model', () => {
  const step = traced({
    'span.type': 'llm',
    'llm.messages': '[{"role":"system","content":"operator"},{"role":"user","content":"in"}]',
    output: 'out',
  });
  expect(read(step)).toEqual(['step_input: in', 'agent_output: out']);
});

it('a tool', () => {
  const step = traced({
    'span.type': 'tool',
    'tool.name': 'run',
    'tool.call.id': 'x',
    'tool.description': 'x',
    'tool.parameters': '{"type":"object","properties":{"a":{"type":"string"}}}',
    input: '{"a":"ls"}',
    output: 'done',
  });
  expect(read(step)).toEqual([
    'tool_name: run',
    'tool_args: {"a":"ls"}',
    'tool_args: ls',
    'tool_result: done',
  ]);
});

it.each([
  ['retriever', ['step_input: in', 'tool_result: out']],
  ['memory', ['step_input: in', 'step_output: out']],
  ['guardrail', ['step_input: in', 'step_output: out']],
  ['workflow-step', ['step_input: in', 'step_output: out']],
  ['embedding', ['step_input: in']],
])('%s', (type, expected) => {
  expect(read(traced({ 'span.type': type, input: 'in', output: 'out' }))).toEqual(expected);
});

it('messages inside its plain keys, and cut JSON', () => {
  const input = '[{"role":"user","content":"in"}]';
  expect(read(traced({ input }))).toEqual(['step_input: in']);
  const cut = '[{"role":"user","content":"one\\ntwo';
  expect(read(traced({ 'agent.messages': cut }))).toEqual(['step_input: one\ntwo']);
});

it('plain keys mean nothing elsewhere', () => {
  const attributes = {
    'span.type': 'tool',
    'agent.messages': 'x',
    'llm.messages': 'x',
    input: 'x',
    output: 'x',
  };
  expect(read(span({ attributes }))).toEqual([]);
  expect(extractSurfaces([span({ attributes })]).kinds).toEqual(['other']);
  const marked = { 'voltagent.operation_id': 'o', input: 'in' };
  expect(read(span({ attributes: marked }))).toEqual(['step_input: in']);
});
