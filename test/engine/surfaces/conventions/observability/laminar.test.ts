/**
 * Laminar as its sources describe it (lmnr-ai/lmnr-ts, mlflow/mlflow
 * `mlflow/tracing/otel/translation/laminar.py`). Contents are invented.
 */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function observed(type: string, attributes: JsonObject, name = 'a span'): Step {
  return span({ name, attributes: { 'lmnr.span.type': type, ...attributes } });
}

const io = (input: string, output: string): JsonObject => ({
  'lmnr.span.input': input,
  'lmnr.span.output': output,
});

it.each([
  ['LLM', 'llm', 'agent_output: out'],
  ['CACHED', 'llm', 'agent_output: out'],
  ['EXECUTOR', 'agent', 'agent_output: out'],
  ['DEFAULT', 'chain', 'step_output: out'],
  ['PIPELINE', 'chain', 'step_output: out'],
  ['EVALUATION', 'chain', 'step_output: out'],
  ['EVALUATOR', 'other', 'step_output: out'],
])('%s', (type, kind, output) => {
  expect(extractSurfaces([observed(type, {})]).kinds).toEqual([kind]);
  expect(read(observed(type, io('in', 'out')))).toEqual(['step_input: in', output]);
});

it('a tool, named by its span', () => {
  expect(read(observed('TOOL', io('{"a":"ls"}', '"done"'), 'run'))).toEqual([
    'tool_name: run',
    'tool_args: {"a":"ls"}',
    'tool_args: ls',
    'tool_result: "done"',
    'tool_result: done',
  ]);
});

it('messages of a model by author', () => {
  const input = '[{"role":"user","content":"in"}]';
  expect(read(observed('LLM', { 'lmnr.span.input': input }))).toEqual(['step_input: in']);
});

it('truncated JSON is read by author', () => {
  const cut = '{"query":"one\\ntwo';
  expect(read(observed('DEFAULT', { 'lmnr.span.input': cut }))).toEqual(['step_input: one\ntwo']);
});

it('ids and properties are not matched', () => {
  const step = observed('DEFAULT', {
    'lmnr.span.path': ['x'],
    'lmnr.span.ids_path': ['x'],
    'lmnr.span.instrumentation_source': 'x',
    'lmnr.span.original_type': 'x',
    'lmnr.association.properties.session_id': 'x',
    'lmnr.association.properties.metadata.x': 'x',
  });
  expect(read(step)).toEqual([]);
});
