/**
 * Claiming, completing and releasing runs, through a real PostgreSQL. Time passes by UPDATE:
 * nothing here waits for a clock.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { EvaluatedRun } from '../../../src/db/runs/complete-runs.ts';
import { ATTEMPTS_MAX } from '../../../src/db/runs/due-runs.ts';
import {
  beginAttempt,
  type ClaimedRun,
  claimRuns,
  giveUpRuns,
  readBacklog,
  releaseRun,
  renewLeases,
  requeueRuns,
} from '../../../src/db/runs/evaluation-queue.ts';
import type { Hex16 } from '../../../src/model/json.ts';
import type { Severity } from '../../../src/model/rules.ts';
import type { RunState } from '../../../src/model/runs.ts';
import { NO_USAGE } from '../../../src/model/usage.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { completeRun, leaseTried } from '../../support/evaluation.ts';
import { findingDraft, hex8, hex16, runFacts } from '../../support/rows.ts';

const SETTLE_S = 60;
const TIMEOUT_S = 900;
const SETTINGS = {
  settleMs: SETTLE_S * 1000,
  settleMaxMs: 300_000,
  timeoutMs: TIMEOUT_S * 1000,
  openMaxMs: 3_600_000,
  limit: 100,
};
type OneRun = Omit<EvaluatedRun, 'ruleSetSha256'>;
const CORPUS = { version: '4.0.0', identity: 'c0'.repeat(20), ruleSetSha256: 'ab'.repeat(32) };
const RUN = hex16(1);

let scratch: MigratedDatabase;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.database.query(
    `INSERT INTO workspaces (slug, name) VALUES ('one', 'One'), ('two', 'Two')`,
  );
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE runs, leases, findings CASCADE');
});

/** A run of workspace 1 whose last arrival is so many seconds ago. */
async function insertRun(
  runId: Hex16,
  state: RunState = 'completed',
  ageSeconds = SETTLE_S + 1,
  workspaceId = 1,
): Promise<void> {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, last_arrival_at)
     VALUES ($1, $2, $3, 1, 0, now() - make_interval(secs => $4))`,
    [workspaceId, runId, state, ageSeconds],
  );
}

/** Runs 1, 2, 3 … of workspace 1, whose last arrivals are so many seconds ago. */
async function insertMany(count: number, state: RunState, ageSeconds: number): Promise<void> {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, last_arrival_at)
     SELECT 1, lpad(to_hex(n), 32, '0')::uuid, $2, 1, 0,
            now() - make_interval(secs => $3 + n / 1000.0)
       FROM generate_series(1, $1::int) AS n`,
    [count, state, ageSeconds],
  );
}

type Statement = (database: typeof scratch.database) => Promise<unknown>;

/** How PostgreSQL carried statements out; they use indexes alone. */
async function planOf(statement: Statement): Promise<string> {
  let plan = '';
  const explaining = {
    query: async (text: string, values: unknown[] = []) => {
      const { rows } = await scratch.database.query(`EXPLAIN ANALYZE ${text}`, values);
      plan += rows.map((row) => row['QUERY PLAN']).join('\n');
      const isReading = !text.includes('UPDATE');
      return isReading ? await scratch.database.query(text, values) : { rows: [], rowCount: 0 };
    },
  };
  await statement(explaining as unknown as typeof scratch.database);
  expect(plan).not.toContain('Seq Scan');
  return plan;
}

async function claim(limit = SETTINGS.limit): Promise<ClaimedRun[]> {
  return await claimRuns(scratch.database, { ...SETTINGS, limit });
}

const complete = (run: ClaimedRun, fields: Partial<OneRun> = {}): Promise<Severity[] | null> =>
  completeRun(scratch.database, evaluation(run, fields), CORPUS);

async function claimOne(): Promise<ClaimedRun> {
  const [run] = await claim();
  if (run === undefined) throw new Error('nothing was claimed');
  return run;
}

