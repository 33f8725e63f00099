/** What is new since a member's last visit: looks that follow each other are one visit. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countFindings } from '../../../src/db/findings/finding-totals.ts';
import { NEW_FINDINGS_MAX, noteOverviewVisit } from '../../../src/db/findings/overview.ts';
import { triageFindings } from '../../../src/db/findings/triage-writes.ts';
import { findSession } from '../../../src/db/people/sessions.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { OPEN_STATES } from '../../../src/model/triage.ts';
import { type ClockedDatabase, openClockedDatabase, START } from '../../support/database.ts';
import { addPerson, type Person } from '../../support/people.ts';
import { DIGESTED } from '../../support/rows.ts';

let scratch: ClockedDatabase;
let mine: number;
let userId: number;

const lookAs = async (id: number) => {
  const { since, newFindings } = await noteOverviewVisit(scratch.database, mine, id);
  return newFindings === null ? null : { since, ...newFindings };
};
const look = () => lookAs(userId);
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
       excerpt, recommended_actions,
       ${DIGESTED.columns})
     SELECT $1, gen_random_uuid(), 'r', '1', 'stable', 'high', 'c', '4', '', 0, '', 'f', 'tool_args', '',
            '', '[]', ${DIGESTED.values} FROM generate_series(1, $2::int)`,
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
    `INSERT INTO finding_exceptions (workspace_id, rule_id, agent_name, reason, created_by, expires_at)
     VALUES ($1, 'r', 'known', 'a test', 'a test', now() + interval '1 day')`,
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
  expect(await lookAs(userId + 1000)).toBeNull();
});

test.each([
  ['30 minutes', false],
  ['30 minutes 1 us', true],
])('a look %s after the last one begins a new visit: %s', async (later, isNew) => {
  await scratch.setClock('0');
  const { id } = await addPerson(scratch.database, mine, 'member');
  const visit = () => lookAs(id);
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

test('counts open findings of a member, and which of them others assigned since the last visit', async () => {
  await scratch.setClock('-1 us');
  const { id } = await createWorkspace(scratch.database, 'team', 'Team');
  const [ann, bob] = [
    await addPerson(scratch.database, id, 'member'),
    await addPerson(scratch.database, id, 'owner'),
  ];
  await find(4, id);
  const rows = await scratch.rows('SELECT id FROM findings WHERE workspace_id = $1', [id]);
  const ids = rows.map((row) => String(row.id));
  const assign = async (by: Person, which: readonly string[], to: Person | null) => {
    const session = await findSession(scratch.database, by.token);
    const origin = { userId: by.id, name: by.email, origin: 'test', sessionId: session?.id ?? '' };
    const change = { ids: which, assigneeId: to?.id ?? null };
    await triageFindings(scratch.database, id, change, origin);
  };
  const assigned = async () => {
    const visit = await noteOverviewVisit(scratch.database, id, ann.id);
    const list = { states: OPEN_STATES, isExcepted: false, assignee: ann.email };
    const total = await countFindings(scratch.database, id, list);
    // The card links to that list.
    expect(visit.assigned).toMatchObject({ findings: total.count, more: !total.isExact });
    return [visit.assigned.findings, visit.assigned.new];
  };
  await assign(bob, ids.slice(0, 1), ann);
  await scratch.setClock('0');
  expect(await assigned()).toEqual([1, 0]);
  await scratch.setClock('31 minutes -1 us');
  await assign(ann, ids.slice(1, 2), ann);
  await assign(bob, ids.slice(2), ann);
  await scratch.setClock('31 minutes');
  // Not the one that she assigned to herself.
  expect(await assigned()).toEqual([4, 2]);
  await assign(bob, ids.slice(2, 3), null);
  await assign(bob, ids.slice(0, 1), bob);
  expect(await assigned()).toEqual([2, 1]);
  await scratch.setClock('62 minutes');
  expect(await assigned()).toEqual([2, 0]);
  // At the moment of the last look is since then.
  await assign(bob, ids.slice(2, 3), ann);
  await scratch.setClock('93 minutes');
  expect(await assigned()).toEqual([3, 1]);
  await scratch.database.query(
    `INSERT INTO finding_exceptions (workspace_id, rule_id, service_name, reason, created_by, expires_at)
     VALUES ($1, 'r', 'known', 'a test', 'a test', now() + interval '1 day')`,
    [id],
  );
  await scratch.rows("UPDATE findings SET service_name = 'known' WHERE id = $1", [ids[2]]);
  await scratch.rows("UPDATE finding_states SET state = 'closed' WHERE finding_id = $1", [ids[1]]);
  expect(await assigned()).toEqual([1, 0]);
});
