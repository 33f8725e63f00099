/**
 * Workspaces that flood the queue, and others that wait beside them, on a real PostgreSQL. Asserts
 * what a claim reads, never how long it takes.
 */

import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ClaimTurns, shareOut } from '../../../src/db/runs/claim-turns.ts';
import { claimRuns } from '../../../src/db/runs/evaluation-queue.ts';
import type { RunState } from '../../../src/model/runs.ts';
import { casesOf } from '../../support/cases.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { leaseTried } from '../../support/evaluation.ts';

const SETTINGS = { settleMs: 60_000, timeoutMs: 900_000, limit: 64, retries: 1 };
const SETTLED_S = 1000;

let scratch: MigratedDatabase;
let turns: ClaimTurns;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());
beforeEach(async () => {
  turns = new ClaimTurns();
  await scratch.database.query('TRUNCATE runs, leases');
});

interface Backlog {
  readonly runs?: number;
  readonly state?: RunState;
  readonly attempts?: number;
  /** seconds since the last arrival of the youngest */
  readonly age?: number;
}

/** Inserts runs of each workspace; within a workspace the first inserted are the oldest. */
async function insert(
  workspaces: readonly [from: number, to: number],
  { runs = 1, state = 'completed', attempts = 0, age = SETTLED_S }: Backlog = {},
): Promise<void> {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, attempts, last_arrival_at)
     SELECT w, gen_random_uuid(), $4, 1, 0, $5, now() - make_interval(secs => $6 + n / 1000.0)
       FROM generate_series($1::int, $2::int) AS w, generate_series(1, $3::int) AS n`,
    [...workspaces, runs, state, attempts, age],
  );
  await leaseTried(scratch.database);
}

const claim = () => claimRuns(scratch.database, SETTINGS, turns);
/** The workspaces of the runs of one claim, in order. */
const owners = async (): Promise<number[]> => (await claim()).map(({ workspaceId }) => workspaceId);
const countBy = (ids: readonly number[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const id of ids) counts[id] = (counts[id] ?? 0) + 1;
  return counts;
};

/** Claims until the workspace has been served. @returns the number of claims */
async function claimsUntil(workspaceId: number): Promise<number> {
  for (let claims = 1; claims <= 1000; claims += 1) {
    if ((await owners()).includes(workspaceId)) return claims;
  }
  throw new Error(`workspace ${workspaceId} was never served`);
}

describe('a workspace with one due run', () => {
  test('is in the next claim, however many older runs another one floods the queue with', async () => {
    await insert([1, 1], { runs: 20_000, age: 5000 });
    await insert([2, 2]);
    expect((await owners()).slice(0, 3)).toEqual([1, 2, 1]);
    await insert([3, 3]);
    expect(await claimsUntil(3)).toBe(1);
  });

  test('is in the next claim, also when another one floods it with runs without a root', async () => {
    await insert([1, 1], { runs: 2000, state: 'running', age: 5000 });
    await insert([2, 2], { state: 'running' });
    await insert([3, 3]);
    expect(countBy(await owners())).toEqual({ 1: 15, 2: 1, 3: 1 });
  });

  test('waits for one turn of the workspaces that flood, however many they are', async () => {
    await insert([1, 40], { runs: 100, age: 5000 });
    await insert([41, 41]);
    await insert([42, 90], { runs: 100, age: 5000 });
    expect(await claimsUntil(41)).toBeLessThanOrEqual(Math.ceil(90 / 16));
    await insert([41, 41]);
    expect(await claimsUntil(41)).toBeLessThanOrEqual(Math.ceil(90 / 16));
  });

  test('is found behind a thousand workspaces whose runs have not settled, beside a flood', async () => {
    await insert([1, 1], { runs: 1000, age: 5000 });
    await insert([2, 1499], { age: 0 });
    await insert([1500, 1500]);
    const claims: number[][] = [];
    while (!claims.flat().includes(1500)) claims.push(await owners());
    expect(claims.length).toBeLessThanOrEqual(3);
    // … and the claims were not smaller because of it.
    expect(claims.map(({ length }) => length)).toEqual(claims.map(() => SETTINGS.limit));
  });

  test('is found behind a thousand workspaces, also when those left behind have nothing more', async () => {
    await insert([1, 1], { runs: SETTINGS.limit + 1, age: 5000 });
    await insert([2, 1499], { age: 0 });
    await insert([1500, 1500]);
    await claim();
    await scratch.database.query('DELETE FROM runs WHERE workspace_id = 1');
    expect(await owners()).toEqual([1500]);
  });

  test('of which the evaluation failed is tried again, however many others fail', async () => {
    await insert([1, 1], { runs: 500, attempts: 1 });
    await insert([2, 2], { attempts: 1 });
    let claims = 0;
    let served = false;
    while (!served && claims < 200) {
      claims += 1;
      const runs = await claim();
      expect(runs).toHaveLength(1);
      served = runs[0]?.workspaceId === 2;
    }
    expect(served).toBe(true);
  });
});

describe('a claim', () => {
  test('goes to all in equal parts, and what some cannot use to the others', async () => {
    await insert([1, 3], { runs: 100 });
    await insert([4, 5], { runs: 2 });
    expect(countBy(await owners())).toEqual({ 1: 20, 2: 20, 3: 20, 4: 2, 5: 2 });
    expect(countBy(await owners())).toEqual({ 1: 22, 2: 21, 3: 21 });
  });

  test('of one workspace is full', async () => {
    await insert([7, 7], { runs: 200 });
    expect(await owners()).toHaveLength(SETTINGS.limit);
  });

  test('serves thousands of workspaces, each once, before it serves any of them again', async () => {
    await insert([1, 2000], { runs: 2 });
    const seen: number[] = [];
    while (seen.length < 2000) seen.push(...(await owners()));
    expect(new Set(seen).size).toBe(2000);
  });

  test('takes all there is in the end', async () => {
    const backlog = fc.record({
      workspace: fc.integer({ min: 1, max: 700 }),
      runs: fc.integer({ min: 1, max: 90 }),
      state: fc.constantFrom<RunState>('completed', 'failed', 'running'),
      attempts: fc.constantFrom(0, 0, 1),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(backlog, { minLength: 1, maxLength: 12 }), async (all) => {
        await scratch.database.query('TRUNCATE runs, leases');
        for (const { workspace, state, ...more } of all) {
          const attempts = state === 'running' ? 0 : more.attempts;
          await insert([workspace, workspace], { ...more, state, attempts });
        }
        let claimed = 0;
        for (;;) {
          const runs = await claim();
          if (runs.length === 0) break;
          claimed += runs.length;
        }
        expect(claimed).toBe(all.reduce((sum, { runs }) => sum + runs, 0));
      }),
      { numRuns: casesOf(15, 3) },
    );
  });

  /** How PostgreSQL carries a claim out that claims nothing. */
  async function plansOf(limit: number): Promise<string> {
    await scratch.vacuum('runs, leases');
    let plans = '';
    const explaining = {
      query: async (text: string, values: unknown[]) => {
        const { rows } = await scratch.database.query(`EXPLAIN ANALYZE ${text}`, values);
        plans += rows.map((row) => row['QUERY PLAN']).join('\n');
        return text.includes('UPDATE') ? { rows: [] } : await scratch.database.query(text, values);
      },
    };
    await claimRuns(
      explaining as unknown as typeof scratch.database,
      { ...SETTINGS, limit },
      turns,
    );
    expect(plans).not.toContain('Seq Scan on runs');
    return plans;
  }

  test('reads as little with a flood and thousands of workspaces as with one', async () => {
    await insert([1, 1], { runs: 20_000, age: 5000 });
    await insert([2, 3000], { age: 0 });
    const plans = await plansOf(16);
    const rows = [
      ...plans.matchAll(/Index Scan using (runs_\w+).*actual.*rows=([\d.]+) loops=(\d+)/g),
    ];
    const read = rows.map(([, , each, loops]) => Number(each) * Number(loops));
    expect(read.length).toBeGreaterThan(0);
    expect(Math.max(...read)).toBeLessThanOrEqual(1000);
    const passedOver = [...plans.matchAll(/Rows Removed by Filter: (\d+)/g)].map(([, rows]) =>
      Number(rows),
    );
    expect(Math.max(...passedOver)).toBeLessThanOrEqual(500);
  });

  test('reads of a backlog of a few claims no more than it claims', async () => {
    await insert([1, 1], { runs: 6000, age: 5000 });
    // In no order on disk.
    await scratch.database.query(
      'UPDATE runs SET last_arrival_at = last_arrival_at - make_interval(secs => abs(hashtext(run_id::text)) % 1000)',
    );
    const plans = await plansOf(512);
    const scans = plans.matchAll(/Scan [^\n]*on runs [^\n]*actual[^\n]*rows=([\d.]+) loops=(\d+)/g);
    const read = [...scans].map(([, each, loops]) => Number(each) * Number(loops));
    expect(Math.max(...read)).toBeGreaterThanOrEqual(512);
    expect(Math.max(...read)).toBeLessThanOrEqual(513);
  });
});

describe('sharing out', () => {
  const wishes = fc.array(fc.nat(50), { minLength: 1, maxLength: 20 });

  test('gives out all there is or all that is wanted, and to nobody more than wanted', () => {
    fc.assert(
      fc.property(fc.nat(300), wishes, fc.nat(19), (amount, wanted, first) => {
        const shares = shareOut(amount, wanted, first % wanted.length);
        const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);
        expect(sum(shares)).toBe(Math.min(amount, sum(wanted)));
        for (const [index, share] of shares.entries()) {
          expect(share).toBeLessThanOrEqual(wanted[index] ?? 0);
        }
        // An owner that got less than it wanted got as much as any other, except for the remainder.
        const least = Math.min(
          ...shares.filter((share, index) => share < (wanted[index] ?? 0)),
          Number.POSITIVE_INFINITY,
        );
        for (const share of shares) expect(share).toBeLessThanOrEqual(least + 1);
      }),
    );
  });
});
