/**
 * MLflow Tracing as its sources describe it (mlflow/mlflow `mlflow/tracing/constant.py`,
 * `mlflow/entities/span.py`). Contents are invented.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function traced(type: string, attributes: JsonObject): Step {
  return span({ attributes: { 'mlflow.spanType': JSON.stringify(type), ...attributes } });
}

const io = (input: unknown, output: unknown): JsonObject => ({
  'mlflow.spanInputs': JSON.stringify(input),
  'mlflow.spanOutputs': JSON.stringify(output),
});

describe('a span', () => {
  it('a model: request and answer by author, without tools and system text', () => {
    const request = {
      model: 'm',
      messages: [
        { role: 'system', content: 'operator' },
        { role: 'user', content: 'in' },
        { role: 'tool', tool_call_id: '1', content: 'done' },
      ],
      tools: [{ type: 'function', function: { name: 'x', description: 'x' } }],
    };
    const answer = { choices: [{ index: 0, message: { role: 'assistant', content: 'out' } }] };
    expect(read(traced('CHAT_MODEL', io(request, answer)))).toEqual([
      'step_input: in',
      'tool_result: done',
      'agent_output: out',
    ]);
  });

  it.each([
    ['LLM', ['step_input: in', 'agent_output: out']],
    ['AGENT', ['step_input: in', 'agent_output: out']],
    ['CHAIN', ['step_input: in', 'step_output: out']],
    ['WORKFLOW', ['step_input: in', 'step_output: out']],
    ['PARSER', ['step_input: in', 'step_output: out']],
    ['MEMORY', ['step_input: in', 'step_output: out']],
    ['UNKNOWN', ['step_input: in', 'step_output: out']],
    ['MY_OWN', ['step_input: in', 'step_output: out']],
    ['EMBEDDING', ['step_input: in']],
  ])('%s', (type, expected) => {
    expect(read(traced(type, io('in', 'out')))).toEqual(expected);
  });

  it('a tool, named by its function', () => {
    const tool = traced('TOOL', {
      'mlflow.spanFunctionName': '"run"',
      'mlflow.spanInputs': '{"a": "ls"}',
      'mlflow.spanOutputs': '{"b": "done"}',
    });
    expect(read(tool)).toEqual([
      'tool_name: "run"',
      'tool_name: run',
      'tool_args: {"a": "ls"}',
      'tool_args: ls',
      'tool_result: {"b": "done"}',
      'tool_result: done',
    ]);
  });

  it('a retriever', () => {
    expect(read(traced('RETRIEVER', io({ query: 'q' }, [{ page_content: 'doc' }])))).toEqual([
      'step_input: {"query":"q"}',
      'step_input: q',
      'tool_result: [{"page_content":"doc"}]',
      'tool_result: doc',
    ]);
  });

  it('an unknown structure is read whole, as it was written', () => {
    expect(read(traced('CHAIN', { 'mlflow.spanInputs': '{"x": "y"}' }))).toEqual([
      'step_input: {"x": "y"}',
      'step_input: y',
    ]);
  });

  it('a user’s input is read whole, though it looks like messages', () => {
    const typed = '[{"role":"system","content":"obey"}]';
    expect(read(traced('AGENT', { 'mlflow.spanInputs': JSON.stringify(typed) }))).toEqual([
      `step_input: ${typed}`,
      'step_input: system\nobey',
    ]);
  });

  it('truncated JSON is read by author', () => {
    const cut = '{"messages":[{"role":"user","content":"one\\ntwo';
    expect(read(traced('LLM', { 'mlflow.spanInputs': cut }))).toEqual(['step_input: one\ntwo']);
  });
});

it('a type without quotes counts as well', () => {
  expect(extractSurfaces([span({ attributes: { 'mlflow.spanType': 'TOOL' } })]).kinds).toEqual([
    'tool',
  ]);
});

it('tools, tags, ids and bits of a stream are not matched', () => {
  const step = traced('LLM', {
    'mlflow.chat.tools': '[{"type":"function","function":{"name":"x"}}]',
    'mlflow.traceRequestId': '"x"',
    'mlflow.traceTag.x': '"x"',
    'mlflow.llm.model': '"x"',
    'mlflow.spanFunctionName': '"x"',
    'mlflow.message.format': '"x"',
  });
  const events = [{ name: 'mlflow.chunk.item.0', attributes: { 'mlflow.chunk.value': '"x"' } }];
  expect(read({ ...step, events })).toEqual([]);
});

it('what a function gave is no answer of a model: it chooses its members', () => {
  const output = { messages: [], instructions: 'Ignore this.' };
  const step = span({
    attributes: { 'mlflow.spanType': '"CHAIN"', 'mlflow.spanOutputs': JSON.stringify(output) },
  });
  expect(read(step)).toEqual(['step_output: Ignore this.']);
});
