/**
 * Logfire (pydantic/logfire `logfire/_internal/integrations/llm_providers`,
 * `integrations/openai_agents.py`, `constants.py`). Contents are invented.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

const client = (attributes: JsonObject) =>
  span({
    scopeName: 'logfire.openai',
    attributes: {
      'gen_ai.request.model': 'gpt-4o',
      'logfire.msg': "Chat Completion with 'gpt-4o'",
      'logfire.msg_template': 'Chat Completion with {request_data[model]!r}',
      ...attributes,
    },
  });

const request = JSON.stringify({
  model: 'gpt-4o',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Will it rain?' },
  ],
  tools: [{ type: 'function', function: { name: 'search', parameters: {} } }],
  stream: false,
});
const call = { id: '1', type: 'function', function: { name: 'search', arguments: '{"q":"rain"}' } };
const called = ['tool_name: search', 'tool_args: {"q":"rain"}', 'tool_args: rain'];

describe('clients of model providers', () => {
  it.each<[string, Step, string[]]>([
    [
      'a request and its answer',
      client({
        request_data: request,
        response_data: JSON.stringify({
          message: { role: 'assistant', content: 'Wait.', tool_calls: [call] },
          usage: { total_tokens: 3 },
        }),
      }),
      ['step_input: Will it rain?', 'agent_output: Wait.', ...called],
    ],
    [
      'an answer that was streamed, on a span of its own',
      client({
        request_data: request,
        response_data: '{"combined_chunk_content":"Yes, at noon.","chunk_count":4}',
        'logfire.span_type': 'log',
      }),
      ['step_input: Will it rain?', 'agent_output: Yes, at noon.'],
    ],
    [
      'a request to the Responses API, without its instructions',
      client({
        request_data: '{"model":"gpt-4o","instructions":"Be brief.","input":"Will it rain?"}',
      }),
      ['step_input: Will it rain?'],
    ],
    [
      'events, which the request only repeats',
      client({
        request_data: '{"model":"gpt-4o","input":"Will it rain?"}',
        events: JSON.stringify([
          { 'event.name': 'gen_ai.system.message', content: 'Be brief.', role: 'system' },
          { 'event.name': 'gen_ai.user.message', content: 'Will it rain?', role: 'user' },
          {
            'event.name': 'gen_ai.choice',
            index: 0,
            message: { role: 'assistant', content: 'Yes.' },
          },
        ]),
      }),
      ['step_input: Will it rain?', 'agent_output: Yes.'],
    ],
    [
      'messages of OpenTelemetry GenAI, which both repeat',
      client({
        request_data: request,
        response_data: '{"message":{"role":"assistant","content":"Yes."}}',
        'gen_ai.input.messages':
          '[{"role":"user","parts":[{"type":"text","content":"Will it rain?"}]}]',
        'gen_ai.output.messages':
          '[{"role":"assistant","parts":[{"type":"text","content":"Yes."}]}]',
      }),
      ['step_input: Will it rain?', 'agent_output: Yes.'],
    ],
    [
      'an answer of an unknown shape is read whole',
      client({ response_data: '{"pictures":["a cat"]}' }),
      ['agent_output: {"pictures":["a cat"]}', 'agent_output: a cat'],
    ],
  ])('%s', (_what, step, expected) => {
    expect(read(step)).toEqual(expected);
  });

  it('have a kind', () => {
    expect(extractSurfaces([client({})]).kinds).toEqual(['llm']);
  });
});

describe('OpenAI Agents SDK', () => {
  const agents = (name: string, attributes: JsonObject) =>
    span({ scopeName: 'logfire.openai_agents', name, attributes });

  it('a function', () => {
    const step = agents('Function: {name}', {
      name: 'search',
      input: '{"q":"rain"}',
      output: 'Rain at noon.',
      'logfire.msg': 'Function: search',
    });
    expect(read(step)).toEqual([...called, 'tool_result: Rain at noon.']);
  });

  it('a function that failed', () => {
    const step = agents('Function: {name}', {
      name: 'search',
      error: '{"message":"Error running tool (non-fatal)","data":{"error":"no network"}}',
    });
    expect(read(step)).toEqual([
      'tool_name: search',
      'tool_result: {"message":"Error running tool (non-fatal)","data":{"error":"no network"}}',
      'tool_result: Error running tool (non-fatal)\nno network',
    ]);
  });

  it('a response: events, not what repeats them', () => {
    const step = agents('Responses API with {gen_ai.request.model!r}', {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-4o',
      model_settings: '{"temperature":null}',
      raw_input: '[{"role":"user","content":"Will it rain?"}]',
      response: JSON.stringify({
        id: 'resp-1',
        instructions: 'Be brief.',
        output: [{ type: 'message', content: [{ type: 'output_text', text: 'Yes.' }] }],
      }),
      events: JSON.stringify([
        { 'event.name': 'gen_ai.system.message', content: 'Be brief.', role: 'system' },
        { 'event.name': 'gen_ai.user.message', content: 'Will it rain?', role: 'user' },
        { 'event.name': 'gen_ai.assistant.message', content: 'Yes.', role: 'assistant' },
      ]),
    });
    const found = ['step_input: Will it rain?', 'agent_output: Yes.'];
    expect(read(step)).toEqual(found);
    const { events: _events, ...bare } = step.attributes;
    expect(read({ ...step, attributes: bare })).toEqual(found);
  });

  it('have kinds', () => {
    const names = ['Function: {name}', 'Agent run: {name!r}', 'OpenAI Agents trace: {name}'];
    const steps = names.map((name) => agents(name, { name: 'weather' }));
    expect(extractSurfaces(steps).kinds).toEqual(['tool', 'agent', 'chain']);
    expect(read(...steps)).toEqual(['tool_name: weather']);
  });
});

describe("a user's own spans", () => {
  it('have inputs and outputs under plain names', () => {
    const attributes = { prompt: 'Will it rain?', result: 'Yes.', 'logfire.msg': 'ask' };
    const found = ['step_input: Will it rain?', 'step_output: Yes.'];
    expect(read(span({ scopeName: 'logfire', attributes }))).toEqual(found);
    expect(read(span({ scopeName: 'other', attributes }))).toEqual([]);
  });

  it('hide nothing by what they name', () => {
    const attributes = { response: '{"output":"Yes.","note":"more"}' };
    expect(read(span({ scopeName: 'logfire', attributes }))).toEqual([
      'step_output: {"output":"Yes.","note":"more"}',
      'step_output: Yes.\nmore',
    ]);
  });
});

describe('spans that have not ended', () => {
  it('are not read: they come once more, whole', () => {
    const attributes = {
      'logfire.span_type': 'pending_span',
      'logfire.pending_parent_id': '0000000000000000',
      'gen_ai.tool.name': 'search',
      'gen_ai.tool.call.arguments': 'rain',
    };
    const pending = span({ scopeName: 'pydantic-ai', attributes });
    expect(extractSurfaces([pending])).toEqual({ texts: [], exceeded: 0, kinds: ['duplicate'] });
    const ended = { ...attributes, 'logfire.span_type': 'span' };
    expect(read({ ...pending, attributes: ended })).toEqual([
      'tool_name: search',
      'tool_args: rain',
    ]);
  });
});

describe('what an envelope holds is as it was said', () => {
  const typed = JSON.stringify({ messages: [], tools: 'Ignore this.' });

  it.each([
    ['request_data', { prompt: typed }, 'step_input'],
    ['response_data', { combined_chunk_content: typed }, 'agent_output'],
  ])('%s', (key, value, surface) => {
    expect(read(client({ [key]: JSON.stringify(value) }))).toContain(`${surface}: ${typed}`);
  });
});
