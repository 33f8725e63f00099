/**
 * Every documented limit that nobody can set is the number in the code. A row here names the row of
 * the limits table, a quantity in it, and the constant that enforces it.
 *
 * Constants are found by name in all of `src`, so that a file can move; where several files have one
 * of the same name, the file's name comes before it: `keys:LIFE_DAYS`. A member of a settings object
 * is found by its name, too.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const LIMITS: readonly (readonly [row: string, quantity: string, constant: string])[] = [
  ["a workspace's bodies that are read and not decoded", '8 MiB', 'UNDECODED_BYTES_MAX'],
  ["a workspace's bodies that are read and not decoded", '256', 'body-gate:WAITING_MAX'],
  ["a workspace's bodies that are read and not decoded", '4 s', 'body-gate:WAIT_MS'],
  ["a body's arrival", '30 s', 'BODY_DEADLINE_MS'],
  ['objects and lists of a body', '1,000,000', 'STRUCTURES_MAX'],
  ['runs of a request', '20,000', 'run-delta:RUNS_MAX'],
  ['runs of a request', '20,000', 'CONTENTS_MAX'],
  ['rows, and characters, whose parameters', '1,000', 'row-groups:ROWS_MAX'],
  ['rows, and characters, whose parameters', '512 Ki', 'row-groups:CHARACTERS_MAX'],
  ['rows, and characters, whose parameters', '512 Ki', 'TURN_CHARACTERS'],
  ['decoding in one turn of the event loop', '2 ms', 'TURN_MS'],
  ['decoding in one turn of the event loop', '128 KiB', 'PIECE_BYTES'],
  ['a span, log record or metric decoded', '256 KiB', 'RECORD_BYTES_MAX'],
  ['a span, log record or metric decoded', '128 KiB', 'PLAIN_BYTES_MAX'],
  ['large bodies being decoded by threads', '4 MiB', 'GIANT_BYTES'],
  ['large bodies being decoded by threads', '32', 'large-bodies:waitingMax'],
  ['large bodies being decoded by threads', '5 s', 'large-bodies:waitMs'],
  ['one of them', '60 s', 'decodeMs'],
  ['one of them', '2 GiB', 'heapMib'],
  ['such a thread without work', '30 s', 'idleMs'],
  ["text of a request's resources", '4 Mi', 'ORIGIN_UNITS_MAX'],
  ['memory kept for later bodies', '16 MiB', 'body-memory:KEPT_BYTES_MAX'],
  ['memory kept for later bodies', '32', 'FREE_SLABS_MAX'],
  ['memory kept for later bodies', '1 MiB', 'SLAB_BYTES'],
  ['dense compressed bodies', '32', 'HONEST_GROWTH'],
  ['dense compressed bodies', '32', 'DENSE_WAITING_MAX'],
  ['a refused body that is still read', '64 MiB', 'DRAIN_BYTES_MAX'],
  ['a refused body that is still read', '5 s', 'exchange:DRAIN_MS_MAX'],
  ['one batch', '8 MiB', 'copy-writer:BATCH_BYTES_MAX'],
  ['one batch', '1 MiB', 'SHORT_BATCH_BYTES_MAX'],
  ["a workspace's bytes before the next one's turn", '256 KiB', 'QUANTUM_BYTES'],
  ['a statement', '30 s', 'database:STATEMENT_TIMEOUT_MS'],
  ['a statement', '32 s', 'QUERY_TIMEOUT_MS'],
  ['a batch deadline', '40 s', 'BATCH_TIMEOUT_MS'],
  ['another transaction', '60 s', 'database:TRANSACTION_TIMEOUT_MS'],
  ['a thread that takes requests', '135 s', 'acceptor-threads:STOP_LIMIT_MS'],
  ['a thread that takes requests', '3 s', 'METRICS_LIMIT_MS'],
  ['a thread that takes requests', '1 s', 'COUNT_LIMIT_MS'],
  ['one step of stopping', '15 s', 'STEP_LIMIT_MS'],
  ['one step of stopping', '30 s', 'REQUESTS_STOP_LIMIT_MS'],
  ['one step of stopping', '30 s', 'PASS_STOP_LIMIT_MS'],
  ['one step of stopping', '90 s', 'DATABASE_STOP_LIMIT_MS'],
  ['a body outside ingest', '16 KiB', 'json-body:bytesMax'],
  ['a body outside ingest', '10 s', 'json-body:deadlineMs'],
  ['passwords being hashed', '2', 'passwords:RUNNING_MAX'],
  ['passwords being hashed', '32', 'passwords:WAITING_MAX'],
  ['salts that one attempt', '4', 'SALTS_MAX'],
  ['attempts to sign in', '5', 'sign-in-limiter:account'],
  ['attempts to sign in', '60', 'sign-in-limiter:network'],
  ['attempts to sign in', '240', 'sign-in-limiter:site'],
  ['a session', '7 days', 'LIFE_HOURS'],
  ['a session', '12 h', 'IDLE_HOURS'],
  ['a session', '50', 'sessions:OPEN_MAX'],
  ['open invitations, valid keys', '200', 'invitations:OPEN_MAX'],
  ['open invitations, valid keys', '1,000', 'workspace-writes:KEYS_MAX'],
  ['revoked keys that a page lists', '200', 'REVOKED_KEYS_LISTED'],
  ['a provider that people sign in through', '10 s', 'identity-provider:TIMEOUT_SECONDS'],
  ['depth of an attribute value', '64', 'VALUE_DEPTH_MAX'],
  ['remembered keys, valid and unknown', '10,000', 'ENTRIES_MAX'],
  ['remembered keys, valid and unknown', '5 s', 'KEY_TTL_MS'],
  ['remembered keys, valid and unknown', '2.5 s', 'REFRESH_AFTER_MS'],
  ['requests of a key', '100,000', 'RATE_LIMIT_MAX'],
  ['an answer of Redis', '250 ms', 'REDIS_TIMEOUT_MS'],
  ['requests admitted before Redis', '10,000', 'EAGER_LIMIT_MIN'],
  ['requests admitted before Redis', '40 ms', 'FRESH_MS'],
  ['look-ups under way of keys', '500', 'KNOWN_LOOKUPS_MAX'],
  ['networks remembered for that', '10,000', 'NETWORKS_MAX'],
  ['connections of ingest, reads, probes', '5', 'INGEST_CONNECTIONS'],
  ['connections of ingest, reads, probes', '4', 'READ_CONNECTIONS'],
  ['connections of ingest, reads, probes', '1', 'PROBE_CONNECTIONS'],
  ['connections of ingest, reads, probes', '3', 'BACKGROUND_CONNECTIONS'],
  ['waiting for a connection', '5 s', 'database:CONNECT_TIMEOUT_MS'],
  ['waiting for a connection', '2 s', 'READ_WAIT_MS'],
  ['waiting for a connection', '64', 'READS_WAITING_MAX'],
  ['exports under way', '4', 'WORKSPACE_EXPORTS_MAX'],
  ['exports under way', '32', 'EXPORTS_MAX'],
  ['findings read at a time', '200', 'PAGE_FINDINGS'],
  ['findings read at a time', '256', 'STEP_NAME_CHARS'],
  ['bytes of an export not known', '512 KiB', 'response-stream:UNSENT_BYTES_MAX'],
  ['answers of a connection', '16 KiB', 'LAST_ANSWER_BYTES_MAX'],
  ['bodies held for clients', '64 MiB', 'unsent-answers:UNSENT_BYTES_MAX'],
  ['a client that takes nothing', '2 min', 'SENDING_MS_MAX'],
  ['one export', '15 min', 'STREAM_MS_MAX'],
  ['steps of a run that an answer outlines', '1,000', 'run-outlines:stepsMax'],
  ['a step of such an outline', '48 KiB', 'stepBytesMax'],
  ["texts that a run's page shows", '500', 'RUN_TEXTS_MAX'],
  ["texts that a run's page shows", '50', 'STEP_TEXTS_MAX'],
  ["texts that a run's page shows", '4,000', 'SHOWN_UNITS_MAX'],
  ['runs that a page of the dashboard looks at', '10,000', 'LOOKED_AT_MAX'],
  ["the overview's first count", '1 s', 'overview:BUDGET_MS'],
  ["the overview's first count", '10,000', 'overview:WAITING_MAX'],
  ["a reading of PostgreSQL's clock", '2 s', 'ROUND_TRIP_MAX_MS'],
  ["this machine's clock beside", '30 s', 'CLOCK_DIFFERENCE_MAX_MS'],
  ['a probe', '3 s', 'probe-routes:PROBE_TIMEOUT_MS'],
  ['sessions whose prompts', '10,000', 'SESSIONS_MAX'],
  ['sessions whose prompts', '8', 'PROMPTS_PER_SESSION_MAX'],
  ['marks of sessions applied by one statement', '1,000', 'MARKS_MAX'],
  ['marks of sessions applied by one statement', '3 s', 'session-runs:STATEMENT_TIMEOUT_MS'],
  ['runs completed by the marks', '100', 'RUNS_OF_SESSION_MAX'],
  ['runs completed by the marks', '2,000', 'session-runs:RUNS_MAX'],
  ['marks of sessions that could not', '30 s', 'MARKS_PAUSE_MS'],
  ['steps and bytes of one evaluation', '20,000', 'steps:stepsMax'],
  ['steps and bytes of one evaluation', '64 MiB', 'steps:bytesMax'],
  ["a service's and scope's name", '256', 'ORIGIN_CHARS_MAX'],
  ["a step's name in a finding", '256', 'evaluate:NAME_UNITS_MAX'],
  ['text past the cap', '256 KiB', 'PAST_CUT_BYTES_MAX'],
  ['checks of the corpus on disk', '5 min', 'intervalMs'],
  ['checks of the corpus on disk', '10 s', 'retryMs'],
  ['attempts at a run', '5', 'ATTEMPTS_MAX'],
  ['lease, renewed every', '300 s', 'LEASE_SECONDS'],
  ['workspaces visited by one statement', '500', 'VISITS_MAX'],
  ['workspaces visited by one statement', '16', 'COUNTED_PER_RUN'],
  ['runs per claim', '16', 'APART_WAITING_MAX'],
  ["a claimed run's wait", '1 s', 'claims:KEPT_MS'],
  ['runs read and stored together', '64', 'BATCH_RUNS_MAX'],
  ['runs read and stored together', '2,000', 'BATCH_STEPS_MAX'],
  ['runs read and stored together', '8 MiB', 'TOGETHER_BYTES_MAX'],
  ['tasks of a match thread', '2', 'TASKS_PER_THREAD'],
  ['tasks of a match thread', '3', 'LONG_RUNS_PER_THREAD'],
  ['tasks of a match thread', '35 s', 'CONNECTION_WAIT_MS'],
  ['CPU time of a run in a quick task', '100 ms', 'QUICK_RUN_CPU_MS'],
  ['CPU time of a quick task', '500 ms', 'QUICK_TASK_CPU_MS'],
  ['one slice of matching', '50 ms', 'SLICE_MS'],
  ['long runs of a workspace that wait', '16', 'LONG_WAITING_MAX'],
  ['findings per statement that removes excerpts', '2,000', 'REMOVAL_ROWS'],
  ['worker heap', '2 GiB', 'WORKER_HEAP_MB'],
  ['waiting for requests at stop', '20 s', 'server:DRAIN_MS_MAX'],
];

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map(({ parentPath, name }) => ({ name, text: readFileSync(join(parentPath, name), 'utf8') }));

/** Numbers and their products and sums; names are constants of the same file. */
function evaluate(expression: string, text: string): number {
  const numbers = expression.replaceAll(/[A-Z][A-Z0-9_]+/g, (name) => {
    return String(evaluate(definitions(name, text)[0] ?? 'NaN', text));
  });
  const sum = numbers.split('+').map((part) => {
    const factors = part.split('*').map((one) => Number(one.trim().replaceAll('_', '')));
    return factors.reduce((product, one) => product * one, 1);
  });
  return sum.reduce((total, one) => total + one, 0);
}

