/**
 * Previews over a real queue, with a thread that a test answers for: what is counted, who continues a
 * preview, and that it ends when it is cancelled.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type ClaimedPreview,
  claimPreview,
  keepPreview,
  readPreviewRuns,
  yieldPreview,
} from '../../../src/db/previews/preview-queue.ts';
import {
  cancelPreview,
  findPreview,
  listPreviews,
  type NewPreview,
  startPreview,
} from '../../../src/db/previews/previews.ts';
import {
  EMPTY_TALLY,
  findingsPerDay,
  PREVIEW_RUNS_MAX,
  type Preview,
} from '../../../src/model/previews.ts';
import type { PreviewBatch } from '../../../src/pool/preview/preview-batch.ts';
import { PreviewRunner } from '../../../src/pool/preview/preview-runner.ts';
import type { PreviewTask } from '../../../src/pool/tasks.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { hex16 } from '../../support/rows.ts';
import { waitFor } from '../../support/wait-for.ts';

const IDENTITY = 'c0'.repeat(20);
const RULES = ['ATR-2026-00001', 'ATR-2026-00002'];
const ACTOR = { userId: null, name: 'test', origin: 'command line' };
const TIMING = { intervalMs: 10, sliceMs: 0, retryMs: 1, watchMs: 1000 };
const WANTED: NewPreview = {
  kind: 'experimental',
  ruleIds: RULES,
  days: 7,
  snapshot: { version: '4.0.0', identity: IDENTITY },
};

let scratch: MigratedDatabase;
const runners: PreviewRunner[] = [];

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.database.query(
    `INSERT INTO workspaces (slug, name) VALUES ('one', 'One'), ('two', 'Two'), ('three', 'Three')`,
  );
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
  await scratch.database.query('TRUNCATE runs, leases, rule_previews');
});

/** Evaluated runs, one a minute back from now, and one that is too old. */
async function insertRuns(count: number, workspaceId = 1): Promise<void> {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, evaluation, spans, log_records,
                       first_arrival_at, last_arrival_at)
     SELECT $2, lpad(to_hex(n), 32, '0')::uuid, 'completed', 'evaluated', 1, 0, at, at
       FROM generate_series(1, $1::int) AS n,
            LATERAL (SELECT now() - CASE n WHEN 1 THEN interval '8 days'
                                           ELSE make_interval(mins => n) END AS at) AS arrival`,
    [count + 1, workspaceId],
  );
}

/** Every run is matched by the first rule, every even one by the second, too. */
async function answerAll({ runs }: PreviewTask): Promise<PreviewBatch> {
  const example = ({ runId }: { runId: string }) => ({
    runId,
    step: 1,
    surface: 'step_input' as const,
  });
  const even = runs.filter(({ runId }) => Number.parseInt(runId, 16) % 2 === 0);
  return {
    runs: runs.length,
    thread: { cpuMs: 1000, wallMs: 1000 },
    tally: {
      ...EMPTY_TALLY,
      read: runs.length,
      found: runs.length,
      cpuMs: runs.length,
      rules: {
        'ATR-2026-00001': { runs: runs.length, examples: runs.slice(0, 3).map(example) },
        'ATR-2026-00002': { runs: even.length, examples: even.slice(0, 3).map(example) },
      },
    },
  };
}

function start(
  answer: (task: PreviewTask) => Promise<PreviewBatch>,
  identity = IDENTITY,
  timing = TIMING,
  replica: ConstructorParameters<typeof PreviewRunner>[0]['replica'] = null,
  pause: (ms: number) => Promise<void> = async () => {},
) {
  const events = { previewFinished: () => {}, previewFailed: () => {}, previewsWorked: () => {} };
  const thread = { preview: answer, end: () => {}, stalledMs: () => 0 };
  const deps = {
    database: scratch.database,
    thread,
    replica,
    snapshot: { identity },
    events,
  };
  const runner = new PreviewRunner(deps, timing, pause);
  runners.push(runner);
  runner.start();
  return runner;
}

const begin = (fields: Partial<NewPreview> = {}, workspaceId = 1) =>
  startPreview(scratch.database, workspaceId, { ...WANTED, ...fields }, ACTOR);
const stored = async (id: string, workspaceId = 1) =>
  (await findPreview(scratch.database, workspaceId, id)) as Preview;
const ended = async (id: string, workspaceId = 1): Promise<Preview> => {
  await waitFor(async () => (await stored(id, workspaceId)).finishedAt !== null, {
    withinMs: 60_000,
    what: 'the end',
  });
  return await stored(id, workspaceId);
};

test('batches are read from a replica that has their runs; what fails there is read from the primary', async () => {
  await insertRuns(150);
  const id = await begin();
  const reads: boolean[] = [];
  const times: number[] = [];
  const replica = {
    isUsable: (sinceMs = 0) => {
      times.push(sinceMs);
      return times.length > 1;
    },
  };
  const answer = async (task: PreviewTask): Promise<PreviewBatch> => {
    reads.push(task.fromReplica);
    if (task.fromReplica && reads.length === 2) throw new Error('conflict with recovery');
    return await answerAll(task);
  };
  const from = performance.now();
  start(answer, IDENTITY, TIMING, replica);
  expect((await ended(id)).tally).toMatchObject({ read: 150, skipped: 0 });
  expect(reads).toEqual([false, true, false, true]);
  expect(Math.min(...times)).toBeGreaterThan(from);
});

test('every evaluated run of the days is looked at once, and none is changed', async () => {
  await insertRuns(150);
  await scratch.database.query(
    `UPDATE runs SET evaluation = 'pending' WHERE run_id = lpad('a', 32, '0')::uuid`,
  );
  const before = await scratch.rows('SELECT * FROM runs ORDER BY run_id');
  const id = await begin();
  const seen: string[] = [];
  start(async (task) => {
    expect(task.ruleIds).toEqual(RULES);
    seen.push(...task.runs.map(({ runId }) => runId));
    return await answerAll(task);
  });
  const preview = await ended(id);
  expect(preview).toMatchObject({
    state: 'done',
    runsInRange: 149,
    runsPlanned: 149,
    sample: 10_000,
  });
  expect(preview.tally).toMatchObject({ read: 149, found: 149, skipped: 0, cut: 0 });
  expect(preview.tally.rules['ATR-2026-00001']).toMatchObject({ runs: 149 });
  expect(preview.tally.rules['ATR-2026-00002']?.runs).toBe(74);
  expect(preview.tally.rules['ATR-2026-00001']?.examples).toHaveLength(3);
  expect(new Set(seen).size).toBe(149);
  expect(seen).toEqual(seen.toSorted());
  expect(await scratch.rows('SELECT * FROM runs ORDER BY run_id')).toEqual(before);
  expect(await scratch.rows('SELECT 1 FROM findings')).toEqual([]);
});

test('findings a day count the days since the oldest run, not the days requested', async () => {
  await insertRuns(20);
  await scratch.database.query(
    `UPDATE runs SET first_arrival_at = now() - interval '12 hours' - n * interval '1 minute'
       FROM (SELECT run_id AS id, row_number() OVER () AS n FROM runs) AS numbered WHERE run_id = id`,
  );
  const id = await begin();
  start(answerAll);
  const preview = await ended(id);
  expect(preview).toMatchObject({ state: 'done', days: 7 });
  const runs = preview.runsInRange ?? 0;
  expect(preview.oldestDays).toBeCloseTo(0.5 + runs / 1440, 2);
  expect(findingsPerDay(runs, preview)).toBeCloseTo(runs / (0.5 + runs / 1440), 0);
});

test.each([
  ['most of', 0.9, 0],
  ['a part of', 0.5, 1],
])(
  'while its thread gets %s a core it pauses after a batch, or not',
  async (_part, share, pauses) => {
    await insertRuns(200);
    const id = await begin();
    const paused: number[] = [];
    let batches = 0;
    const answer = async (task: PreviewTask): Promise<PreviewBatch> => {
      batches += 1;
      return { ...(await answerAll(task)), thread: { cpuMs: 200 * share, wallMs: 200 } };
    };
    start(answer, IDENTITY, TIMING, null, async (ms) => void paused.push(ms));
    await ended(id);
    expect(paused).toHaveLength(batches * pauses);
    expect(paused.every((ms) => ms > 0)).toBe(true);
  },
);

test('a small preview of another workspace ends while a large one is under way', async () => {
  await insertRuns(640, 1);
  await insertRuns(10, 2);
  const large = await begin();
  const batches: number[] = [];
  let small = '';
  const runner = start(async (task) => {
    batches.push(task.runs[0]?.workspaceId ?? 0);
    if (batches.length === 1) small = await begin({}, 2);
    return await answerAll(task);
  });
  expect(await ended(large)).toMatchObject({ state: 'done', tally: { read: 640, found: 640 } });
  await runner.stop();
  expect(batches).toEqual([1, 2, ...Array<number>(9).fill(1)]);
  expect(await stored(small, 2)).toMatchObject({ state: 'done', tally: { read: 10 } });
});

test('previews that wait take turns in the order in which they began to wait', async () => {
  await insertRuns(10);
  const claimed = async (): Promise<ClaimedPreview> => {
    const job = await claimPreview(scratch.database);
    if (job === null) throw new Error('nothing to claim');
    return job;
  };
  for (const workspaceId of [1, 2]) await begin({}, workspaceId);
  const first = await claimed();
  expect(first.workspaceId).toBe(1);
  const [run] = await readPreviewRuns(scratch.database, first, 10_000, null, 1);
  const counted = { ...EMPTY_TALLY, read: 1 };
  await yieldPreview(scratch.database, first, counted, run ?? null);
  await begin({}, 3);
  const jobs = [await claimed(), await claimed(), await claimed()];
  // The first one waits since before the third was requested.
  expect(jobs.map(({ workspaceId }) => workspaceId)).toEqual([2, 1, 3]);
  expect(jobs[1]).toMatchObject({ tally: counted, cursor: { runId: run?.runId } });
  expect(await claimPreview(scratch.database)).toBeNull();
  // What was yielded is not the first claim's any more.
  await yieldPreview(scratch.database, first, EMPTY_TALLY, null);
  expect((await stored(first.id)).tally.read).toBe(1);
  expect(await claimPreview(scratch.database)).toBeNull();
});

test('two processes divide the slices of three previews, and look at each run once', async () => {
  for (const workspaceId of [1, 2, 3]) await insertRuns(300, workspaceId);
  const ids = [await begin({}, 1), await begin({}, 2), await begin({}, 3)];
  const atWork = new Set<number>();
  const seen = new Map<string, number>();
  let together = 0;
  const answer = async (task: PreviewTask): Promise<PreviewBatch> => {
    const workspaceId = task.runs[0]?.workspaceId ?? 0;
    if (atWork.has(workspaceId)) together += 1;
    atWork.add(workspaceId);
    for (const { runId } of task.runs) {
      const key = `${workspaceId} ${runId}`;
      seen.set(key, (seen.get(key) ?? 0) + 1);
    }
    const answered = await answerAll(task);
    atWork.delete(workspaceId);
    return answered;
  };
  start(answer);
  start(answer);
  for (const [at, id] of ids.entries()) {
    expect(await ended(id, at + 1)).toMatchObject({ state: 'done', tally: { read: 300 } });
  }
  expect(seen.size).toBe(900);
  expect(new Set(seen.values())).toEqual(new Set([1]));
  expect(together).toBe(0);
});

test('a preview whose batches fail gives way after the third, and the next one is whole', async () => {
  for (const workspaceId of [1, 2]) await insertRuns(100, workspaceId);
  const failing = await begin({}, 1);
  const other = await begin({}, 2);
  start(async (task) => {
    if (task.runs[0]?.workspaceId === 1) throw new Error('no room');
    return await answerAll(task);
  });
  expect(await ended(failing)).toMatchObject({ state: 'failed' });
  expect(await ended(other, 2)).toMatchObject({ state: 'done', tally: { read: 100 } });
});

test('a pause that would outlast the slice is made after the preview is yielded', async () => {
  await insertRuns(200);
  const id = await begin();
  const held: unknown[] = [];
  const pause = async (): Promise<void> => {
    held.push(...(await scratch.rows('SELECT claim FROM rule_previews')));
  };
  const answer = async (task: PreviewTask): Promise<PreviewBatch> => ({
    ...(await answerAll(task)),
    thread: { cpuMs: 100, wallMs: 200 },
  });
  start(answer, IDENTITY, TIMING, null, pause);
  await ended(id);
  expect(held).toEqual(Array(4).fill({ claim: null }));
});

test('a run that arrives after the preview was requested is not part of it', async () => {
  await insertRuns(10);
  const id = await begin();
  await scratch.database.query('UPDATE runs SET first_arrival_at = now() WHERE run_id = $1', [
    hex16(3),
  ]);
  start(answerAll);
  expect(await ended(id)).toMatchObject({ runsInRange: 9, tally: { read: 9 } });
});

test('a batch that does not fit is continued where it ended', async () => {
  await insertRuns(10);
  const id = await begin();
  start(({ runs, ...task }) => answerAll({ ...task, runs: runs.slice(0, 3) }));
  expect((await ended(id)).tally.read).toBe(10);
});

test('a workspace has one at a time; both are in the ledger', async () => {
  const id = await begin();
  expect(await begin({ kind: 'rule', ruleIds: ['ATR-2026-00001'] })).toBe(id);
  await cancelPreview(scratch.database, 1, id, ACTOR);
  expect(await stored(id)).toMatchObject({ state: 'cancelled' });
  expect(await begin()).not.toBe(id);
  const ledger = await scratch.rows('SELECT action, subject FROM audit_ledger ORDER BY seq');
  expect(ledger.slice(-3)).toEqual([
    { action: 'rules.preview', subject: 'experimental tier' },
    { action: 'rules.preview_cancelled', subject: 'experimental tier' },
    { action: 'rules.preview', subject: 'experimental tier' },
  ]);
});

test('a process that was killed loses its preview to another, which continues from the cursor', async () => {
  await insertRuns(200);
  const id = await begin();
  const dead = await claimPreview(scratch.database);
  if (dead === null) throw new Error('nothing to claim');
  expect(await claimPreview(scratch.database)).toBeNull();
  const cursor = (await scratch.rows(
    `SELECT (extract(epoch FROM first_arrival_at) * 1000000)::bigint::text AS "atMicros",
            replace(run_id::text, '-', '') AS "runId" FROM runs
      WHERE run_id = lpad(to_hex(51), 32, '0')::uuid`,
  )) as { atMicros: string; runId: string }[];
  const tally = { ...EMPTY_TALLY, read: 50 };
  expect(await keepPreview(scratch.database, dead, tally, cursor[0] ?? null)).toBe(true);
  await scratch.database.query(
    `UPDATE rule_previews SET lease_until = now() - interval '1 second'`,
  );
  start(answerAll);
  const preview = await ended(id);
  expect(preview).toMatchObject({ state: 'done', tally: { read: 200, found: 150 } });
  expect(await keepPreview(scratch.database, dead, tally, null)).toBe(false);
});

test('a stop gives it back after its batch, and the next start continues it', async () => {
  await insertRuns(200);
  const id = await begin();
  let began = (): void => {};
  const inBatch = new Promise<void>((resolve) => {
    began = resolve;
  });
  const first = start(async (task) => {
    began();
    return await answerAll(task);
  });
  await inBatch;
  await first.stop();
  const left = await stored(id);
  expect(left.state).toBe('running');
  expect(left.tally.read).toBeGreaterThan(0);
  expect(left.tally.read).toBeLessThan(200);
  start(answerAll);
  expect(await ended(id)).toMatchObject({ state: 'done', tally: { read: 200, found: 200 } });
});

test('one that is cancelled ends, and keeps what it has counted', async () => {
  await insertRuns(200);
  const id = await begin();
  let batches = 0;
  start(async (task) => {
    batches += 1;
    if (batches === 2) await cancelPreview(scratch.database, 1, id, ACTOR);
    return await answerAll(task);
  });
  const preview = await ended(id);
  expect(preview.state).toBe('cancelled');
  const next = await begin();
  await ended(next);
  expect((await stored(id)).tally.read).toBe(preview.tally.read);
});

test('it fails when its batches fail three times in a row, and says why', async () => {
  await insertRuns(5);
  const id = await begin();
  let failures = 0;
  start(async () => {
    failures += 1;
    throw new Error('no room');
  });
  expect(await ended(id)).toMatchObject({ state: 'failed', failure: 'Error no room' });
  expect(failures).toBe(3);
});

test('it fails when the rules are another corpus by now', async () => {
  const id = await begin();
  start(answerAll, 'd1'.repeat(20));
  const { state, failure } = await ended(id);
  expect({ state, failure }).toEqual({
    state: 'failed',
    failure: 'the rules are another corpus by now',
  });
});

test('of many runs a sample is matched, the same wherever it continues', async () => {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, evaluation, spans, log_records,
                       first_arrival_at, last_arrival_at)
     SELECT 1, gen_random_uuid(), 'completed', 'evaluated', 1, 0, at, at
       FROM generate_series(1, $1::int) AS n,
            LATERAL (SELECT now() - make_interval(secs => n / 1000.0) AS at) AS arrival`,
    [PREVIEW_RUNS_MAX * 1.25],
  );
  await scratch.vacuum('runs');
  const id = await begin();
  let runs = 0;
  const count = async (task: PreviewTask): Promise<PreviewBatch> => {
    runs += task.runs.length;
    const { length } = task.runs;
    const thread = { cpuMs: 1000, wallMs: 1000 };
    return { runs: length, thread, tally: { ...EMPTY_TALLY, read: length } };
  };
  start(count, IDENTITY, { ...TIMING, sliceMs: 1000 });
  const preview = await ended(id);
  expect(preview).toMatchObject({ runsInRange: 125_000, sample: 8000, runsPlanned: 100_000 });
  expect(preview.tally.read).toBe(runs);
  expect(Math.abs(runs - 100_000)).toBeLessThan(1500);
});

test('the latest twenty that have ended are kept', async () => {
  for (let turn = 0; turn < 22; turn += 1) {
    await cancelPreview(scratch.database, 1, await begin(), ACTOR);
  }
  await begin();
  expect(await listPreviews(scratch.database, 1)).toHaveLength(21);
});
