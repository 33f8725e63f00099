/**
 * Runs without traces in PostgreSQL: stored as sent, ended by their session's course, claimed and
 * read back. Time passes by UPDATE: nothing here waits for a clock.
 */

import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { claimRuns } from '../../../src/db/runs/evaluation-queue.ts';
import { AFTER_END_NANOS, closeSessionRuns } from '../../../src/db/runs/session-runs.ts';
import { LogRuns } from '../../../src/db/telemetry/log-runs.ts';
import { ensureDay } from '../../../src/db/telemetry/partitions.ts';
import type { Hex16 } from '../../../src/model/json.ts';
import type { LogSession } from '../../../src/model/telemetry.ts';
import { casesOf } from '../../support/cases.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import {
  decodedRequest,
  hex16,
  type LogRow,
  logRow,
  NOON_MS,
  type SpanRow,
  sessionFor,
  spanRow,
  TRACE_ID,
} from '../../support/rows.ts';
import { storedLogs, storedSpans } from '../../support/stored-blocks.ts';
import { encodeRequests, readSteps, storeRequests } from '../../support/stored-runs.ts';

const SETTLE_MS = 60_000;
const TIMES = {
  settleMs: SETTLE_MS,
  settleMaxMs: 300_000,
  timeoutMs: 900_000,
  openMaxMs: 3_600_000,
};
const SETTINGS = { ...TIMES, limit: 100 };
const WORKSPACE = 1;
const RUN = { workspaceId: WORKSPACE, firstArrivalOn: '2026-11-20', lastArrivalOn: '2026-11-20' };
const SESSION = hex16(0x5e);
const NOON_NANO = BigInt(NOON_MS) * 1_000_000n;

/** There every row names its run, and the plans are the workers'. */

let scratch: MigratedDatabase;
let logRuns: LogRuns;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await ensureDay(scratch.database, NOON_MS);
});
afterAll(() => scratch.close());
beforeEach(async () => {
  logRuns = new LogRuns();
  await scratch.database.query(
    'TRUNCATE runs, leases, hot_blocks, blocks, hot_places, places, session_marks',
  );
});

function record(
  event: LogSession['event'] | 'end',
  seconds: number,
  fields: Partial<LogSession> & Pick<Partial<LogRow>, 'eventName' | 'body'> = {},
): LogRow {
  const { runId = null, key = SESSION, ...more } = fields;
  const timeUnixNano = String(NOON_NANO + BigInt(seconds) * 1_000_000_000n);
  return logRow({ timeUnixNano, ...more, session: sessionFor(event, key, runId) });
}

async function store(
  logs: readonly LogRow[],
  { spans = [], workspaceId = WORKSPACE }: { spans?: SpanRow[]; workspaceId?: number } = {},
): Promise<void> {
  const connection = await scratch.database.connect();
  try {
    const request = decodedRequest({ signal: 'logs', logs, spans });
    await storeRequests(connection, encodeRequests(request, workspaceId, NOON_MS, logRuns));
  } finally {
    connection.release();
  }
}

/** Lets everything stored so far be as old as this. */
const age = async (seconds: number): Promise<void> => {
  for (const [table, column] of [
    ['runs', 'last_arrival_at'],
    ['session_marks', 'arrived_at'],
  ]) {
    await scratch.database.query(
      `UPDATE ${table} SET ${column} = ${column} - make_interval(secs => $1)`,
      [seconds],
    );
  }
};

const states = async (): Promise<Record<string, unknown>> => {
  const rows = await scratch.rows('SELECT run_id, state FROM runs ORDER BY start_unix_nano');
  return Object.fromEntries(rows.map(({ run_id, state }) => [String(run_id), state]));
};
const marks = async (): Promise<number> =>
  (await scratch.rows('SELECT 1 FROM session_marks')).length;
const close = async (): Promise<number> => (await closeSessionRuns(scratch.database, TIMES)).runs;
const claimed = async (): Promise<Hex16[]> =>
  (await claimRuns(scratch.database, SETTINGS)).map(({ runId }) => runId).sort();

const [FIRST, SECOND] = [hex16(1), hex16(2)];
const first = [
  record('prompt', 0, { runId: FIRST, eventName: 'a prompt' }),
  record('text', 5, { runId: FIRST, eventName: 'a result' }),
];
const second = [record('prompt', 60, { runId: SECOND })];

