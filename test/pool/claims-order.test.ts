/** The order in which claimed runs are handed out, and when they are given back. */

import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { Claims } from '../../src/pool/claims.ts';
import type { EvaluateTask, TaskPace } from '../../src/pool/tasks.ts';
import { AGAIN_RUNS_MAX, BATCH_RUNS_MAX } from '../../src/pool/waiting-runs.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { heardProcess, leaseTried } from '../support/evaluation.ts';

let scratch: MigratedDatabase;
let claims: Claims;
let paces: TaskPace[];
let failures: unknown[];

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.database.query(
    `INSERT INTO workspaces (slug, name) VALUES ('one', 'One'), ('two', 'Two'), ('three', 'Three')`,
  );
});
afterAll(() => scratch.close());
afterEach(async () => {
  vi.restoreAllMocks();
  claims.close();
  await claims.settled();
  expect(failures).toEqual([]);
});
beforeEach(async () => {
  await scratch.database.query('TRUNCATE runs, leases, findings CASCADE');
  paces = [];
  failures = [];
  const failed = (why: unknown): void => {
    failures.push(why);
  };
  claims = new Claims(
    {
      database: scratch.database,
      snapshot: { version: '4.0.0', date: '2026-01-01', files: 0, sha256: '', identity: '' },
      rules: [],
      threads: 1,
      heartbeat: heardProcess(),
      events: {
        passWorked: () => {},
        sessionMarksApplied: () => {},
        passFailed: failed,
        runUndecided: failed,
        runsGivenUp: failed,
        sessionMarksFailed: failed,
      },
      underWay: () => [],
      onWaiting: (pace) => paces.push(pace),
    },
    { settleMs: 0, settleMaxMs: 0, timeoutMs: 900_000, openMaxMs: 900_000 },
  );
  claims.open();
});

