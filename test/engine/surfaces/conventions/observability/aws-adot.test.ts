/**
 * AWS Distro for OpenTelemetry (aws-observability/aws-otel-python-instrumentation `llo_handler.py`),
 * its one record per span and its older message events. Contents are invented.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { log, operation } from '../../../steps.ts';
import { read } from '../../read.ts';

const SCOPE = 'strands.telemetry.tracer';
const message = (role: string, content: JsonValue) => ({ role, content });

/** The record of a span, named in an attribute or in its own field. */
function record(body: JsonObject, inField = false): Step {
  return log({
    scopeName: SCOPE,
    body,
    ...(inField ? { name: SCOPE } : {}),
    attributes: { 'session.id': 's-1', ...(inField ? {} : { 'event.name': SCOPE }) },
  });
}

describe('one record per span', () => {
  const body = {
    input: { messages: [message('system', 'Be brief.'), message('user', 'Will it rain?')] },
    output: { messages: [message('assistant', 'Yes.')] },
  };
  const texts = ['step_input: Will it rain?', 'agent_output: Yes.'];

  it('messages by author', () => {
    expect(read(operation('chat'), record(body))).toEqual(texts);
    expect(read(operation('chat'), record(body, true))).toEqual(texts);
  });

  it('what an event said, as the content of a message', () => {
    const use = [{ toolUse: { name: 'search', toolUseId: '1', input: { q: 'rain' } } }];
    const step = record({
      input: {
        messages: [
          message('user', { content: '[{"text":"Will it rain?"}]' }),
          message('assistant', { content: JSON.stringify(use) }),
        ],
      },
      output: { messages: [message('assistant', { message: 'Yes.', finish_reason: 'end_turn' })] },
    });
    expect(read(operation('invoke_agent'), step)).toEqual([
      'step_input: Will it rain?',
      'step_input: [{"text":"Will it rain?"}]',
      'tool_name: search',
      'tool_args: {"q":"rain"}',
      'tool_args: rain',
      `agent_output: ${JSON.stringify(use)}`,
      'agent_output: search\n1\nrain',
      'agent_output: Yes.',
    ]);
  });

  it('content with unknown members is read whole', () => {
    const content = { message: 'Yes.', finish_reason: 'end_turn', 'tool.result': 'at noon' };
    const step = record({ output: { messages: [message('assistant', content)] } });
    expect(read(step)).toEqual([
      `agent_output: ${JSON.stringify(content)}`,
      'agent_output: Yes.\nend_turn\nat noon',
    ]);
  });

  it('of a tool: its input and output, whatever the author', () => {
    const step = record({
      input: { messages: [message('user', '{"q":"rain"}')] },
      output: { messages: [message('assistant', 'at noon')] },
    });
    expect(read(operation('execute_tool'), step)).toEqual([
      'tool_args: {"q":"rain"}',
      'tool_args: rain',
      'tool_result: at noon',
    ]);
  });

  it('of a tool of Strands', () => {
    const step = record({
      input: { messages: [message('tool', { content: '{"q":"rain"}', role: 'tool', id: '1' })] },
      output: { messages: [message('assistant', { message: '[{"text":"at noon"}]', id: '1' })] },
    });
    expect(read(operation('execute_tool'), step)).toEqual([
      'tool_args: {"content":"{"q":"rain"}","role":"tool","id":"1"}',
      'tool_args: {"q":"rain"}\nrain\ntool\n1',
      'tool_result: {"message":"[{"text":"at noon"}]","id":"1"}',
      'tool_result: [{"text":"at noon"}]\nat noon\n1',
    ]);
  });

  it('a record of another name is none', () => {
    expect(read({ ...record(body), scopeName: 'other' })).toEqual([]);
  });
});

describe('message events of older builds', () => {
  const event = (name: string, role: string, content: string) =>
    log({
      name,
      body: { content, role },
      attributes: { 'gen_ai.system': 'openai', original_attribute: 'gen_ai.prompt.0.content' },
    });

  it('by role, and by the name of the author', () => {
    expect(
      read(
        event('gen_ai.system.message', 'system', 'Be brief.'),
        event('gen_ai.user.message', 'user', 'Will it rain?'),
        event('gen_ai.openai.message', 'function', 'at noon'),
        event('gen_ai.weather.message', 'assistant', 'Yes.'),
      ),
    ).toEqual(['step_input: Will it rain?', 'tool_result: at noon', 'agent_output: Yes.']);
  });
});