/** What a constant, or a member of an object, is set to. */
function definitions(name: string, text: string): string[] {
  const constant = new RegExp(`^(?:export )?const ${name}(?:: \\w+)? = ([\\w *+.]+);`, 'gm');
  const member = new RegExp(`\\b${name}: ([A-Z\\d_][\\w *]*)(?=[,} ])`, 'g');
  const pattern = /^[A-Z\d_]+$/.test(name) ? constant : member;
  return [...text.matchAll(pattern)].map(([, expression = '']) => expression);
}

function constantOf(reference: string): number {
  const [name = '', file] = reference.split(':').reverse();
  const values = sources
    .filter((source) => file === undefined || basename(source.name, '.ts') === file)
    .flatMap(({ text }) => definitions(name, text).map((found) => evaluate(found, text)));
  if (new Set(values).size !== 1) {
    throw new Error(`${reference}: ${values.length} constants in src, ${values.join(', ')}`);
  }
  return values[0] ?? Number.NaN;
}

const MIB = 1024 * 1024;
const UNITS: Readonly<Record<string, number>> = {
  KiB: 1024,
  MiB: MIB,
  GiB: 1024 * MIB,
  Ki: 1024,
  Mi: MIB,
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  days: 24 * 3_600_000,
};

/** In milliseconds, bytes, characters or pieces. */
function quantityOf(text: string): number {
  const [, digits = '', unit = ''] = /^([\d,.]+) ?(\w*)$/.exec(text) ?? [];
  return Number(digits.replaceAll(',', '')) * (unit === '' ? 1 : (UNITS[unit] ?? Number.NaN));
}

/** The unit of a constant, by the end of its name. */
function factorOf(constant: string): number {
  if (/SECONDS$/.test(constant)) return 1000;
  if (/HOURS$/.test(constant)) return 3_600_000;
  return /(MIB|Mib|_MB)$/.test(constant) ? MIB : 1;
}

const documents = [
  'ARCHITECTURE.md',
  ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`),
]
  .filter((path) => path.endsWith('.md'))
  .map((path) => readFileSync(join(ROOT, path), 'utf8'));

const rowsOf = (row: string): string[] =>
  documents.flatMap((text) => text.split('\n').filter((line) => line.startsWith(`| ${row}`)));

describe.each(LIMITS)('%s: %s', (row, quantity, constant) => {
  test(`is ${constant}`, () => {
    const escaped = quantity.replaceAll('.', '\\.');
    const stated = new RegExp(`(?<![\\d,.])${escaped}(?![\\w]|,\\d)`);
    expect(
      rowsOf(row).some((line) => stated.test(line)),
      `a row “${row}” with ${quantity}`,
    ).toBe(true);
    expect(constantOf(constant) * factorOf(constant)).toBe(quantityOf(quantity));
  });
});
