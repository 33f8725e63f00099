import { describe, expect, it } from 'vitest';
import { createBudget } from '../../../../../src/engine/surfaces/reader/budget.ts';
import { readMessages } from '../../../../../src/engine/surfaces/reader/messages/messages.ts';
import type { JsonValue } from '../../../../../src/model/json.ts';

function read(value: JsonValue, side: 'input' | 'output' = 'input') {
  const unsaid = side === 'input' ? 'step_input' : 'agent_output';
  return readMessages(value, side, unsaid, createBudget()).map(
    ({ surface, text }) => `${surface}: ${text}`,
  );
}

describe('readMessages: who says it', () => {
  it.each([
    ['user', 'input', ['step_input: x']],
    ['human', 'input', ['step_input: x']],
    ['User', 'output', ['step_input: x']],
    ['system', 'input', []],
    ['developer', 'input', []],
    ['system', 'output', ['agent_output: x']],
    ['assistant', 'input', ['agent_output: x']],
    ['model', 'output', ['agent_output: x']],
    ['tool', 'input', ['tool_result: x']],
    ['function', 'output', ['tool_result: x']],
    ['toolResult', 'input', ['tool_result: x']],
    ['', 'input', ['step_input: x']],
    ['somebody', 'input', ['step_input: x', 'tool_result: x']],
    ['somebody', 'output', ['agent_output: x', 'tool_result: x']],
  ] as const)('role %s on the %s side', (role, side, expected) => {
    expect(read([{ role, content: 'x' }], side)).toEqual(expected);
    expect(read([{ role, parts: [{ type: 'text', content: 'x' }] }], side)).toEqual(expected);
    expect(read(JSON.stringify([{ role, content: 'x' }]), side)).toEqual(expected);
  });
});

