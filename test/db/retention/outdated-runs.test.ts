/** Runs past retention are deleted with their findings or kept with all of them. */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

import { triageFindings } from '../../../src/db/findings/triage-writes.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { BATCH_ROWS, DeletionTurn, UPKEEP_EVERY_MS } from '../../../src/db/retention/deletion.ts';
import { OutdatedRuns } from '../../../src/db/retention/outdated-runs.ts';
import { Retention, type RetentionDays } from '../../../src/db/retention/retention.ts';
import { DAILY_TABLES, ensureDay } from '../../../src/db/telemetry/partitions.ts';
import type { Actor } from '../../../src/model/people.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { addPerson } from '../../support/people.ts';
import { DAY_MS, DIGESTED, hex16, NOON_MS } from '../../support/rows.ts';

/** A millisecond, in days. */
const MS_IN_DAYS = 1 / DAY_MS;
const KEPT: RetentionDays = { telemetry: 30, runs: 90, findings: 365 };

let scratch: MigratedDatabase;
let workspaceId: number;
let userId: number;
let workspaces = 0;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await ensureDay(scratch.database, NOON_MS);
});
afterAll(() => scratch.close());
/** Drops the partitions of a day. */
const dropDay = (day: string) =>
  scratch.rows(`DROP TABLE ${DAILY_TABLES.map((table) => `${table}_${day}`).join()}`);

beforeEach(async () => {
  await scratch.rows(
    'TRUNCATE runs, leases, findings, finding_states, finding_history, alert_outbox',
  );
  workspaces += 1;
  ({ id: workspaceId } = await createWorkspace(scratch.database, `w${workspaces}`, 'A workspace'));
  ({ id: userId } = await addPerson(scratch.database, workspaceId, 'member'));
});

/** Runs `from` to `to`, whose first and last step arrived so many days ago. */
async function addRuns(
  from: number,
  to: number,
  {
    daysAgo,
    lastDaysAgo = daysAgo,
    evaluation = 'evaluated',
  }: {
    daysAgo: number;
    lastDaysAgo?: number;
    evaluation?: string;
  },
): Promise<void> {
  await scratch.rows(
    `INSERT INTO runs (workspace_id, run_id, state, evaluation, spans, log_records,
       first_arrival_at, last_arrival_at)
     SELECT $1, lpad(to_hex(n), 32, '0')::uuid, 'completed', $4, 1, 0, $5, $6
       FROM generate_series($2::int, $3::int) AS n`,
    [
      workspaceId,
      from,
      to,
      evaluation,
      new Date(NOON_MS - daysAgo * DAY_MS),
      new Date(NOON_MS - lastDaysAgo * DAY_MS),
    ],
  );
}

interface Finding {
  readonly daysAgo: number;
  readonly state?: string;
  readonly isAssigned?: boolean;
}

/** A finding of a run, with what people did about it and an alert that could not be delivered. */
async function addFinding(run: number, rule: string, facts: Finding): Promise<string> {
  const { daysAgo, state, isAssigned = false } = facts;
  const [row] = await scratch.rows(
    `INSERT INTO findings (workspace_id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, corpus_version, description, condition_index, condition_description, field,
       surface, step_name, excerpt, recommended_actions,
       ${DIGESTED.columns})
     VALUES ($1, $2, $3, $4, '1', 'stable', 'high', 'c', '4', 'd', 0, 'c', 'f', 's', 'n', 'e', '[]', ${DIGESTED.values})
     RETURNING id`,
    [workspaceId, new Date(NOON_MS - daysAgo * DAY_MS), hex16(run), rule],
  );
  const id = String(row?.id);
  await scratch.rows(
    `INSERT INTO alert_outbox (workspace_id, destination_id, finding_id, run_id, dead_at)
     VALUES ($1, 1, $2, $3, now())`,
    [workspaceId, id, hex16(run)],
  );
  if (state === undefined) return id;
  await scratch.rows(
    `INSERT INTO finding_states (workspace_id, finding_id, state, assignee_id) VALUES ($1, $2, $3, $4)`,
    [workspaceId, id, state, isAssigned ? userId : null],
  );
  await scratch.rows(
    `INSERT INTO finding_history (workspace_id, finding_id, actor, kind, after)
     VALUES ($1, $2, 'a', 'note', 'looked at')`,
    [workspaceId, id],
  );
  return id;
}

