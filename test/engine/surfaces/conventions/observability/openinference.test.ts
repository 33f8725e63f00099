/**
 * OpenInference (Arize-ai/openinference `spec/semantic_conventions.md`, `spec/tool_calling.md`,
 * `spec/configuration.md`, and the `tool.parameters` of its Python instrumentations). Contents are
 * invented.
 */
import { describe, expect, it, test } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function step(kind: string, attributes: JsonObject): Step {
  return span({ attributes: { 'openinference.span.kind': kind, ...attributes } });
}

describe('a model, with flattened messages', () => {
  it('has texts by author; the raw request beside it is not read', () => {
    const llm = step('LLM', {
      'llm.model_name': 'm-1',
      'llm.invocation_parameters': '{"temperature":0}',
      'llm.tools.0.tool.json_schema': '{"name":"search","description":"Searches."}',
      'input.value': '{"model":"m-1","messages":[{"role":"user","content":"raw"}]}',
      'input.mime_type': 'application/json',
      'llm.input_messages.0.message.role': 'system',
      'llm.input_messages.0.message.content': 'You are a shop.',
      'llm.input_messages.1.message.role': 'user',
      'llm.input_messages.1.message.content': 'a hat, please',
      'llm.input_messages.2.message.role': 'assistant',
      'llm.input_messages.2.message.tool_calls.0.tool_call.id': 'c-1',
      'llm.input_messages.2.message.tool_calls.0.tool_call.function.name': 'search',
      'llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments': '{"q":"hat"}',
      'llm.input_messages.3.message.role': 'tool',
      'llm.input_messages.3.message.name': 'search',
      'llm.input_messages.3.message.tool_call_id': 'c-1',
      'llm.input_messages.3.message.content': 'no hats',
      'llm.output_messages.0.message.role': 'assistant',
      'llm.output_messages.0.message.content': 'Sorry, no hats.',
      'output.value': '{"choices":[{"message":{"content":"raw"}}]}',
    });
    expect(read(llm)).toEqual([
      'step_input: a hat, please',
      'tool_name: search',
      'tool_args: {"q":"hat"}',
      'tool_args: hat',
      'tool_result: no hats',
      'agent_output: Sorry, no hats.',
    ]);
  });

  it('has parts in order, pictures and signatures left out', () => {
    const contents = 'llm.input_messages.0.message.contents';
    const llm = step('LLM', {
      'llm.input_messages.0.message.role': 'user',
      [`${contents}.0.message_content.type`]: 'text',
      [`${contents}.0.message_content.text`]: 'what is this',
      [`${contents}.1.message_content.type`]: 'image',
      [`${contents}.1.message_content.image.image.url`]: 'data:image/png;base64,iVBORw0KGgo=',
      [`${contents}.2.message_content.type`]: 'text',
      [`${contents}.2.message_content.text`]: 'and this',
    });
    expect(read(llm)).toEqual(['step_input: what is this', 'step_input: and this']);
  });

  it('may have one call in two attributes: it is read once', () => {
    const at = 'llm.output_messages.0.message';
    const llm = step('LLM', {
      [`${at}.role`]: 'assistant',
      [`${at}.tool_calls.0.tool_call.function.name`]: 'send',
      [`${at}.tool_calls.0.tool_call.function.arguments`]: '{"to":"a"}',
      [`${at}.contents.0.message_content.type`]: 'tool_use',
      [`${at}.contents.0.tool_call.function.name`]: 'send',
      [`${at}.contents.0.tool_call.function.arguments`]: '{"to":"a"}',
    });
    expect(read(llm)).toEqual(['tool_name: send', 'tool_args: {"to":"a"}', 'tool_args: a']);
  });

  it('calls a function the old way', () => {
    const at = 'llm.output_messages.0.message';
    const llm = step('LLM', {
      [`${at}.role`]: 'assistant',
      [`${at}.function_call_name`]: 'send',
      [`${at}.function_call_arguments_json`]: 'to=a',
    });
    expect(read(llm)).toEqual(['tool_name: send', 'tool_args: to=a']);
  });

  it('completes a prompt', () => {
    const llm = step('LLM', {
      'llm.prompts.0.prompt.text': 'Once upon',
      'llm.choices.0.completion.text': 'a time',
    });
    expect(read(llm)).toEqual(['step_input: Once upon', 'agent_output: a time']);
  });

  it('without messages is read from the raw request and answer', () => {
    const llm = step('LLM', {
      'input.value': '{"model":"m","messages":[{"role":"user","content":"hello"}]}',
      'output.value': '{"choices":[{"message":{"role":"assistant","content":"hi"}}]}',
    });
    const pieces = read(llm);
    expect(pieces).toContain('step_input: hello');
    expect(pieces).toContain('agent_output: hi');
  });
});

