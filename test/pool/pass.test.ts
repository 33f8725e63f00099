/**
 * The pass over a real queue, with workers that a test answers for: who runs when, what happens to
 * every run that was claimed, and how it stops.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { completeRuns } from '../../src/db/runs/complete-runs.ts';
import type { ClaimedRun } from '../../src/db/runs/evaluation-queue.ts';
import type { Severity } from '../../src/model/rules.ts';
import type { Checked } from '../../src/model/runs.ts';
import { NO_USAGE } from '../../src/model/usage.ts';
import type { PassFacts } from '../../src/observe/pass-events.ts';
import { Pass, type PassDependencies, type PassTiming } from '../../src/pool/pass.ts';
import {
  type EvaluateTask,
  type RunOutcome,
  TASKS_PER_THREAD,
  type TaskOutcome,
} from '../../src/pool/tasks.ts';
import { BATCH_RUNS_MAX } from '../../src/pool/waiting-runs.ts';
import type { MatchThread } from '../../src/pool/workers.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { findingDraft, hex16, runFacts } from '../support/rows.ts';
import { waitFor } from '../support/wait-for.ts';

const SNAPSHOT = { version: '4.0.0', date: '2026-01-01', files: 0, sha256: '', identity: '' };
const SETTINGS = {
  intervalMs: 20,
  settleMs: 0,
  settleMaxMs: 0,
  timeoutMs: 900_000,
  openMaxMs: 900_000,
};
const TIMING = {
  renewMs: 60_000,
  stalledMaxMs: 1000,
  watchMs: 20,
  stopWithinMs: 50,
  beatMs: 3000,
  judgesAfterMs: 0,
};
const SOON = { withinMs: 20_000 };

/** What a worker makes of one run; `found` is stored with the rest of its task. */
type Verdict =
  | { readonly kind: 'found'; readonly findings: readonly Severity[]; readonly checked: Checked }
  | Exclude<RunOutcome, { kind: 'evaluated' }>
  | Exclude<TaskOutcome, { kind: 'done' }>
  /** this run and those after it are not begun */
  | { readonly kind: 'no room' };
/** @param place of the run in its task, from 0 */
type Answer = (
  run: ClaimedRun,
  signal: AbortSignal,
  place: number,
  task: EvaluateTask,
) => Promise<Verdict>;

let scratch: MigratedDatabase;
let logged: string[];
let reports: PassFacts[];

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.database.query(`INSERT INTO workspaces (slug, name) VALUES ('one', 'One')`);
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE runs, leases, findings, processes CASCADE');
  logged = [];
  reports = [];
});

