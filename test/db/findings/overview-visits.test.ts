/** What is new since a member's last visit: looks that follow each other are one visit. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NEW_FINDINGS_MAX, noteOverviewVisit } from '../../../src/db/findings/overview-visits.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/migrated-database.ts';
import { addPerson } from '../../support/people.ts';

let scratch: MigratedDatabase;
let mine: number;
let userId: number;

const look = () => noteOverviewVisit(scratch.database, mine, userId);
/** Moves the last look back in time. */
const pass = (minutes: number) =>
  scratch.database.query(
    `UPDATE memberships SET overview_seen_at = overview_seen_at - $1 * interval '1 minute'`,
    [minutes],
  );
const find = (count: number, workspaceId = mine) =>
  scratch.database.query(
    `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity, category,
       corpus_version, description, condition_index, condition_description, field, surface, step_name,
       excerpt, recommended_actions)
     SELECT $1, gen_random_uuid(), 'r', '1', 'stable', 'high', 'c', '4', '', 0, '', 'f', 'tool_args', '',
            '', '[]' FROM generate_series(1, $2::int)`,
    [workspaceId, count],
  );

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  mine = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
  userId = (await addPerson(scratch.database, mine, 'member')).id;
});
afterAll(() => scratch.close());

test('the first visit has nothing to compare with, and lasts while looks follow each other', async () => {
  expect(await look()).toBeNull();
  await pass(29);
  expect(await look()).toBeNull();
});

test('the next one counts what was found since the last look, until a later visit', async () => {
  const theirs = await createWorkspace(scratch.database, 'theirs', 'Theirs');
  await pass(31);
  await find(3);
  await find(5, theirs.id);
  const first = await look();
  expect(first).toMatchObject({ findings: 3, more: false });
  await find(1);
  expect(await look()).toEqual({ since: first?.since, findings: 4, more: false });
  await pass(31);
  await scratch.database.query(`UPDATE findings SET created_at = now() - interval '1 hour'`);
  expect(await look()).toMatchObject({ findings: 0 });
});

test('counts no further than a limit, and nobody else is remembered', async () => {
  await pass(31);
  await find(NEW_FINDINGS_MAX + 1);
  expect(await look()).toMatchObject({ findings: NEW_FINDINGS_MAX, more: true });
  expect(await noteOverviewVisit(scratch.database, mine, userId + 1000)).toBeNull();
});