const endLeases = (): Promise<unknown> =>
  scratch.database.query(`UPDATE leases SET lease_until = now() - interval '1 second'`);

function evaluation(run: ClaimedRun, fields: Partial<OneRun> = {}): OneRun {
  return {
    run,
    findings: [findingDraft()],
    facts: runFacts({ state: run.state }),
    redactExcerpts: false,
    steps: 3,
    repeatedSpans: 0,
    unreadSteps: 2,
    texts: 7,
    surfaces: ['step_input'],
    truncatedTexts: 1,
    textCapBytes: 65_536,
    unparsedValues: 0,
    usage: NO_USAGE,
    title: null,
    tools: [],
    ...fields,
  };
}

const stateOf = async (runId: Hex16 = RUN): Promise<Record<string, unknown>> => {
  const [row] = await scratch.rows(
    `SELECT state, evaluation, attempts, lease_until IS NOT NULL AS leased, last_error
       FROM runs LEFT JOIN leases USING (workspace_id, run_id) WHERE run_id = $1`,
    [runId],
  );
  return row ?? {};
};

const findings = (): Promise<Record<string, unknown>[]> =>
  scratch.rows('SELECT run_id, rule_id FROM findings ORDER BY run_id, rule_id');

describe('claiming', () => {
  test('takes a finished run once it has settled', async () => {
    await insertRun(RUN, 'completed', SETTLE_S - 5);
    expect(await claim()).toEqual([]);
    await scratch.database.query(`UPDATE runs SET last_arrival_at = now() - interval '61 seconds'`);
    expect(await claim()).toMatchObject([{ workspaceId: 1, runId: RUN, attempt: 1 }]);
    expect(await stateOf()).toEqual({
      state: 'completed',
      evaluation: 'pending',
      attempts: 0,
      leased: true,
      last_error: null,
    });
  });

  test('takes a run without a root when it has timed out, and says so', async () => {
    await insertRun(RUN, 'running', TIMEOUT_S - 5);
    expect(await claim()).toEqual([]);
    expect((await stateOf()).state).toBe('running');
    await scratch.database.query(
      `UPDATE runs SET last_arrival_at = now() - interval '901 seconds'`,
    );
    expect(await claim()).toHaveLength(1);
    expect((await stateOf()).state).toBe('timed_out');
  });

  test.each<RunState>(['completed', 'failed', 'timed_out'])('leaves %s as it is', async (state) => {
    await insertRun(RUN, state);
    expect(await claim()).toHaveLength(1);
    expect((await stateOf()).state).toBe(state);
  });

  test.each(['evaluated', 'evaluation_failed'])('never takes a run that is %s', async (done) => {
    await insertRun(RUN);
    await scratch.database.query('UPDATE runs SET evaluation = $1', [done]);
    expect(await claim()).toEqual([]);
  });

  test('takes the oldest first, up to the limit', async () => {
    for (const age of [100, 300, 200, 400]) await insertRun(hex16(age), 'completed', age);
    const taken = (await claim(2)).map(({ runId }) => runId).sort();
    expect(taken).toEqual([hex16(300), hex16(400)]);
    expect((await claim(2)).map(({ runId }) => runId).sort()).toEqual([hex16(100), hex16(200)]);
    expect(await claim(2)).toEqual([]);
  });

  test('takes what timed out beside what finished: neither waits for the other to run dry', async () => {
    for (const age of [1, 2, 3, 4, 5, 6]) {
      await insertRun(hex16(age), 'running', TIMEOUT_S + age);
      await insertRun(hex16(100 + age), 'completed', 5000 + age);
    }
    const isTimedOut = ({ runId }: ClaimedRun): boolean => runId < hex16(100);
    expect((await claim(4)).map(isTimedOut).sort()).toEqual([false, false, false, true]);
    expect((await claim(4)).map(isTimedOut).sort()).toEqual([false, false, false, true]);
    expect(await claim(4)).toHaveLength(1);
  });

  test('takes runs claimed before up to their limit, and fresh ones beside them', async () => {
    for (const age of [1, 2, 3, 4]) await insertRun(hex16(age), 'completed', 5000 + age);
    await claim();
    await endLeases();
    for (const age of [5, 6]) await insertRun(hex16(age), 'completed', 100 + age);
    const taken = await claimRuns(scratch.database, { ...SETTINGS, retries: 1 });
    expect(taken.map(({ runId, isRetry }) => [runId, isRetry]).sort()).toEqual([
      [hex16(4), true],
      [hex16(5), false],
      [hex16(6), false],
    ]);
  });

  test('reads due runs only, however many are running', async () => {
    await insertMany(20_000, 'running', 120);
    await insertRun(hex16(0xfffff));
    await scratch.database.query('ANALYZE runs');
    const rowsRead = async (statement: Statement) =>
      [...(await planOf(statement)).matchAll(/using (runs_\w+) .*rows=(\d+)/g)].map(
        ([, index, rows]) => [index, Number(rows)],
      );
    expect(await rowsRead((database) => claimRuns(database, SETTINGS))).toEqual(
      expect.arrayContaining([
        ['runs_running', 0],
        ['runs_finished', 1],
      ]),
    );
    expect(await rowsRead((database) => giveUpRuns(database))).toContainEqual([
      'runs_exhausted',
      0,
    ]);
  });

  test('reads a few of them, however many are due, for those claimed before too', async () => {
    await insertMany(20_000, 'completed', 3600);
    await scratch.database.query('ANALYZE runs');
    const plan = await planOf((database) => claimRuns(database, { ...SETTINGS, limit: 10 }));
    const read = [...plan.matchAll(/Rows Removed by Filter: (\d+)|actual .*?rows=(\d+)/g)].map(
      ([, removed, rows]) => Number(removed ?? rows),
    );
    expect(Math.max(...read)).toBeLessThan(200);
  });

  test('finds those claimed before, however many wait', async () => {
    await insertMany(40, 'completed', 3600);
    await insertRun(hex16(0xa1), 'completed', 3000);
    await insertRun(hex16(0xa2), 'completed', 2000);
    await scratch.database.query('UPDATE runs SET attempts = 1 WHERE run_id >= $1', [hex16(0xa1)]);
    await leaseTried(scratch.database);
    const taken = await claimRuns(scratch.database, { ...SETTINGS, limit: 2, retries: 1 });
    expect(taken.map(({ attempt }) => attempt).sort()).toEqual([1, 2]);
    const again = await claimRuns(scratch.database, { ...SETTINGS, limit: 2, retries: 1 });
    expect(again.map(({ attempt }) => attempt).sort()).toEqual([1, 2]);
  });

  test('passes over a run that another is just taking', async () => {
    await insertRun(hex16(1), 'completed', 500);
    await insertRun(hex16(2));
    const other = await scratch.database.connect();
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM runs WHERE run_id = $1 FOR UPDATE', [hex16(1)]);
    expect((await claim()).map(({ runId }) => runId)).toEqual([hex16(2)]);
    await other.query('ROLLBACK');
    other.release();
    expect((await claim()).map(({ runId }) => runId)).toEqual([hex16(1)]);
  });

  test('many claimers at once never get the same run, and together get all', async () => {
    await scratch.database.query(
      `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, last_arrival_at)
       SELECT 1 + n % 3, lpad(to_hex(n), 32, '0')::uuid, 'completed', 1, 0,
              now() - interval '1 hour'
         FROM generate_series(1, 300) AS n`,
    );
    const taken: string[] = [];
    const claimer = async (): Promise<void> => {
      for (;;) {
        const runs = await claim(7);
        if (runs.length === 0) return;
        taken.push(...runs.map(({ runId }) => runId));
      }
    };
    await Promise.all(Array.from({ length: 8 }, claimer));
    expect(taken.sort()).toEqual(Array.from({ length: 300 }, (_, index) => hex16(index + 1)));
  });
});

