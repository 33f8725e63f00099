/**
 * Codex CLI as its source sends it (openai/codex `codex-rs/otel/src/events/session_telemetry.rs`,
 * `events/shared/log.rs`, `agent_response.rs`). Contents are invented.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { log } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

/** The Rust appender fills the record's own event name with a place in the code. */
function event(name: string, attributes: JsonObject): Step {
  return log({
    spanId: null,
    name: 'event otel/src/events/session_telemetry.rs:977',
    scopeName: 'codex_otel.log_only',
    serviceName: 'codex_cli_rs',
    attributes: {
      'event.name': name,
      'event.timestamp': '2026-11-20T12:00:00.000Z',
      'conversation.id': 'c-1',
      originator: 'codex_cli_rs',
      model: 'm',
      slug: 'm',
      'user.email': 'dev@example.com',
      ...attributes,
    },
  });
}

describe('events', () => {
  it.each<[string, string, JsonObject, string[]]>([
    [
      'a prompt',
      'codex.user_prompt',
      { prompt: 'fix the build', prompt_length: '13' },
      ['step_input: fix the build'],
    ],
    ['a prompt withheld', 'codex.user_prompt', { prompt: '[REDACTED]', prompt_length: '13' }, []],
    [
      'a tool call with its output',
      'codex.tool_result',
      {
        tool_name: 'shell',
        call_id: 'call_1',
        arguments: '{"command":["bash","-lc","ls"]}',
        duration_ms: '3',
        success: 'true',
        output: 'a.txt\nb.txt',
        mcp_server: '',
        mcp_server_origin: '',
      },
      [
        'tool_name: shell',
        'tool_args: {"command":["bash","-lc","ls"]}',
        'tool_args: bash\n-lc\nls',
        'tool_result: a.txt\nb.txt',
      ],
    ],
    [
      'an output that was cut, as 0.169 sends it',
      'codex.tool_result',
      {
        tool_name: 'exec_command',
        tool_namespace: 'functions',
        output_truncated: 'true',
        arguments: '{"cmd":"cat page.json"}',
        output: 'Wall time: 0 seconds\n51\n[... telemetry preview truncated ...]',
      },
      [
        'tool_name: exec_command',
        'tool_args: {"cmd":"cat page.json"}',
        'tool_args: cat page.json',
        'tool_result: Wall time: 0 seconds\n51\n[... telemetry preview truncated ...]',
      ],
    ],
    [
      'a tool that could not be called',
      'codex.tool_result',
      { tool_name: 'shell', success: 'false', output: 'no such tool' },
      ['tool_name: shell', 'tool_result: no such tool'],
    ],
    [
      'a decision',
      'codex.tool_decision',
      { tool_name: 'shell', call_id: 'call_1', decision: 'denied', source: 'user' },
      ['tool_name: shell'],
    ],
    [
      'an answer',
      'codex.agent_response',
      { response: 'Done.', response_length: 5, 'turn.id': 't-1', 'item.id': 'i-1' },
      ['agent_output: Done.'],
    ],
    [
      'a stream that failed',
      'codex.sse_event',
      { 'event.kind': 'response.failed', 'error.message': 'quota' },
      ['step_output: quota'],
    ],
    ['a stream', 'codex.sse_event', { 'event.kind': 'response.completed' }, []],
    ['settings', 'codex.conversation_starts', { mcp_servers: 'mail', sandbox_policy: 'x' }, []],
  ])('%s', (_what, name, attributes, expected) => {
    expect(read(event(name, attributes))).toEqual(expected);
  });

  it('have kinds of their own', () => {
    const kinds = ['codex.user_prompt', 'codex.tool_result', 'codex.sse_event'].map(
      (name) => extractSurfaces([event(name, {})]).kinds[0],
    );
    expect(kinds).toEqual(['agent', 'tool', 'llm']);
  });

  it('are known by the scope, whatever the service is called', () => {
    const step = { ...event('codex.user_prompt', { prompt: 'hi' }), serviceName: 'my agents' };
    expect(read(step)).toEqual(['step_input: hi']);
    expect(read({ ...step, scopeName: 'shop' })).toEqual([]);
  });
});
