/**
 * LiveKit Agents as its source has it (livekit/agents
 * `livekit-agents/livekit/agents/telemetry/trace_types.py`). Contents are invented.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function agents(name: string, attributes: JsonObject): Step {
  return span({ name, scopeName: 'livekit-agents', attributes });
}

const chat = {
  items: [
    { id: 'i1', type: 'message', role: 'system', content: ['operator'] },
    { id: 'i2', type: 'message', role: 'user', content: ['in'], interrupted: false },
    { id: 'i3', type: 'function_call', call_id: '1', name: 'run', arguments: '{"a":"ls"}' },
    { id: 'i4', type: 'function_call_output', call_id: '1', name: 'run', output: 'done' },
  ],
};
const calls = [{ id: 'i5', call_id: '2', name: 'send', arguments: '{"b":"mail"}', extra: {} }];

describe.each(['lk.', 'lk.pii.'])('under %s', (prefix) => {
  it('a model', () => {
    const step = agents('llm_node', {
      [`${prefix}chat_ctx`]: JSON.stringify(chat),
      'lk.function_tools': ['x'],
      [`${prefix}response.text`]: 'out',
      [`${prefix}response.function_calls`]: JSON.stringify(calls),
    });
    expect(read(step)).toEqual([
      'step_input: in',
      'tool_name: run',
      'tool_args: {"a":"ls"}',
      'tool_args: ls',
      'tool_result: done',
      'agent_output: out',
      'tool_name: send',
      'tool_args: {"b":"mail"}',
      'tool_args: mail',
    ]);
  });

  it('a tool', () => {
    const step = agents('function_tool', {
      'lk.function_tool.id': 'x',
      'lk.function_tool.name': 'run',
      [`${prefix}function_tool.arguments`]: '{"a":"ls"}',
      'lk.function_tool.is_error': false,
      [`${prefix}function_tool.output`]: 'done',
    });
    expect(read(step)).toEqual([
      'tool_name: run',
      'tool_args: {"a":"ls"}',
      'tool_args: ls',
      'tool_result: done',
    ]);
  });

  it('a turn, what was heard and what is to be said', () => {
    const turn = agents('agent_turn', {
      [`${prefix}user_input`]: 'in',
      [`${prefix}instructions`]: 'operator',
      [`${prefix}room_name`]: 'x',
      'lk.generation_id': 'x',
    });
    expect(read(turn)).toEqual(['step_input: in']);
    expect(read(agents('user_turn', { [`${prefix}user_transcript`]: 'in' }))).toEqual([
      'step_input: in',
    ]);
    expect(read(agents('tts_node', { [`${prefix}input_text`]: 'out' }))).toEqual([
      'agent_output: out',
    ]);
  });

  it('a history with other members beside it, is read whole; truncated, by author', () => {
    const more = '{"items":[],"more":"x"}';
    expect(read(agents('llm_node', { [`${prefix}chat_ctx`]: more }))).toEqual([
      `step_input: ${more}`,
      'step_input: x',
    ]);
    const cut = '{"items":[{"role":"user","content":["one\\ntwo';
    expect(read(agents('llm_node', { [`${prefix}chat_ctx`]: cut }))).toEqual([
      'step_input: one\ntwo',
    ]);
  });
});

it('the same in the standard attributes is read once', () => {
  const step = agents('llm_node', {
    'gen_ai.operation.name': 'chat',
    'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"in"}]}]',
    'lk.pii.chat_ctx': JSON.stringify({
      items: [{ type: 'message', role: 'user', content: ['in'] }],
    }),
  });
  expect(read(step)).toEqual(['step_input: in']);
});

it.each([
  ['agent_turn', 'agent'],
  ['start_agent_activity', 'agent'],
  ['function_tool', 'tool'],
  ['llm_request', 'llm'],
  ['user_turn', 'other'],
])('%s', (name, kind) => {
  expect(extractSurfaces([agents(name, {})]).kinds).toEqual([kind]);
  expect(extractSurfaces([span({ name })]).kinds).toEqual(['other']);
});
