/** A standby has no leases: PostgreSQL refuses statements there that name an unlogged table. */
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { Database } from '../../../src/db/database.ts';
import { readOverview } from '../../../src/db/findings/overview.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import type { RunToRead } from '../../../src/db/runs/run-to-read.ts';
import { findRun, listRuns, suggestRunNames } from '../../../src/db/runs/runs.ts';
import { readStepsOfRuns } from '../../../src/reads/steps-of-runs.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { hex16, NOON_MS } from '../../support/rows.ts';

let scratch: MigratedDatabase;
let workspaceId: number;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  workspaceId = (await createWorkspace(scratch.database, 'one', 'One')).id;
  await scratch.rows(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records) VALUES ($1, $2, 'completed', 1, 0)`,
    [workspaceId, hex16(1)],
  );
});
afterAll(() => scratch.close());

/** Carries out `work`. @returns how many of its statements name the leases, and how many do not */
async function statementsOf(work: (database: Database) => Promise<unknown>) {
  const texts: string[] = [];
  const recording = Object.create(scratch.database, {
    query: {
      value: async (...statement: Parameters<Database['query']>) => {
        texts.push(JSON.stringify(statement[0]));
        return await scratch.database.query(...statement);
      },
    },
  }) as Database;
  await work(recording);
  const named = texts.filter((text) => /\bleases\b/.test(text)).length;
  return { named, others: texts.length - named };
}

const run = (fields: Partial<RunToRead> = {}): RunToRead => ({
  workspaceId,
  runId: hex16(1),
  firstArrivalOn: '2026-11-20',
  lastArrivalOn: '2026-11-20',
  ...fields,
});

test.each<[string, (database: Database) => Promise<unknown>]>([
  ['the overview', (database) => readOverview(database, workspaceId, NOON_MS)],
  ['the list of runs', (database) => listRuns(database, workspaceId, {}, null, 10)],
  ['the names of runs', (database) => suggestRunNames(database, workspaceId)],
  ['a run', (database) => findRun(database, workspaceId, hex16(1))],
  ['the steps of a run', (database) => readStepsOfRuns(database, [run()])],
])('%s can be read on a standby', async (_, work) => {
  const { named, others } = await statementsOf(work);
  expect(others).toBeGreaterThan(0);
  expect(named).toBe(0);
});

test('only the steps of a claim are read with its lease', async () => {
  const { named } = await statementsOf((database) =>
    readStepsOfRuns(database, [run({ steps: 1 })]),
  );
  expect(named).toBe(1);
});