async function insertRuns(count: number, workspaceId = 1, first = 1): Promise<void> {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, last_arrival_at)
     SELECT $2, lpad(to_hex(n), 32, '0')::uuid, 'completed', 1, 0,
            now() - interval '1 hour' + make_interval(secs => n)
       FROM generate_series($3::int, $3::int + $1::int - 1) AS n`,
    [count, workspaceId, first],
  );
}

/** What a worker does with a run in which it finds these. */
const evaluated =
  (findings: readonly Severity[] = [], checked: Checked = 'fully') =>
  async (_run: ClaimedRun, _signal: AbortSignal): Promise<Verdict> => ({
    kind: 'found',
    findings,
    checked,
  });

async function store(run: ClaimedRun, findings: readonly Severity[], checked: Checked) {
  const drafts = findings.map((severity, index) => findingDraft({ severity, ruleId: `${index}` }));
  const evaluation = {
    run,
    findings: drafts,
    facts: runFacts({ state: run.state }),
    redactExcerpts: false,
    ruleSetSha256: 'ab'.repeat(32),
    steps: 1,
    repeatedSpans: 0,
    unreadSteps: 0,
    texts: 1,
    surfaces: ['step_input' as const],
    truncatedTexts: 0,
    textCapBytes: 65_536,
    unparsedValues: 0,
    usage: NO_USAGE,
    title: null,
    tools: [],
  };
  const [stored = null] = await completeRuns(scratch.database, [evaluation], SNAPSHOT);
  const outcome: RunOutcome =
    stored === null
      ? { kind: 'lost' }
      : {
          kind: 'evaluated',
          findings: stored,
          steps: 1,
          texts: 1,
          checked,
          unreadTexts: 0,
          unknownRoles: 0,
          isOverBudget: false,
        };
  return outcome;
}

/** A thread as the pass sees it: run after run, and stored when all are judged. */
function threadOf(answer: Answer, stalledMs = () => 0): MatchThread {
  let controller = new AbortController();
  const evaluate = async (task: EvaluateTask, signal: AbortSignal) => {
    const judged: (() => Promise<RunOutcome>)[] = [];
    for (const [place, run] of task.runs.entries()) {
      const verdict = await answer(run, signal, place, task);
      if (verdict.kind === 'failed' || verdict.kind === 'unreachable') return verdict;
      if (verdict.kind === 'no room') break;
      judged.push(async () =>
        verdict.kind === 'found' ? await store(run, verdict.findings, verdict.checked) : verdict,
      );
    }
    const outcomes: RunOutcome[] = [];
    for (const settle of judged) outcomes.push(await settle());
    const packing = { packed: null, notPacked: null, refusedTools: 0 };
    return { kind: 'done', costs: [], unreadableBlocks: [], ...packing, runs: outcomes } as const;
  };
  return {
    evaluate: (task) => evaluate(task, controller.signal),
    preview: () => Promise.reject(new Error('the pass has no previews')),
    stalledMs,
    end: () => {
      controller.abort();
      controller = new AbortController();
    },
  };
}

/** Ends only with its worker, as Piscina ends it. */
const endless = (_run: ClaimedRun, signal: AbortSignal): Promise<Verdict> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
  });

function passOf(
  answer: Answer,
  threads = 2,
  database = scratch.database,
  timing: Partial<PassTiming> = {},
  intervalMs = SETTINGS.intervalMs,
  stalledMs = () => 0,
): Pass {
  const note =
    (what: string) =>
    (...details: unknown[]) => {
      logged.push([what, ...details].join(' '));
    };
  const events: PassDependencies['events'] = {
    passFinished: (facts) => reports.push(facts),
    passWorked: () => {},
    sessionMarksApplied: () => {},
    passFailed: (error) => logged.push(`failed: ${error instanceof Error ? error.message : error}`),
    runUndecided: note('undecided:'),
    runReached: () => {},
    runsTriedApart: note('apart:'),
    blockUnreadable: note('block:'),
    runsPacked: note('packed:'),
    runsNotPacked: note('not packed:'),
    toolsRefused: note('tools refused:'),
    runLost: note('lost'),
    runChecked: ({ checked }) => checked !== 'fully' && logged.push(`checked ${checked}`),
    runOverBudget: note('over budget'),
    deadProcessesFound: note('dead:'),
    zstdRecorded: () => {},
    runsGivenUp: note('given up:'),
    sessionMarksFailed: note('marks:'),
    findingsStored: (severity, count) => logged.push(`${severity} ${count}`),
  };
  const workers = {
    threads: Array.from({ length: threads }, () => threadOf(answer, stalledMs)),
    spare: threadOf(answer, stalledMs),
  };
  return new Pass(
    { database, workers, snapshot: SNAPSHOT, rules: [], events },
    { ...SETTINGS, intervalMs },
    { ...TIMING, ...timing },
  );
}

const states = (): Promise<Record<string, unknown>[]> =>
  scratch.rows(
    `SELECT evaluation, attempts, lease_until IS NOT NULL AS leased, last_error, count(*)::int AS n
       FROM runs LEFT JOIN leases USING (workspace_id, run_id) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
  );
const PENDING = { evaluation: 'pending', attempts: 0, leased: false, last_error: null };
const EVALUATED = { evaluation: 'evaluated', attempts: 1, leased: false, last_error: null };

test('evaluates until nothing is due, never more at once than the threads have room for', async () => {
  await insertRuns(50);
  let now = 0;
  let most = 0;
  const pass = passOf(async (run, signal) => {
    most = Math.max(most, ++now);
    await scratch.database.query('SELECT 1');
    now -= 1;
    return await evaluated(['high', 'low', 'high'])(run, signal);
  }, 3);
  const facts = await pass.runOnce();
  expect(facts).toEqual({
    evaluated: 50,
    undecided: 0,
    findings: 150,
    elapsedMs: expect.any(Number),
  });
  expect(most).toBe(3 * TASKS_PER_THREAD);
  expect(await states()).toEqual([{ ...EVALUATED, n: 50 }]);
  expect(logged.filter((one) => one === 'high 2')).toHaveLength(50);
  expect(await pass.runOnce()).toMatchObject({ evaluated: 0 });
});

