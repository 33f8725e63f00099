/**
 * One call writes the log line and moves the counter. What is logged is compared whole: a field
 * that should not be there is the leak this file looks for.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { SluiceError } from '../../src/errors.ts';
import { errorFacts, framesOf } from '../../src/observe/error-facts.ts';
import { createObserver, type Events, type Observer } from '../../src/observe/events.ts';

let lines: Record<string, unknown>[];
let events: Events;
let registry: Observer['registry'];

beforeEach(() => observeAt('debug'));

function observeAt(level: string): void {
  lines = [];
  ({ events, registry } = createObserver(level, {
    write: (line) => {
      const { time, ...fields }: Record<string, unknown> = JSON.parse(line);
      expect(time).toEqual(expect.any(Number));
      lines.push(fields);
    },
  }));
}

/** The samples that are not 0, without `# HELP` and `# TYPE`. */
async function samples(): Promise<string[]> {
  return (await registry.metrics())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !line.endsWith(' 0'));
}

/** An error as pg throws it. */
function databaseError(code: string, message: string): Error {
  return Object.assign(new Error(message), {
    name: 'error',
    code,
    detail: 'Failing row contains (secret).',
    where: 'COPY spans, line 1, column attributes: "secret"',
    table: 'spans',
  });
}

describe('ingest', () => {
  test('requests are counted by signal and answer, and not logged', async () => {
    events.requestAnswered('traces', 200);
    events.requestAnswered('traces', 200);
    events.requestAnswered('logs', 429);
    expect(await samples()).toEqual([
      'sluice_ingest_requests_total{signal="traces",status="200"} 2',
      'sluice_ingest_requests_total{signal="logs",status="429"} 1',
    ]);
    expect(lines).toEqual([]);
  });

  test('rejections are counted by a bounded reason; their paths are not logged', async () => {
    events.recordsRejected('traces', [
      { reason: 'traceId', count: 3, firstPath: 'resourceSpans[0]' },
      { reason: 'x'.repeat(100), count: 1, firstPath: 'resourceSpans[1]' },
    ]);
    expect(await samples()).toEqual([
      'sluice_ingest_rejected_records_total{signal="traces",reason="traceId"} 3',
      `sluice_ingest_rejected_records_total{signal="traces",reason="${'x'.repeat(64)}"} 1`,
    ]);
    expect(lines).toEqual([
      { level: 20, signal: 'traces', rejections: 2, msg: 'records rejected' },
    ]);
  });

  test('a request is traced step by step, each with the time since its head was read', () => {
    const trace = events.requestBegun('/v1/traces');
    trace?.('key accepted', { workspaceId: 7 });
    events.requestBegun('/v1/logs')?.('refused', { status: 429, code: 'rate_limited' });
    trace?.('answered', { status: 200 });
    const ms = expect.any(Number);
    const debug = (facts: object, msg: string) => ({ level: 20, ...facts, msg: `request: ${msg}` });
    expect(lines).toEqual([
      debug({ request: 1, path: '/v1/traces' }, 'head read'),
      debug({ request: 1, ms, workspaceId: 7 }, 'key accepted'),
      debug({ request: 2, path: '/v1/logs' }, 'head read'),
      debug({ request: 2, ms, status: 429, code: 'rate_limited' }, 'refused'),
      debug({ request: 1, ms, status: 200 }, 'answered'),
    ]);
  });

  test('a run is traced by its ids; above debug nothing is traced', () => {
    const run = { workspaceId: 7, runId: '00112233-4455-6677-8899-aabbccddeeff', title: 'secret' };
    events.runReached(run, 'stored', { findings: 2 });
    const { title: _, ...ids } = run;
    expect(lines).toEqual([{ level: 20, ...ids, findings: 2, msg: 'run: stored' }]);
    observeAt('info');
    events.runReached(run, 'stored');
    expect(events.requestBegun('/v1/traces')).toBe(null);
    expect(lines).toEqual([]);
  });

  test('that bodies are decoded in JavaScript is logged with the reason', () => {
    events.scannerFailed(new RangeError('WebAssembly.Instance(): Out of memory'));
    expect(lines).toEqual([
      {
        level: 40,
        error: 'RangeError',
        message: 'WebAssembly.Instance(): Out of memory',
        msg: 'the scanner in WebAssembly cannot be made; bodies are decoded in JavaScript',
      },
    ]);
  });

  test('a fault is logged with its place', async () => {
    const error = new TypeError('x is not a function');
    const request = { method: 'GET', route: '/things/{id}', id: '0123456789abcdef' };
    events.requestFailed('ingest', error, request);
    expect(lines).toEqual([
      {
        level: 50,
        place: 'ingest',
        ...request,
        frames: framesOf(error),
        error: 'TypeError',
        message: 'x is not a function',
        msg: 'request failed',
      },
    ]);
    expect(await samples()).toEqual(['sluice_faults_total{place="ingest"} 1']);
  });
});

