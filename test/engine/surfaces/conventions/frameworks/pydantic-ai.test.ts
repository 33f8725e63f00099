/**
 * Pydantic AI, by the version of its instrumentation (pydantic/pydantic-ai
 * `pydantic_ai_slim/pydantic_ai/_instrumentation.py`, `_otel_messages.py`, v1.0.0
 * `models/instrumented.py`). Contents are invented.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

const ai = (name: string, attributes: JsonObject) =>
  span({ scopeName: 'pydantic-ai', name, attributes });

const called = ['tool_name: search', 'tool_args: {"q":"rain"}', 'tool_args: rain'];

describe('version 1', () => {
  const events = [
    {
      content: 'Be brief.',
      role: 'system',
      'gen_ai.message.index': 0,
      name: 'gen_ai.system.message',
    },
    {
      content: 'Will it rain?',
      role: 'user',
      'gen_ai.message.index': 1,
      name: 'gen_ai.user.message',
    },
    {
      role: 'assistant',
      tool_calls: [
        { id: '1', type: 'function', function: { name: 'search', arguments: '{"q":"rain"}' } },
      ],
      'gen_ai.message.index': 2,
      name: 'gen_ai.assistant.message',
    },
    {
      content: 'Rain at noon.',
      role: 'tool',
      id: '1',
      name: 'search',
      'gen_ai.message.index': 3,
      event: 'gen_ai.tool.message',
    },
  ].map(({ name, event, ...rest }) =>
    event === undefined ? { ...rest, 'event.name': name } : { ...rest, name, 'event.name': event },
  );
  const choice = {
    index: 0,
    message: { role: 'assistant', content: 'Yes, at noon.' },
    'event.name': 'gen_ai.choice',
  };
  const texts = [
    'step_input: Will it rain?',
    ...called,
    'tool_result: Rain at noon.',
    'agent_output: Yes, at noon.',
  ];

  it('a model call: events in an attribute', () => {
    const step = ai('chat gpt-4o', {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-4o',
      events: JSON.stringify([...events, choice]),
      model_request_parameters: '{"function_tools":[{"name":"search"}]}',
      'logfire.json_schema': '{"type":"object","properties":{"events":{"type":"array"}}}',
    });
    expect(read(step)).toEqual(texts);
  });

  it('an agent run: events, and its result once', () => {
    const step = ai('agent run', {
      agent_name: 'weather',
      model_name: 'gpt-4o',
      all_messages_events: JSON.stringify([
        ...events,
        { role: 'assistant', content: 'Yes, at noon.', 'event.name': 'gen_ai.assistant.message' },
      ]),
      final_result: 'Yes, at noon.',
      'logfire.msg': 'weather run',
    });
    expect(read(step)).toEqual(texts);
    expect(extractSurfaces([step]).kinds).toEqual(['agent']);
  });

  it('events without content have no text', () => {
    const step = ai('agent run', {
      all_messages_events: '[{"event.name":"gen_ai.user.message","role":"user"}]',
    });
    expect(read(step)).toEqual([]);
  });

  it('events of an unknown name are read whole', () => {
    const step = ai('chat x', { events: '[{"event.name":"other","content":"x"}]' });
    expect(read(step)).toEqual([
      'step_output: {"event.name":"other","content":"x"}',
      'step_output: other\nx',
    ]);
  });

  it('a tool', () => {
    const step = ai('running tool', {
      'gen_ai.tool.name': 'search',
      'gen_ai.tool.call.id': '1',
      tool_arguments: '{"q":"rain"}',
      tool_response: 'Rain at noon.',
      'logfire.msg': 'running tool: search',
    });
    expect(read(step)).toEqual([
      ...called.slice(1),
      'tool_result: Rain at noon.',
      'tool_name: search',
    ]);
    expect(extractSurfaces([step]).kinds).toEqual(['tool']);
  });
});

describe('version 2 and later', () => {
  const messages = [
    { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
    { role: 'user', parts: [{ type: 'text', content: 'Hello' }] },
    { role: 'assistant', parts: [{ type: 'text', content: 'Hi.' }], finish_reason: 'stop' },
    { role: 'user', parts: [{ type: 'text', content: 'Will it rain?' }] },
    {
      role: 'assistant',
      parts: [
        { type: 'thinking', content: 'I must look.' },
        { type: 'tool_call', id: '1', name: 'search', arguments: '{"q":"rain"}' },
      ],
    },
    {
      role: 'user',
      parts: [{ type: 'tool_call_response', id: '1', name: 'search', result: 'Rain at noon.' }],
    },
    { role: 'assistant', parts: [{ type: 'text', content: 'Yes, at noon.' }] },
  ];
  const now = [
    'step_input: Will it rain?',
    'agent_output: I must look.',
    ...called,
    'tool_result: Rain at noon.',
    'agent_output: Yes, at noon.',
  ];
  const all = ['step_input: Hello', 'agent_output: Hi.', ...now];
  const agent = (attributes: JsonObject) =>
    ai('invoke_agent weather', {
      'gen_ai.agent.name': 'weather',
      'gen_ai.agent.call.id': 'r-1',
      'pydantic_ai.all_messages': JSON.stringify(messages),
      final_result: 'Yes, at noon.',
      'gen_ai.system_instructions': '[{"type":"text","content":"Be brief."}]',
      metadata: '{"note":"not text"}',
      ...attributes,
    });

  it('an agent run: its conversation by author', () => {
    expect(read(agent({}))).toEqual(all);
    expect(extractSurfaces([agent({})]).kinds).toEqual(['agent']);
  });

  it('messages of earlier runs are left out', () => {
    expect(read(agent({ 'pydantic_ai.new_message_index': 3 }))).toEqual(now);
    expect(read(agent({ 'pydantic_ai.new_message_index': '3' }))).toEqual(now);
  });

  it('a number that is none of its messages leaves nothing out', () => {
    for (const index of [99, -1, 1.5, 'x']) {
      expect(read(agent({ 'pydantic_ai.new_message_index': index }))).toEqual(all);
    }
  });

  it('incomplete messages are read by author', () => {
    const cut = JSON.stringify(messages).slice(0, 130);
    const step = agent({ 'pydantic_ai.all_messages': cut, 'pydantic_ai.new_message_index': 3 });
    expect(read(step)).toEqual(['agent_output: Yes, at noon.']);
  });

  it('a structured result', () => {
    const step = ai('agent run', { final_result: '{"rain":true,"note":"take a coat"}' });
    expect(read(step)).toEqual([
      'agent_output: {"rain":true,"note":"take a coat"}',
      'agent_output: take a coat',
    ]);
  });

  it('a tool of version 3', () => {
    const step = ai('execute_tool search', {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'search',
      'gen_ai.tool.call.arguments': '{"q":"rain"}',
      'gen_ai.tool.call.result': 'Rain at noon.',
      'pydantic_ai.tool.deferral.name': 'ApprovalRequired',
    });
    expect(read(step)).toEqual([...called, 'tool_result: Rain at noon.']);
  });

  it('tools that run together are a chain', () => {
    expect(extractSurfaces([ai('running tools', {})]).kinds).toEqual(['chain']);
  });

  it('the same keys of others mean nothing', () => {
    const attributes = { events: 'a', tool_arguments: 'b', tool_response: 'c', final_result: 'd' };
    expect(read(span({ attributes }))).toEqual([]);
  });
});
