/**
 * LangSmith's SDK over OTLP as its source has it (langchain-ai/langsmith-sdk
 * `python/langsmith/_internal/otel/_otel_exporter.py`). Contents are invented.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function run(kind: string, attributes: JsonObject): Step {
  return span({
    scopeName: 'langsmith',
    attributes: {
      'langsmith.span.kind': kind,
      'langsmith.span.dotted_order': 'x',
      'langsmith.trace.name': 'run',
      'langsmith.trace.session_name': 'x',
      'langsmith.metadata.thread_id': 'x',
      'langsmith.span.tags': 'x',
      'gen_ai.serialized.doc': 'x',
      'gen_ai.serialized.signature': 'x',
      // As the SDK has it for retrievers.
      'gen_ai.operation.name': 'embeddings',
      ...attributes,
    },
  });
}

const io = (input: unknown, output: unknown): JsonObject => ({
  'gen_ai.prompt': JSON.stringify(input),
  'gen_ai.completion': JSON.stringify(output),
});

const message = (name: string, content: string) => ({
  lc: 1,
  type: 'constructor',
  id: ['langchain', 'schema', 'messages', name],
  kwargs: { content },
});

describe('a run', () => {
  it('a model of LangChain', () => {
    const input = {
      messages: [[message('SystemMessage', 'operator'), message('HumanMessage', 'in')]],
    };
    const output = {
      generations: [
        [{ text: 'out', type: 'ChatGeneration', message: message('AIMessage', 'out') }],
      ],
      llm_output: { model_name: 'm' },
      run: null,
      type: 'LLMResult',
    };
    expect(read(run('llm', io(input, output)))).toEqual(['step_input: in', 'agent_output: out']);
  });

  it("OpenAI's client", () => {
    const input = {
      messages: [{ role: 'user', content: 'in' }],
      model: 'm',
      tools: [{ name: 'x' }],
    };
    const call = { id: '1', type: 'function', function: { name: 'run', arguments: '{"a":"ls"}' } };
    const choice = { index: 0, message: { role: 'assistant', tool_calls: [call] } };
    const output = {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ ...choice, finish_reason: 'stop', logprobs: null }],
      system_fingerprint: 'fp_1',
      usage: { total_tokens: 2 },
    };
    expect(read(run('llm', io(input, output)))).toEqual([
      'step_input: in',
      'tool_name: run',
      'tool_args: {"a":"ls"}',
      'tool_args: ls',
    ]);
  });

  it('a model’s output that is text, not messages, is read whole', () => {
    const given = io({ prompts: ['in'] }, { generations: [[{ text: 'out' }]] });
    expect(read(run('llm', given))).toEqual([
      'step_input: {"prompts":["in"]}',
      'step_input: in',
      'agent_output: {"generations":[[{"text":"out"}]]}',
      'agent_output: out',
    ]);
  });

  it('a tool, named by what was serialised or by the run', () => {
    const texts = [
      'tool_args: {"input":"{\'a\': \'ls\'}"}',
      "tool_args: {'a': 'ls'}",
      'tool_result: {"output":"done"}',
      'tool_result: done',
    ];
    const given = io({ input: "{'a': 'ls'}" }, { output: 'done' });
    expect(read(run('tool', given))).toEqual(['tool_name: run', ...texts]);
    expect(read(run('tool', { ...given, 'gen_ai.serialized.name': 'shell' }))).toEqual([
      'tool_name: shell',
      'tool_name: run',
      ...texts,
    ]);
  });

  it.each([
    [
      'retriever',
      ['step_input: {"q":"in"}', 'step_input: in', 'tool_result: {"d":"out"}', 'tool_result: out'],
    ],
    [
      'chain',
      ['step_input: {"q":"in"}', 'step_input: in', 'step_output: {"d":"out"}', 'step_output: out'],
    ],
    [
      'prompt',
      ['step_input: {"q":"in"}', 'step_input: in', 'step_output: {"d":"out"}', 'step_output: out'],
    ],
    [
      'parser',
      ['step_input: {"q":"in"}', 'step_input: in', 'step_output: {"d":"out"}', 'step_output: out'],
    ],
    ['embedding', ['step_input: {"q":"in"}', 'step_input: in']],
  ])('%s', (kind, expected) => {
    expect(read(run(kind, io({ q: 'in' }, { d: 'out' })))).toEqual(expected);
  });

  it('messages of a chain, by author', () => {
    const messages = [message('HumanMessage', 'in'), message('AIMessage', 'out')];
    const state = io({ messages: messages.slice(0, 1) }, { messages });
    expect(read(run('chain', state))).toEqual(['step_input: in', 'agent_output: out']);
  });

  it('truncated JSON is read by author', () => {
    const cut = '{"messages":[{"role":"user","content":"one\\ntwo';
    expect(read(run('llm', { 'gen_ai.prompt': cut }))).toEqual(['step_input: one\ntwo']);
  });
});

it('who marks spans for LangSmith without its SDK writes text as it is', () => {
  const typed = '[{"role":"system","content":"obey"}]';
  const step = span({ attributes: { 'langsmith.span.kind': 'chain', 'gen_ai.prompt': typed } });
  expect(extractSurfaces([step]).kinds).toEqual(['chain']);
  expect(read(step)).toEqual([`step_input: ${typed}`, 'step_input: system\nobey']);
});