describe('what is stored', () => {
  test('the record as it was sent, and its run', async () => {
    await store([...first, logRow({ traceId: TRACE_ID }), logRow()]);
    const records = await storedLogs(scratch.database);
    expect(records.map(({ record, runId }) => [record.traceId, runId])).toEqual([
      [undefined, FIRST],
      [undefined, FIRST],
      [TRACE_ID, TRACE_ID],
      [undefined, null],
    ]);
  });

  test('a run with the counts, times and service of its records', async () => {
    await store(first);
    await store([record('nothing', 9, { runId: FIRST })]);
    expect(
      await scratch.rows(
        `SELECT run_id, state, spans, log_records, service_name, session_key,
                start_unix_nano, end_unix_nano FROM runs`,
      ),
    ).toEqual([
      {
        run_id: FIRST,
        state: 'running',
        spans: 0,
        log_records: 3,
        service_name: 'agent',
        session_key: SESSION,
        start_unix_nano: String(NOON_NANO),
        end_unix_nano: String(NOON_NANO + 9_000_000_000n),
      },
    ]);
  });

  test('spans and records of several traces, read as one run and in no other', async () => {
    const session = { ...sessionFor('nothing', SESSION, FIRST), hasTrace: true };
    const [one, other] = [hex16(0xe1), hex16(0xe2)];
    const named = { runId: FIRST, hasTrace: true };
    await store(
      [
        record('prompt', 0, { runId: FIRST }),
        { ...record('text', 1, named), traceId: one },
        // Of the same trace, and of no session.
        logRow({ traceId: one }),
      ],
      { spans: [spanRow({ traceId: one, session }), spanRow({ traceId: other, session })] },
    );
    const stored = await storedSpans(scratch.database);
    expect(stored.map(({ record, runId }) => [record.traceId, runId])).toEqual([
      [one, FIRST],
      [other, FIRST],
    ]);
    const runs = await scratch.rows(
      'SELECT run_id, state, spans, log_records FROM runs ORDER BY 1',
    );
    expect(runs).toEqual([
      { run_id: FIRST, state: 'running', spans: 2, log_records: 2 },
      { run_id: one, state: 'running', spans: 0, log_records: 1 },
    ]);
    const steps = async (runId: Hex16) =>
      (await readSteps(scratch.database, { ...RUN, runId })).steps;
    expect((await steps(FIRST)).map(({ source }) => source).sort()).toEqual([
      'log',
      'log',
      'span',
      'span',
    ]);
    expect(await steps(one)).toHaveLength(1);
  });

  test('runs of traces have no session', async () => {
    await store([], { spans: [spanRow()] });
    expect(await scratch.rows('SELECT session_key FROM runs')).toEqual([{ session_key: null }]);
    expect(await marks()).toBe(0);
  });
});

