/** What the first page counts: exactly, per hour and day (UTC), of one workspace alone; and how often. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { createOverviewReader, readOverview } from '../../../src/db/findings/overview.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { fromPrimary } from '../../../src/db/replica/read-choice.ts';
import { toBits } from '../../../src/db/runs/surface-bits.ts';
import type { Surface } from '../../../src/model/steps.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { DIGESTED, hex16 } from '../../support/rows.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12, 30);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let scratch: MigratedDatabase;
let mine: number;
let theirs: number;
let ids = 0;

interface StoredRun {
  readonly at: string;
  readonly steps?: number;
  readonly state?: string;
  readonly evaluation?: string;
  /** seconds from the last arrival to the evaluation */
  readonly lag?: number;
  readonly texts?: number;
  readonly surfaces?: readonly Surface[];
  readonly attempts?: number;
}

async function insertRun(workspaceId: number, run: StoredRun): Promise<void> {
  ids += 1;
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, evaluation, spans, log_records, attempts,
       first_arrival_at, last_arrival_at, evaluated_at, texts, surfaces)
     VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $7::timestamptz + interval '1 second',
       $7::timestamptz + interval '1 second' + $8 * interval '1 second', $9, $10)`,
    [
      workspaceId,
      hex16(ids),
      run.state ?? 'completed',
      run.evaluation ?? 'evaluated',
      (run.steps ?? 5) - 1,
      run.attempts ?? 0,
      run.at,
      run.lag ?? null,
      run.texts ?? null,
      run.surfaces === undefined ? null : toBits(run.surfaces),
    ],
  );
}

async function insertFinding(
  workspaceId: number,
  at: string,
  severity: string,
  category: string,
): Promise<void> {
  ids += 1;
  await scratch.database.query(
    `INSERT INTO findings (workspace_id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, corpus_version, description, condition_index, condition_description,
       field, surface, step_name, excerpt, recommended_actions,
       ${DIGESTED.columns})
     VALUES ($1, $2, $3, 'ATR-2026-00001', '1', 'stable', $4, $5, '4', '', 0, '', 'content',
       'tool_args', '', '', '[]', ${DIGESTED.values})`,
    [workspaceId, at, hex16(ids), severity, category],
  );
}

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  mine = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
  theirs = (await createWorkspace(scratch.database, 'theirs', 'Theirs')).id;
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE runs, leases, findings CASCADE');
  // A view on a busy machine may leave the oldest slots out.
  vi.spyOn(performance, 'now').mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const nothingKnown = () => ({
  hours: new Map(),
  days: new Map(),
  names: new Map(),
  decisions: null as string | null,
});

/** The slots that hold anything, by the hour or day they begin. */
function nonEmpty(slots: readonly { atMs: number; counts: unknown }[]): Record<string, unknown> {
  const seen = slots.filter(({ counts }) => {
    return Array.isArray(counts) ? counts.length > 0 : (counts as { runs: number }).runs > 0;
  });
  return Object.fromEntries(
    seen.map(({ atMs, counts }) => [new Date(atMs).toISOString().slice(0, 13), counts]),
  );
}

describe('counts', () => {
  test('sums the names of all days, most first, of this workspace alone', async () => {
    await insertFinding(mine, '2026-11-21T10:00:00Z', 'high', 'tool-poisoning');
    await insertFinding(mine, '2026-11-20T10:00:00Z', 'high', 'tool-poisoning');
    await insertFinding(theirs, '2026-11-20T10:00:00Z', 'high', 'tool-poisoning');
    await scratch.database.query(
      "UPDATE findings SET agent_name = 'a', service_name = 's' WHERE created_at > '2026-11-21'",
    );
    expect((await readOverview(scratch.database, mine, NOW_MS)).top).toEqual([
      { by: 'agent', name: 'a', findings: 1 },
      { by: 'service', name: 's', findings: 1 },
      { by: 'rule', name: 'ATR-2026-00001', findings: 2 },
    ]);
  });

  test('of nothing are 24 hours and 14 days of nothing', async () => {
    const { hours, days, runs } = await readOverview(scratch.database, mine, NOW_MS);
    expect(hours.map(({ atMs }) => (NOW_MS - HOUR_MS / 2 - atMs) / HOUR_MS)).toEqual(
      Array.from({ length: 24 }, (_, index) => 23 - index),
    );
    expect(days[0]?.atMs).toBe(Date.UTC(2026, 10, 8));
    expect(days).toHaveLength(14);
    expect(days.every(({ counts }) => counts?.length === 0)).toBe(true);
    expect(nonEmpty(hours)).toEqual({});
    expect(runs).toEqual({ any: false, waiting: 0, moreWait: false, oldestWaitingMs: null });
  });

  test('of runs go by the hour of their first arrival', async () => {
    await insertRun(mine, {
      at: '2026-11-21T11:00:00Z',
      steps: 4,
      lag: 60,
      texts: 3,
      surfaces: ['tool_name'],
    });
    await insertRun(mine, { at: '2026-11-21T11:59:59.999999Z', steps: 6, lag: 120, texts: 0 });
    await insertRun(mine, { at: '2026-11-21T12:00:00Z', evaluation: 'evaluation_failed' });
    await insertRun(mine, { at: '2026-11-21T12:10:00Z', evaluation: 'pending', state: 'running' });
    // A step came after the evaluation.
    await insertRun(mine, { at: '2026-11-20T13:00:00Z', lag: -50 });
    // Before the first hour, and after the last.
    await insertRun(mine, { at: '2026-11-20T12:59:59Z' });
    await insertRun(mine, { at: '2026-11-21T13:00:00Z' });
    const { hours, runs } = await readOverview(scratch.database, mine, NOW_MS);
    const none = { open: 0, withoutText: 0, failedEvaluations: 0, lagMs: null };
    expect(nonEmpty(hours)).toEqual({
      '2026-11-20T13': { ...none, runs: 1, steps: 5, lagMs: { mean: 0, most: 0 } },
      '2026-11-21T11': {
        ...none,
        runs: 2,
        steps: 10,
        withoutText: 2,
        lagMs: { mean: 90_000, most: 120_000 },
      },
      '2026-11-21T12': { ...none, runs: 2, steps: 10, open: 1, failedEvaluations: 1 },
    });
    expect(runs).toMatchObject({ any: true, waiting: 0 });
  });

  test('of findings go by day, severity and category', async () => {
    const kinds = ['critical', 'high', 'high'] as const;
    for (const severity of kinds) {
      await insertFinding(mine, '2026-11-21T00:00:00Z', severity, 'tool-poisoning');
    }
    await insertFinding(mine, '2026-11-20T23:59:59.999Z', 'low', 'prompt-injection');
    await insertFinding(mine, '2026-11-08T00:00:00Z', 'low', 'prompt-injection');
    await insertFinding(mine, '2026-11-07T23:59:59Z', 'critical', 'prompt-injection');
    const { days } = await readOverview(scratch.database, mine, NOW_MS);
    const low = { severity: 'low', category: 'prompt-injection', findings: 1 };
    expect(nonEmpty(days)).toEqual({
      '2026-11-08T00': [low],
      '2026-11-20T00': [low],
      '2026-11-21T00': [
        { severity: 'critical', category: 'tool-poisoning', findings: 1 },
        { severity: 'high', category: 'tool-poisoning', findings: 2 },
      ],
    });
  });

  test('of what waits are of finished runs that will be tried', async () => {
    const at = '2026-11-21T12:00:00Z';
    await insertRun(mine, { at, evaluation: 'pending' });
    await insertRun(mine, { at: '2026-11-21T10:00:00Z', evaluation: 'pending', state: 'failed' });
    await insertRun(mine, { at, evaluation: 'pending', state: 'running' });
    await insertRun(mine, { at, evaluation: 'pending', attempts: 5 });
    await insertRun(mine, { at, evaluation: 'evaluated' });
    const { runs } = await readOverview(scratch.database, mine, NOW_MS);
    expect(runs).toEqual({
      any: true,
      waiting: 2,
      moreWait: false,
      oldestWaitingMs: Date.UTC(2026, 10, 21, 10, 0, 1),
    });
  });

  test('are of one workspace', async () => {
    await insertRun(theirs, { at: '2026-11-21T12:00:00Z', lag: 60 });
    await insertRun(theirs, { at: '2026-11-21T12:00:00Z', evaluation: 'pending' });
    await insertFinding(theirs, '2026-11-21T12:00:00Z', 'high', 'tool-poisoning');
    const { hours, days, runs } = await readOverview(scratch.database, mine, NOW_MS);
    expect([nonEmpty(hours), nonEmpty(days)]).toEqual([{}, {}]);
    expect(runs).toEqual({ any: false, waiting: 0, moreWait: false, oldestWaitingMs: null });
  });
});

/** Counts queries. */
function counted(database: Database): { database: Database; queries: () => number } {
  let queries = 0;
  const proxy = new Proxy(database, {
    get: (target, name) => {
      if (name === 'query') queries += 1;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { database: proxy, queries: () => queries };
}

describe('what is over', () => {
  test('is queried once: then a view costs two hours, a day twice, what waits and decisions', async () => {
    await insertRun(mine, { at: '2026-11-21T09:00:00Z', lag: 60 });
    const known = nothingKnown();
    const { database, queries } = counted(scratch.database);
    const first = await readOverview(database, mine, NOW_MS, known);
    expect(queries()).toBe(1 + 24 + 14 + 14 + 1);
    const second = await readOverview(database, mine, NOW_MS, known);
    expect(queries()).toBe(1 + 24 + 14 + 14 + 1 + 6);
    expect(second).toEqual(first);
    // Half an hour on, the hour before last has closed for good, and the first one is forgotten.
    await readOverview(database, mine, NOW_MS + HOUR_MS, known);
    expect(known.hours.has(Date.UTC(2026, 10, 20, 13))).toBe(false);
    expect(known.hours.size).toBe(22);
  });

  test('is left out where a view takes too long, oldest first; the next view continues', async () => {
    const known = nothingKnown();
    let ms = 0;
    vi.mocked(performance.now).mockImplementation(() => {
      ms += 300;
      return ms;
    });
    const { hours } = await readOverview(scratch.database, mine, NOW_MS, known);
    expect([hours.at(0)?.counts, hours.at(-1)?.counts]).toEqual([null, expect.anything()]);
    vi.mocked(performance.now).mockReturnValue(ms);
    const next = await readOverview(scratch.database, mine, NOW_MS, known);
    expect(next.hours.filter(({ counts }) => counts === null)).toEqual([]);
  });

  test('is queried again as long as runs of it are not evaluated', async () => {
    await insertRun(mine, { at: '2026-11-21T05:00:00Z', evaluation: 'pending' });
    const known = nothingKnown();
    await readOverview(scratch.database, mine, NOW_MS, known);
    await scratch.database.query(
      `UPDATE runs SET evaluation = 'evaluated', evaluated_at = last_arrival_at + interval '1 hour'`,
    );
    const { hours } = await readOverview(scratch.database, mine, NOW_MS, known);
    expect(nonEmpty(hours)).toMatchObject({
      '2026-11-21T05': { open: 0, lagMs: { most: HOUR_MS } },
    });
  });

  test('yesterday can still grow for an hour', async () => {
    const known = nothingKnown();
    const midnight = Date.UTC(2026, 10, 21);
    await readOverview(scratch.database, mine, midnight + HOUR_MS - 1, known);
    expect(known.days.has(midnight - DAY_MS)).toBe(false);
    await readOverview(scratch.database, mine, midnight + HOUR_MS, known);
    expect(known.days.has(midnight - DAY_MS)).toBe(true);
  });
});

describe('a reader', () => {
  test('queries once for simultaneous requests, and for each workspace', async () => {
    const { database, queries } = counted(scratch.database);
    const read = createOverviewReader(fromPrimary(() => database).read, Date.now);
    const [one, other] = await Promise.all([read(mine), read(mine)]);
    expect(other).toBe(one);
    const before = queries();
    await read(mine);
    // Whether something was decided meanwhile.
    expect(queries()).toBe(before + 1);
    await read(theirs);
    expect(queries()).toBeGreaterThan(before);
  });

  test('does not remember a failure', async () => {
    let isDown = true;
    const failing = new Proxy(scratch.database, {
      get: (target, name) => {
        if (name === 'query' && isDown) return () => Promise.reject(new Error('no database'));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const read = createOverviewReader(fromPrimary(() => failing).read, Date.now);
    await expect(read(mine)).rejects.toThrow('no database');
    isDown = false;
    expect((await read(mine)).hours).toHaveLength(24);
  });
});