/** One turn of upkeep at noon. @returns what it reported */
async function upkeep(days: RetentionDays = KEPT): Promise<Record<string, number>> {
  const deleted: Record<string, number> = {};
  const events = {
    outdatedDeleted: (table: string, rows: number) =>
      void Object.assign(deleted, { [table]: rows }),
  };
  const { signal } = new AbortController();
  await new Retention(days).deleteOutdated(scratch.database, NOON_MS, events, signal);
  return deleted;
}

const left = async (table: string): Promise<number> =>
  Number((await scratch.rows(`SELECT count(*)::int AS n FROM ${table}`))[0]?.n);

describe('a run without findings', () => {
  test.each([
    ['whose last step arrived before', { daysAgo: 100, lastDaysAgo: 91 }, 0],
    ['whose evaluation failed', { daysAgo: 91, evaluation: 'evaluation_failed' }, 0],
    ['whose last step arrived later', { daysAgo: 100, lastDaysAgo: 89 }, 1],
    ['whose last step arrived exactly as long ago', { daysAgo: 100, lastDaysAgo: 90 }, 1],
    ['that waits for its evaluation', { daysAgo: 91, evaluation: 'pending' }, 1],
  ])('%s: %o leaves %d', async (_, facts, kept) => {
    await addRuns(1, 1, facts);
    expect(await upkeep()).toEqual(kept === 0 ? { runs: 1 } : {});
    expect(await left('runs')).toBe(kept);
  });

  test.each([
    ['exactly as long as runs are kept', 90, 1],
    ['a millisecond longer', 90 + MS_IN_DAYS, 0],
  ])('whose last step arrived %s ago', async (_, daysAgo, kept) => {
    await addRuns(1, 1, { daysAgo });
    expect(await upkeep()).toEqual(kept === 0 ? { runs: 1 } : {});
  });

  test.each([
    ['at midnight of the day before the oldest day of steps', 0, 1],
    ['a millisecond before that', MS_IN_DAYS, 0],
  ])('whose last step arrived %s', async (_, earlier, kept) => {
    const day = NOON_MS - 100 * DAY_MS;
    await ensureDay(scratch.database, day);
    await addRuns(1, 1, { daysAgo: 101.5 + earlier });
    try {
      expect(await upkeep()).toEqual(kept === 0 ? { runs: 1 } : {});
    } finally {
      await dropDay('2026_08_12');
    }
  });

  test('whose late steps wait for their evaluation is kept', async () => {
    await addRuns(1, 2, { daysAgo: 91 });
    await scratch.rows('UPDATE runs SET late_waits = true WHERE run_id = $1', [hex16(1)]);
    expect(await upkeep()).toEqual({ runs: 1 });
    expect(await left('runs WHERE late_waits')).toBe(1);
  });

  test('is kept for ever by default', async () => {
    await addRuns(1, 3, { daysAgo: 5000 });
    expect(await upkeep({ telemetry: 30, runs: 0, findings: 0 })).toEqual({});
    expect(await left('runs')).toBe(3);
  });

  test('is kept while a day of its steps is there, also one past retention', async () => {
    const day = NOON_MS - 100 * DAY_MS;
    await ensureDay(scratch.database, day);
    await addRuns(1, 1, { daysAgo: 100 });
    await addRuns(2, 2, { daysAgo: 102 });
    expect(await upkeep()).toEqual({ runs: 1 });
    expect(await scratch.rows('SELECT run_id FROM runs')).toEqual([{ run_id: hex16(1) }]);
    await dropDay('2026_08_12');
    expect(await upkeep()).toEqual({ runs: 1 });
  });
});

