/** Which session and run a log record names, by product, and what it does to the session. */
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/model/json.ts';
import type { LogSession } from '../../src/model/telemetry.ts';
import { hashOf, sessionOf, sessionOfSpan } from '../../src/otlp/log-session.ts';
import { decodeLogs } from '../../src/otlp/logs.ts';
import { accepted, TRACE_ID, toBody } from './bodies.ts';

type Attributes = Readonly<Record<string, string>>;

const list = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));

const CLAUDE = { scopeName: 'com.anthropic.claude_code.events', serviceName: 'claude-code' };
const CODEX = { scopeName: 'codex_otel.log_only', serviceName: 'codex_cli_rs' };
const GEMINI = { scopeName: 'gemini-cli', serviceName: 'gemini-cli' };

const of = (
  origin: typeof CLAUDE,
  attributes: Attributes,
  more: JsonObject = {},
): LogSession | null => sessionIn(origin, { attributes: list(attributes), ...more });
const sessionIn = (origin: typeof CLAUDE, record: JsonObject): LogSession | null =>
  sessionOf(origin, record)?.session ?? null;

describe('who names its prompts', () => {
  test('Claude Code: session.id and prompt.id', () => {
    const ids = { 'session.id': 's-1', 'prompt.id': 'p-1' };
    expect(of(CLAUDE, { 'event.name': 'user_prompt', prompt: 'x', ...ids })).toEqual({
      key: hashOf(['claude-code', 's-1']),
      runId: hashOf(['claude-code', 's-1', 'p-1']),
      event: 'prompt',
      ends: false,
      hasTrace: false,
    });
    expect(of(CLAUDE, ids, { body: { stringValue: 'claude_code.user_prompt' } })?.event).toBe(
      'prompt',
    );
    expect(of(CLAUDE, { 'event.name': 'tool_result', tool_name: 'Bash', ...ids })?.event).toBe(
      'text',
    );
    expect(of(CLAUDE, { 'event.name': 'api_request', model: 'm', ...ids })?.event).toBe('nothing');
  });

  test('Gemini CLI and its fork: session.id and prompt_id; the end of a session', () => {
    const ids = { 'session.id': 's-1', prompt_id: 's-1########0' };
    const name = (event: string) => ({ 'event.name': event });
    expect(of(GEMINI, { ...name('gemini_cli.user_prompt'), ...ids })).toEqual({
      key: hashOf(['gemini-cli', 's-1']),
      runId: hashOf(['gemini-cli', 's-1', 's-1########0']),
      event: 'prompt',
      ends: false,
      hasTrace: false,
    });
    const end = { ...name('gemini_cli.conversation_finished'), 'session.id': 's-1' };
    expect(of(GEMINI, end)).toMatchObject({ runId: null, event: 'nothing', ends: true });
    const details = {
      ...name('gen_ai.client.inference.operation.details'),
      'gen_ai.output.messages': '[]',
      'session.id': 's-1',
    };
    expect(of(GEMINI, details)).toMatchObject({ runId: null, event: 'text' });
    const fallback = list({ ...name('gemini_cli.ripgrep_fallback'), 'session.id': 's-1' });
    for (const value of [{}, null, { stringValue: '' }]) {
      const attributes = [...fallback, { key: 'error', value }];
      expect(sessionIn(GEMINI, { attributes })).toMatchObject({ runId: null, event: 'nothing' });
    }
    const message = { key: 'error', value: { kvlistValue: { values: [] } } };
    expect(sessionIn(GEMINI, { attributes: [...fallback, message] })?.event).toBe('text');
    const fork = { scopeName: 'qwen-code', serviceName: 'qwen-code' };
    expect(of(fork, { ...name('qwen-code.user_prompt'), ...ids })?.event).toBe('prompt');
  });
});

test('Codex names conversations only', () => {
  const ids = { 'conversation.id': 'c-1', 'event.name': 'codex.user_prompt' };
  const place = { eventName: 'event session_telemetry.rs:977' };
  expect(of(CODEX, ids, place)).toEqual({
    key: hashOf(['codex_cli_rs', 'c-1']),
    runId: null,
    event: 'prompt',
    ends: false,
    hasTrace: false,
  });
  const result = { 'conversation.id': 'c-1', 'event.name': 'codex.tool_result', output: 'x' };
  expect(of(CODEX, result)?.event).toBe('text');
});

/** A request of one scope for each list of records; scopes of one resource are in one list. */
const request = (...resources: { service: string; scopes: [string, JsonObject[]][] }[]) =>
  accepted(
    decodeLogs(
      toBody({
        resourceLogs: resources.map(({ service, scopes }) => ({
          resource: { attributes: list({ 'service.name': service }) },
          scopeLogs: scopes.map(([name, logRecords]) => ({ scope: { name }, logRecords })),
        })),
      }),
    ),
  ).logs;
const ends = (logs: ReturnType<typeof request>) => logs.map(({ session }) => session?.ends);

