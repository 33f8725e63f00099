import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../src/model/json.ts';
import type { Step } from '../../../../src/model/steps.ts';
import { log, operation, span } from '../../steps.ts';
import { extractSurfaces } from '../extract-surfaces.ts';

function read(...steps: Step[]) {
  return extractSurfaces(steps).texts.map(({ surface, text }) => `${surface}: ${text}`);
}

const chat = (attributes: JsonObject) => operation('chat', attributes);
const tool = (attributes: JsonObject) => operation('execute_tool', attributes);
const event = (step: Step, name: string, attributes: JsonObject): Step => ({
  ...step,
  events: [{ name, attributes }],
});

describe('OpenTelemetry GenAI', () => {
  const input = [{ role: 'user', parts: [{ type: 'text', content: 'in' }] }];
  const output = [
    { role: 'assistant', parts: [{ type: 'text', content: 'out' }], finish_reason: 'stop' },
  ];

  it.each<[string, Step, string[]]>([
    [
      'messages',
      chat({ 'gen_ai.input.messages': input, 'gen_ai.output.messages': output }),
      ['step_input: in', 'agent_output: out'],
    ],
    [
      'messages in a string',
      chat({ 'gen_ai.input.messages': JSON.stringify(input) }),
      ['step_input: in'],
    ],
    [
      'system instructions are not matched',
      chat({ 'gen_ai.system_instructions': [{ type: 'text', content: 'x' }] }),
      [],
    ],
    ['tool definitions are not matched', chat({ 'gen_ai.tool.definitions': [{ name: 'x' }] }), []],
    [
      'a tool call',
      tool({
        'gen_ai.tool.name': 'run',
        'gen_ai.tool.call.arguments': '{"a":"ls"}',
        'gen_ai.tool.call.result': 'done',
      }),
      ['tool_name: run', 'tool_args: {"a":"ls"}', 'tool_args: ls', 'tool_result: done'],
    ],
    [
      'structured arguments',
      tool({ 'gen_ai.tool.call.arguments': { a: 'ls' } }),
      ['tool_args: {"a":"ls"}', 'tool_args: ls'],
    ],
    [
      'ids and descriptions are not matched',
      tool({ 'gen_ai.tool.call.id': 'x', 'gen_ai.tool.description': 'y', 'gen_ai.tool.type': 'z' }),
      [],
    ],
    [
      'a retrieval query',
      operation('retrieval', { 'gen_ai.retrieval.query.text': 'q' }),
      ['step_input: q'],
    ],
    [
      'retrieved documents',
      operation('retrieval', { 'gen_ai.retrieval.documents': [{ content: 'c', score: 1 }] }),
      ['tool_result: [{"content":"c","score":1}]', 'tool_result: c'],
    ],
    [
      'memory found',
      operation('search_memory', {
        'gen_ai.memory.query.text': 'q',
        'gen_ai.memory.records': '[{"content":"c"}]',
      }),
      ['step_input: q', 'tool_result: [{"content":"c"}]', 'tool_result: c'],
    ],
    [
      'memory written',
      operation('create_memory', { 'gen_ai.memory.records': 'c' }),
      ['tool_args: c'],
    ],
    [
      'prompt variables',
      span({ attributes: { 'gen_ai.prompt.variable.city': 'v' } }),
      ['tool_args: v'],
    ],
    [
      'anything on a tool step',
      tool({ 'gen_ai.input.messages': 'in', 'gen_ai.output.messages': 'out' }),
      ['tool_args: in', 'tool_result: out'],
    ],
    [
      'as a span event',
      event(chat({}), 'gen_ai.client.inference.operation.details', {
        'gen_ai.input.messages': JSON.stringify(input),
      }),
      ['step_input: in'],
    ],
    [
      'as a log record',
      log({
        name: 'gen_ai.client.inference.operation.details',
        attributes: { 'gen_ai.input.messages': input },
      }),
      ['step_input: in'],
    ],
    [
      'as a log record with a body',
      log({
        name: 'gen_ai.client.inference.operation.details',
        body: { 'gen_ai.output.messages': output },
      }),
      ['agent_output: out'],
    ],
  ])('%s', (_name, step, expected) => {
    expect(read(step)).toEqual(expected);
  });
});

