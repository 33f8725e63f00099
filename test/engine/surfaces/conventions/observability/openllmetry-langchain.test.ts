/**
 * OpenLLMetry's LangChain instrumentation (traceloop/openllmetry
 * `packages/opentelemetry-instrumentation-langchain/opentelemetry/instrumentation/langchain/
 * callback_handler.py`): its envelopes. Contents are invented.
 */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function entity(kind: string, attributes: JsonObject): Step {
  return span({
    scopeName: 'opentelemetry.instrumentation.langchain',
    attributes: { 'traceloop.span.kind': kind, ...attributes },
  });
}

it('a chain: what went in and came out, not its tags and metadata, and the copy not again', () => {
  const input =
    '{"inputs":{"question":"a hat?"},"tags":["seq:1"],"metadata":{"k":"v"},"kwargs":{}}';
  const output = '{"outputs":{"answer":"no"},"kwargs":{"tags":["seq:1"]}}';
  const chain = entity('task', {
    'traceloop.entity.input': input,
    'traceloop.entity.output': output,
    'gen_ai.task.input': input,
    'gen_ai.task.output': output,
    'gen_ai.task.status': 'success',
  });
  const texts = read(chain);
  expect(texts).toContain('step_input: a hat?');
  expect(texts).toContain('step_output: no');
  expect(texts.join('\n')).not.toMatch(/seq:1|"k"/);
});

it('a tool: on its entity and, the same, on the call', () => {
  const input = `{"input_str":"{'q': 'hat'}","tags":[],"metadata":{},"inputs":{"q":"hat"},"kwargs":{}}`;
  const output = '{"output":"no hats","kwargs":{"tags":[]}}';
  const tool = entity('tool', {
    'gen_ai.tool.name': 'search',
    'gen_ai.tool.call.arguments': input,
    'gen_ai.tool.call.result': output,
    'traceloop.entity.input': input,
    'traceloop.entity.output': output,
  });
  expect(read(tool).toSorted()).toEqual([
    'tool_args: hat',
    'tool_args: {"q":"hat"}',
    "tool_args: {'q': 'hat'}",
    'tool_name: search',
    'tool_result: no hats',
  ]);
});

it('a retriever: query and documents', () => {
  const retriever = entity('task', {
    'gen_ai.operation.name': 'vector_db_retrieve',
    'traceloop.entity.input': '{"query":"hats","tags":[],"metadata":{}}',
    'traceloop.entity.output':
      '{"documents":[{"page_content":"about hats","metadata":{"source":"wiki"}}],"count":1}',
  });
  expect(extractSurfaces([retriever]).kinds).toEqual(['retriever']);
  const texts = read(retriever);
  expect(texts).toContain('step_input: hats');
  expect(texts.join('\n')).toMatch(/tool_result: about hats\nwiki/);
});

it('a value with an unknown member has no envelope, and is read whole', () => {
  const tool = entity('tool', {
    'traceloop.entity.output': '{"output":"fine","kwargs":{},"extra":"evil"}',
  });
  expect(read(tool).join('\n')).toContain('evil');
});
