/** Trees of runs that several requests read at the same time. */
import { expect, test } from 'vitest';

import type { Database } from '../../src/db/database.ts';
import type { RunToRead } from '../../src/db/runs/run-to-read.ts';
import type { RunSummary } from '../../src/model/runs.ts';
import { RunTrees } from '../../src/reads/run-trees.ts';

const REF: RunToRead = {
  workspaceId: 1,
  runId: '0'.repeat(32),
  firstArrivalOn: '2026-01-01',
  lastArrivalOn: '2026-01-01',
};
const run = (spans: number) =>
  ({ spans, repeatedSpans: 0, logRecords: 0, lastArrivalAt: new Date(0) }) as unknown as RunSummary;

/** A database whose answers a test gives. */
function openReads() {
  const reads: { answer: () => void; fail: () => void }[] = [];
  const query = (text: string) =>
    text.includes('FROM hot_places')
      ? new Promise((resolve, reject) => {
          reads.push({
            answer: () => resolve({ rows: [] }),
            fail: () => reject(new Error('away')),
          });
        })
      : Promise.resolve({ rows: [] });
  return { reads, database: { query } as unknown as Database };
}

/** Until what was begun waits for the database. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('a run is read once for a page and the search in it, and again when it has changed', async () => {
  const trees = new RunTrees(() => {});
  const { reads, database } = openReads();
  const both = [trees.read(database, REF, run(1)), trees.read(database, REF, run(1))];
  const changed = trees.read(database, REF, run(2));
  await turn();
  expect(reads).toHaveLength(2);
  for (const { answer } of reads) answer();
  const [page, search] = await Promise.all(both);
  expect(search).toBe(page);
  expect(await changed).not.toBe(page);
});

test('a read that failed is not remembered', async () => {
  const trees = new RunTrees(() => {});
  const { reads, database } = openReads();
  const failed = trees.read(database, REF, run(1));
  await turn();
  reads[0]?.fail();
  await expect(failed).rejects.toThrow('away');
  const again = trees.read(database, REF, run(1));
  await turn();
  expect(reads).toHaveLength(2);
  reads[1]?.answer();
  expect(await again).toEqual({ steps: [], unreadable: { blocks: 0, steps: 0 } });
});