describe('a tool', () => {
  it('has its arguments in input.value; parameters that are a schema are no text', () => {
    const tool = step('TOOL', {
      'tool.name': 'search',
      'tool.id': 't-1',
      'tool.description': 'Searches.',
      'tool.parameters':
        '{"type":"object","properties":{"q":{"type":"string","description":"what"}}}',
      'input.value': '{"q":"hat"}',
      'output.value': 'no hats',
    });
    expect(read(tool)).toEqual([
      'tool_name: search',
      'tool_args: {"q":"hat"}',
      'tool_args: hat',
      'tool_result: no hats',
    ]);
  });

  it('of some producers has them in tool.parameters', () => {
    const tool = step('TOOL', { 'tool.name': 'search', 'tool.parameters': '{"q":"hat"}' });
    expect(read(tool)).toEqual(['tool_name: search', 'tool_args: {"q":"hat"}', 'tool_args: hat']);
  });

  it('of AG2 has them as a call without a prefix', () => {
    const tool = step('TOOL', {
      'tool_call.function.name': 'search',
      'tool_call.function.arguments': 'hat',
      'tool_call.id': 'c-1',
    });
    expect(read(tool)).toEqual(['tool_name: search', 'tool_args: hat']);
  });

  it('reads a Python repr of LangChain as it is', () => {
    expect(read(step('TOOL', { 'input.value': "{'q': 'hat'}" }))).toEqual([
      "tool_args: {'q': 'hat'}",
    ]);
  });

  it('copied to OpenTelemetry keys by its own switch, does not let the schema pass for arguments', () => {
    const tool = step('TOOL', {
      'gen_ai.tool.call.arguments': '{"q":{"type":"string","description":"what"}}',
      'input.value': 'hat',
    });
    expect(read(tool)).toEqual(['tool_args: hat']);
  });
});

test.each([
  ['RETRIEVER', 'step_input', 'tool_result'],
  ['CHAIN', 'step_input', 'step_output'],
  ['AGENT', 'step_input', 'agent_output'],
  ['GUARDRAIL', 'step_input', 'step_output'],
  ['EVALUATOR', 'step_input', 'step_output'],
  ['PROMPT', 'step_input', 'step_output'],
])('%s: input.value is %s, output.value %s', (kind, input, output) => {
  expect(read(step(kind, { 'input.value': 'in', 'output.value': 'out' }))).toEqual([
    `${input}: in`,
    `${output}: out`,
  ]);
});

it('documents found are a result, documents to be ranked are read by who found them', () => {
  const retriever = step('RETRIEVER', {
    'input.value': 'hats',
    'retrieval.documents.0.document.content': 'about hats',
    'retrieval.documents.0.document.id': 'd-1',
    'retrieval.documents.0.document.score': 0.5,
    'retrieval.documents.0.document.metadata': '{"source":"wiki"}',
  });
  const reranker = step('RERANKER', {
    'reranker.query': 'hats',
    'reranker.input_documents.0.document.content': 'about hats',
    'reranker.output_documents.0.document.content': 'about hats',
  });
  expect(read(retriever)).toEqual([
    'tool_result: about hats',
    'tool_result: {"source":"wiki"}',
    'tool_result: wiki',
    'step_input: hats',
  ]);
  expect(read(reranker)).toEqual(['step_input: hats', 'tool_result: about hats']);
});

it('embeds text; vectors are none', () => {
  const embedding = step('EMBEDDING', {
    'embedding.model_name': 'e-1',
    'embedding.embeddings.0.embedding.text': 'a hat',
    'embedding.embeddings.0.embedding.vector': [0.1, 0.2],
    'output.value': '[0.1,0.2]',
  });
  expect(read(embedding)).toEqual(['step_input: a hat']);
});

it('what its settings hide is no text', () => {
  const llm = step('LLM', {
    'llm.input_messages.0.message.role': 'user',
    'llm.input_messages.0.message.content': '__REDACTED__',
    'input.value': '__REDACTED__',
    'output.value': '__REDACTED__',
  });
  expect(read(llm)).toEqual([]);
});

it('a span that lost its kind past the limit of attributes is still read', () => {
  const lost = span({
    scopeName: 'openinference.instrumentation.openai',
    attributes: {
      'llm.model_name': 'm-1',
      'llm.output_messages.0.message.role': 'assistant',
      'llm.output_messages.0.message.content': 'hi',
    },
  });
  expect(extractSurfaces([lost]).kinds).toEqual(['llm']);
  expect(read(lost)).toEqual(['agent_output: hi']);
});