describe('leases', () => {
  test('a leased run is not claimed before its lease has run out', async () => {
    await insertRun(RUN);
    await claim();
    expect(await claim()).toEqual([]);
    await endLeases();
    expect(await claim()).toMatchObject([{ workspaceId: 1, runId: RUN, attempt: 1 }]);
  });

  test('after a crash of PostgreSQL, which empties the leases, runs are due and their claims are void', async () => {
    for (const id of [1, 2, 3]) await insertRun(hex16(id));
    const before = await claim();
    await scratch.database.query('TRUNCATE leases');
    const [lost] = before;
    if (lost === undefined) throw new Error('nothing was claimed');
    expect(await complete(lost)).toBeNull();
    expect(await beginAttempt(scratch.database, [lost])).toEqual([]);
    await releaseRun(scratch.database, lost, 'out of memory');
    await requeueRuns(scratch.database, before);
    expect(await stateOf(hex16(1))).toMatchObject({ evaluation: 'pending', attempts: 0 });
    const after = await claim();
    expect(after.map(({ runId }) => runId).sort()).toEqual([hex16(1), hex16(2), hex16(3)]);
    expect(await complete(lost)).toBeNull();
    for (const run of after) expect(await complete(run)).toEqual(['high']);
  });

  test('claims, renewals and requeues write no row of a finished run, and a completion leaves no lease', async () => {
    await insertRun(RUN);
    const version = () => scratch.rows('SELECT xmin::text, ctid::text FROM runs');
    const before = await version();
    const first = await claimOne();
    await renewLeases(scratch.database, [first]);
    expect(await version()).toEqual(before);
    // Not locked: another transaction has the row.
    const other = await scratch.database.connect();
    await other.query('BEGIN');
    await other.query('SELECT FROM runs FOR UPDATE');
    await requeueRuns(scratch.database, [first]);
    await other.query('ROLLBACK');
    other.release();
    const run = await claimOne();
    expect(run).toMatchObject({ attempt: 1, isRetry: false });
    await complete(run);
    expect(await scratch.rows('SELECT run_id FROM leases')).toEqual([]);
  });

  test('a claim that began before another one committed leaves its run alone', async () => {
    await insertRun(RUN);
    const other = await scratch.database.connect();
    await other.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    // Its snapshot is older than the first claim, as that of a statement that waited.
    await other.query('SELECT FROM leases');
    const run = await claimOne();
    const claimedLate = claimRuns(other as unknown as typeof scratch.database, SETTINGS);
    await expect(claimedLate).rejects.toThrow('could not serialize');
    await other.query('ROLLBACK');
    other.release();
    expect(await complete(run)).toEqual(['high']);
  });

  test('a lease lasts five minutes', async () => {
    await insertRun(RUN);
    await claim();
    const [row] = await scratch.rows(
      `SELECT lease_until > now() + interval '290 seconds' AS over,
              lease_until <= now() + interval '300 seconds' AS under FROM leases`,
    );
    expect(row).toEqual({ over: true, under: true });
  });

  test('who lost the lease completes nothing, stores nothing, releases nothing', async () => {
    await insertRun(RUN);
    const lost = await claimOne();
    await endLeases();
    const current = await claimOne();
    expect(await complete(lost)).toBe(null);
    await releaseRun(scratch.database, lost, 'late');
    await requeueRuns(scratch.database, [lost]);
    expect(await findings()).toEqual([]);
    expect(await stateOf()).toMatchObject({
      evaluation: 'pending',
      attempts: 0,
      leased: true,
      last_error: null,
    });
    expect(await complete(current)).toEqual(['high']);
    expect(await findings()).toEqual([{ run_id: RUN, rule_id: 'ATR-2026-00001' }]);
    expect((await stateOf()).evaluation).toBe('evaluated');
  });

  test('who is only late still completes: nobody else has taken the run', async () => {
    await insertRun(RUN);
    const run = await claimOne();
    await endLeases();
    expect(await complete(run)).toEqual(['high']);
    expect((await stateOf()).evaluation).toBe('evaluated');
    expect(await findings()).toHaveLength(1);
  });

  test('a renewed lease begins again, unless another process has it', async () => {
    await insertRun(hex16(1));
    await insertRun(hex16(2));
    const runs = await claim();
    const stale = runs.map((run) => (run.runId === hex16(1) ? { ...run, claim: 0 } : run));
    await endLeases();
    await renewLeases(scratch.database, stale);
    const left = await scratch.rows(
      `SELECT run_id, lease_until > now() + interval '290 seconds' AS renewed FROM leases ORDER BY 1`,
    );
    expect(left).toEqual([
      { run_id: hex16(1), renewed: false },
      { run_id: hex16(2), renewed: true },
    ]);
  });

  test('a renewal leaves alone what was given back', async () => {
    await insertRun(hex16(1));
    await insertRun(hex16(2));
    const [first, second] = await claim();
    if (first === undefined || second === undefined) throw new Error('too few were claimed');
    await requeueRuns(scratch.database, [first]);
    await releaseRun(scratch.database, second, 'out of memory');
    await renewLeases(scratch.database, [first, second]);
    expect(
      await scratch.rows(
        `SELECT lease_until < now() + interval '1 minute' AS soon
           FROM runs LEFT JOIN leases USING (workspace_id, run_id) ORDER BY run_id`,
      ),
    ).toEqual(expect.arrayContaining([{ soon: null }, { soon: true }]));
  });

  test('a renewal leaves alone what is decided', async () => {
    await insertRun(RUN);
    const run = await claimOne();
    await complete(run);
    await renewLeases(scratch.database, [run]);
    expect(await stateOf()).toMatchObject({ evaluation: 'evaluated', leased: false });
  });
});