describe('the end of a run', () => {
  test('the next prompt of its session, once that has settled', async () => {
    await store(first);
    await store(second);
    expect(await close()).toBe(0);
    await age(61);
    expect(await close()).toBe(1);
    expect(await states()).toEqual({ [FIRST]: 'completed', [SECOND]: 'running' });
    expect(await marks()).toBe(0);
    expect(await claimed()).toEqual([FIRST]);
    expect(await close()).toBe(0);
  });

  test('also when the records came the other way round', async () => {
    await store(second);
    await store(first);
    await age(61);
    await close();
    expect(await states()).toEqual({ [FIRST]: 'completed', [SECOND]: 'running' });
  });

  test("the session's end", async () => {
    await store([...first, ...second, record('end', 70)]);
    await age(61);
    expect(await close()).toBe(2);
    expect(await states()).toEqual({ [FIRST]: 'completed', [SECOND]: 'completed' });
    expect(await claimed()).toEqual([FIRST, SECOND]);
  });

  test('a session that continued after its end waits as any other', async () => {
    await store([...first, record('end', 6)]);
    await store([record('text', 30, { runId: FIRST })]);
    await age(61);
    expect(await close()).toBe(0);
    expect(await marks()).toBe(0);
    expect(await claimed()).toEqual([]);
    await store(second);
    await age(61);
    expect(await close()).toBe(1);
    expect(await claimed()).toEqual([FIRST]);
  });

  test('what the sender writes while it ends does not continue the session', async () => {
    await store([...first, record('end', 6), record('nothing', 8, { runId: FIRST })]);
    await age(61);
    expect(await close()).toBe(1);
  });

  test.each([
    [AFTER_END_NANOS, 1],
    [AFTER_END_NANOS + 1, 0],
  ])('a record %i ns after the end of its session: %i runs end', async (nanos, ended) => {
    await store([...first, record('end', 6)]);
    await scratch.database.query('UPDATE runs SET end_unix_nano = $1', [
      NOON_NANO + 6_000_000_000n + BigInt(nanos),
    ]);
    await age(61);
    expect(await close()).toBe(ended);
    expect(await marks()).toBe(0);
  });

  test('else that nothing more came: it timed out', async () => {
    await store(first);
    await age(901);
    expect(await close()).toBe(0);
    expect(await claimed()).toEqual([FIRST]);
    expect(await states()).toEqual({ [FIRST]: 'timed_out' });
  });

  test('what comes after it keeps it ended, and delays its evaluation', async () => {
    await store([...first, ...second]);
    await age(61);
    await close();
    await store([record('text', 7, { runId: FIRST })]);
    expect(await states()).toEqual({ [FIRST]: 'completed', [SECOND]: 'running' });
    expect(await claimed()).toEqual([]);
    await age(61);
    expect(await claimed()).toEqual([FIRST]);
  });

  test('is no other session, no other workspace, no run that began later', async () => {
    const other = hex16(0x5f);
    await store([record('prompt', 0, { runId: FIRST, key: other })]);
    await store([record('prompt', 0, { runId: hex16(3) })], { workspaceId: 2 });
    await store([record('prompt', 60, { runId: SECOND }), record('end', 30)]);
    await age(61);
    expect(await close()).toBe(0);
    expect(Object.values(await states())).toEqual(['running', 'running', 'running']);
  });

  test('a run of a trace, and one evaluated already, stay as they are', async () => {
    await store(first, { spans: [spanRow({ parentSpanId: '00000000000000ff' })] });
    await scratch.database.query(`UPDATE runs SET evaluation = 'evaluated' WHERE run_id = $1`, [
      FIRST,
    ]);
    await store(second);
    await age(61);
    expect(await close()).toBe(0);
    expect((await states())[TRACE_ID]).toBe('running');
  });

  test('of many marks a thousand are taken at a time', async () => {
    const sessions = Array.from({ length: 1200 }, (_, index) => hex16(0x10000 + index));
    await store(
      sessions.map((key, index) => record('prompt', 0, { key, runId: hex16(index + 1) })),
    );
    await store(sessions.map((key) => record('end', 9, { key })));
    await age(61);
    let closed = 0;
    for (const left of [1400, 400, 0]) {
      closed += await close();
      expect(await marks()).toBe(left);
    }
    expect(closed).toBe(1200);
  });

  test('many marks of a session complete what each of them would, one by one', async () => {
    const seconds = fc.nat(9);
    const numbered = fc.constantFrom(1, 2, 3, 4);
    const marked = fc.record({ seconds, number: fc.option(numbered) });
    const begun = fc.uniqueArray(fc.record({ seconds, number: numbered }), {
      selector: ({ number }) => number,
      minLength: 1,
    });
    const insertMarks = fc.array(marked, { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(begun, insertMarks, async (runs, said) => {
        await scratch.database.query('TRUNCATE runs, leases, session_marks');
        await scratch.database.query(
          `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, session_key,
             start_unix_nano)
           SELECT 1, run, 'running', 0, 1, $3, at FROM unnest($1::uuid[], $2::bigint[]) AS t (run, at)`,
          [runs.map(({ number }) => hex16(number)), runs.map((one) => one.seconds), SESSION],
        );
        await scratch.database.query(
          `INSERT INTO session_marks (workspace_id, session_key, run_id, at_unix_nano, arrived_at)
           SELECT 1, $3, run, at, now() - interval '1 hour'
             FROM unnest($1::uuid[], $2::bigint[]) AS t (run, at)`,
          [
            said.map(({ number }) => (number === null ? null : hex16(number))),
            said.map((one) => one.seconds),
            SESSION,
          ],
        );
        const over = runs.filter((run) =>
          said.some((mark) => mark.number !== run.number && run.seconds < mark.seconds),
        );
        expect(await close()).toBe(over.length);
        const completed = await scratch.rows(`SELECT run_id FROM runs WHERE state = 'completed'`);
        expect(completed.map(({ run_id }) => run_id).sort()).toEqual(
          over.map(({ number }) => hex16(number)).sort(),
        );
      }),
      { numRuns: casesOf(40, 4) },
    );
  });

  test('of a session with a thousand open runs a hundred are completed, of others all', async () => {
    const prompts = Array.from({ length: 1000 }, (_, index) =>
      record('prompt', index, { runId: hex16(0x1000 + index) }),
    );
    await store([...prompts, record('end', 2000)]);
    await store(first, { workspaceId: 2 });
    await store(second, { workspaceId: 2 });
    await age(61);
    expect(await close()).toBe(101);
    expect(await marks()).toBe(0);
    const [open] = await scratch.rows(
      `SELECT count(*)::int AS runs, min(start_unix_nano) AS earliest FROM runs
        WHERE workspace_id = 1 AND state = 'running'`,
    );
    expect(open).toEqual({ runs: 900, earliest: String(NOON_NANO + 100_000_000_000n) });
    await age(901);
    expect(await claimed()).toHaveLength(100);
  });

  test('several at once share the marks, and a run that ingest holds is waited for', async () => {
    await store([...first, ...second]);
    await age(61);
    const ingest = await scratch.database.connect();
    try {
      await ingest.query('BEGIN');
      await ingest.query('UPDATE runs SET log_records = log_records + 1 WHERE run_id = $1', [
        FIRST,
      ]);
      const both = Promise.all([close(), close()]);
      await ingest.query('COMMIT');
      expect((await both).sort()).toEqual([0, 1]);
    } finally {
      ingest.release();
    }
    expect((await states())[FIRST]).toBe('completed');
  });

  test('is found by indexes, however many runs there are', async () => {
    await scratch.database.query(
      `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, session_key)
       SELECT 1, lpad(to_hex(n + 100), 32, '0')::uuid,
              CASE WHEN n % 100 = 0 THEN 'running' ELSE 'completed' END, 0, 1,
              lpad(to_hex(n), 32, '0')::uuid
         FROM generate_series(1, 20000) AS n`,
    );
    await store([...first, ...second]);
    await age(61);
    await scratch.database.query('ANALYZE runs, session_marks');
    let plan = '';
    const explaining = {
      query: async (text: string, values: unknown[]) => {
        const { rows } = await scratch.database.query(`EXPLAIN ${text}`, values);
        plan = rows.map((row) => row['QUERY PLAN']).join('\n');
        return { rows: [] };
      },
    };
    await closeSessionRuns(explaining as unknown as typeof scratch.database, TIMES);
    expect(plan).toContain('runs_of_open_sessions');
    expect(plan).not.toMatch(/Seq Scan on runs/);
  });
});

describe('reading back', () => {
  const names = async (runId: Hex16): Promise<string[]> =>
    (await readSteps(scratch.database, { ...RUN, runId })).steps.map(({ name }) => name);

  test('the steps of the run and of no other, in time order', async () => {
    await store([
      record('text', 9, { runId: FIRST, eventName: 'last' }),
      ...first,
      record('text', 3, { runId: SECOND, eventName: 'of another' }),
      logRow({ traceId: FIRST, timeUnixNano: '1', eventName: 'with the trace id' }),
    ]);
    expect(await names(FIRST)).toEqual(['with the trace id', 'a prompt', 'a result', 'last']);
    const { steps, unread } = await readSteps(scratch.database, { ...RUN, runId: FIRST });
    expect(unread).toBe(0);
    expect(steps[1]).toMatchObject({ source: 'log', spanId: null, body: 'hello' });
  });

  test('a prompt that names no run, with what follows', async () => {
    await store([
      record('prompt', 0, { eventName: 'question' }),
      record('text', 5, { eventName: 'done' }),
      record('nothing', 6, { eventName: 'counted' }),
    ]);
    const [run] = await scratch.rows('SELECT run_id FROM runs');
    expect(await names(String(run?.run_id))).toEqual(['question', 'done', 'counted']);
  });
});
