/** Evaluated runs are stored and packed in one transaction, whatever ends it. */
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { Database } from '../../src/db/database.ts';
import { claimRuns } from '../../src/db/runs/evaluation-queue.ts';
import { checkBlocks, checkPlaces } from '../../src/db/telemetry/block-check.ts';
import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { NO_USAGE } from '../../src/model/usage.ts';
import { storeEvaluations } from '../../src/pool/store-evaluations.ts';
import { endHotDays } from '../../src/reads/end-hot-days.ts';
import { readStepsOfRuns } from '../../src/reads/steps-of-runs.ts';
import { sampleOf } from '../support/cases.ts';
import { killing, type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { everythingOf, RUNS, type SentBody, send } from '../support/packed-runs.ts';
import { DAY_MS, findingDraft, NOON_MS, runFacts } from '../support/rows.ts';

const CORPUS = { version: '4.0.0', identity: 'c0'.repeat(20) };
const bodyOf = (signal: SentBody['signal'], day: number, ...runs: number[]): SentBody => ({
  signal,
  day,
  service: 'agent',
  records: runs.map((run, at) => ({ run, at: at + 1, text: 3 })),
});
const SENT = [bodyOf('traces', 0, 0, 1, 0), bodyOf('logs', 0, 0, 3, 2), bodyOf('traces', 1, 2, 0)];

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.rows("INSERT INTO workspaces (slug, name) VALUES ('one', 'One')");
});
afterAll(() => scratch.close());

/** More than there are. */
const STATEMENTS = Array.from({ length: 60 }, (_, index) => index + 1);

/** Empties the tables and stores the runs. */
async function store(): Promise<void> {
  await scratch.rows(
    'TRUNCATE hot_blocks, hot_places, blocks, places, runs, leases, findings, receipts CASCADE',
  );
  for (const days of [0, 1]) await ensureDay(scratch.database, NOON_MS + days * DAY_MS);
  await send(scratch.database, SENT);
}

/** Evaluates all runs that are due, as the pass does: each has one finding. @returns how many */
async function evaluate(database: Database): Promise<number> {
  const settings = { settleMs: 0, timeoutMs: 0, limit: 100 };
  const claimed = await claimRuns(scratch.database, settings);
  const read = await readStepsOfRuns(scratch.database, claimed, { keepsRecords: true });
  const runs = claimed.map((run, index) => ({
    evaluation: {
      run,
      facts: runFacts(),
      findings: [findingDraft({ ruleId: 'A' })],
      redactExcerpts: false,
      ruleSetSha256: 'ab'.repeat(32),
      steps: read[index]?.steps.length ?? 0,
      repeatedSpans: read[index]?.repeats ?? 0,
      unreadSteps: 0,
      texts: 1,
      surfaces: ['step_input' as const],
      truncatedTexts: 0,
      textCapBytes: 65_536,
      unparsedValues: 0,
      usage: NO_USAGE,
      title: null,
      tools: [],
    },
    hot: read[index]?.hot ?? [],
  }));
  await storeEvaluations(database, runs, CORPUS);
  return claimed.length;
}

/** The numbers of evaluated runs, of packed runs and of findings. */
const stored = async () => {
  const [row] = await scratch.rows(`
    SELECT (SELECT count(*) FROM runs WHERE evaluation = 'evaluated')::int AS evaluated,
           (SELECT count(DISTINCT run_id) FROM places)::int AS packed,
           (SELECT count(*) FROM findings)::int AS findings`);
  return row;
};
const ALL = { evaluated: RUNS.length, packed: RUNS.length, findings: RUNS.length };
const NOTHING = { evaluated: 0, packed: 0, findings: 0 };
/** The runs were stored after the statement that packs them had failed: the end of their day packs them. */
const UNPACKED = { ...ALL, packed: 0 };

/** Ends both days, and drops all hot blocks. */
async function endDays(): Promise<void> {
  const { signal } = new AbortController();
  const ignored = () => {};
  const events = {
    runsPacked: ignored,
    hotDayPacked: ignored,
    hotDaysWait: ignored,
    partitionsChanged: ignored,
  };
  for (let turn = 0; turn < 2; turn += 1) {
    await endHotDays(scratch.database, { hotDays: 2, nowMs: NOON_MS + 9 * DAY_MS, signal }, events);
    await scratch.rows(
      "UPDATE hot_days SET places_dropped_at = places_dropped_at - interval '2 hours'",
    );
  }
}

test.each(['before', 'after'] as const)(
  'killed %s any statement, each run is evaluated once and packed once, with all of its records',
  async (when) => {
    const outcomes: unknown[] = [];
    let isOver = false;
    for (const at of sampleOf(STATEMENTS, 3)) {
      if (isOver) break;
      await store();
      const before = await everythingOf(scratch.database);
      const one = killing(scratch.database, at, when);
      await evaluate(one.database).catch(() => {});
      isOver = one.isOver();
      expect(await everythingOf(scratch.database)).toEqual(before);
      const after = await stored();
      expect([ALL, NOTHING, UNPACKED]).toContainEqual(after);
      outcomes.push(after?.packed);
      await scratch.rows('TRUNCATE leases');
      await evaluate(scratch.database);
      expect(await stored()).toEqual(after?.evaluated === 0 ? ALL : after);
      expect(await everythingOf(scratch.database)).toEqual(before);
      await endDays();
      expect(await stored()).toEqual(ALL);
      expect(await scratch.rows('SELECT FROM hot_blocks')).toEqual([]);
      expect(await everythingOf(scratch.database)).toEqual(before);
      expect((await checkPlaces(scratch.database)).faults).toEqual([]);
      expect((await checkBlocks(scratch.database)).faults).toEqual([]);
    }
    // The transaction was killed at several statements, and the last time not at all.
    expect(isOver).toBe(true);
    expect(outcomes.length).toBeGreaterThan(2);
    expect(outcomes).toContain(0);
    expect(outcomes.at(-1)).toBe(RUNS.length);
  },
  300_000,
);