describe('OpenTelemetry GenAI, deprecated attributes', () => {
  it.each<[string, Step, string[]]>([
    [
      'on a model step',
      chat({ 'gen_ai.prompt': 'in', 'gen_ai.completion': 'out' }),
      ['step_input: in', 'agent_output: out'],
    ],
    [
      'on a tool step',
      tool({ 'gen_ai.prompt': '{"a":"ls"}', 'gen_ai.completion': 'out' }),
      ['tool_args: {"a":"ls"}', 'tool_args: ls', 'tool_result: out'],
    ],
    [
      'on a chain',
      operation('chain', { 'gen_ai.prompt': 'in', 'gen_ai.completion': 'out' }),
      ['step_input: in', 'step_output: out'],
    ],
    [
      'holding messages',
      chat({ 'gen_ai.prompt': '[{"role":"system","content":"s"},{"role":"user","content":"in"}]' }),
      ['step_input: in'],
    ],
    [
      'as content events',
      event(chat({}), 'gen_ai.content.prompt', { 'gen_ai.prompt': 'in' }),
      ['step_input: in'],
    ],
    [
      'as completion events',
      event(chat({}), 'gen_ai.content.completion', { 'gen_ai.completion': 'out' }),
      ['agent_output: out'],
    ],
  ])('%s', (_name, step, expected) => {
    expect(read(step)).toEqual(expected);
  });
});

describe('OpenTelemetry GenAI, deprecated message events', () => {
  const call = { id: '1', type: 'function', function: { name: 'run', arguments: '{"a":"ls"}' } };
  const called = ['tool_name: run', 'tool_args: {"a":"ls"}', 'tool_args: ls'];

  it.each<[string, string, JsonObject, string[]]>([
    ['user', 'gen_ai.user.message', { content: 'x' }, ['step_input: x']],
    ['system', 'gen_ai.system.message', { content: 'x' }, []],
    ['a role that says otherwise', 'gen_ai.user.message', { content: 'x', role: 'developer' }, []],
    [
      'assistant',
      'gen_ai.assistant.message',
      { content: 'x', tool_calls: [call] },
      ['agent_output: x', ...called],
    ],
    ['tool', 'gen_ai.tool.message', { content: 'x', id: '1' }, ['tool_result: x']],
    [
      'choice',
      'gen_ai.choice',
      { index: 0, finish_reason: 'stop', message: { content: 'x', role: 'assistant' } },
      ['agent_output: x'],
    ],
    [
      'choice, calls inside the message',
      'gen_ai.choice',
      { index: 0, message: { tool_calls: [call] } },
      called,
    ],
    [
      'choice, calls beside the message',
      'gen_ai.choice',
      { index: 0, message: { content: 'x' }, tool_calls: [call] },
      ['agent_output: x', ...called],
    ],
    ['choice, plain text', 'gen_ai.choice', { message: 'x' }, ['agent_output: x']],
    [
      'Gemini contents',
      'gen_ai.choice',
      { content: { role: 'model', parts: [{ text: 'x' }] } },
      ['agent_output: x'],
    ],
    [
      'parts under the old names',
      'gen_ai.user.message',
      { role: 'user', parts: [{ type: 'text', content: 'x' }] },
      ['step_input: x'],
    ],
    [
      'Bedrock blocks',
      'gen_ai.user.message',
      { content: '[{"text":"x"}]' },
      ['step_input: x', 'step_input: [{"text":"x"}]'],
    ],
    [
      '.NET content attribute',
      'gen_ai.choice',
      { 'gen_ai.event.content': '{"index":0,"message":{"content":"x"}}' },
      ['agent_output: x'],
    ],
  ])('%s', (_name, name, content, expected) => {
    expect(read(event(chat({}), name, content))).toEqual(expected);
    expect(read(log({ name, body: content }))).toEqual(expected);
    // A body in a string may be a user’s input: it is also read whole.
    const written = read(log({ name, body: JSON.stringify(content) }));
    expect(written.slice(0, expected.length)).toEqual(expected);
    expect(written.length > 0).toBe(name !== 'gen_ai.system.message');
    expect(read(log({ attributes: { 'event.name': name }, body: content }))).toEqual(expected);
  });

  it('Strands: arguments and result of a tool span', () => {
    const strands = tool({ 'gen_ai.system': 'strands-agents', 'gen_ai.tool.name': 'run' });
    const message = { role: 'tool', content: '{"a":"ls"}', id: '1' };
    expect(read(event(strands, 'gen_ai.tool.message', message))).toEqual(called);
    expect(read(event(strands, 'gen_ai.choice', { message: '[{"text":"x"}]', id: '1' }))).toEqual([
      'tool_name: run',
      'tool_result: [{"text":"x"}]',
      'tool_result: x',
    ]);
    const other = tool({ 'gen_ai.tool.name': 'run' });
    expect(read(event(other, 'gen_ai.tool.message', message))).toEqual([
      'tool_name: run',
      'tool_result: {"a":"ls"}',
      'tool_result: ls',
    ]);
  });

  it('reads a message that a log record has in its attributes', () => {
    const attributes = { 'event.name': 'gen_ai.user.message', 'gen_ai.system': 'm', content: 'x' };
    expect(read(log({ attributes }))).toEqual(['step_input: x']);
    expect(read(log({ attributes, body: 'gen_ai.user.message' }))).toEqual(['step_input: x']);
    const { content: _, ...withheld } = attributes;
    expect(read(log({ attributes: withheld }))).toEqual([]);
    expect(read(event(chat({}), 'gen_ai.user.message', withheld))).toEqual([]);
  });

  it('does not let an attribute pass for the stored form of bytes', () => {
    const message = { content: 'x', $bytes: 'aGk=' };
    expect(read(event(chat({}), 'gen_ai.user.message', message))).toEqual([
      'step_input: x',
      'step_input: aGk=',
    ]);
  });
});