describe('members beside a value hide nothing of it', () => {
  const io = { 'input.value': 'in', 'output.value': 'out' };

  it('a failure that was survived', () => {
    const events = [{ name: 'exception', attributes: { 'exception.message': 'once' } }];
    expect(read({ ...step('TOOL', io), events })).toEqual([
      'tool_args: in',
      'tool_result: once',
      'tool_result: out',
    ]);
    expect(read(step('AGENT', { ...io, 'error.message': 'once' }))).toEqual([
      'step_output: once',
      'step_input: in',
      'agent_output: out',
    ]);
  });

  it('a query', () => {
    expect(read(step('CHAIN', { ...io, 'db.query.text': 'SELECT 1' }))).toEqual([
      'query_text: SELECT 1',
      'step_input: in',
      'step_output: out',
    ]);
  });

  it('what is known of documents whose content is withheld', () => {
    const found = { 'retrieval.documents.0.document.metadata': '{"a":"b"}' };
    expect(read(step('RETRIEVER', { ...io, ...found }))).toEqual([
      'tool_result: {"a":"b"}',
      'tool_result: b',
      'step_input: in',
      'tool_result: out',
    ]);
  });

  it('an event without content', () => {
    const events = [{ name: 'gen_ai.choice', attributes: { index: 0 } }];
    expect(read({ ...step('LLM', io), events })).toEqual(['step_input: in', 'agent_output: out']);
  });
});

describe('a raw request of a model', () => {
  const request = JSON.stringify({
    messages: [
      { role: 'system', content: 'You are a shop.' },
      { role: 'user', content: 'a hat' },
    ],
    tools: [{ name: 'search' }],
  });

  it('is read by author where it is said to be JSON', () => {
    const mime = { 'input.mime_type': 'application/json' };
    expect(read(step('LLM', { ...mime, 'input.value': request }))).toEqual(['step_input: a hat']);
  });

  it('is read whole where it may be a user’s input', () => {
    expect(read(step('LLM', { 'input.value': request }))).toContain(`step_input: ${request}`);
  });
});

it('arguments called `properties` are no schema', () => {
  const parameters = JSON.stringify({ parent: 'p', properties: { title: 'x y' } });
  expect(read(step('TOOL', { 'tool.parameters': parameters }))).toEqual([
    `tool_args: ${parameters}`,
    'tool_args: p\nx y',
  ]);
  const schema = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] };
  expect(read(step('TOOL', { 'tool.parameters': JSON.stringify(schema) }))).toEqual([]);
});

it('Anthropic’s result of a tool is in a user’s message, beside what the user says', () => {
  const message = 'llm.input_messages.0.message';
  const result = step('LLM', {
    [`${message}.role`]: 'user',
    [`${message}.tool_call_id`]: 'toolu_1',
    [`${message}.content`]: 'done',
    [`${message}.contents.0.message_content.type`]: 'text',
    [`${message}.contents.0.message_content.text`]: 'in',
  });
  expect(read(result).toSorted()).toEqual(['step_input: in', 'tool_result: done']);
});

describe('a graph of LangGraph', () => {
  const message = (name: string, kwargs: object) => {
    return { lc: 1, type: 'constructor', id: ['langchain_core', 'messages', name], kwargs };
  };
  const call = { name: 'look_up', args: { number: '4471' }, type: 'tool_call', id: 'call_1' };
  const messages = [
    message('HumanMessage', { content: 'Where is it?' }),
    message('AIMessage', { content: '', tool_calls: [call] }),
  ];

  it('its start repeats its input, which is read once, as the user’s', () => {
    const state = JSON.stringify({ messages: [{ role: 'user', content: 'Where is it?' }] });
    const texts = read(step('CHAIN', { 'input.value': state, 'output.value': state }));
    expect(texts).toEqual(['step_input: Where is it?']);
  });

  it('a Command and a Send are read by author, the call of a node as a call', () => {
    const sent = { lg_name: 'Send', node: 'tools', args: { messages, lg_tool_call: call } };
    const command = { lg_name: 'Command', update: { messages: messages.slice(1) }, goto: [sent] };
    const texts = read(step('CHAIN', { 'output.value': JSON.stringify({ output: [command] }) }));
    expect(texts.toSorted()).toEqual([
      'step_input: Where is it?',
      'tool_args: 4471',
      'tool_args: {"number":"4471"}',
      'tool_name: look_up',
    ]);
  });

  it('the input of a node of tools has its call as a call', () => {
    const input = JSON.stringify({ messages: messages.slice(0, 1), lg_tool_call: call });
    expect(read(step('CHAIN', { 'input.value': input })).toSorted()).toEqual([
      'step_input: Where is it?',
      'tool_args: 4471',
      'tool_args: {"number":"4471"}',
      'tool_name: look_up',
    ]);
  });
});