describe('the end of a session', () => {
  const record = (attributes: Attributes, more: JsonObject = {}): JsonObject => ({
    attributes: list(attributes),
    ...more,
  });

  test('Claude Code: a Stop hook ran and did not block', () => {
    const hook = (more: Attributes) =>
      of(CLAUDE, {
        'event.name': 'hook_execution_complete',
        'session.id': 's',
        'prompt.id': 'p',
        hook_event: 'Stop',
        num_blocking: '0',
        ...more,
      })?.ends;
    expect(hook({})).toBe(true);
    expect(hook({ num_blocking: '1' })).toBe(false);
    expect(hook({ hook_event: 'SubagentStop' })).toBe(false);
  });

  test('Gemini CLI: how long the mode was active, as the last of its records', () => {
    const event = (name: string) =>
      record({ 'event.name': `gemini_cli.${name}`, 'session.id': 's', prompt_id: 'p' });
    const send = (...names: string[]) =>
      ends(request({ service: 'gemini-cli', scopes: [['gemini-cli', names.map(event)]] }));
    expect(send('user_prompt', 'plan.approval_mode_duration')).toEqual([false, true]);
    expect(send('plan.approval_mode_duration', 'approval_mode_switch')).toEqual([false, false]);
  });

  test('Codex: its process flushes its metrics, in the same resource of the request', () => {
    const prompt = (session: string) =>
      record({ 'event.name': 'codex.user_prompt', 'conversation.id': session });
    const flush = record({}, { body: { stringValue: 'flushing OTEL metrics' } });
    const one = (session: string, ...more: [string, JsonObject[]][]) => ({
      service: 'codex_exec',
      scopes: [['codex_otel.log_only', [prompt(session), prompt(session)]], ...more] as [
        string,
        JsonObject[],
      ][],
    });
    const goodbye: [string, JsonObject[]] = ['codex_otel::metrics::client', [flush]];
    expect(ends(request(one('a', goodbye), one('b')))).toEqual([
      false,
      true,
      undefined,
      false,
      false,
    ]);
    const other: [string, JsonObject[]] = ['codex_otel.log_only', [flush]];
    expect(ends(request(one('a', other)))).toEqual([false, false, undefined]);
  });
});

test('service, session and prompt name a run only together', () => {
  const runs = [
    of(CLAUDE, { 'session.id': 's', 'prompt.id': 'p' }),
    of(CLAUDE, { 'session.id': 's', 'prompt.id': 'q' }),
    of(CLAUDE, { 'session.id': 't', 'prompt.id': 'p' }),
    of({ ...CLAUDE, serviceName: 'other' }, { 'session.id': 's', 'prompt.id': 'p' }),
  ].map((session) => session?.runId);
  expect(new Set(runs).size).toBe(4);
});

test('a product is known by its scope or its service', () => {
  const ids = { 'session.id': 's', 'prompt.id': 'p' };
  expect(of({ scopeName: CLAUDE.scopeName, serviceName: 'mine' }, ids)).not.toBeNull();
  expect(of({ scopeName: '', serviceName: 'claude-code' }, ids)).not.toBeNull();
  expect(of({ scopeName: 'shop', serviceName: 'shop' }, ids)).toBeNull();
  expect(sessionOf({ scopeName: 'shop', serviceName: null }, { attributes: list(ids) })).toBeNull();
});

describe('spans', () => {
  const ids = { 'gen_ai.conversation.id': 's-1' };
  const span = (origin: typeof CLAUDE, attributes: Attributes) =>
    sessionOfSpan(origin, { attributes: list(attributes) });

  test('of Gemini CLI name the session, and those of the model the prompt', () => {
    expect(span(GEMINI, { ...ids, 'gen_ai.prompt.name': 's-1########0' })).toEqual({
      key: hashOf(['gemini-cli', 's-1']),
      runId: hashOf(['gemini-cli', 's-1', 's-1########0']),
      event: 'nothing',
      ends: false,
      hasTrace: true,
    });
    expect(span(GEMINI, ids)).toMatchObject({ runId: null, hasTrace: true });
    expect(span(GEMINI, { 'gen_ai.prompt.name': 'p' })).toBeNull();
  });

  test('of any other product make a run of their trace', () => {
    for (const origin of [CLAUDE, CODEX, { scopeName: 'openlit', serviceName: 'shop' }]) {
      expect(span(origin, { ...ids, 'gen_ai.prompt.name': 'p' })).toBeNull();
    }
  });
});

test('without a session there is none, whatever the values are', () => {
  expect(of(CLAUDE, { 'prompt.id': 'p' })).toBeNull();
  expect(of(CLAUDE, { 'session.id': '' })).toBeNull();
  const odd = [{ key: 'session.id', value: { intValue: '1' } }, null, 7, { value: {} }];
  expect(sessionOf(CLAUDE, { attributes: odd })).toBeNull();
  expect(sessionOf(CLAUDE, { attributes: {} })).toBeNull();
  expect(sessionOf(CLAUDE, {})).toBeNull();
});

test('of a repeated attribute the last one counts, as in what is stored', () => {
  const twice = [...list({ 'session.id': 'a' }), ...list({ 'session.id': 'b', 'prompt.id': 'p' })];
  expect(sessionIn(CLAUDE, { attributes: twice })).toEqual(
    of(CLAUDE, { 'session.id': 'b', 'prompt.id': 'p' }),
  );
});

test('a record with a trace id has no session, unless its product’s traces are part of a prompt', () => {
  const attributes = list({ 'session.id': 's', 'prompt.id': 'p', 'event.name': 'user_prompt' });
  const body = (traceId: string) =>
    toBody({
      resourceLogs: [
        {
          resource: { attributes: list({ 'service.name': 'claude-code' }) },
          scopeLogs: [{ scope: { name: CLAUDE.scopeName }, logRecords: [{ attributes, traceId }] }],
        },
      ],
    });
  const [traced] = accepted(decodeLogs(body(TRACE_ID))).logs;
  expect(traced).toMatchObject({ traceId: TRACE_ID, session: null });
  const record = { attributes: list({ 'session.id': 's', prompt_id: 'p' }) };
  expect(sessionOf(CLAUDE, record, true)).toBeNull();
  expect(sessionOf(GEMINI, record, true)?.session).toMatchObject({ hasTrace: true });
  const [bare] = accepted(decodeLogs(body('0'.repeat(32)))).logs;
  expect(bare).toMatchObject({ traceId: null, session: { event: 'prompt' } });
});