describe('OpenTelemetry infrastructure', () => {
  it.each<[string, Step, string[]]>([
    [
      'db.query.text',
      span({ attributes: { 'db.query.text': 'SELECT 1' } }),
      ['query_text: SELECT 1'],
    ],
    [
      'db.statement',
      span({ attributes: { 'db.statement': 'SELECT 1' } }),
      ['query_text: SELECT 1'],
    ],
    [
      'both, the same',
      span({ attributes: { 'db.query.text': 'SELECT 1', 'db.statement': 'SELECT 1' } }),
      ['query_text: SELECT 1'],
    ],
    [
      'query parameters',
      span({ attributes: { 'db.query.parameter.0': 'p', 'db.operation.parameter.x': 'q' } }),
      ['query_text: p', 'query_text: q'],
    ],
    [
      'statement parameters',
      span({ attributes: { 'db.statement.parameters': "('p',)" } }),
      ["query_text: ('p',)"],
    ],
    ['an error status', span({ statusCode: 2, statusMessage: 'bad' }), ['step_output: bad']],
    [
      'an error status of a tool',
      { ...tool({}), statusCode: 2, statusMessage: 'bad' },
      ['tool_result: bad'],
    ],
    ['a status that is no error', span({ statusCode: 1, statusMessage: 'fine' }), []],
    [
      'an exception',
      event(span(), 'exception', { 'exception.message': 'bad', 'exception.stacktrace': 'at x' }),
      ['step_output: bad'],
    ],
    [
      'an exception of a tool, sent twice',
      {
        ...event(tool({}), 'exception', { 'exception.message': 'bad' }),
        statusCode: 2,
        statusMessage: 'bad',
      },
      ['tool_result: bad'],
    ],
    [
      'an exception as log record',
      log({ name: 'exception', attributes: { 'exception.message': 'bad' } }),
      ['step_output: bad'],
    ],
    ['an error message', span({ attributes: { 'error.message': 'bad' } }), ['step_output: bad']],
  ])('%s', (_name, step, expected) => {
    expect(read(step)).toEqual(expected);
  });
});

