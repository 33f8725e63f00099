/** Triage of findings: states, assignees, notes, history and ledger, and what findings it never changes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listFindings } from '../../../src/db/findings/finding-list.ts';
import { countFindings, suggestNames } from '../../../src/db/findings/finding-totals.ts';
import { listFindingFacts } from '../../../src/db/findings/findings.ts';
import {
  HISTORY_ENTRIES_MAX,
  hasAssignee,
  hasState,
  readTriage,
} from '../../../src/db/findings/triage.ts';
import { triageFindings } from '../../../src/db/findings/triage-writes.ts';
import { listAudit } from '../../../src/db/people/audit.ts';
import { removeMember } from '../../../src/db/people/member-writes.ts';
import { findSession } from '../../../src/db/people/sessions.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import type { FindingFilter } from '../../../src/model/findings.ts';
import type { Hex16 } from '../../../src/model/json.ts';
import type { Actor } from '../../../src/model/people.ts';
import { FINDING_STATES, NOTES_MAX, TRIAGE_FINDINGS_MAX } from '../../../src/model/triage.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { addPerson, type Person } from '../../support/people.ts';
import { DIGESTED, hex16 } from '../../support/rows.ts';

let scratch: MigratedDatabase;
let workspaces = 0;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());

interface Team {
  readonly workspaceId: number;
  readonly owner: Person;
  readonly member: Person;
  readonly ids: readonly Hex16[];
}

/** A workspace with some findings, an owner and a member. */
async function addTeam(findings = 3): Promise<Team> {
  workspaces += 1;
  const { id } = await createWorkspace(scratch.database, `w${workspaces}`, 'A workspace');
  const rows = await scratch.rows(
    `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
       category, corpus_version, description, condition_index, condition_description, field,
       surface, step_name, excerpt, recommended_actions,
       ${DIGESTED.columns})
     SELECT $1, lpad(n::text, 32, '0')::uuid, 'R', '1', 'stable', 'high', 'c', '4', 'd', 0, 'c', 'f',
            's', 'n', 'e', '[]', ${DIGESTED.values} FROM generate_series(1, $2) AS n RETURNING id`,
    [id, findings],
  );
  return {
    workspaceId: id,
    owner: await addPerson(scratch.database, id, 'owner'),
    member: await addPerson(scratch.database, id, 'member'),
    ids: rows.map((row) => String(row.id)),
  };
}

async function actorOf(person: Person): Promise<Actor> {
  const session = await findSession(scratch.database, person.token);
  return { userId: person.id, name: person.email, origin: 'test', sessionId: session?.id ?? '' };
}

const ledgerOf = async ({ workspaceId }: Team) =>
  (await listAudit(scratch.database, workspaceId, null, 50)).entries.map(
    ({ action, subject, before, after }) => ({ action, subject, before, after }),
  );

/** The ids that a condition selects. */
async function selected({ workspaceId }: Team, condition: string, value: unknown) {
  const rows = await scratch.rows(
    `SELECT f.id FROM findings f WHERE f.workspace_id = $1 AND ${condition} ORDER BY f.run_id`,
    [workspaceId, value],
  );
  return rows.map(({ id }) => id);
}