let runs = 0;
/** Due runs, later than all earlier ones. */
async function insertRuns(workspaceId: number, count: number): Promise<void> {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, last_arrival_at)
     SELECT $1, lpad(to_hex(n), 32, '0')::uuid, 'completed', 1, 0,
            now() - interval '1 hour' + make_interval(secs => n / 1000.0)
       FROM generate_series($2::int + 1, $2::int + $3::int) AS n`,
    [workspaceId, runs, count],
  );
  runs += count;
}

async function next(): Promise<EvaluateTask> {
  const task = await claims.next();
  if (task === null) throw new Error('nothing is handed out');
  return task;
}
const workspacesOf = ({ runs }: EvaluateTask): number[] => [
  ...new Set(runs.map(({ workspaceId }) => workspaceId)),
];
/** Puts runs back as long ones, as a thread does. */
function putBackLong(task: EvaluateTask, isLarge = false): void {
  for (const run of task.runs) claims.moveTo('long', { ...task, runs: [run], isLarge });
}

test('a run does not wait behind hundreds of another workspace that were claimed before', async () => {
  await insertRuns(1, 2 * BATCH_RUNS_MAX - 1);
  await insertRuns(2, 1);
  const first = await next();
  expect(first.runs).toHaveLength(BATCH_RUNS_MAX);
  expect(workspacesOf(first)).toEqual([1, 2]);
  expect([...first.workspaces.keys()].sort()).toEqual([1, 2]);
  expect(workspacesOf(await next())).toEqual([1]);
});

test('runs that have waited for more than a second are given back, without a lost attempt', async () => {
  const count = 2 * BATCH_RUNS_MAX - 6;
  await insertRuns(1, count);
  const { runs: taken } = await next();
  const leased = `SELECT lease_until IS NOT NULL AS leased, count(*)::int AS n
     FROM runs LEFT JOIN leases USING (workspace_id, run_id) GROUP BY 1 ORDER BY 1`;
  expect(await scratch.rows(leased)).toEqual([{ leased: true, n: count }]);
  const now = performance.now();
  vi.spyOn(performance, 'now').mockReturnValue(now + 1001);
  const later = await next();
  await claims.settled();
  expect(later.runs.some((run) => taken.includes(run))).toBe(false);
  const [free] = await scratch.rows(leased);
  // The runs already taken, and a claim a quarter as large as the first.
  const [begun, claimed] = [taken.length, (2 * BATCH_RUNS_MAX) / 4];
  expect(free).toEqual({ leased: false, n: count - begun - claimed });
});

test('a workspace with many long runs waiting gets no quick task; others do', async () => {
  await insertRuns(1, 32);
  putBackLong(await next());
  await insertRuns(1, 5);
  await insertRuns(2, 1);
  const seen: number[] = [];
  for (let task = await claims.next(); task !== null; task = await claims.next()) {
    seen.push(...workspacesOf(task));
  }
  expect(seen).toContain(2);
  expect(claims.waiting.filter(({ workspaceId }) => workspaceId === 1).length).toBeGreaterThan(16);
  paces = [];
  while (claims.nextLong([]) !== null);
  expect(paces).toContain('quick');
  expect(workspacesOf(await next())).toEqual([1]);
});

test('runs of a workspace with long ones are not read together with runs of others', async () => {
  await insertRuns(1, 4);
  putBackLong(await next());
  await insertRuns(1, 4);
  await insertRuns(2, 4);
  const tasks: EvaluateTask[] = [];
  for (let task = await claims.next(); task !== null; task = await claims.next()) tasks.push(task);
  expect(tasks.every((task) => workspacesOf(task).length === 1)).toBe(true);
  expect(new Set(tasks.flatMap(workspacesOf))).toEqual(new Set([1, 2]));
});

test('long runs are handed out to workspaces in turn, and no workspace gets all places of a thread', async () => {
  await insertRuns(1, 3);
  await insertRuns(2, 1);
  for (let task = await claims.next(); task !== null; task = await claims.next()) putBackLong(task);
  const underWay: EvaluateTask[] = [];
  for (let task = claims.nextLong([]); task !== null; task = claims.nextLong(underWay)) {
    underWay.push(task);
  }
  expect(underWay.map(({ pace, runs }) => [pace, runs[0]?.workspaceId])).toEqual([
    ['long', 1],
    ['long', 2],
    ['long', 1],
  ]);
});

test('a thread has one large run at a time', async () => {
  await insertRuns(1, 1);
  await insertRuns(2, 1);
  for (let task = await claims.next(); task !== null; task = await claims.next()) {
    putBackLong(task, true);
  }
  const first = claims.nextLong([]);
  if (first === null) throw new Error('nothing is handed out');
  expect(first).toMatchObject({ isLarge: true });
  expect(claims.nextLong([first])).toBeNull();
  expect(claims.nextLong([])).toMatchObject({ isLarge: true });
});

test('stopping gives everything back', async () => {
  await insertRuns(1, 10);
  putBackLong(await next());
  claims.moveTo('apart', await next());
  await claims.requeueWaiting();
  expect(claims.waiting).toEqual([]);
  const left = await scratch.rows(
    'SELECT attempts, lease_until, leased_by FROM runs LEFT JOIN leases USING (run_id) GROUP BY 1, 2, 3',
  );
  expect(left).toEqual([{ attempts: 0, lease_until: null, leased_by: null }]);
});

test('few of the runs that were claimed before wait here to go alone, however many are due', async () => {
  await insertRuns(1, 60);
  await scratch.database.query('UPDATE runs SET attempts = 1');
  await leaseTried(scratch.database);
  for (let claim = 0; claim < 40; claim += 1) expect(await claims.next()).toBeNull();
  expect(claims.waiting).toHaveLength(16);
  expect(claims.nextApart()?.runs).toHaveLength(1);
  expect(await claims.next()).toBeNull();
  expect(claims.waiting).toHaveLength(16);
});

test('while more of those are due, the last that is taken has quick lanes claim again', async () => {
  await insertRuns(1, AGAIN_RUNS_MAX + 1);
  await scratch.database.query('UPDATE runs SET attempts = 1');
  await leaseTried(scratch.database);
  const wakes: TaskPace[][] = [];
  for (let taken = 0; taken <= AGAIN_RUNS_MAX + 1; taken += 1) {
    if (taken >= AGAIN_RUNS_MAX || taken === 0) expect(await claims.next()).toBeNull();
    paces = [];
    claims.nextApart();
    wakes.push([...paces]);
  }
  const none = Array.from({ length: AGAIN_RUNS_MAX - 1 }, () => []);
  expect(wakes).toEqual([...none, ['quick'], ['quick'], []]);
});