test('a long run does not hold up other runs, also later ones', async () => {
  await insertRuns(20);
  const answer: Answer = async (run, signal, _place, { pace }) => {
    if (run.runId !== hex16(1)) return await evaluated()(run, signal);
    return pace === 'quick' ? { kind: 'long', isLarge: false } : await endless(run, signal);
  };
  const pass = passOf(answer, 1);
  const evaluatedBy = async (count: number): Promise<void> => {
    await waitFor(
      async () =>
        (await states()).some(({ evaluation, n }) => evaluation === 'evaluated' && n === count),
      { ...SOON, what: `${count} runs evaluated` },
    );
  };
  pass.start();
  await evaluatedBy(19);
  await insertRuns(5, 1, 21);
  await evaluatedBy(24);
  await pass.check();
  await pass.stop();
  expect(await states()).toEqual([
    { ...EVALUATED, n: 24 },
    { ...PENDING, n: 1 },
  ]);
});

test('stopping waits for the runs under way and gives back what was not begun', async () => {
  const begins = 2 * TASKS_PER_THREAD * BATCH_RUNS_MAX;
  await insertRuns(begins + 6);
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let begun = 0;
  const pass = passOf(
    async (run, signal) => {
      begun += 1;
      await finished;
      return await evaluated()(run, signal);
    },
    2,
    scratch.database,
    { stopWithinMs: 60_000 },
  );
  pass.start();
  await waitFor(() => begun === 4, { ...SOON, what: 'four tasks begin' });
  const stopped = pass.stop();
  finish();
  await stopped;
  expect(begun).toBe(begins);
  expect(await states()).toEqual([
    { ...EVALUATED, n: begins },
    { ...PENDING, n: 6 },
  ]);
});

test('stopping ends the workers of runs that do not end, which costs no attempt', async () => {
  await insertRuns(3);
  let begun = 0;
  const pass = passOf((run, signal) => {
    begun += 1;
    return endless(run, signal);
  });
  pass.start();
  await waitFor(() => begun === 3, { ...SOON, what: 'three runs begin' });
  await pass.stop();
  expect(await states()).toEqual([{ ...PENDING, n: 3 }]);
  expect(logged).toEqual([]);
});

test('who dies over a run costs that run an attempt, and no other; after the last it is given up', async () => {
  await insertRuns(6);
  await scratch.database.query('UPDATE runs SET attempts = 4 WHERE run_id = $1', [hex16(3)]);
  const pass = passOf(async (run, signal) => {
    if (run.runId === hex16(2))
      throw Object.assign(new Error('heap'), { code: 'ERR_WORKER_OUT_OF_MEMORY' });
    if (run.runId === hex16(3)) return { kind: 'undecided', why: 'RE2 said so' };
    return await evaluated()(run, signal);
  });
  expect(await pass.runOnce()).toMatchObject({ evaluated: 4, undecided: 2 });
  const died = 'the worker ended: Error ERR_WORKER_OUT_OF_MEMORY heap';
  expect(await states()).toEqual([
    { ...EVALUATED, n: 4 },
    {
      evaluation: 'evaluation_failed',
      attempts: 5,
      leased: false,
      last_error: 'RE2 said so',
      n: 1,
    },
    { evaluation: 'pending', attempts: 1, leased: true, last_error: died, n: 1 },
  ]);
  expect(logged.sort()).toEqual([
    `apart: 2 ${died}`,
    'given up: 1',
    'undecided: RE2 said so',
    `undecided: ${died}`,
  ]);
  await pass.check();
});

test('a worker without a database costs no attempt, is reported, and fails the probe until it is back', async () => {
  await insertRuns(5);
  let isAway = true;
  const pass = passOf((run, signal) =>
    isAway
      ? Promise.resolve({ kind: 'unreachable', why: 'no free connection' })
      : evaluated()(run, signal),
  );
  await expect(pass.runOnce()).rejects.toThrow('no free connection');
  await expect(pass.check()).rejects.toThrow('no free connection');
  expect(await states()).toEqual([{ ...PENDING, n: 5 }]);
  isAway = false;
  expect(await pass.runOnce()).toMatchObject({ evaluated: 5 });
  await pass.check();
});

