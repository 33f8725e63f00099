/**
 * Compares what was acknowledged with what PostgreSQL holds: every row of an acknowledged body is there
 * once, a body that was given up is there whole or not at all, what is there is as it was sent, the places
 * of each run name its records, and every attack has its one finding.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { ATTACK_RULE } from '../support/rows.ts';
import { ROWS_PER_BODY } from './bodies.ts';
import type { Cluster } from './cluster.ts';
import type { Delivery } from './load.ts';
import { readRecords } from './stored-records.ts';

const EVALUATED_WITHIN_MS = 180_000;
const POLL_MS = 200;

export interface Verdict {
  readonly rowsAcknowledged: number;
  readonly rowsLost: number;
  readonly rowsTwice: number;
  /** stored records that differ from what was sent, or were never sent */
  readonly recordsChanged: number;
  /** records that no place of their run names, and others that one names */
  readonly recordsMisplaced: number;
  /** bodies of which a part is stored */
  readonly bodiesInParts: number;
  readonly findingsExpected: number;
  readonly findingsMissing: number;
  readonly findingsTwice: number;
  /** on runs without an attack */
  readonly findingsFalse: number;
  /** runs whose evaluation failed for good */
  readonly runsFailed: number;
  /** runs that were not evaluated within three minutes after the load ended */
  readonly runsPending: number;
}

export const NOTHING: Verdict = {
  rowsAcknowledged: 0,
  rowsLost: 0,
  rowsTwice: 0,
  recordsChanged: 0,
  recordsMisplaced: 0,
  bodiesInParts: 0,
  findingsExpected: 0,
  findingsMissing: 0,
  findingsTwice: 0,
  findingsFalse: 0,
  runsFailed: 0,
  runsPending: 0,
};

const COUNT_FINDINGS = `
  SELECT replace(runs.run_id::text, '-', '') AS run, runs.evaluation,
         count(findings.id) FILTER (WHERE findings.rule_id = '${ATTACK_RULE}')::int AS findings
    FROM runs LEFT JOIN findings USING (workspace_id, run_id)
   GROUP BY runs.workspace_id, runs.run_id, runs.evaluation`;

/** Adds up two verdicts. */
export function addVerdicts(one: Verdict, other: Verdict): Verdict {
  const sum = { ...one };
  for (const name of Object.keys(one) as (keyof Verdict)[]) {
    Object.assign(sum, { [name]: one[name] + other[name] });
  }
  return sum;
}

/** What is wrong in a verdict, a line each. */
export function faultsOf(verdict: Verdict): string[] {
  const { rowsAcknowledged: _rows, findingsExpected: _findings, ...wrong } = verdict;
  return Object.entries(wrong)
    .filter(([, count]) => count !== 0)
    .map(([name, count]) => `${name}: ${count}`);
}

/** What is shown of runs that are not evaluated in time: who has them, and what everybody does. */
const WHY_PENDING = [
  `SELECT state, attempts, leased_by, count(*)::int AS runs, max(claim)::text AS "lastClaim",
          min(lease_until - now())::text AS "leftOfLease", max(last_error) AS error
     FROM runs LEFT JOIN leases USING (workspace_id, run_id)
    WHERE evaluation = 'pending' GROUP BY 1, 2, 3`,
  `SELECT id, (now() - seen_at)::text AS silent FROM processes`,
  `SELECT pid, state, wait_event, (now() - state_change)::text AS since, left(query, 200) AS query
     FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
];

/** Waits until every run is evaluated or given up. @returns how many are not when the time is up */
async function runsLeft(cluster: Pick<Cluster, 'ask'>): Promise<number> {
  const deadline = performance.now() + EVALUATED_WITHIN_MS;
  for (;;) {
    const [row] = await cluster.ask(
      "SELECT count(*)::int AS left FROM runs WHERE evaluation = 'pending'",
    );
    const left = Number(row?.left);
    if (left === 0 || performance.now() > deadline) return left;
    await sleep(POLL_MS);
  }
}

/**
 * Checks all bodies sent since the last check, and empties the tables. Nothing may be under way.
 *
 * @param deliveries those since the last check
 * @param earlier bodies that were given up before: they may have been stored in the meantime
 */
export async function check(
  cluster: Pick<Cluster, 'ask'>,
  deliveries: readonly Delivery[],
  earlier: ReadonlySet<number>,
): Promise<Verdict> {
  const runsPending = await runsLeft(cluster);
  if (runsPending > 0) {
    for (const query of WHY_PENDING) {
      for (const row of await cluster.ask(query)) {
        process.stderr.write(`  pending: ${JSON.stringify(row)}\n`);
      }
    }
  }
  const digests = new Map(deliveries.map(({ body, digest }) => [body.number, digest]));
  const { bodies: stored, changed, misplaced, differences } = await readRecords(cluster, digests);
  for (const difference of differences) process.stderr.write(`  changed: ${difference}\n`);
  const runs = new Map((await cluster.ask(COUNT_FINDINGS)).map((run) => [String(run.run), run]));
  const verdict = {
    ...NOTHING,
    recordsChanged: changed,
    recordsMisplaced: misplaced,
    runsPending,
  };
  for (const { body, outcome } of deliveries) {
    const { rows, kinds } = stored.get(body.number) ?? { rows: 0, kinds: 0 };
    stored.delete(body.number);
    verdict.rowsTwice += rows - kinds;
    if (outcome === 'acknowledged') {
      verdict.rowsAcknowledged += ROWS_PER_BODY;
      verdict.rowsLost += ROWS_PER_BODY - kinds;
    } else if (kinds !== 0 && kinds !== ROWS_PER_BODY) verdict.bodiesInParts += 1;
    if (body.runId === null) continue;
    const run = runs.get(body.runId);
    const expected = body.isAttack && kinds > 0 ? 1 : 0;
    const found = Number(run?.findings ?? 0);
    verdict.findingsExpected += expected;
    if (found < expected) verdict.findingsMissing += 1;
    if (found > 1) verdict.findingsTwice += 1;
    if (!body.isAttack) verdict.findingsFalse += found;
    if (run?.evaluation === 'evaluation_failed') verdict.runsFailed += 1;
  }
  // What is left was checked before, and is here again: stored twice, unless it was given up then.
  for (const [number, { rows }] of stored) if (!earlier.has(number)) verdict.rowsTwice += rows;
  await cluster.ask(
    'TRUNCATE hot_blocks, blocks, hot_places, places, runs, leases, findings CASCADE',
  );
  return verdict;
}