describe('completing', () => {
  test('stores the findings and what the run was evaluated with', async () => {
    await insertRun(RUN);
    const run = await claimOne();
    await releaseRun(scratch.database, run, 'out of memory');
    await endLeases();
    const again = await claimOne();
    const finding = findingDraft({
      subcategory: 'direct',
      conditionIndex: 3,
      stepSpanId: hex8(255),
      excerpt: 'ignore "all"\n\u{1F600}',
      recommendedActions: ['alert', 'block "it"'],
      toolName: 'shell',
    });
    const facts = runFacts({
      agentName: 'planner',
      userId: 'user-1',
      sessionId: 'session-1',
      model: 'model-1',
    });
    expect(await complete(again, { findings: [finding], facts })).toEqual(['high']);
    const [stored] = await scratch.rows(
      `SELECT evaluation, evaluated_at IS NOT NULL AS timed, lease_until, last_error,
              evaluated_steps, unread_steps, texts, truncated_texts, corpus_version,
              encode(rule_set_sha256, 'hex') AS digest
         FROM runs LEFT JOIN leases USING (workspace_id, run_id)
         JOIN rule_sets ON rule_sets.id = rule_set_id`,
    );
    expect(stored).toEqual({
      evaluation: 'evaluated',
      timed: true,
      lease_until: null,
      last_error: null,
      evaluated_steps: 3,
      unread_steps: 2,
      texts: 7,
      truncated_texts: 1,
      corpus_version: '4.0.0',
      digest: 'ab'.repeat(32),
    });
    const rows = await scratch.rows(`SELECT * FROM findings`);
    expect(rows).toEqual([
      {
        workspace_id: 1,
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        created_at: expect.any(Date),
        run_id: RUN,
        rule_id: 'ATR-2026-00001',
        rule_version: '1.0.0',
        rule_status: 'stable',
        severity: 'high',
        category: 'prompt-injection',
        subcategory: 'direct',
        corpus_version: '4.0.0',
        corpus_identity: Buffer.from('c0'.repeat(20), 'hex'),
        description: 'Rule ATR-2026-00001 matched tool_result.',
        condition_index: 3,
        condition_description: 'asks to ignore instructions',
        field: 'tool_response',
        surface: 'tool_result',
        step_span_id: Buffer.from(hex8(255), 'hex'),
        step_name: 'execute_tool',
        step_name_matched: false,
        excerpt: 'ignore "all"\n\u{1F600}',
        place: findingDraft().place,
        recommended_actions: ['alert', 'block "it"'],
        agent_name: 'planner',
        service_name: null,
        user_id: 'user-1',
        session_id: 'session-1',
        model: 'model-1',
        tool_name: 'shell',
        match_digest: expect.any(Buffer),
        more_places: null,
        more_digests: null,
        more_tools: null,
      },
    ]);
  });

  test('a run without findings is evaluated too, and a step need not be a span', async () => {
    await insertRun(hex16(1));
    await insertRun(hex16(2));
    const runs = await claim();
    for (const run of runs) {
      const isSecond = run.runId === hex16(2);
      const said = isSecond ? [findingDraft({ stepSpanId: null })] : [];
      expect(await complete(run, { findings: said })).toEqual(isSecond ? ['high'] : []);
    }
    expect((await stateOf(hex16(1))).evaluation).toBe('evaluated');
    expect(await scratch.rows('SELECT run_id, step_span_id FROM findings')).toEqual([
      { run_id: hex16(2), step_span_id: null },
    ]);
  });

  test('gives one finding per rule and run, however often it is said', async () => {
    await insertRun(RUN);
    const run = await claimOne();
    const twice = [findingDraft({ stepName: 'first' }), findingDraft({ stepName: 'second' })];
    const other = findingDraft({ ruleId: 'ATR-2026-00002' });
    expect(await complete(run, { findings: [...twice, other] })).toEqual(['high', 'high']);
    expect(await complete(run, { findings: [...twice, other] })).toBe(null);
    expect(await scratch.rows('SELECT rule_id, step_name FROM findings ORDER BY 1')).toEqual([
      { rule_id: 'ATR-2026-00001', step_name: 'first' },
      { rule_id: 'ATR-2026-00002', step_name: 'execute_tool' },
    ]);
  });

  test('keeps workspaces apart that share a trace id', async () => {
    await insertRun(RUN, 'completed', 100, 1);
    await insertRun(RUN, 'completed', 100, 2);
    for (const run of await claim()) if (run.workspaceId === 2) await complete(run);
    expect(await scratch.rows('SELECT workspace_id FROM findings')).toEqual([{ workspace_id: 2 }]);
    expect(
      await scratch.rows('SELECT workspace_id, evaluation FROM runs ORDER BY workspace_id'),
    ).toEqual([
      { workspace_id: 1, evaluation: 'pending' },
      { workspace_id: 2, evaluation: 'evaluated' },
    ]);
  });

  test('is all or nothing', async () => {
    await insertRun(RUN);
    const run = await claimOne();
    const unstorable = [findingDraft(), findingDraft({ ruleId: 'B', excerpt: 'a\u0000b' })];
    await expect(complete(run, { findings: unstorable })).rejects.toMatchObject({ code: '22021' });
    expect(await findings()).toEqual([]);
    expect((await stateOf()).evaluation).toBe('pending');
  });
});