test('runs that fail together are tried one by one, and lose nothing by it', async () => {
  await insertRuns(8);
  let tasks = 0;
  const pass = passOf(async (run, signal) => {
    tasks += 1;
    if (tasks === 1) return { kind: 'failed', why: 'a row too long' };
    return await evaluated(['low'])(run, signal);
  }, 1);
  expect(await pass.runOnce()).toMatchObject({ evaluated: 8, undecided: 0, findings: 8 });
  expect(await states()).toEqual([{ ...EVALUATED, n: 8 }]);
  expect(logged.filter((one) => one !== 'low 1')).toEqual(['apart: 4 a row too long']);
});

test('several runs on which a thread is stuck are tried one by one, without a lost attempt', async () => {
  await insertRuns(8);
  const isStuck = () => logged.length === 0;
  const answer: Answer = async (run, signal) =>
    isStuck() ? await endless(run, signal) : await evaluated()(run, signal);
  const pass = passOf(answer, 1, scratch.database, {}, 20, () => (isStuck() ? 2000 : 0));
  expect(await pass.runOnce()).toMatchObject({ evaluated: 8, undecided: 0 });
  expect(await states()).toEqual([{ ...EVALUATED, n: 8 }]);
  const why = 'the thread was stuck';
  expect(logged).toEqual([`apart: 4 ${why}`, `apart: 4 ${why}`]);
});

test('runs that a worker did not begin are put back and begun later', async () => {
  await insertRuns(20);
  const answer: Answer = async (run, signal, place) =>
    place === 2 ? { kind: 'no room' } : await evaluated()(run, signal);
  const pass = passOf(answer, 1);
  expect(await pass.runOnce()).toMatchObject({ evaluated: 20, undecided: 0 });
  expect(await states()).toEqual([{ ...EVALUATED, n: 20 }]);
  expect(logged).toEqual([]);
});

test('runs that were claimed before are alone on a thread of their own', async () => {
  await insertRuns(20);
  await scratch.database.query('UPDATE runs SET attempts = 1 WHERE run_id < $1', [hex16(4)]);
  let underWay = 0;
  const beside: number[] = [];
  const pass = passOf(async (run, signal, _place, { pace, runs }) => {
    if (pace === 'apart') beside.push(++underWay, runs.length);
    await scratch.database.query('SELECT 1');
    if (pace === 'apart') underWay -= 1;
    else expect(run.isRetry).toBe(false);
    return await evaluated()(run, signal);
  }, 1);
  expect(await pass.runOnce()).toMatchObject({ evaluated: 20 });
  expect(beside).toEqual([1, 1, 1, 1, 1, 1]);
});

/** A property of the database itself, also when it is read through a proxy. */
function memberOf(database: Database, key: string | symbol): unknown {
  const value: unknown = Reflect.get(database, key);
  return typeof value === 'function' ? value.bind(database) : value;
}

test('what cannot be written to the database is written once it is back', async () => {
  await insertRuns(1);
  let refused = 0;
  const flaky = new Proxy(scratch.database, {
    get: (target, key) =>
      key !== 'query'
        ? memberOf(target, key)
        : async (text: string, values: unknown[]) => {
            if (text.includes('SET last_error') && ++refused <= 2) throw new Error('away');
            return await target.query(text, values);
          },
  });
  const pass = passOf(async () => ({ kind: 'undecided', why: 'once' }), 1, flaky);
  pass.start();
  await waitFor(async () => (await states())[0]?.last_error === 'once', {
    ...SOON,
    what: 'the release arrives',
  });
  await pass.stop();
  expect(logged).toEqual(['undecided: once', 'failed: away', 'failed: away']);
  expect(await states()).toMatchObject([{ evaluation: 'pending', attempts: 1 }]);
});

/** The database as the pass sees it: `before` is called ahead of every statement, and may refuse. */
const beforeEvery = (before: (text: string) => Promise<void>): typeof scratch.database =>
  new Proxy(scratch.database, {
    get: (target, key) =>
      key !== 'query'
        ? memberOf(target, key)
        : async (text: string, values: unknown[]) => {
            await before(text);
            return await target.query(text, values);
          },
  });

