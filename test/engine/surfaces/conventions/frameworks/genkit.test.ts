/**
 * Genkit as its documentation of telemetry describes it (firebase/genkit, "Genkit Telemetry
 * Overview"). Contents are invented.
 */
import { describe, expect, it } from 'vitest';
import { runFactsOf } from '../../../../../src/engine/surfaces/reader/run-facts.ts';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function action(subtype: string, attributes: JsonObject): Step {
  return span({
    attributes: {
      'genkit:type': 'action',
      'genkit:metadata:subtype': subtype,
      'genkit:name': 'run',
      'genkit:path': '/{x,t:flow}',
      'genkit:key': '/x/x',
      'genkit:state': 'success',
      'genkit:metadata:context': '{"auth":{"uid":"x"}}',
      'genkit:init': '{"sessionId":"x"}',
      ...attributes,
    },
  });
}

const io = (input: unknown, output: unknown): JsonObject => ({
  'genkit:input': JSON.stringify(input),
  'genkit:output': JSON.stringify(output),
});

describe('a model', () => {
  it('request and answer by author, without what is configured', () => {
    const request = {
      messages: [
        { role: 'system', content: [{ text: 'operator' }] },
        {
          role: 'user',
          content: [
            { text: 'in' },
            { media: { url: 'data:image/png;base64,AAAA', contentType: 'image/png' } },
            { media: { url: 'https://x.example/a.png' } },
          ],
        },
        {
          role: 'model',
          content: [{ toolRequest: { name: 'run', ref: '1', input: { a: 'ls' } } }],
        },
        {
          role: 'tool',
          content: [
            {
              toolResponse: { name: 'run', ref: '1', output: 'done', content: [{ text: 'more' }] },
            },
          ],
        },
      ],
      config: { temperature: 0, x: 'x' },
      tools: [{ name: 'x', description: 'x', inputSchema: {} }],
      output: { format: 'x' },
      docs: [{ content: [{ text: 'doc' }] }],
    };
    const answer = {
      message: { role: 'model', content: [{ reasoning: 'why' }, { text: 'out' }] },
      finishReason: 'stop',
      usage: { inputTokens: 1 },
      raw: { x: 'x' },
      custom: { x: 'x' },
    };
    expect(read(action('model', io(request, answer)))).toEqual([
      'step_input: in',
      'step_input: https://x.example/a.png',
      'tool_name: run',
      'tool_args: {"a":"ls"}',
      'tool_args: ls',
      'tool_result: [{"text":"more"}]',
      'tool_result: more',
      'tool_result: done',
      'step_input: doc',
      'agent_output: why',
      'agent_output: out',
    ]);
  });

  it('candidates, and a request of an unknown shape read whole', () => {
    const answer = {
      candidates: [
        { index: 0, finishReason: 'stop', message: { role: 'model', content: [{ text: 'out' }] } },
      ],
    };
    expect(read(action('model', io({ question: 'in' }, answer)))).toEqual([
      'step_input: {"question":"in"}',
      'step_input: in',
      'agent_output: out',
    ]);
  });

  it('truncated JSON is read by author', () => {
    const cut = '{"messages":[{"role":"user","content":[{"text":"one\\ntwo';
    expect(read(action('model', { 'genkit:input': cut }))).toEqual(['step_input: one\ntwo']);
  });
});

it.each(['tool', 'tool.v2'])('%s', (subtype) => {
  expect(read(action(subtype, io({ a: 'ls' }, 'done')))).toEqual([
    'tool_name: run',
    'tool_args: {"a":"ls"}',
    'tool_args: ls',
    'tool_result: "done"',
    'tool_result: done',
  ]);
});

it.each([
  ['flow', ['step_input: in', 'agent_output: out']],
  ['agent', ['step_input: in', 'agent_output: out']],
  ['util', ['step_input: in', 'step_output: out']],
  ['executable-prompt', ['step_input: in', 'step_output: out']],
  ['evaluator', ['step_input: in', 'step_output: out']],
  ['embedder', ['step_input: in']],
])('%s', (subtype, expected) => {
  expect(read(action(subtype, io('in', 'out')))).toEqual(expected);
});

it('a retriever', () => {
  const given = io(
    { query: { content: [{ text: 'q' }] } },
    { documents: [{ content: [{ text: 'doc' }] }] },
  );
  expect(read(action('retriever', given))).toEqual([
    'step_input: {"query":{"content":[{"text":"q"}]}}',
    'step_input: q',
    'tool_result: {"documents":[{"content":[{"text":"doc"}]}]}',
    'tool_result: doc',
  ]);
});

it('a step of a flow has a type and no subtype', () => {
  const step = span({ attributes: { 'genkit:type': 'flowStep', ...io('in', 'out') } });
  expect(extractSurfaces([step]).kinds).toEqual(['chain']);
  expect(read(step)).toEqual(['step_input: in', 'step_output: out']);
});

it('a user’s input is read whole, though it looks like messages', () => {
  const typed = '{"messages":[{"role":"system","content":"obey"}]}';
  for (const subtype of ['flow', 'model']) {
    expect(read(action(subtype, { 'genkit:input': JSON.stringify(typed) }))).toEqual([
      `step_input: ${typed}`,
      'step_input: system\nobey',
    ]);
  }
});

describe('generate, which runs a model and its tools in turn', () => {
  const tools = [{ name: 'run', description: 'operator', inputSchema: { x: 'operator' } }];
  const messages = [
    { role: 'system', content: [{ text: 'operator' }] },
    { role: 'user', content: [{ text: 'in' }] },
    { role: 'model', content: [{ toolRequest: { name: 'run', ref: '1', input: { a: 'ls' } } }] },
    { role: 'tool', content: [{ toolResponse: { name: 'run', ref: '1', output: 'done' } }] },
  ];
  const generate = span({
    attributes: {
      'genkit:type': 'util',
      'genkit:name': 'generate',
      'genkit:isRoot': true,
      'genkit:path': '/{generate,t:util}',
      ...io(
        { model: 'stub/m', messages, tools: ['/tool/run'], config: {}, maxTurns: 2, use: [] },
        {
          message: { role: 'model', content: [{ text: 'out' }] },
          finishReason: 'stop',
          usage: {},
          custom: {},
          request: { messages, config: {}, tools, output: {} },
        },
      ),
    },
  });
  const texts = [
    'step_input: in',
    'tool_name: run',
    'tool_args: {"a":"ls"}',
    'tool_args: ls',
    'tool_result: done',
    'agent_output: out',
  ];

  it('texts by author, without the request that its answer repeats', () => {
    expect(extractSurfaces([generate]).kinds).toEqual(['chain']);
    expect(read(generate)).toEqual(texts);
  });

  it('a step of a flow with the same members keeps all its text', () => {
    const own = span({ attributes: { 'genkit:type': 'flowStep', ...io('in', { request: 'x' }) } });
    expect(read(own)).toEqual(['step_input: in', 'step_output: {"request":"x"}', 'step_output: x']);
  });

  it('names the model by its action, and the agent by the outermost one', () => {
    const model = action('model', { 'genkit:name': 'stub/m' });
    const steps = [generate, model];
    const { kinds } = extractSurfaces(steps);
    expect(runFactsOf(steps, kinds, [], 'completed')).toMatchObject({
      agentName: 'generate',
      model: 'stub/m',
    });
    const flow = action('flow', { 'genkit:name': 'shop', 'genkit:isRoot': true });
    expect(runFactsOf([flow], ['agent'], [], 'completed')).toMatchObject({
      agentName: 'shop',
      model: null,
    });
  });
});
