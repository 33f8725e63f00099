import { describe, expect, it } from 'vitest';
import { createBudget } from '../../../src/engine/surfaces/budget.ts';
import { readMessages } from '../../../src/engine/surfaces/messages.ts';
import type { JsonValue } from '../../../src/model.ts';

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
    ['somebody', 'output', ['agent_output: x']],
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
    ['cut JSON', '[{"role":"user","content":"x', ['step_input: [{"role":"user","content":"x']],
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