describe('a finding', () => {
  test('is new until a member changes it; the finding itself never changes', async () => {
    const team = await addTeam();
    const { workspaceId, member, owner, ids } = team;
    const [id = ''] = ids;
    const findings = () => scratch.rows('SELECT * FROM findings ORDER BY id');
    const before = await findings();
    expect(await readTriage(scratch.database, workspaceId, id)).toEqual({
      state: 'new',
      assignee: null,
      history: [],
    });
    const actor = await actorOf(member);
    const change = { ids: [id], state: 'confirmed', assigneeId: owner.id, note: 'real\nattack' };
    const done = triageFindings(
      scratch.database,
      workspaceId,
      { ...change, state: 'confirmed' },
      actor,
    );
    expect(await done).toBe(1);
    const { state, assignee, history } = await readTriage(scratch.database, workspaceId, id);
    expect([state, assignee]).toEqual([
      'confirmed',
      { userId: owner.id, email: owner.email, displayName: 'The owner', isMember: true },
    ]);
    expect(history).toMatchObject([
      { kind: 'note', actor: member.email, before: null, after: 'real\nattack' },
      { kind: 'assignee', actor: member.email, before: null, after: owner.email },
      { kind: 'state', actor: member.email, before: 'new', after: 'confirmed' },
    ]);
    expect(await ledgerOf(team)).toEqual([
      { action: 'finding.note', subject: id, before: null, after: { characters: 11 } },
      {
        action: 'finding.assignee',
        subject: id,
        before: { assignee: null },
        after: { assignee: owner.email },
      },
      {
        action: 'finding.state',
        subject: id,
        before: { state: 'new' },
        after: { state: 'confirmed' },
      },
    ]);
    expect(await findings()).toEqual(before);
  });

  test('that is set so already gets no history and no ledger entry', async () => {
    const team = await addTeam();
    const { workspaceId, owner, ids } = team;
    const actor = await actorOf(owner);
    const change = { ids: ids.slice(0, 1), state: 'closed', assigneeId: null } as const;
    expect(await triageFindings(scratch.database, workspaceId, change, actor)).toBe(1);
    expect(await triageFindings(scratch.database, workspaceId, change, actor)).toBe(0);
    expect(await ledgerOf(team)).toHaveLength(1);
  });

  test('shows an assignee who left as a former member; nobody can assign to one', async () => {
    const team = await addTeam();
    const { workspaceId, owner, member, ids } = team;
    const actor = await actorOf(owner);
    const assign = (id: number) =>
      triageFindings(scratch.database, workspaceId, { ids, assigneeId: id }, actor);
    expect(await assign(member.id)).toBe(3);
    await removeMember(scratch.database, workspaceId, member.id, actor);
    const { assignee } = await readTriage(scratch.database, workspaceId, ids[0] ?? '');
    expect(assignee).toMatchObject({ email: member.email, isMember: false });
    const stranger = (await addTeam()).owner;
    await expect(assign(stranger.id)).rejects.toMatchObject({ code: 'conflict' });
    expect(
      await triageFindings(scratch.database, workspaceId, { ids, assigneeId: null }, actor),
    ).toBe(3);
  });

  test('has a bounded number of notes, and keeps its newest changes beside them', async () => {
    const { workspaceId, owner, ids } = await addTeam();
    const actor = await actorOf(owner);
    const [id = '', other = ''] = ids;
    await scratch.rows(
      `INSERT INTO finding_history (workspace_id, finding_id, actor, kind, before, after)
       SELECT $1, $2, 'a', kind, CASE kind WHEN 'state' THEN 'new' END, n::text
         FROM generate_series(1, $3::int) AS n, unnest(ARRAY['note', 'state']) AS kind
        WHERE kind = 'state' OR n <= $4`,
      [workspaceId, id, HISTORY_ENTRIES_MAX, NOTES_MAX],
    );
    const noted = { ids: [other, id], note: 'one more' };
    await expect(triageFindings(scratch.database, workspaceId, noted, actor)).rejects.toMatchObject(
      { code: 'conflict' },
    );
    expect((await readTriage(scratch.database, workspaceId, other)).history).toEqual([]);
    await triageFindings(scratch.database, workspaceId, { ids: [id], state: 'closed' }, actor);
    const { history } = await readTriage(scratch.database, workspaceId, id);
    expect(history).toHaveLength(HISTORY_ENTRIES_MAX);
    expect(history.filter(({ kind }) => kind === 'note')).toHaveLength(NOTES_MAX);
    expect(history[0]).toMatchObject({ kind: 'state', before: 'new', after: 'closed' });
  });
});