describe('a run with findings', () => {
  test.each([
    ['exactly as long as findings are kept', 365, 1],
    ['a millisecond older', 365 + MS_IN_DAYS, 0],
  ])('of which one is %s', async (_, daysAgo, kept) => {
    await addRuns(1, 1, { daysAgo: 367 });
    await addFinding(1, 'A', { daysAgo });
    expect(await upkeep()).toEqual(kept === 0 ? { runs: 1, findings: 1 } : {});
  });

  test.each<[string, Finding, number]>([
    ['nobody looked at', { daysAgo: 366 }, 0],
    ['closed, by whoever has it', { daysAgo: 366, state: 'closed', isAssigned: true }, 0],
    ['a false positive', { daysAgo: 366, state: 'false_positive' }, 0],
    ['new, assigned to nobody', { daysAgo: 366, state: 'new' }, 0],
    ['younger', { daysAgo: 364 }, 1],
    ['new and assigned', { daysAgo: 366, state: 'new', isAssigned: true }, 1],
    ['acknowledged', { daysAgo: 366, state: 'acknowledged' }, 1],
    ['confirmed', { daysAgo: 366, state: 'confirmed' }, 1],
  ])('%s: %o leaves %d', async (_, facts, kept) => {
    await addRuns(1, 1, { daysAgo: 367 });
    await addFinding(1, 'A', { daysAgo: 366 });
    await addFinding(1, 'B', facts);
    const ledger = await scratch.rows('SELECT * FROM audit_ledger ORDER BY workspace_id, seq');
    expect(await upkeep()).toEqual(kept === 0 ? { runs: 1, findings: 2 } : {});
    // All of its findings, or none.
    expect([await left('runs'), await left('findings')]).toEqual([kept, 2 * kept]);
    expect(await left('alert_outbox')).toBe(2 * kept);
    if (kept === 0) {
      expect([await left('finding_states'), await left('finding_history')]).toEqual([0, 0]);
    }
    expect(await scratch.rows('SELECT * FROM audit_ledger ORDER BY workspace_id, seq')).toEqual(
      ledger,
    );
  });

  test('is kept for ever while findings are, and its neighbours go', async () => {
    await addRuns(1, 2, { daysAgo: 5000 });
    await addFinding(1, 'A', { daysAgo: 5000 });
    expect(await upkeep({ ...KEPT, findings: 0 })).toEqual({ runs: 1 });
    expect(await scratch.rows('SELECT run_id FROM findings')).toEqual([{ run_id: hex16(1) }]);
    expect(await scratch.rows('SELECT run_id FROM runs')).toEqual([{ run_id: hex16(1) }]);
  });
});

describe('beside others', () => {
  const actor = (): Actor => ({ userId: null, name: 'test', origin: 'test' });

  test('a finding that somebody is changing is kept, and so is what they decided', async () => {
    await addRuns(1, 1, { daysAgo: 367 });
    const id = await addFinding(1, 'A', { daysAgo: 366 });
    await addFinding(1, 'B', { daysAgo: 366 });
    const triage = await scratch.database.connect();
    await triage.query('BEGIN');
    await triage.query('SELECT FROM findings WHERE id = $1 FOR KEY SHARE', [id]);
    expect(await upkeep()).toEqual({});
    await triage.query(
      `INSERT INTO finding_states (workspace_id, finding_id, state) VALUES ($1, $2, 'acknowledged')`,
      [workspaceId, id],
    );
    expect(await upkeep()).toEqual({});
    await triage.query('COMMIT');
    triage.release();
    expect(await upkeep()).toEqual({});
    expect(await left('findings')).toBe(2);
  });

  test('triage of a finding that is being deleted finds none', async () => {
    await addRuns(1, 1, { daysAgo: 367 });
    const id = await addFinding(1, 'A', { daysAgo: 366 });
    const deletion = await scratch.database.connect();
    await deletion.query('BEGIN');
    await deletion.query('DELETE FROM findings WHERE id = $1', [id]);
    const change = triageFindings(
      scratch.database,
      workspaceId,
      { ids: [id], state: 'acknowledged' },
      actor(),
    );
    const refused = expect(change).rejects.toMatchObject({ code: 'not_found' });
    await scratch.blocked();
    await deletion.query('COMMIT');
    deletion.release();
    await refused;
  });

  test('a run that gets another step is kept, and nobody waits', async () => {
    await addRuns(1, 2, { daysAgo: 91 });
    const ingest = await scratch.database.connect();
    await ingest.query('BEGIN');
    await ingest.query('UPDATE runs SET spans = 2, last_arrival_at = $1 WHERE run_id = $2', [
      new Date(NOON_MS),
      hex16(1),
    ]);
    expect(await upkeep()).toEqual({ runs: 1 });
    await ingest.query('COMMIT');
    ingest.release();
    expect(await upkeep()).toEqual({});
    expect(await scratch.rows('SELECT run_id FROM runs')).toEqual([{ run_id: hex16(1) }]);
  });

  test('of two processes one deletes', async () => {
    await addRuns(1, 10, { daysAgo: 91 });
    const other = new DeletionTurn(scratch.database, new AbortController().signal);
    await other.batch(async () => {
      expect(await upkeep()).toEqual({});
    });
    expect(await upkeep()).toEqual({ runs: 10 });
  });
});