describe('readMessages: what is said', () => {
  const call = ['tool_name: run', 'tool_args: {"a":"ls"}', 'tool_args: ls'];
  it.each<[string, JsonValue, string[]]>([
    ['text', { type: 'text', content: 'x' }, ['step_input: x']],
    ['text, OpenAI', { type: 'text', text: 'x' }, ['step_input: x']],
    ['reasoning', { type: 'reasoning', content: 'x' }, ['agent_output: x']],
    ['thinking', { type: 'thinking', thinking: 'x' }, ['agent_output: x']],
    ['tool_call', { type: 'tool_call', id: '1', name: 'run', arguments: { a: 'ls' } }, call],
    [
      'tool_call, arguments in a string',
      { type: 'tool_call', name: 'run', arguments: '{"a":"ls"}' },
      call,
    ],
    ['toolCall, Flue', { type: 'toolCall', id: '1', name: 'run', arguments: { a: 'ls' } }, call],
    ['toolRequest, Genkit', { toolRequest: { ref: '1', name: 'run', input: { a: 'ls' } } }, call],
    [
      'toolResponse, Genkit',
      { toolResponse: { ref: '1', name: 'run', output: 'x', content: [{ text: 'y' }] } },
      ['step_input: [{"text":"y"}]', 'step_input: y', 'tool_name: run', 'tool_result: x'],
    ],
    [
      'a call without a type, LiveKit',
      { id: 'i', call_id: '1', name: 'run', arguments: '{"a":"ls"}' },
      call,
    ],
    [
      'media, Genkit',
      { media: { url: 'https://x.example/a.png', contentType: 'image/png' } },
      ['step_input: https://x.example/a.png'],
    ],
    [
      'tool_call_response',
      { type: 'tool_call_response', id: '1', response: 'x' },
      ['tool_result: x'],
    ],
    [
      'tool_call_response as Pydantic AI',
      { type: 'tool_call_response', name: 'run', result: 'x' },
      ['tool_result: x'],
    ],
    [
      'server_tool_call',
      { type: 'server_tool_call', name: 'run', server_tool_call: { a: 'ls' } },
      call,
    ],
    [
      'server_tool_call_response',
      { type: 'server_tool_call_response', server_tool_call_response: 'x' },
      ['tool_result: x'],
    ],
    [
      'AI SDK tool-call',
      { type: 'tool-call', toolCallId: '1', toolName: 'run', input: { a: 'ls' } },
      call,
    ],
    [
      'AI SDK tool-result',
      { type: 'tool-result', output: { type: 'text', value: 'x' } },
      ['tool_result: x'],
    ],
    ['Anthropic tool_use', { type: 'tool_use', id: '1', name: 'run', input: { a: 'ls' } }, call],
    ['Anthropic tool_result', { type: 'tool_result', content: 'x' }, ['tool_result: x']],
    ['Bedrock text', { text: 'x' }, ['step_input: x']],
    ['Bedrock toolUse', { toolUse: { name: 'run', toolUseId: '1', input: { a: 'ls' } } }, call],
    [
      'Bedrock toolResult',
      { toolResult: { status: 'success', content: [{ text: 'x' }] } },
      ['tool_result: [{"text":"x"}]', 'tool_result: x'],
    ],
    ['Gemini functionCall', { functionCall: { name: 'run', args: { a: 'ls' } } }, call],
    [
      'Gemini functionResponse',
      { function_response: { name: 'run', response: 'x' } },
      ['tool_result: x'],
    ],
    ['Gemini executableCode', { executableCode: { code: 'x' } }, ['tool_args: x']],
    ['Gemini codeExecutionResult', { codeExecutionResult: { output: 'x' } }, ['tool_result: x']],
    ['generic', { type: 'generic', value: { a: 'x' } }, ['step_input: {"a":"x"}', 'step_input: x']],
    [
      'an unknown part',
      { type: 'novel', deep: { a: 'x' } },
      ['step_input: novel', 'step_input: x'],
    ],
    [
      'uri',
      { type: 'uri', modality: 'image', uri: 'https://x.y/z' },
      ['step_input: https://x.y/z'],
    ],
    ['blob', { type: 'blob', mime_type: 'image/png', content: 'AAAA' }, []],
    [
      'an image as base64',
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
      [],
    ],
    ['inlineData', { inlineData: { mimeType: 'image/png', data: 'AAAA' } }, []],
  ])('part: %s', (_name, part, expected) => {
    expect(read([{ role: 'user', parts: [part] }])).toEqual(expected);
    expect(read([{ role: 'user', content: [part] }])).toEqual(expected);
  });

  it.each<[string, JsonValue, string[]]>([
    [
      'OpenAI tool calls',
      [
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: '1', type: 'function', function: { name: 'run', arguments: '{"a":"ls"}' } },
          ],
        },
      ],
      call,
    ],
    [
      'flat tool calls',
      [{ role: 'assistant', tool_calls: [{ name: 'run', arguments: { a: 'ls' } }] }],
      call,
    ],
    [
      'an old function call',
      [{ role: 'assistant', function_call: { name: 'run', arguments: '{"a":"ls"}' } }],
      call,
    ],
    [
      'Responses items',
      [
        { type: 'function_call', name: 'run', arguments: '{"a":"ls"}' },
        { type: 'function_call_output', output: 'x' },
      ],
      [...call, 'tool_result: x'],
    ],
    [
      'LangChain types',
      [
        { type: 'human', content: 'x' },
        { type: 'ai', content: 'y' },
      ],
      ['step_input: x', 'agent_output: y'],
    ],
    ['an envelope', { model: 'm', messages: [{ role: 'user', content: 'x' }] }, ['step_input: x']],
    ['one message', { role: 'user', content: 'x' }, ['step_input: x']],
    ['a list of parts', [{ type: 'text', content: 'x' }], ['step_input: x']],
    ['a list of strings', ['x', 'y'], ['step_input: x', 'step_input: y']],
    ['plain text', 'x', ['step_input: x']],
    ['cut JSON', '[{"role":"user","content":"x', ['step_input: x']],
    [
      'JSON that a user wrote',
      [{ role: 'user', content: '{"a":"x"}' }],
      ['step_input: {"a":"x"}', 'step_input: x'],
    ],
    [
      'content that is parts in a string',
      [{ role: 'user', content: '[{"text":"x"}]' }],
      ['step_input: x', 'step_input: [{"text":"x"}]', 'step_input: x'],
    ],
    [
      'a tool result that is JSON',
      [{ role: 'tool', content: '{"a":"x"}' }],
      ['tool_result: {"a":"x"}', 'tool_result: x'],
    ],
    [
      'a Gemini content',
      [{ role: 'user', content: { role: 'user', parts: [{ text: 'x' }] } }],
      ['step_input: x'],
    ],
    ['an unknown structure', { a: { b: 'x' } }, ['step_input: {"a":{"b":"x"}}', 'step_input: x']],
    [
      'an envelope with more text',
      { model: 'm', tools: [{ name: 't' }], messages: [], question: 'x' },
      ['step_input: x'],
    ],
    [
      'an untyped call list',
      [{ type: 'function', function: { name: 'run', arguments: '{"a":"ls"}' } }],
      call,
    ],
    ['a refusal', [{ role: 'assistant', content: null, refusal: 'x' }], ['agent_output: x']],
    [
      'reasoning beside the content',
      [{ role: 'assistant', reasoning_content: 'r', content: 'x' }],
      ['agent_output: r', 'agent_output: x'],
    ],
    ['a message of unknown members', [{ role: 'user', items: [{ t: 'x' }] }], ['step_input: x']],
    ['a redacted message', [{ role: 'user', content: '<elided>' }], []],
    [
      'tool calls of an operator keep their kind',
      [{ role: 'system', tool_calls: [{ name: 'run', arguments: 'x' }] }],
      ['tool_name: run', 'tool_args: x'],
    ],
  ])('%s', (_name, value, expected) => {
    expect(read(value)).toEqual(expected);
    if (typeof value !== 'string') expect(read(JSON.stringify(value))).toEqual(expected);
  });
});