test('an outage, however long and however many runs were claimed, costs no attempt', async () => {
  await insertRuns(150);
  await scratch.database.query('UPDATE runs SET spans = 10000');
  let isAway = false;
  const database = beforeEvery(async () => {
    if (isAway) throw new Error('away');
  });
  const pass = passOf(
    async (run, signal) => {
      isAway ||= logged.length === 0;
      return isAway ? { kind: 'unreachable', why: 'away' } : await evaluated()(run, signal);
    },
    1,
    database,
  );
  pass.start();
  await waitFor(() => logged.length > 320, { ...SOON, what: 'many turns fail' });
  isAway = false;
  await waitFor(
    async () => (await states()).every(({ evaluation }) => evaluation === 'evaluated'),
    {
      ...SOON,
      what: 'all runs are evaluated',
    },
  );
  await pass.stop();
  expect(await states()).toEqual([{ ...EVALUATED, n: 150 }]);
});

test('stopping waits for a claim under way and gives back what it takes', async () => {
  await insertRuns(3);
  let claims = 0;
  let proceed = (): void => {};
  const held = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  const database = beforeEvery(async (text) => {
    if (!text.includes('WITH RECURSIVE visited') || ++claims < 2) return;
    await insertRuns(2, 1, 4);
    await held;
  });
  const answer: Answer = async () => {
    await waitFor(() => claims === 2, { ...SOON, what: 'the second claim begins' });
    return { kind: 'unreachable', why: 'away' };
  };
  const pass = passOf(answer, 1, database, {}, 600_000);
  pass.start();
  await waitFor(async () => (await states()).some(({ leased, n }) => !leased && n === 5), {
    ...SOON,
    what: 'what was begun is given back',
  });
  // Sent later and answered later: by then the lane knows as well, and has closed.
  await states();
  let isOver = false;
  const stopped = pass.stop().then(() => {
    isOver = true;
  });
  for (let question = 0; question < 3; question += 1) await states();
  expect(isOver).toBe(false);
  proceed();
  await stopped;
  expect(await states()).toEqual([{ ...PENDING, n: 5 }]);
});

test('a database that is away fails the pass and its probe, and nothing else', async () => {
  await insertRuns(1);
  let isAway = true;
  const flaky = new Proxy(scratch.database, {
    get: (target, key) =>
      key !== 'query' || !isAway ? memberOf(target, key) : () => Promise.reject(new Error('away')),
  });
  const pass = passOf(evaluated(), 2, flaky);
  pass.start();
  await waitFor(() => logged.includes('failed: away'), {
    ...SOON,
    what: 'the failure to be reported',
  });
  await expect(pass.check()).rejects.toThrow('away');
  isAway = false;
  await waitFor(async () => (await states())[0]?.evaluation === 'evaluated', {
    ...SOON,
    what: 'the run is evaluated',
  });
  await pass.check();
  await pass.stop();
});

test('leases of runs under way and waiting are renewed', async () => {
  await insertRuns(3);
  const pass = passOf(endless, 1, scratch.database, { renewMs: 20 });
  pass.start();
  const leased = async (): Promise<boolean> =>
    (await scratch.rows(`SELECT 1 FROM leases WHERE lease_until > now() + interval '200 seconds'`))
      .length === 3;
  await waitFor(leased, { ...SOON, what: 'three runs are claimed' });
  await scratch.database.query(`UPDATE leases SET lease_until = now() + interval '1 second'`);
  await waitFor(leased, { ...SOON, what: 'three leases are renewed' });
  await pass.stop();
  expect(await states()).toEqual([{ ...PENDING, n: 3 }]);
});