describe('many', () => {
  const before = { runs: new Date(NOON_MS), findings: null };

  test('are deleted some thousands at a time, past those that are kept, in all workspaces', async () => {
    await addRuns(1, 9000, { daysAgo: 91 });
    for (const run of [1, 2, 5500]) await addFinding(run, 'A', { daysAgo: 91 });
    const { id } = await createWorkspace(scratch.database, `x${workspaces}`, 'Another');
    await scratch.rows('UPDATE runs SET workspace_id = $1 WHERE run_id > $2', [id, hex16(7000)]);
    expect(await upkeep()).toEqual({ runs: 8997 });
    const kept = await scratch.rows('SELECT run_id FROM runs ORDER BY 1');
    expect(kept).toEqual([1, 2, 5500].map((run) => ({ run_id: hex16(run) })));
  });

  test('a turn that ends early continues where it ended', async () => {
    await addRuns(1, 2 * BATCH_ROWS + 500, { daysAgo: 91 });
    await scratch.rows(
      `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
         category, corpus_version, description, condition_index, condition_description, field,
         surface, step_name, excerpt, recommended_actions,
         ${DIGESTED.columns})
       SELECT workspace_id, run_id, 'A', '1', 'stable', 'high', 'c', '4', 'd', 0, 'c', 'f', 's', 'n',
              'e', '[]', ${DIGESTED.values} FROM runs WHERE run_id <= $1`,
      [hex16(2 * BATCH_ROWS)],
    );
    const runs = new OutdatedRuns();
    const turns: number[] = [];
    for (let at = 0; at < 3; at += 1) {
      const stop = new AbortController();
      const turn = new DeletionTurn(scratch.database, stop.signal);
      const batch = turn.batch.bind(turn);
      turn.batch = async (work) => {
        const result = await batch(work);
        stop.abort();
        return result;
      };
      turns.push((await runs.delete(turn, before)).runs);
    }
    expect(turns).toEqual([0, 0, 500]);
  });

  test('a turn may use nearly all of the time until upkeep begins the next one', () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(0);
    try {
      const turn = new DeletionTurn(scratch.database, new AbortController().signal);
      now.mockReturnValue(0.9 * UPKEEP_EVERY_MS);
      expect(turn.isOver).toBe(false);
      now.mockReturnValue(0.95 * UPKEEP_EVERY_MS);
      expect(turn.isOver).toBe(true);
    } finally {
      now.mockRestore();
    }
  });

  test('nothing is deleted once the server stops', async () => {
    await addRuns(1, 10, { daysAgo: 91 });
    const turn = new DeletionTurn(scratch.database, AbortSignal.abort());
    expect(await new OutdatedRuns().delete(turn, before)).toEqual({
      runs: 0,
      findings: 0,
    });
    expect(await left('runs')).toBe(10);
  });
});
