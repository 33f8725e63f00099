/** The queue of previews by the clock: leases, who may store results, and which runs a preview is about. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { inTransaction } from '../../../src/db/database.ts';
import {
  type ClaimedPreview,
  claimPreview,
  countPreviewRuns,
  finishPreview,
  keepPreview,
  planPreview,
  readPreviewRuns,
  yieldPreview,
} from '../../../src/db/previews/preview-queue.ts';
import {
  cancelPreview,
  findPreview,
  latestPreview,
  listPreviews,
  startPreview,
} from '../../../src/db/previews/previews.ts';
import { EMPTY_TALLY } from '../../../src/model/previews.ts';
import { type ClockedDatabase, openClockedDatabase } from '../../support/database.ts';
import { hex16 } from '../../support/rows.ts';

const ACTOR = { userId: null, name: 'test', origin: 'command line' };
const WANTED = {
  kind: 'experimental',
  ruleIds: ['ATR-2026-00001'],
  days: 7,
  snapshot: { version: '4.0.0', identity: 'c0'.repeat(20) },
} as const;

let scratch: ClockedDatabase;
beforeAll(async () => {
  scratch = await openClockedDatabase();
  await scratch.rows(`INSERT INTO workspaces (slug, name) VALUES ('one', 'One'), ('two', 'Two')`);
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.setClock('0');
  await scratch.rows('TRUNCATE runs, leases, rule_previews');
});

const start = (workspaceId = 1) => startPreview(scratch.database, workspaceId, WANTED, ACTOR);
async function claim(): Promise<ClaimedPreview> {
  const job = await claimPreview(scratch.database);
  if (job === null) throw new Error('no preview is to be claimed');
  return job;
}

const give = (job: ClaimedPreview) => yieldPreview(scratch.database, job, EMPTY_TALLY, null);

describe('a lease', () => {
  const keep = async (job: ClaimedPreview) =>
    void (await keepPreview(scratch.database, job, EMPTY_TALLY, null));
  const plan = async (job: ClaimedPreview) => void (await planPreview(scratch.database, job));

  test.each([
    ['claimed', '0', async () => {}],
    ['planned', '20 s', plan],
    ['kept', '20 s', keep],
  ] as const)('lasts for thirty seconds from when it was %s', async (_what, renewed, renew) => {
    const id = await start();
    const job = await claim();
    await scratch.setClock(renewed);
    await renew(job);
    await scratch.setClock(renewed, '30 s -1 us');
    expect(await claimPreview(scratch.database)).toBeNull();
    await scratch.setClock(renewed, '30 s');
    const next = await claim();
    expect([next.id, next.claim === job.claim]).toEqual([id, false]);
    expect((await findPreview(scratch.database, 1, id))?.startedAt).toEqual(
      (await listPreviews(scratch.database, 1))[0]?.requestedAt,
    );
  });

  test('that was given back is claimed at once', async () => {
    await start();
    const job = await claim();
    await give(job);
    expect((await claim()).id).toBe(job.id);
  });

  test('that was lost stores, ends and gives back nothing', async () => {
    const id = await start();
    const lost = await claim();
    await scratch.setClock('30 s');
    const job = await claim();
    const before = await scratch.rows('SELECT * FROM rule_previews');
    await plan(lost);
    expect(await keepPreview(scratch.database, lost, EMPTY_TALLY, null)).toBe(false);
    await finishPreview(scratch.database, lost, null);
    await give(lost);
    expect(await scratch.rows('SELECT * FROM rule_previews')).toEqual(before);
    await finishPreview(scratch.database, job, null);
    expect(await findPreview(scratch.database, 1, id)).toMatchObject({ state: 'done' });
  });
});

test('the preview that has waited longest is claimed first; one that is being claimed is not waited for', async () => {
  await scratch.setClock('1 s');
  const later = await start(1);
  await scratch.setClock('0');
  const earlier = await start(2);
  await scratch.setClock('2 s');
  await inTransaction(scratch.database, async (other) => {
    await other.query('SELECT FROM rule_previews WHERE workspace_id = 2 FOR UPDATE');
    const job = await claim();
    expect(job.id).toBe(later);
    await give(job);
  });
  expect([(await claim()).id, (await claim()).id]).toEqual([earlier, later]);
});

test('what is over is not claimed, cancelled or ended again', async () => {
  const id = await start();
  const job = await claim();
  await finishPreview(scratch.database, job, 'a reason');
  await scratch.setClock('1 day');
  expect(await claimPreview(scratch.database)).toBeNull();
  const before = await scratch.rows('SELECT * FROM rule_previews');
  const entries = 'SELECT count(*) FROM audit_ledger';
  const recorded = await scratch.rows(entries);
  await cancelPreview(scratch.database, 1, id, ACTOR);
  expect(await scratch.rows('SELECT * FROM rule_previews')).toEqual(before);
  expect(await scratch.rows(entries)).toEqual(recorded);
});

test('a preview is about the runs that arrived later than its days ago, up to its request', async () => {
  const at = ['-7 days', '-7 days 1 us', '-1 us', '0', '1 us'];
  for (const [run, later] of at.entries()) {
    await scratch.setClock(later);
    await scratch.rows(
      `INSERT INTO runs (workspace_id, run_id, state, evaluation, spans, log_records,
                         first_arrival_at, last_arrival_at)
       VALUES (1, $1, 'completed', 'evaluated', 1, 0, now(), now())`,
      [hex16(run)],
    );
  }
  await scratch.setClock('0');
  await start();
  await scratch.setClock('1 hour');
  const job = await claim();
  expect(await countPreviewRuns(scratch.database, job)).toMatchObject({ inRange: 3 });
  const read = async (after: Parameters<typeof readPreviewRuns>[3], limit = 9) =>
    await readPreviewRuns(scratch.database, job, 10_000, after, limit);
  const all = await read(null);
  expect(all.map(({ runId }) => runId)).toEqual([hex16(3), hex16(2), hex16(1)]);
  const [first] = await read(null, 1);
  expect(await read(first ?? null)).toEqual(all.slice(1));
});

test('of those that are over the latest twenty are kept, and the one that is open', async () => {
  const ids: string[] = [];
  for (let at = 0; at < 22; at += 1) {
    await scratch.setClock(`${at} s`);
    ids.unshift(await start());
    const listed = (await listPreviews(scratch.database, 1)).map(({ id }) => id);
    expect(listed).toEqual(ids.slice(0, 21));
    await finishPreview(scratch.database, await claim(), at < 20 ? null : 'a reason');
  }
  // Of those that have failed, none is the latest result.
  expect((await latestPreview(scratch.database, 1, null))?.id).toBe(ids[2]);
});
