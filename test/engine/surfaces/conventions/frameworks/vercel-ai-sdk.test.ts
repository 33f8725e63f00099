/**
 * The AI SDK's own telemetry (vercel/ai `packages/otel/src/legacy-open-telemetry.ts`,
 * `content/docs/03-ai-sdk-core/60-telemetry.mdx`). Contents are invented; the SDK itself runs in
 * `test/e2e/instrumentations`.
 */
import { expect, it, test } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function operation(id: string, attributes: JsonObject = {}): Step {
  return span({ scopeName: 'ai', attributes: { 'ai.operationId': id, ...attributes } });
}

test.each([
  ['ai.generateText', 'agent'],
  ['ai.streamText', 'agent'],
  ['ai.generateText.doGenerate', 'llm'],
  ['ai.streamText.doStream', 'llm'],
  ['ai.toolCall', 'tool'],
  ['ai.embed', 'other'],
])('%s is %s', (id, kind) => {
  expect(extractSurfaces([operation(id)]).kinds).toEqual([kind]);
});

it('the outer call: the prompt without the system part, and the answer', () => {
  const outer = operation('ai.generateText', {
    'ai.prompt': '{"system":"You are a shop.","prompt":"a hat, please"}',
    'ai.settings.maxRetries': 2,
    'ai.response.text': 'Here you are.',
  });
  expect(read(outer)).toEqual(['step_input: a hat, please', 'agent_output: Here you are.']);
});

it('the inner call: messages by author, calls and results', () => {
  const messages = [
    { role: 'system', content: 'You are a shop.' },
    { role: 'user', content: [{ type: 'text', text: 'a hat, please' }] },
    {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: '1', toolName: 'search', input: { q: 'hat' } }],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: '1',
          toolName: 'search',
          output: { type: 'text', value: 'no hats' },
        },
      ],
    },
  ];
  const inner = operation('ai.generateText.doGenerate', {
    'ai.prompt.messages': JSON.stringify(messages),
    'ai.prompt.tools': ['{"name":"search","description":"Searches."}'],
    'ai.response.reasoning': 'Let me see.',
    'ai.response.text': 'Sorry.',
    'ai.response.toolCalls': '[{"toolCallId":"2","toolName":"order","input":{"n":1}}]',
  });
  expect(read(inner)).toEqual([
    'step_input: a hat, please',
    'tool_name: search',
    'tool_args: {"q":"hat"}',
    'tool_args: hat',
    'tool_result: no hats',
    'agent_output: Let me see.',
    'agent_output: Sorry.',
    'tool_name: order',
    'tool_args: {"n":1}',
  ]);
});

it('a tool call; arguments of version 4 are JSON in a string in JSON', () => {
  const tool = operation('ai.toolCall', {
    'ai.toolCall.id': '1',
    'ai.toolCall.name': 'search',
    'ai.toolCall.args': '"{\\"q\\":\\"hat\\"}"',
    'ai.toolCall.result': '{"found":"no hats"}',
  });
  expect(read(tool)).toEqual([
    'tool_name: search',
    'tool_args: "{"q":"hat"}"',
    'tool_args: {"q":"hat"}',
    'tool_args: hat',
    'tool_result: {"found":"no hats"}',
    'tool_result: no hats',
  ]);
});

it('objects, and the names of versions before 4', () => {
  const object = operation('ai.generateObject.doGenerate', {
    'ai.schema': '{"type":"object"}',
    'ai.response.object': '{"colour":"red"}',
  });
  const old = operation('ai.generateText', { 'ai.result.text': 'hi' });
  expect(read(object)).toEqual(['agent_output: {"colour":"red"}', 'agent_output: red']);
  expect(read(old)).toEqual(['agent_output: hi']);
});

it('embeds values; vectors are no text', () => {
  const embed = operation('ai.embedMany', {
    'ai.values': ['"a"', '"b"'],
    'ai.embeddings': ['[1]'],
  });
  expect(read(embed)).toEqual([
    'step_input: "a"',
    'step_input: a',
    'step_input: "b"',
    'step_input: b',
  ]);
});

it("plain keys of other producers' spans are not its own", () => {
  expect(read(span({ attributes: { 'ai.prompt': 'x', 'ai.response.text': 'y' } }))).toEqual([]);
});

test('documents to be ranked', () => {
  const attributes = { 'ai.documents': ['"a"', '{"text":"b"}'], 'ai.ranking': ['0'] };
  expect(read(operation('ai.rerank', attributes))).toEqual([
    'step_input: "a"',
    'step_input: a',
    'step_input: {"text":"b"}',
    'step_input: b',
  ]);
});