test('the runs of a process that died are taken over, each alone, and cost no attempt', async () => {
  await insertRuns(3);
  const dead = '00000000-0000-0000-0000-000000000001';
  await scratch.database.query(
    `INSERT INTO processes VALUES ($1, now() - interval '16 seconds', true)`,
    [dead],
  );
  await scratch.database.query(
    `INSERT INTO leases (workspace_id, run_id, leased_by, lease_until, claimed_to, claimed_rows)
     SELECT workspace_id, run_id, $1, now() + interval '4 minutes', now(), 1 FROM runs`,
    [dead],
  );
  const pass = passOf(evaluated(), 1, scratch.database, { beatMs: 20, judgesAfterMs: 40 });
  pass.start();
  await waitFor(
    async () => (await states()).every(({ evaluation }) => evaluation === 'evaluated'),
    { ...SOON, what: 'all runs are evaluated' },
  );
  await pass.stop();
  expect(await states()).toEqual([{ ...EVALUATED, n: 3 }]);
  expect(logged).toEqual(['dead: 1 3']);
  expect(await scratch.rows('SELECT id FROM processes')).toEqual([]);
});

test('a process that could not beat itself judges no other until it has beaten for a while', async () => {
  await scratch.database.query(
    `INSERT INTO processes VALUES (gen_random_uuid(), now() - interval '16 seconds', true)`,
  );
  let beats = 0;
  let isAway = false;
  const database = beforeEvery(async (text) => {
    if (isAway) throw new Error('away');
    if (text.includes('UPDATE processes')) beats += 1;
  });
  const pass = passOf(evaluated(), 1, database, { beatMs: 20, judgesAfterMs: 3_600_000 });
  pass.start();
  await waitFor(() => beats > 2, { ...SOON, what: 'it beats' });
  isAway = true;
  await waitFor(() => logged.length > 0, { ...SOON, what: 'the database is away' });
  isAway = false;
  beats = 0;
  await waitFor(() => beats > 2, { ...SOON, what: 'it beats again' });
  await pass.stop();
  expect(logged.filter((one) => one.startsWith('dead'))).toEqual([]);
});

test('a run on which a thread is stuck again when it is alone loses an attempt', async () => {
  await insertRuns(1);
  let stuck = 0;
  const answer: Answer = async (run, signal) => {
    stuck += 1;
    return await endless(run, signal).finally(() => {
      stuck -= 1;
    });
  };
  // A thread that has no slice is not stuck.
  const pass = passOf(answer, 1, scratch.database, {}, 20, () => (stuck > 0 ? 2000 : 0));
  expect(await pass.runOnce()).toMatchObject({ evaluated: 0, undecided: 1 });
  const why = 'the thread was stuck';
  expect(logged).toEqual([`apart: 1 ${why}`, `undecided: ${why}`]);
  expect(await states()).toEqual([
    { ...PENDING, attempts: 1, leased: true, last_error: why, n: 1 },
  ]);
});

test('a thread that is slow, but not stuck, is left alone however long it takes', async () => {
  await insertRuns(1);
  let looks = 0;
  const slow: Answer = async (run, signal) => {
    await waitFor(() => looks > 10, { ...SOON, what: 'it is looked at' });
    return await evaluated()(run, signal);
  };
  const stalledMs = () => {
    looks += 1;
    return 999;
  };
  const pass = passOf(slow, 1, scratch.database, {}, 20, stalledMs);
  expect(await pass.runOnce()).toMatchObject({ evaluated: 1, undecided: 0 });
});

test('counts what was stored: not a run that went to another, nor its findings', async () => {
  await insertRuns(2);
  const pass = passOf(async (run, signal) => {
    if (run.runId === hex16(1)) {
      await scratch.database.query('UPDATE leases SET claim = claim + 1 WHERE run_id = $1', [
        hex16(1),
      ]);
    }
    return await evaluated(['critical'], 'nothing')(run, signal);
  });
  expect(await pass.runOnce()).toMatchObject({ evaluated: 1, undecided: 0, findings: 1 });
  expect(logged.sort()).toEqual(['checked nothing', 'critical 1', 'lost']);
});

test('a run of a workspace that does not exist is undecided, not forgotten', async () => {
  await insertRuns(1, 404);
  const pass = passOf(evaluated());
  expect(await pass.runOnce()).toMatchObject({ evaluated: 0, undecided: 1 });
  expect(await states()).toMatchObject([{ last_error: 'its workspace does not exist' }]);
});

test('turns report what was done since the one before', async () => {
  await insertRuns(10);
  const pass = passOf(evaluated());
  pass.start();
  const sum = (): number => reports.reduce((total, { evaluated: count }) => total + count, 0);
  await waitFor(() => sum() === 10, { ...SOON, what: 'ten runs are reported' });
  await pass.stop();
});
