/**
 * Langfuse as its sources describe it (langfuse/langfuse-python `langfuse/_client/attributes.py`,
 * langfuse/langfuse `ObservationTypeMapper.ts`, `OtelIngestionProcessor.ts`). Contents are invented.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function observation(type: string, attributes: JsonObject, name = 'a span'): Step {
  return span({ name, attributes: { 'langfuse.observation.type': type, ...attributes } });
}

const io = (input: string, output: string): JsonObject => ({
  'langfuse.observation.input': input,
  'langfuse.observation.output': output,
});

describe('an observation', () => {
  it('a generation: messages by author', () => {
    const input = JSON.stringify([{ role: 'user', content: 'in' }]);
    const call = { id: '1', type: 'function', function: { name: 'run', arguments: '{"a":"ls"}' } };
    const output = JSON.stringify({ role: 'assistant', content: 'out', tool_calls: [call] });
    expect(read(observation('generation', io(input, output)))).toEqual([
      'step_input: in',
      'agent_output: out',
      'tool_name: run',
      'tool_args: {"a":"ls"}',
      'tool_args: ls',
    ]);
  });

  it('a request of an OpenAI client, without what the operator wrote', () => {
    const tool = { type: 'function', function: { name: 'run', description: 'operator' } };
    const request = {
      messages: [
        { role: 'system', content: 'operator' },
        { role: 'user', content: 'in' },
        { role: 'tool', tool_call_id: '1', content: 'done' },
      ],
      tools: [tool],
      tool_choice: 'auto',
    };
    const called = {
      type: 'function_call',
      id: '1',
      call_id: '1',
      name: 'run',
      arguments: '{"a":"ls"}',
    };
    const given = io(JSON.stringify(request), JSON.stringify(called));
    expect(read(observation('generation', given))).toEqual([
      'step_input: in',
      'tool_result: done',
      'tool_name: run',
      'tool_args: {"a":"ls"}',
      'tool_args: ls',
    ]);
  });

  it.each<[string, string, string, string[]]>([
    ['generation', 'in', 'out', ['step_input: in', 'agent_output: out']],
    ['agent', 'in', 'out', ['step_input: in', 'agent_output: out']],
    ['chain', 'in', 'out', ['step_input: in', 'step_output: out']],
    ['span', 'in', 'out', ['step_input: in', 'step_output: out']],
    ['event', 'in', 'out', ['step_input: in', 'step_output: out']],
    ['guardrail', 'in', 'out', ['step_input: in', 'step_output: out']],
    ['evaluator', 'in', 'out', ['step_input: in', 'step_output: out']],
    ['retriever', 'in', 'out', ['step_input: in', 'tool_result: out']],
    ['embedding', 'in', '[0.1]', ['step_input: in']],
  ])('%s', (type, input, output, expected) => {
    expect(read(observation(type, io(input, output)))).toEqual(expected);
  });

  it('a tool, named by its span', () => {
    expect(read(observation('tool', io('{"a":"ls"}', 'done'), 'run'))).toEqual([
      'tool_name: run',
      'tool_args: {"a":"ls"}',
      'tool_args: ls',
      'tool_result: done',
    ]);
  });

  it('the arguments of a decorated function without their wrapping', () => {
    expect(read(observation('tool', io('{"args":["ls"],"kwargs":{}}', 'done'), 'run'))).toEqual([
      'tool_name: run',
      'tool_args: ["ls"]',
      'tool_args: ls',
      'tool_result: done',
    ]);
    const more = '{"args":["ls"],"kwargs":{},"more":"x"}';
    expect(read(observation('tool', { 'langfuse.observation.input': more }, 'run'))).toEqual([
      'tool_name: run',
      `tool_args: ${more}`,
      'tool_args: ls\nx',
    ]);
  });

  it('truncated JSON is read by author', () => {
    const cut = '[{"role":"user","content":"one\\ntwo';
    expect(read(observation('generation', { 'langfuse.observation.input': cut }))).toEqual([
      'step_input: one\ntwo',
    ]);
  });

  it('a status message', () => {
    const failed = { 'langfuse.observation.status_message': 'bad' };
    expect(read(observation('tool', failed, 'run'))).toEqual([
      'tool_name: run',
      'tool_result: bad',
    ]);
    expect(read(observation('span', failed))).toEqual(['step_output: bad']);
  });
});

describe('the trace', () => {
  const trace = { 'langfuse.trace.input': 'in', 'langfuse.trace.output': 'out' };

  it('is read if its span has no text', () => {
    expect(read(observation('span', trace))).toEqual(['step_input: in', 'agent_output: out']);
  });

  it('is read beside its span’s input and output, and beside a status', () => {
    const status = { 'langfuse.observation.status_message': 'slow' };
    expect(read(observation('span', { ...trace, ...io('a', 'b'), ...status }))).toEqual([
      'step_input: a',
      'step_output: b',
      'step_output: slow',
      'step_input: in',
      'agent_output: out',
    ]);
  });

  it('is not read twice', () => {
    expect(read(observation('span', { ...trace, ...io('in', 'out') }))).toEqual([
      'step_input: in',
      'step_output: out',
    ]);
  });
});

it('metadata, settings and tags are not matched', () => {
  const step = observation('generation', {
    'langfuse.observation.metadata.x': 'x',
    'langfuse.trace.metadata.x': 'x',
    'langfuse.trace.tags': ['x'],
    'langfuse.trace.name': 'x',
    'langfuse.observation.model.name': 'x',
    'langfuse.observation.model.parameters': '{"x":"x"}',
    'langfuse.observation.prompt.name': 'x',
    'langfuse.session.id': 'x',
    'langfuse.user.id': 'x',
  });
  expect(read(step)).toEqual([]);
});

it('a plain span is a generation by its model, and else what other keys say', () => {
  const kinds = (attributes: JsonObject) =>
    extractSurfaces([observation('span', attributes)]).kinds;
  expect(kinds({ 'langfuse.observation.model.name': 'm' })).toEqual(['llm']);
  expect(kinds({ 'openinference.span.kind': 'TOOL' })).toEqual(['tool']);
  expect(kinds({})).toEqual(['other']);
});

it('other spans are not named tools by their names', () => {
  expect(
    read(span({ name: 'x', attributes: { 'gen_ai.operation.name': 'execute_tool' } })),
  ).toEqual([]);
});
