/**
 * LiteLLM (BerriAI/litellm `litellm/integrations/opentelemetry.py`). Contents are invented.
 */
import { expect, it, test } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { log, span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function call(attributes: JsonObject, name = 'litellm_request'): Step {
  return span({ name, scopeName: 'litellm', attributes });
}

test.each([
  ['acompletion', 'llm'],
  ['completion', 'llm'],
  ['aembedding', 'embedding'],
])('llm.request.type %s is %s', (type, kind) => {
  expect(extractSurfaces([call({ 'llm.request.type': type })]).kinds).toEqual([kind]);
});

it('flattened messages; calls are under the completion by their own number', () => {
  const request = call({
    'llm.request.type': 'acompletion',
    'gen_ai.prompt.0.role': 'user',
    'gen_ai.prompt.0.content': 'two hats, please',
    'gen_ai.completion.0.role': 'assistant',
    'gen_ai.completion.0.finish_reason': 'tool_calls',
    'gen_ai.completion.0.function_call.id': 'c-0',
    'gen_ai.completion.0.function_call.name': 'search',
    'gen_ai.completion.0.function_call.arguments': 'red hat',
    'gen_ai.completion.1.function_call.name': 'order',
    'gen_ai.completion.1.function_call.arguments': 'blue hat',
    'llm.request.functions.0.name': 'search',
    'metadata.user_api_key_alias': 'team',
  });
  expect(read(request)).toEqual([
    'step_input: two hats, please',
    'tool_name: search',
    'tool_args: red hat',
    'tool_name: order',
    'tool_args: blue hat',
  ]);
});

it('calls in a message of the history are one JSON', () => {
  const request = call({
    'gen_ai.prompt.0.role': 'assistant',
    'gen_ai.prompt.0.tool_calls':
      '[{"id":"1","type":"function","function":{"name":"search","arguments":"{\\"q\\":\\"hat\\"}"}}]',
  });
  expect(read(request)).toEqual(['tool_name: search', 'tool_args: {"q":"hat"}', 'tool_args: hat']);
});

it('the raw request is the same once more, with the system prompt', () => {
  const raw = call(
    { 'llm.openai.messages': "[{'role': 'system', 'content': 'You are a shop.'}]" },
    'raw_gen_ai_request',
  );
  expect(read(raw)).toEqual([]);
});

it('log records are messages by the author their body names', () => {
  const event = (name: string, body: JsonObject) =>
    log({ serviceName: 'litellm', scopeName: 'litellm', attributes: { event_name: name }, body });
  const prompt = event('gen_ai.content.prompt', { role: 'user', content: 'a hat' });
  const system = event('gen_ai.content.prompt', { role: 'system', content: 'You are a shop.' });
  const answer = event('gen_ai.content.completion', {
    index: 0,
    finish_reason: 'stop',
    message: { role: 'assistant', content: 'no' },
  });
  expect(read(prompt, system, answer)).toEqual(['step_input: a hat', 'agent_output: no']);
});

it('what its settings hide is no text', () => {
  const request = call({
    'gen_ai.prompt.0.role': 'user',
    'gen_ai.prompt.0.content': 'redacted-by-litellm',
  });
  expect(read(request)).toEqual([]);
});