describe('the store', () => {
  test('a batch moves rows, bytes, outcome, time and level of what is in flight', async () => {
    events.inflightChanged(5000);
    events.batchCommitted({ requests: 2, rows: 30, bytes: 4000, elapsedMs: 30 });
    const moved = await samples();
    expect(moved.filter((line) => !line.includes('bucket'))).toEqual([
      'sluice_store_rows_total 30',
      'sluice_store_bytes_total 4000',
      'sluice_store_batches_total{outcome="committed"} 1',
      'sluice_store_batch_seconds_sum 0.03',
      'sluice_store_batch_seconds_count 1',
      'sluice_store_inflight_bytes 5000',
    ]);
    expect(moved).toContain('sluice_store_batch_seconds_bucket{le="0.05"} 1');
    expect(lines).toEqual([
      { level: 20, requests: 2, rows: 30, bytes: 4000, elapsedMs: 30, msg: 'batch committed' },
    ]);
  });

  test('refused rows are logged by code and table; PostgreSQL’s words are not', async () => {
    events.requestUnstorable(databaseError('22P02', 'invalid input syntax: "secret"'));
    expect(lines).toEqual([
      {
        level: 40,
        error: 'error',
        code: '22P02',
        at: 'spans',
        msg: 'telemetry rejected by PostgreSQL',
      },
    ]);
    expect(await samples()).toEqual(['sluice_store_unstorable_requests_total{code="22P02"} 1']);
  });
});

describe('what fails again and again', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

  test('is logged when it begins and when it ends, and counted in between', async () => {
    for (let turn = 0; turn < 3; turn += 1) events.passFailed(refused);
    events.passWorked();
    events.passWorked();
    expect(lines.filter(({ level }) => level !== 20)).toEqual([
      {
        level: 50,
        error: 'Error',
        code: 'ECONNREFUSED',
        message: 'connect ECONNREFUSED',
        msg: 'evaluation failed; it will be retried at the next interval',
      },
      { level: 30, failures: 3, elapsedMs: expect.any(Number), msg: 'runs are evaluated again' },
    ]);
    expect(await samples()).toEqual(['sluice_pass_rounds_total{outcome="failed"} 3']);
  });

  test('concerns end apart, and begin again', () => {
    events.batchFailed(2, refused);
    events.connectionLost(refused);
    events.connectionOpened();
    events.requestFailed('read', refused);
    events.batchCommitted({ requests: 1, rows: 1, bytes: 1, elapsedMs: 1 });
    expect(lines.filter(({ level }) => level !== 20).map(({ msg }) => msg)).toEqual([
      'telemetry cannot be stored; it is answered 503',
      'the database cannot be reached',
      'the database can be reached again',
      'the database cannot be reached',
      'telemetry is stored again',
    ]);
  });

  test('does not hide a fault of the program', () => {
    events.connectionLost(refused);
    for (let turn = 0; turn < 2; turn += 1) events.requestFailed('read', new TypeError('x'));
    expect(lines.filter(({ msg }) => msg === 'request failed')).toHaveLength(2);
  });

  test('an answer 503 is counted by place and reason, and of /ready by the part that fails', async () => {
    events.requestUnavailable('ingest', 'inflight_rows');
    events.notReady(['db', 'pass']);
    events.notReady(['db']);
    events.ready();
    expect(await samples()).toEqual([
      'sluice_unavailable_answers_total{place="ingest",reason="inflight_rows"} 1',
      'sluice_unavailable_answers_total{place="ready",reason="db"} 2',
      'sluice_unavailable_answers_total{place="ready",reason="pass"} 1',
    ]);
    expect(lines.filter(({ level }) => level !== 20).map(({ msg }) => msg)).toEqual([
      '/ready answers 503',
      '/ready answers 200 again',
    ]);
  });
});

describe('levels', () => {
  test('a quiet level logs nothing below it, and counts all the same', async () => {
    observeAt('error');
    events.batchFailed(3, new Error('away'));
    expect(lines).toEqual([]);
    expect(await samples()).toEqual(['sluice_store_batches_total{outcome="failed"} 1']);
  });

  test('an empty pass is not worth a line', async () => {
    events.passFinished({ evaluated: 0, undecided: 0, findings: 0, elapsedMs: 1 });
    expect(lines).toEqual([]);
    events.passFinished({ evaluated: 2, undecided: 1, findings: 1, elapsedMs: 1 });
    expect(lines).toHaveLength(1);
    expect(await samples()).toEqual([
      'sluice_pass_runs_total{outcome="evaluated"} 2',
      'sluice_pass_runs_total{outcome="undecided"} 1',
      'sluice_pass_rounds_total{outcome="finished"} 2',
    ]);
  });
});