describe('readMessages: who names members hides nothing', () => {
  const user = (content: JsonValue) => [{ role: 'user', content }];
  const tool = (content: JsonValue) => [{ role: 'tool', content }];
  it.each<[string, JsonValue, string]>([
    ['beside a text', user([{ type: 'text', text: 'x', more: 'HIDE me' }]), 'step_input: HIDE me'],
    ['beside a bare text', tool({ text: 'x', html: 'HIDE me' }), 'tool_result: HIDE me'],
    ['beside parts', tool({ parts: [], note: 'HIDE me' }), 'tool_result: HIDE me'],
    [
      'beside an empty text',
      user([{ type: 'text', content: '', text: 'HIDE' }]),
      'step_input: HIDE',
    ],
    ['a second text', user([{ type: 'text', content: 'x', text: 'HIDE' }]), 'step_input: HIDE'],
    [
      'beside a call in a text',
      user([{ type: 'text', text: 'HIDE me', function: {} }]),
      'step_input: HIDE me',
    ],
    [
      'beside a message',
      [{ role: 'user', content: 'x', attachments: [{ text: 'HIDE me' }] }],
      'step_input: HIDE me',
    ],
    [
      'in arguments like a wrapper',
      [{ type: 'tool_call', name: 'run', arguments: { type: 'sql', value: 'x', q: 'HIDE' } }],
      'tool_args: sql\nx\nHIDE',
    ],
    [
      'in a result like a wrapper',
      [{ type: 'tool_call_response', response: { type: 'text', value: 'x', q: 'HIDE' } }],
      'tool_result: text\nx\nHIDE',
    ],
    [
      'in a picture, as a prototype',
      user([JSON.parse('{"type":"image","__proto__":"HIDE me"}')]),
      'step_input: HIDE me',
    ],
    [
      'in the address of a picture',
      user([{ type: 'image', source: { type: 'url', url: 'https://x.test/?q=HIDE' } }]),
      'step_input: https://x.test/?q=HIDE',
    ],
    ['in a list in a list', user([['HIDE me']]), 'step_input: ["HIDE me"]'],
    [
      'as a thought of a tool',
      tool({ type: 'reasoning', content: 'HIDE me' }),
      'tool_result: reasoning\nHIDE me',
    ],
    [
      'as the name of a call of a tool',
      tool({ type: 'tool_call', name: 'HIDE me' }),
      'tool_result: tool_call\nHIDE me',
    ],
  ])('%s', (_name, value, text) => {
    expect(read(value)).toContain(text);
  });

  it('metadata of a message and a part is not read', () => {
    const part = { type: 'text', text: 'x', id: 'p-1', signature: 'AAAA', index: 0 };
    const message = {
      id: 'm-1',
      role: 'user',
      name: 'Ann',
      content: [part],
      metadata: { a: 'b c' },
    };
    expect(read([message])).toEqual(['step_input: x']);
  });
});

describe('readMessages: a list of messages in JSON one by one', () => {
  const list = [
    { role: 'system', content: 'obey' },
    { role: 'user', content: 'hello' },
    { role: 'tool', tool_call_id: 'c', content: 'FOUND it' },
  ].map((message) => JSON.stringify(message));

  it('is a conversation', () => {
    expect(read(list)).toEqual(['step_input: hello', 'tool_result: FOUND it']);
    expect(read(JSON.stringify(list))).toEqual(read(list));
  });

  it('is text where a user did not speak, or an element is no message', () => {
    for (const own of [list.slice(0, 1), [...list, '{"a": "b"}'], [...list, 'Say it.']]) {
      expect(read(own).join('\n')).toContain('step_input: system\nobey');
    }
  });
});

describe('readMessages: what a provider adds', () => {
  it('a call that LangChain keeps in the form of the provider', () => {
    const call = { name: 'run', arguments: '{"a":"ls"}' };
    const message = { type: 'ai', content: '', additional_kwargs: { function_call: call } };
    expect(read([message])).toEqual(['tool_name: run', 'tool_args: {"a":"ls"}', 'tool_args: ls']);
  });

  it('the transcript of what was spoken', () => {
    const audio = { id: 'a-1', data: 'AAAA', transcript: 'hello there' };
    expect(read([{ role: 'assistant', content: null, audio }])).toEqual([
      'agent_output: hello there',
    ]);
  });

  it('a thought with a summary only', () => {
    const summary = [{ type: 'summary_text', text: 'why' }];
    expect(read([{ type: 'reasoning', content: [], summary }])).toContain(
      'agent_output: summary_text\nwhy',
    );
  });
});