describe('releasing and giving up', () => {
  test('a released run waits longer with every attempt', async () => {
    await insertRun(RUN);
    for (const attempt of [1, 2]) {
      const run = await claimOne();
      expect(run.attempt).toBe(attempt);
      await releaseRun(scratch.database, run, 'out of memory');
      expect(await claim()).toEqual([]);
      const [row] = await scratch.rows(
        `SELECT evaluation, last_error, round(extract(epoch FROM lease_until - now()))::int AS waits
           FROM runs JOIN leases USING (workspace_id, run_id)`,
      );
      expect(row).toMatchObject({ evaluation: 'pending', last_error: 'out of memory' });
      expect(Math.abs(Number(row?.waits) - attempt * 10)).toBeLessThan(5);
      await endLeases();
    }
  });

  test('the last release only releases: the run is given up by who counts it, at once', async () => {
    await insertRun(RUN);
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      expect(await giveUpRuns(scratch.database)).toBe(0);
      await releaseRun(scratch.database, await claimOne(), `attempt ${attempt}`);
      if (attempt < ATTEMPTS_MAX) await endLeases();
    }
    expect((await stateOf()).evaluation).toBe('pending');
    expect(await claim()).toEqual([]);
    expect(await giveUpRuns(scratch.database)).toBe(1);
    expect(await stateOf()).toEqual({
      state: 'completed',
      evaluation: 'evaluation_failed',
      attempts: 5,
      leased: false,
      last_error: 'attempt 5',
    });
  });

  test('runs given back are due at once, as often as before', async () => {
    await insertRun(hex16(1));
    await insertRun(hex16(2));
    for (let again = 0; again <= ATTEMPTS_MAX; again += 1) {
      const runs = await claim();
      expect(runs.map(({ attempt }) => attempt)).toEqual([1, 1]);
      await requeueRuns(scratch.database, runs);
      expect(await stateOf(hex16(1))).toMatchObject({ attempts: 0, leased: false });
    }
    await requeueRuns(scratch.database, []);
  });

  test('giving up passes over a run that another holds, and waits for nobody', async () => {
    await insertRun(hex16(1));
    await insertRun(hex16(2));
    await scratch.database.query('UPDATE runs SET attempts = 5');
    const other = await scratch.database.connect();
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM runs WHERE run_id = $1 FOR UPDATE', [hex16(1)]);
    expect(await giveUpRuns(scratch.database)).toBe(1);
    await other.query('ROLLBACK');
    other.release();
    expect(await giveUpRuns(scratch.database)).toBe(1);
  });

  test('a run whose last lease ran out is given up, and counted', async () => {
    await insertRun(hex16(1));
    await insertRun(hex16(2));
    await insertRun(hex16(3));
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      await endLeases();
      await beginAttempt(scratch.database, await claim());
    }
    await scratch.database.query('UPDATE runs SET attempts = 4 WHERE run_id = $1', [hex16(3)]);
    expect(await giveUpRuns(scratch.database)).toBe(0);
    await scratch.database.query(
      `UPDATE leases SET lease_until = now() - interval '1 second' WHERE run_id <> $1`,
      [hex16(2)],
    );
    expect(await giveUpRuns(scratch.database)).toBe(1);
    expect(await giveUpRuns(scratch.database)).toBe(0);
    expect(await stateOf(hex16(1))).toMatchObject({
      evaluation: 'evaluation_failed',
      last_error: 'the lease ran out: the process had ended',
    });
    expect((await stateOf(hex16(2))).evaluation).toBe('pending');
    expect((await stateOf(hex16(3))).evaluation).toBe('pending');
  });
});

describe('the backlog', () => {
  const backlog = () => readBacklog(scratch.database, SETTINGS.settleMs);

  test('counts the runs of all workspaces that are due, and not the others', async () => {
    expect(await backlog()).toEqual({ runs: 0, oldestSeconds: 0 });
    await insertRun(hex16(1), 'completed', SETTLE_S + 40);
    await insertRun(hex16(2), 'failed', SETTLE_S + 100, 7);
    await insertRun(hex16(3), 'completed', 1);
    await insertRun(hex16(4), 'running', SETTLE_S + 500);
    const { runs, oldestSeconds } = await backlog();
    expect(runs).toBe(2);
    expect(Math.floor(oldestSeconds / 100)).toBe(1);
  });

  test('counts a claimed run only after its lease', async () => {
    await insertRun(RUN, 'completed', SETTLE_S + 40);
    await claim();
    expect(await backlog()).toEqual({ runs: 0, oldestSeconds: 0 });
    await endLeases();
    expect((await backlog()).runs).toBe(1);
  });
});