test('the backlog is shown by gauges, and a count that fails is reported once', async () => {
  events.backlogCounted(7, 12.5);
  expect(await samples()).toEqual([
    'sluice_pass_waiting_runs 7',
    'sluice_pass_oldest_wait_seconds 12.5',
  ]);
  events.backlogUncounted(new Error('timeout'));
  events.backlogUncounted(new Error('timeout'));
  expect(lines.filter(({ level }) => level === 40)).toHaveLength(1);
  expect(await samples()).toContain('sluice_faults_total{place="backlog_count"} 2');
});

describe('limits', () => {
  test('Redis that is lost and found is reported both times, and shown by the gauge', async () => {
    events.limiterAnswered();
    expect(await samples()).toEqual(['sluice_limits_shared 1']);
    events.limiterUnavailable(new Error('Command timed out'));
    events.countedHere();
    events.countedHere();
    expect(await samples()).toEqual([
      'sluice_faults_total{place="limiter"} 1',
      'sluice_limits_counted_here_total 2',
    ]);
    expect(lines).toEqual([
      { level: 30, msg: 'Redis responds again; rate limits are shared by all processes' },
      {
        level: 40,
        error: 'Error',
        message: 'Command timed out',
        msg: 'Redis does not respond; rate limits are counted per process',
      },
    ]);
  });

  test('revocations that are not heard are a fault', async () => {
    events.keyChangesUnheard(new Error('The connection was closed.'));
    expect(await samples()).toEqual(['sluice_faults_total{place="key_changes"} 1']);
    expect(lines).toEqual([
      {
        level: 40,
        error: 'Error',
        message: 'The connection was closed.',
        msg: 'key changes are not received immediately; they take effect within 5 s',
      },
    ]);
  });
});

describe('what of an error may be logged', () => {
  test.each([
    ['22P02', 'invalid input syntax for type json'],
    ['22021', 'invalid byte sequence for encoding "UTF8": 0x00'],
    ['23505', 'duplicate key value violates unique constraint "x"'],
    ['54000', 'index row size 4008 exceeds btree version 4 maximum 2704 for index "x"'],
  ])('of PostgreSQL’s %s only code and table', (code, message) => {
    expect(errorFacts(databaseError(code, message))).toEqual({ error: 'error', code, at: 'spans' });
  });

  test('of other codes the message too, and never the detail', () => {
    expect(errorFacts(databaseError('57P01', 'terminating connection'))).toEqual({
      error: 'error',
      code: '57P01',
      message: 'terminating connection',
      at: 'spans',
    });
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    expect(errorFacts(refused)).toEqual({
      error: 'Error',
      code: 'ECONNREFUSED',
      message: 'connect ECONNREFUSED',
    });
  });

  test('of a refusal its code and words, and nothing of its cause', () => {
    const cause = databaseError('22P02', 'secret');
    expect(errorFacts(new SluiceError('unstorable_rows', 'Refused.', { cause }))).toEqual({
      error: 'SluiceError',
      code: 'unstorable_rows',
      message: 'Refused.',
    });
  });

  test.each([
    ['secret', 'string'],
    [undefined, 'undefined'],
    [{ secret: 1 }, 'object'],
  ])('of what is no error its type', (thrown, type) => {
    expect(errorFacts(thrown)).toEqual({ error: type });
  });
});

test('attempts to sign in are counted by way and outcome, and logged with account and address', async () => {
  const facts = { user: 7, address: '192.0.2.1' };
  const unknown = { user: null, address: '2001:db8::1' };
  events.signInTried('password', 'succeeded', facts);
  events.signInTried('password', 'failed', facts);
  events.signInTried('google', 'limited', unknown);
  expect(await samples()).toEqual([
    'sluice_sign_ins_total{way="password",outcome="succeeded"} 1',
    'sluice_sign_ins_total{way="password",outcome="failed"} 1',
    'sluice_sign_ins_total{way="google",outcome="limited"} 1',
  ]);
  expect(lines).toEqual([
    { level: 30, way: 'password', ...facts, msg: 'signed in' },
    { level: 40, way: 'password', outcome: 'failed', ...facts, msg: 'sign-in refused' },
    { level: 40, way: 'google', outcome: 'limited', ...unknown, msg: 'sign-in refused' },
  ]);
});

test('what ends sessions is logged with account and address', () => {
  const facts = { user: 7, address: '192.0.2.1' };
  events.signedOut({ ...facts, user: null });
  events.sessionsRevoked(3, facts);
  events.passwordChanged(facts);
  expect(lines).toEqual([
    { level: 30, ...facts, user: null, msg: 'signed out' },
    { level: 30, sessions: 3, ...facts, msg: 'sessions revoked' },
    { level: 30, ...facts, msg: 'password changed' },
  ]);
});

test('every metric is named for the product, and two observers share none', async () => {
  const other = createObserver('silent').registry;
  events.requestsResent(5);
  expect(await other.getSingleMetricAsString('sluice_ingest_resends_total')).toMatch(/ 0$/m);
  for (const { name } of await registry.getMetricsAsJSON()) expect(name).toMatch(/^sluice_/);
});