describe('step kinds', () => {
  const completion = (attributes: JsonObject) =>
    read(span({ attributes: { ...attributes, 'gen_ai.completion': 'x' } }))[0];
  it.each<[JsonObject, string]>([
    [{ 'gen_ai.tool.call.id': '1' }, 'tool_result: x'],
    [{ 'gen_ai.tool.call.id': '1', 'gen_ai.operation.name': 'chat' }, 'agent_output: x'],
    [{ 'mcp.method.name': 'tools/call' }, 'tool_result: x'],
    [{ 'mcp.method.name': 'resources/read' }, 'agent_output: x'],
    [{ 'gen_ai.request.model': 'm' }, 'agent_output: x'],
    [{ 'gen_ai.operation.name': 'vector_db_retrieve' }, 'tool_result: x'],
    [{ 'gen_ai.operation.name': 'toString' }, 'agent_output: x'],
  ])('%o', (attributes, expected) => {
    expect(completion(attributes)).toBe(expected);
  });
});

describe('extractSurfaces', () => {
  it('reads a log record as its span would be read', () => {
    const failure = log({ name: 'exception', attributes: { 'exception.message': 'bad' } });
    expect(read(tool({}), failure)).toEqual(['tool_result: bad']);
    expect(read(tool({}), { ...failure, spanId: null })).toEqual(['step_output: bad']);
  });

  it('keeps the order of steps, and has a text once per step and surface', () => {
    const { texts } = extractSurfaces([
      chat({ 'gen_ai.input.messages': 'a', 'gen_ai.prompt': 'a' }),
      span(),
      chat({ 'gen_ai.input.messages': 'a', 'gen_ai.output.messages': 'a' }),
    ]);
    expect(texts).toEqual([
      { step: 0, surface: 'step_input', text: 'a' },
      { step: 2, surface: 'step_input', text: 'a' },
      { step: 2, surface: 'agent_output', text: 'a' },
    ]);
  });

  it('reads a log record without an event as what came out of its span', () => {
    const plain = log({ body: 'text' });
    expect(read(plain)).toEqual(['step_output: text']);
    expect(read(tool({}), plain)).toEqual(['tool_result: text']);
    expect(read({ ...plain, spanId: null })).toEqual([]);
  });

  it('does not match a log record of an event that is not known', () => {
    const named = { attributes: { 'event.name': 'app.log' }, body: 'text' };
    expect(read(log({ name: 'app.log', body: 'text' }), log(named))).toEqual([]);
  });

  it('never throws, whatever the values are', () => {
    const keys = [
      'gen_ai.input.messages',
      'gen_ai.tool.call.result',
      'gen_ai.completion',
      'db.query.text',
    ];
    const names = ['gen_ai.choice', 'gen_ai.user.message', 'gen_ai.content.prompt', 'exception'];
    const value = fc.jsonValue() as fc.Arbitrary<JsonValue>;
    fc.assert(
      fc.property(
        value,
        fc.constantFrom(...keys),
        fc.constantFrom(...names),
        (stored, key, name) => {
          const content = { [key]: stored, content: stored, message: stored, tool_calls: stored };
          const { texts } = extractSurfaces([
            span({ attributes: { [key]: stored }, events: [{ name, attributes: content }] }),
            log({ name, body: stored }),
            log({ name, body: content }),
          ]);
          expect(texts.every(({ text }) => text.trim() !== '')).toBe(true);
        },
      ),
    );
  });
});

it.each(['create_memory_store', 'delete_memory_store', 'upsert_memory', 'apply_guardrail'])(
  '%s is no model call, whatever model it names',
  (name) => {
    const step = operation(name, { 'gen_ai.request.model': 'm', 'gen_ai.tool.name': 't' });
    expect(extractSurfaces([step]).kinds).toEqual(['other']);
  },
);
