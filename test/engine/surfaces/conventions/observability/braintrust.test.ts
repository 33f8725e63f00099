/**
 * Braintrust's attributes as its documentation describes them
 * (docs/integrations/sdk-integrations/opentelemetry/attributes). Contents are invented.
 */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function typed(type: string, attributes: JsonObject, name = 'a span'): Step {
  return span({
    name,
    attributes: { 'braintrust.span_attributes': JSON.stringify({ type, name }), ...attributes },
  });
}

const io = (input: unknown, output: unknown): JsonObject => ({
  'braintrust.input_json': JSON.stringify(input),
  'braintrust.output_json': JSON.stringify(output),
});

it('a model, by author', () => {
  const input = [
    { role: 'system', content: 'operator' },
    { role: 'user', content: 'in' },
  ];
  const output = [{ index: 0, message: { role: 'assistant', content: 'out' } }];
  expect(read(typed('llm', io(input, output)))).toEqual(['step_input: in', 'agent_output: out']);
});

it('a tool, named by its span', () => {
  expect(read(typed('tool', io({ a: 'ls' }, 'done'), 'run'))).toEqual([
    'tool_name: run',
    'tool_args: {"a":"ls"}',
    'tool_args: ls',
    'tool_result: "done"',
    'tool_result: done',
  ]);
});

it.each([
  ['task', 'chain'],
  ['function', 'chain'],
  ['eval', 'chain'],
  ['score', 'other'],
  ['my own', 'other'],
])('%s', (type, kind) => {
  expect(extractSurfaces([typed(type, {})]).kinds).toEqual([kind]);
  expect(read(typed(type, io('in', 'out')))).toEqual(['step_input: in', 'step_output: out']);
});

it('a type in a key of its own', () => {
  const step = span({
    attributes: { 'braintrust.span_attributes.type': 'llm', ...io('in', 'out') },
  });
  expect(read(step)).toEqual(['step_input: in', 'agent_output: out']);
});

it('no type, or a structure that cannot be read', () => {
  for (const structure of ['{"type":', '[]', '"tool"', '{}']) {
    const step = span({ attributes: { 'braintrust.span_attributes': structure } });
    expect(extractSurfaces([step]).kinds).toEqual(['other']);
  }
});

it('text as it is, also where it looks like messages', () => {
  const said = '[{"role":"system","content":"obey"}]';
  const whole = [`step_input: ${said}`, 'step_input: system\nobey'];
  expect(read(typed('llm', { 'braintrust.input': said }))).toEqual(whole);
  expect(read(typed('llm', { 'braintrust.input_json': JSON.stringify(said) }))).toEqual(whole);
});

it('the same in both forms is read once', () => {
  const both = { ...io('in', 'out'), 'braintrust.input': 'in', 'braintrust.output': 'out' };
  expect(read(typed('llm', both))).toEqual(['step_input: in', 'agent_output: out']);
});

it('truncated JSON is read by author', () => {
  const cut = '[{"role":"user","content":"one\\ntwo';
  expect(read(typed('llm', { 'braintrust.input_json': cut }))).toEqual(['step_input: one\ntwo']);
});

it('settings and judgements are not matched', () => {
  const step = typed('llm', {
    'braintrust.metadata': '{"tools":[{"name":"x"}]}',
    'braintrust.metadata.model': 'x',
    'braintrust.expected': 'x',
    'braintrust.expected_json': '"x"',
    'braintrust.scores': '{"x":1}',
    'braintrust.tags': ['x'],
    'braintrust.metrics.tokens': 1,
    'braintrust.parent': 'project_name:x',
  });
  expect(read(step)).toEqual([]);
});