describe('many findings', () => {
  test('change in one transaction and one ledger entry with their ids, or not at all', async () => {
    const team = await addTeam(TRIAGE_FINDINGS_MAX);
    const { workspaceId, owner, ids } = team;
    const actor = await actorOf(owner);
    const [first = '', second = ''] = ids;
    await triageFindings(scratch.database, workspaceId, { ids: [first], state: 'closed' }, actor);
    const all = { ids: [...ids, second], state: 'false_positive' } as const;
    expect(await triageFindings(scratch.database, workspaceId, all, actor)).toBe(200);
    const [entry] = await ledgerOf(team);
    expect(entry).toMatchObject({
      action: 'finding.state',
      subject: '200 findings',
      after: { state: 'false_positive' },
    });
    expect(entry?.before?.findings).toMatchObject({ [first]: 'closed', [second]: 'new' });
    expect(await selected(team, hasState('$2::text[]'), ['false_positive'])).toHaveLength(200);
    const tooMany = { ids: [...ids, hex16(1)], state: 'new' } as const;
    await expect(
      triageFindings(scratch.database, workspaceId, tooMany, actor),
    ).rejects.toMatchObject({ code: 'bad_request' });
    const foreign = { ids: [first, (await addTeam()).ids[0] ?? ''], state: 'new' } as const;
    await expect(
      triageFindings(scratch.database, workspaceId, foreign, actor),
    ).rejects.toMatchObject({ code: 'not_found' });
    expect(await selected(team, hasState('$2::text[]'), ['new'])).toEqual([]);
  });

  test('are filtered by state and assignee', async () => {
    const team = await addTeam(FINDING_STATES.length);
    const { workspaceId, owner, ids } = team;
    const actor = await actorOf(owner);
    for (const [index, state] of FINDING_STATES.entries()) {
      const change = { ids: [ids[index] ?? ''], state };
      await triageFindings(scratch.database, workspaceId, change, actor);
    }
    const [fresh, known, confirmed] = ids;
    const open = ['new', 'acknowledged', 'confirmed'];
    expect(await selected(team, hasState('$2::text[]'), open)).toEqual([fresh, known, confirmed]);
    expect(await selected(team, hasState('$2::text[]'), null)).toEqual(ids);
    const assigned = { ids: [known ?? ''], assigneeId: owner.id };
    await triageFindings(scratch.database, workspaceId, assigned, actor);
    const address = owner.email.toUpperCase();
    expect(await selected(team, hasAssignee('$2::text'), address)).toEqual([known]);
    expect(await selected(team, hasAssignee('$2::text'), 'nobody@crew.test')).toEqual([]);
    expect(await selected(team, hasAssignee('$2::text'), '')).toHaveLength(4);
    expect(await selected(team, hasAssignee('$2::text'), null)).toEqual(ids);
  });
});

test('who has lost the session or the membership since the request came changes nothing', async () => {
  const team = await addTeam();
  const { workspaceId, owner, member, ids } = team;
  const change = { ids, state: 'closed' } as const;
  const asMember = await actorOf(member);
  await scratch.rows('DELETE FROM memberships WHERE user_id = $1', [member.id]);
  await expect(
    triageFindings(scratch.database, workspaceId, change, asMember),
  ).rejects.toMatchObject({ code: 'role_required' });
  const asOwner = await actorOf(owner);
  await scratch.rows('UPDATE sessions SET revoked_at = now() WHERE user_id = $1', [owner.id]);
  await expect(
    triageFindings(scratch.database, workspaceId, change, asOwner),
  ).rejects.toMatchObject({ code: 'not_signed_in' });
  expect(await ledgerOf(team)).toEqual([]);
});

test('lists are given what was decided about their findings, and nothing of others', async () => {
  const team = await addTeam();
  const [first = '', second = ''] = team.ids;
  const actor = await actorOf(team.owner);
  const change = { ids: [first], state: 'confirmed', assigneeId: team.member.id } as const;
  await triageFindings(scratch.database, team.workspaceId, change, actor);
  await triageFindings(
    scratch.database,
    team.workspaceId,
    { ids: [second], state: 'closed' },
    actor,
  );
  const read = async (filter: FindingFilter) => {
    const { findings } = await listFindings(scratch.database, team.workspaceId, filter, null, 9);
    return findings.map(({ id, state, assignee }) => [id, state, assignee]);
  };
  const confirmed = [first, 'confirmed', team.member.email];
  const all = await read({});
  expect(all.sort()).toEqual(
    [
      confirmed,
      [second, 'closed', null],
      ...team.ids.slice(2).map((id) => [id, 'new', null]),
    ].sort(),
  );
  expect(await read({ assignee: team.member.email })).toEqual([confirmed]);
  expect(await read({ assignee: team.owner.email })).toEqual([]);
  expect(await read({ assignee: null, states: ['closed'] })).toEqual([[second, 'closed', null]]);
  expect(await read({ assignee: team.member.email, severity: 'low' })).toEqual([]);
  expect(await read({ assignee: null })).toHaveLength(team.ids.length - 1);
  const count = (filter: FindingFilter) =>
    countFindings(scratch.database, team.workspaceId, filter);
  expect(await count({ assignee: team.member.email })).toMatchObject({ count: 1, isExact: true });
  const [fact] = (
    await listFindingFacts(
      scratch.database,
      team.workspaceId,
      { assignee: team.member.email },
      { after: null, before: '9999999999999999' },
      9,
    )
  ).findings;
  expect(fact).toMatchObject({ id: first, state: 'confirmed', isExcepted: false });
  const { assignees } = await suggestNames(scratch.database, team.workspaceId);
  expect(assignees).toEqual([team.member.email]);
  const other = await addTeam();
  expect((await suggestNames(scratch.database, other.workspaceId)).assignees).toEqual([]);
});
