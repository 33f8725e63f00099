/** A run of 20,000 steps opens and downloads the same, hot and packed, in many turns of the event loop. */
import { afterAll, beforeAll, expect, test } from 'vitest';

import { ensureDay } from '../../src/db/telemetry/partitions.ts';
import { PIECE_BYTES } from '../../src/otlp/pieces.ts';
import { readTree } from '../../src/reads/run-tree.ts';
import { readStepPage } from '../../src/reads/step-page.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { pack, RUNS, send, toRead, WORKSPACE } from '../support/packed-runs.ts';
import { NOON_MS } from '../support/rows.ts';
import { exportRun } from '../support/stored-runs.ts';

const STEPS = 20_000;
const STEPS_OF_BODY = 1_000;
const RUN = RUNS[0] as string;

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.rows("INSERT INTO workspaces (slug, name) VALUES ('one', 'One')");
  await ensureDay(scratch.database, NOON_MS);
});
afterAll(() => scratch.close());

/** Counts turns of the event loop while something is read. */
async function withTurns<T>(reading: Promise<T>): Promise<readonly [T, number]> {
  let turns = 0;
  let timer = setImmediate(function count() {
    turns += 1;
    timer = setImmediate(count);
  });
  try {
    return [await reading, turns];
  } finally {
    clearImmediate(timer);
  }
}

/** @param bytes of the texts that the tree is read from */
async function opened(bytes: number) {
  const { database } = scratch;
  const [tree, turns] = await withTurns(readTree(database, toRead(RUN), STEPS));
  expect(turns).toBeGreaterThan(bytes / (2 * PIECE_BYTES));
  const limits = {
    bytesMax: 1e6,
    pageSteps: 50,
    cutBytes: 1e5,
    ordinaryBytes: 1e5,
    wholeBytes: 1e5,
    structuresMax: 1e5,
  };
  const page = await readStepPage(database, tree, limits, { from: STEPS });
  const lines = await exportRun(database, WORKSPACE, RUN, 'traces');
  const ids = lines.flatMap((line) => line.match(/(?<="spanId":")\w+/g) ?? []);
  return { steps: tree.steps.map(({ storedIn: _in, storedAs: _as, ...step }) => step), page, ids };
}

test('a run of 20,000 steps', async () => {
  const bodies = Array.from({ length: STEPS / STEPS_OF_BODY }, (_, body) => ({
    signal: 'traces' as const,
    day: 0,
    service: 'agent',
    records: Array.from({ length: STEPS_OF_BODY }, (_step, at) => ({
      run: 0,
      at: 1 + body * STEPS_OF_BODY + at,
      text: 1,
    })),
  }));
  await send(scratch.database, bodies);
  const [hot] = await scratch.rows('SELECT sum(bytes)::int AS bytes FROM hot_blocks');
  const before = await opened(Number(hot?.bytes));
  expect(before.steps).toHaveLength(STEPS);
  expect(before.page.steps.map(({ number }) => number)).toEqual(
    Array.from({ length: 50 }, (_, at) => STEPS - 49 + at),
  );
  expect(new Set(before.ids).size).toBe(STEPS);

  await pack(scratch.database, () => true);
  await scratch.rows('TRUNCATE hot_blocks, hot_places');
  const [packed] = await scratch.rows('SELECT sum(narrow_bytes)::int AS bytes FROM blocks');
  expect(await opened(Number(packed?.bytes))).toEqual(before);
});
