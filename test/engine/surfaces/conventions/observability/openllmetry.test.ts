/**
 * OpenLLMetry (traceloop/openllmetry `packages/opentelemetry-semantic-conventions-ai`,
 * `packages/traceloop-sdk`, `packages/opentelemetry-instrumentation-{openai,cohere,mcp}`): its older,
 * flattened messages, decorated functions, MCP. Contents are invented.
 */
import { describe, expect, it, test } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function entity(kind: string, attributes: JsonObject = {}): Step {
  return span({ attributes: { 'traceloop.span.kind': kind, ...attributes } });
}

test.each([
  ['workflow', 'agent'],
  ['agent', 'agent'],
  ['task', 'chain'],
  ['tool', 'tool'],
  ['unknown', 'other'],
])('traceloop.span.kind %s is %s', (kind, expected) => {
  expect(extractSurfaces([entity(kind)]).kinds).toEqual([expected]);
});

describe('flattened messages', () => {
  const llm = (attributes: JsonObject) =>
    span({ attributes: { 'llm.request.type': 'chat', ...attributes } });

  it('prompt and completion by author, with calls and what came of them', () => {
    const chat = llm({
      'gen_ai.request.model': 'm-1',
      'llm.request.functions.0.description': 'Searches.',
      'gen_ai.prompt.0.role': 'system',
      'gen_ai.prompt.0.content': 'You are a shop.',
      'gen_ai.prompt.1.role': 'user',
      'gen_ai.prompt.1.content': 'a hat, please',
      'gen_ai.prompt.2.role': 'assistant',
      'gen_ai.prompt.2.tool_calls.0.id': 'c-1',
      'gen_ai.prompt.2.tool_calls.0.name': 'search',
      'gen_ai.prompt.2.tool_calls.0.arguments': '{"q":"hat"}',
      'gen_ai.prompt.3.role': 'tool',
      'gen_ai.prompt.3.tool_call_id': 'c-1',
      'gen_ai.prompt.3.content': 'no hats',
      'gen_ai.completion.0.role': 'assistant',
      'gen_ai.completion.0.finish_reason': 'stop',
      'gen_ai.completion.0.reasoning': 'Hm.',
      'gen_ai.completion.0.content': 'Sorry.',
    });
    expect(read(chat)).toEqual([
      'step_input: a hat, please',
      'tool_name: search',
      'tool_args: {"q":"hat"}',
      'tool_args: hat',
      'tool_result: no hats',
      'agent_output: Hm.',
      'agent_output: Sorry.',
    ]);
  });

  it('a prompt by the name of who said it', () => {
    expect(read(llm({ 'gen_ai.prompt.0.user': 'a hat, please' }))).toEqual([
      'step_input: a hat, please',
    ]);
  });

  it('content as a list of blocks in JSON', () => {
    const chat = llm({
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': '[{"type":"text","text":"a hat"}]',
    });
    expect(read(chat)).toEqual([
      'step_input: a hat',
      'step_input: [{"type":"text","text":"a hat"}]',
      'step_input: text\na hat',
    ]);
  });

  it('a refusal is said by the model; what its filter removed is no text', () => {
    expect(
      read(
        llm({
          'gen_ai.completion.0.role': 'assistant',
          'gen_ai.completion.0.refusal': 'I will not.',
          'gen_ai.completion.1.role': 'assistant',
          'gen_ai.completion.1.content': 'FILTERED',
        }),
      ),
    ).toEqual(['agent_output: I will not.']);
  });

  it('order is by number, and a gap loses nothing', () => {
    const chat = llm({
      'gen_ai.prompt.10.role': 'user',
      'gen_ai.prompt.10.content': 'second',
      'gen_ai.prompt.2.role': 'user',
      'gen_ai.prompt.2.content': 'first',
    });
    expect(read(chat)).toEqual(['step_input: first', 'step_input: second']);
  });

  it('a progress marker has no text', () => {
    const chat = { ...llm({}), events: [{ name: 'llm.content.completion.chunk', attributes: {} }] };
    expect(read(chat)).toEqual([]);
  });
});

describe('decorated functions', () => {
  it('a tool: arguments by position and name, then its output', () => {
    const tool = entity('tool', {
      'traceloop.entity.name': 'search',
      'traceloop.entity.input': '{"args":["hat"],"kwargs":{"colour":"red"}}',
      'traceloop.entity.output': '"no hats"',
    });
    expect(read(tool)).toEqual([
      'tool_args: ["hat"]',
      'tool_args: hat',
      'tool_args: {"colour":"red"}',
      'tool_args: red',
      'tool_result: "no hats"',
      'tool_result: no hats',
    ]);
  });

  it.each([
    ['workflow', 'agent_output'],
    ['agent', 'agent_output'],
    ['task', 'step_output'],
  ])('what a %s gives is %s', (kind, surface) => {
    const found = read(
      entity(kind, { 'traceloop.entity.input': 'go', 'traceloop.entity.output': 'done' }),
    );
    expect(found).toEqual(['step_input: go', `${surface}: done`]);
  });

  it('all members beside the arguments are read: a sender of members hides nothing', () => {
    const found = read(entity('tool', { 'traceloop.entity.input': '{"args":[],"note":"evil"}' }));
    expect(found.join('\n')).toContain('evil');
  });

  it('JSON that the SDK cut at its limit is read as far as it goes', () => {
    const found = read(entity('tool', { 'traceloop.entity.input': '{"args":["rm -rf /ho' }));
    expect(found).toContain('tool_args: rm -rf /ho');
  });
});

describe('MCP', () => {
  it('a call of a tool at the client', () => {
    const call = entity('tool', {
      'traceloop.entity.name': 'search',
      'traceloop.entity.input': '{"tool_name":"search","arguments":{"q":"hat"}}',
      'traceloop.entity.output': '{"result":[{"type":"text","content":"no hats"}]}',
    });
    const found = read(call);
    expect(found).toContain('tool_name: search');
    expect(found).toContain('tool_args: hat');
    expect(found.join('\n')).toMatch(/tool_result: .*no hats/);
  });

  it('what a server answers', () => {
    const server = entity('server', { 'mcp.response.value': '{"content":"no hats"}' });
    expect(read(server)).toContain('tool_result: no hats');
  });
});

describe('odd keys', () => {
  it('a message that is one value', () => {
    expect(read(span({ attributes: { 'gen_ai.prompt.0': 'hello' } }))).toEqual([
      'step_input: hello',
    ]);
  });

  it('a key of a thousand members', () => {
    const key = `gen_ai.prompt.0${'.a'.repeat(100_000)}`;
    const texts = read(span({ attributes: { [key]: 'hello' } }));
    expect(texts.some((text) => text.includes('hello'))).toBe(true);
  });
});
