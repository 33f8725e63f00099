/** What is new since a member's last visit: looks that follow each other are one visit. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NEW_FINDINGS_MAX, noteOverviewVisit } from '../../../src/db/findings/overview-visits.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { type ClockedDatabase, openClockedDatabase, START } from '../../support/database-clock.ts';
import { addPerson } from '../../support/people.ts';

let scratch: ClockedDatabase;
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
  scratch = await openClockedDatabase();
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

test('counts what the findings list shows: open ones that no exception covers', async () => {
  await pass(31);
  await find(4);
  expect(await look()).toMatchObject({ findings: 4 });
  const closed = `INSERT INTO finding_states (workspace_id, finding_id, state)
    SELECT workspace_id, id, $2 FROM findings
     WHERE workspace_id = $1 AND created_at > now() - interval '10 minutes'
     ORDER BY id OFFSET $3 LIMIT 1`;
  await scratch.database.query(closed, [mine, 'closed', 0]);
  await scratch.database.query(closed, [mine, 'acknowledged', 1]);
  expect(await look()).toMatchObject({ findings: 3 });
  await scratch.database.query(
    `INSERT INTO finding_exceptions (workspace_id, rule_id, scope, name, reason, created_by, expires_at)
     VALUES ($1, 'r', 'agent', 'known', 'a test', 'a test', now() + interval '1 day')`,
    [mine],
  );
  await scratch.database.query(
    `UPDATE findings SET agent_name = 'known' WHERE workspace_id = $1 AND id IN (
       SELECT f.id FROM findings f LEFT JOIN finding_states s ON s.finding_id = f.id
        WHERE f.workspace_id = $1 AND s.state IS NULL ORDER BY f.created_at DESC LIMIT 1)`,
    [mine],
  );
  expect(await look()).toMatchObject({ findings: 2 });
});

test('counts no further than a limit, and nobody else is remembered', async () => {
  await pass(31);
  await find(NEW_FINDINGS_MAX + 1);
  expect(await look()).toMatchObject({ findings: NEW_FINDINGS_MAX, more: true });
  expect(await noteOverviewVisit(scratch.database, mine, userId + 1000)).toBeNull();
});

test.each([
  ['30 minutes', false],
  ['30 minutes 1 us', true],
])('a look %s after the last one begins a new visit: %s', async (later, isNew) => {
  await scratch.setClock('0');
  const { id } = await addPerson(scratch.database, mine, 'member');
  const visit = () => noteOverviewVisit(scratch.database, mine, id);
  expect(await visit()).toBeNull();
  await scratch.rows('DELETE FROM findings');
  await scratch.setClock('-1 us');
  await find(1);
  await scratch.setClock('0');
  await find(1);
  await scratch.setClock(later);
  const seen = await visit();
  // What was found at the moment of the last look is new, and nothing before.
  if (isNew) expect(seen).toMatchObject({ findings: 1, since: new Date(START) });
  else expect(seen).toBeNull();
});
