/** Exceptions: what they cover, who makes and ends them, when they end, and that findings stay. */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createException, endException } from '../../../src/db/findings/exception-writes.ts';
import {
  exceptionOffer,
  exceptionsFor,
  isExcepted,
  listExceptions,
} from '../../../src/db/findings/exceptions.ts';
import { listFindings } from '../../../src/db/findings/finding-list.ts';
import { countFindings } from '../../../src/db/findings/finding-totals.ts';
import { findAlertedFindings } from '../../../src/db/findings/findings.ts';
import { triageFindings } from '../../../src/db/findings/triage-writes.ts';
import { COMMAND_LINE, listAudit } from '../../../src/db/people/audit.ts';
import { findSession } from '../../../src/db/people/sessions.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { exceptionForm } from '../../../src/http/dashboard/triage-routes.ts';
import { EXCEPTION_PARTS, type ExceptionPart } from '../../../src/model/exceptions.ts';
import type { FindingFilter } from '../../../src/model/findings.ts';
import type { Actor } from '../../../src/model/people.ts';
import { OPEN_STATES } from '../../../src/model/triage.ts';
import { anyCharacter } from '../../support/cases.ts';
import { type ClockedDatabase, openClockedDatabase } from '../../support/database.ts';
import { addPerson, type Person } from '../../support/people.ts';
import { PLACED } from '../../support/rows.ts';

let scratch: ClockedDatabase;
let workspaces = 0;
let runs = 0;
beforeAll(async () => {
  scratch = await openClockedDatabase();
});
afterAll(() => scratch.close());
beforeEach(() => scratch.setClock('0'));

interface Team {
  readonly workspaceId: number;
  readonly owner: Actor;
  readonly member: Actor;
}

async function actorOf(person: Person): Promise<Actor> {
  const session = await findSession(scratch.database, person.token);
  return { userId: person.id, name: person.email, origin: 'test', sessionId: session?.id ?? '' };
}

async function addTeam(): Promise<Team> {
  workspaces += 1;
  const { id } = await createWorkspace(scratch.database, `w${workspaces}`, 'A workspace');
  return {
    workspaceId: id,
    owner: await actorOf(await addPerson(scratch.database, id, 'owner')),
    member: await actorOf(await addPerson(scratch.database, id, 'member')),
  };
}

interface Given {
  readonly rule?: string;
  readonly surface?: string;
  readonly agent?: string | null;
  readonly service?: string | null;
  readonly tool?: string | null;
  readonly text?: string;
}

/** Adds a finding; what is not given is like every other finding's. */
async function add({ workspaceId }: Team, given: Given = {}): Promise<string> {
  runs += 1;
  const all = { rule: 'R', surface: 's', agent: 'a', service: 'b', tool: 'c', text: 'd', ...given };
  const { rule, surface, agent, service, tool, text } = all;
  const rows = await scratch.rows(
    `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
       category, corpus_version, description, condition_index, condition_description, field,
       surface, step_name, excerpt, recommended_actions,
       ${PLACED.columns}, agent_name, service_name, tool_name,
       match_digest)
     VALUES ($1, lpad($2::text, 32, '0')::uuid, $3, '1', 'stable', 'high', 'c', '4', 'd', 0, 'c', 'f',
             $4, 'n', 'e', '[]', ${PLACED.values}, $5, $6, $7, sha256(convert_to($8, 'UTF8'))) RETURNING id`,
    [workspaceId, runs, rule, surface, agent, service, tool, text],
  );
  return String(rows[0]?.id);
}

const except = (
  team: Team,
  id: string,
  parts: ExceptionPart | readonly ExceptionPart[],
  actor = team.owner,
  days = 30,
) => {
  const made = { parts: [parts].flat(), reason: 'why', days };
  return createException(scratch.database, team.workspaceId, id, made, actor);
};
const offerOf = ({ workspaceId }: Team, id: string) =>
  exceptionOffer(scratch.database, workspaceId, id);

async function excepted({ workspaceId }: Team): Promise<unknown[]> {
  const rows = await scratch.rows(
    `SELECT f.id FROM findings f WHERE f.workspace_id = $1 AND ${isExcepted('f')} ORDER BY run_id`,
    [workspaceId],
  );
  return rows.map(({ id }) => id);
}

const list = ({ workspaceId }: Team) => listExceptions(scratch.database, workspaceId);

describe('an exception', () => {
  test.each(['agent', 'service', 'tool', 'text'] as const)('for %s', async (scope) => {
    const team = await addTeam();
    const id = await add(team);
    const same = await add(team);
    await add(team, { [scope]: 'other' });
    if (scope !== 'text') await add(team, { [scope]: null });
    await add(team, { rule: 'other' });
    const other = await addTeam();
    await add(other);
    const { choices } = await offerOf(team, id);
    const own = choices.find(({ parts }) => String(parts) === scope);
    const values = { agent: 'a', service: 'b', tool: 'c', text: true };
    const any = { agent: null, service: null, tool: null, text: false };
    const coverage = { ...any, [scope]: values[scope] };
    expect(own).toMatchObject({ hidden: { count: 2, isCut: false } });
    const before = await scratch.rows('SELECT * FROM findings ORDER BY id');
    await except(team, id, scope);
    expect(await excepted(team)).toEqual([id, same]);
    expect(await excepted(other)).toEqual([]);
    const [made] = await list(team);
    expect(made).toMatchObject({ ...coverage, ruleId: 'R', reason: 'why', isActive: true });
    expect(made?.hidden).toEqual({ count: 2, last: expect.any(Date), isCut: false });
    const later = await add(team);
    expect(await excepted(team)).toEqual([id, same, later]);
    const [cover] = await exceptionsFor(scratch.database, team.workspaceId, later);
    expect(cover).toMatchObject({ id: made?.id, ...coverage });
    expect(await exceptionsFor(scratch.database, other.workspaceId, later)).toEqual([]);
    expect((await scratch.rows('SELECT * FROM findings ORDER BY id')).length).toBe(
      before.length + 1,
    );
    const rows = await scratch.rows('SELECT * FROM findings WHERE id <> $1 ORDER BY id', [later]);
    expect(rows).toEqual(before);
  });

  test('ends by itself, and when it is ended', async () => {
    const team = await addTeam();
    const id = await add(team);
    await except(team, id, 'agent', team.owner, 1);
    await except(team, id, 'text');
    expect(await excepted(team)).toEqual([id]);
    const [text, agent] = await list(team);
    const seconds = ((agent?.expiresAt.getTime() ?? 0) - (agent?.createdAt.getTime() ?? 0)) / 1000;
    expect(seconds).toBe(86_400);
    const end = () => endException(scratch.database, team.workspaceId, text?.id ?? 0, team.owner);
    await end();
    await expect(end()).rejects.toMatchObject({ code: 'not_found' });
    expect(await excepted(team)).toEqual([id]);
    await scratch.rows('UPDATE finding_exceptions SET expires_at = now() WHERE id = $1', [
      agent?.id,
    ]);
    expect(await excepted(team)).toEqual([]);
    expect(await list(team)).toMatchObject([
      { id: text?.id, isActive: false, endedBy: team.owner.name },
      { id: agent?.id, isActive: false, endedAt: null },
    ]);
    const { entries } = await listAudit(scratch.database, team.workspaceId, null, 9);
    expect(entries).toMatchObject([
      { action: 'exception.ended', subject: 'R', before: { text: true, agent: null } },
      { action: 'exception.created', subject: 'R', after: { text: true, reason: 'why' } },
      { action: 'exception.created', subject: 'R', after: { text: false, agent: 'a' } },
    ]);
  });

  test('is not made by a member, for another workspace, twice, or without what it is for', async () => {
    const team = await addTeam();
    const id = await add(team);
    const other = await addTeam();
    await expect(except(team, id, 'agent', team.member)).rejects.toMatchObject({
      code: 'role_required',
    });
    await expect(except(other, id, 'agent')).rejects.toMatchObject({ code: 'not_found' });
    await except(team, id, 'agent');
    await expect(except(team, id, 'agent')).rejects.toMatchObject({ code: 'conflict' });
    const [made] = await list(team);
    const end = (of: Team, actor: Actor) =>
      endException(scratch.database, of.workspaceId, made?.id ?? 0, actor);
    await expect(end(other, other.owner)).rejects.toMatchObject({ code: 'not_found' });
    await expect(end(team, team.member)).rejects.toMatchObject({ code: 'role_required' });
    const bare = await add(team, { agent: null, service: null, tool: null });
    const bareOffer = await offerOf(team, bare);
    expect(bareOffer.coverage).toEqual({ text: true, tool: '', agent: '', service: '' });
    expect(bareOffer.choices).toHaveLength(8);
    expect(bareOffer.choices.every(({ parts }) => parts.includes('text'))).toBe(true);
    await expect(except(team, bare, 'tool')).rejects.toMatchObject({ code: 'not_found' });
    await expect(except(team, bare, [])).rejects.toMatchObject({ code: 'not_found' });
    const named = await add(team, { surface: 'tool_name' });
    expect((await offerOf(team, named)).coverage).toMatchObject({ tool: '', agent: 'a' });
    await expect(except(team, named, 'tool')).rejects.toMatchObject({ code: 'not_found' });
    expect(await list(team)).toHaveLength(1);
  });

  test.each([
    ['1 day -1 us', true],
    ['1 day', false],
  ])('of one day, after %s, is active: %s', async (age, isActive) => {
    const team = await addTeam();
    const { workspaceId } = team;
    const id = await add(team);
    await except(team, id, 'agent', COMMAND_LINE, 1);
    await scratch.setClock(age);
    const ids = isActive ? [id] : [];
    expect(await excepted(team)).toEqual(ids);
    expect(await exceptionsFor(scratch.database, workspaceId, id)).toHaveLength(ids.length);
    const alerted = await findAlertedFindings(scratch.database, workspaceId, [id]);
    expect(alerted).toHaveLength(1 - ids.length);
    const [made] = await list(team);
    expect(made?.isActive).toBe(isActive);
    // The same one may be made again once it has expired, and only an active one can be ended.
    const again = except(team, id, 'agent', COMMAND_LINE, 1);
    const end = () => endException(scratch.database, workspaceId, made?.id ?? 0, COMMAND_LINE);
    if (isActive) await expect(again).rejects.toMatchObject({ code: 'conflict' });
    else await again;
    if (isActive) await end();
    await expect(end()).rejects.toMatchObject({ code: 'not_found' });
  });

  test('that has ended or expired counts what it hid until then, and no later finding', async () => {
    const team = await addTeam();
    await except(team, await add(team), 'agent', COMMAND_LINE, 1);
    await scratch.setClock('12 hours -1 us');
    await add(team);
    const hidden = async () => (await list(team)).map((one) => one.hidden.count);
    await scratch.setClock('12 hours');
    const [made] = await list(team);
    await endException(scratch.database, team.workspaceId, made?.id ?? 0, COMMAND_LINE);
    await add(team);
    expect(await hidden()).toEqual([2]);
    await except(team, await add(team), 'agent', COMMAND_LINE, 1);
    await scratch.setClock('36 hours -1 us');
    await add(team);
    await scratch.setClock('36 hours');
    await add(team);
    expect(await hidden()).toEqual([5, 2]);
  });

  test('that covers a finding longest is named first', async () => {
    const team = await addTeam();
    const id = await add(team);
    for (const [scope, days] of [
      ['agent', 2],
      ['text', 3],
      ['tool', 1],
    ] as const) {
      await except(team, id, scope, COMMAND_LINE, days);
    }
    const covers = await exceptionsFor(scratch.database, team.workspaceId, id);
    expect(covers.map(({ text, agent, tool }) => [text, agent, tool])).toEqual([
      [true, null, null],
      [false, 'a', null],
      [false, null, 'c'],
    ]);
  });

  /** Exceptions for agents 1 to `count`, in this order, of which the given ones have ended. */
  const addMany = async ({ workspaceId }: Team, count: number, ended: string): Promise<void> =>
    void (await scratch.rows(
      `INSERT INTO finding_exceptions (workspace_id, rule_id, agent_name, reason, created_by, expires_at)
       SELECT $1, 'R', n::text, 'r', 'c', now() + CASE WHEN ${ended} THEN interval '0'
              ELSE interval '1 us' END FROM generate_series(1, $2::int) AS n`,
      [workspaceId, count],
    ));
  const names = async (team: Team, isActive: boolean) =>
    (await list(team)).filter((one) => one.isActive === isActive).map(({ agent }) => agent);
  const numbers = (from: number, to: number) =>
    Array.from({ length: from - to + 1 }, (_, at) => String(from - at));

  test('is refused beside a hundred active ones, and made once one of them expires', async () => {
    const team = await addTeam();
    const id = await add(team);
    await addMany(team, 99, 'false');
    await except(team, id, 'text', COMMAND_LINE);
    expect(await names(team, true)).toEqual([null, ...numbers(99, 1)]);
    await expect(except(team, id, 'agent')).rejects.toMatchObject({ code: 'conflict' });
    await scratch.setClock('1 us');
    await except(team, id, 'agent', COMMAND_LINE);
    expect(await names(team, true)).toEqual(['a', null]);
  });

  test.each([
    [100, numbers(100, 1)],
    [101, numbers(101, 2)],
    [220, numbers(220, 121)],
  ])('of %d that have ended, the newest hundred are kept', async (count, kept) => {
    const team = await addTeam();
    await addMany(team, count, 'true');
    await except(team, await add(team), 'text', COMMAND_LINE);
    expect(await names(team, false)).toEqual(kept);
  });

  test('that is active is kept, however many have ended since', async () => {
    const team = await addTeam();
    await addMany(team, 150, 'n > 40');
    await except(team, await add(team), 'text', COMMAND_LINE);
    expect(await names(team, true)).toEqual([null, ...numbers(40, 1)]);
    expect(await names(team, false)).toEqual(numbers(150, 51));
  });
});

test('lists and counts leave out what is excepted or closed, or show only that; alerts leave it out', async () => {
  const team = await addTeam();
  const { workspaceId } = team;
  const hidden = await add(team);
  const closed = await add(team, { agent: 'other', text: 'other' });
  const open = await add(team, { agent: 'third', text: 'third' });
  await except(team, hidden, 'agent');
  const change = { ids: [closed], state: 'closed' } as const;
  await triageFindings(scratch.database, workspaceId, change, team.member);
  const listed = async (filter: FindingFilter) => {
    const { findings } = await listFindings(scratch.database, workspaceId, filter, null, 9);
    const { count } = await countFindings(scratch.database, workspaceId, filter);
    expect(count).toBe(findings.length);
    return findings.map(({ id }) => id).sort();
  };
  expect(await listed({})).toEqual([hidden, closed, open].sort());
  expect(await listed({ states: OPEN_STATES, isExcepted: false })).toEqual([open]);
  expect(await listed({ states: OPEN_STATES, isExcepted: false, severity: 'high' })).toEqual([
    open,
  ]);
  expect(await listed({ states: ['closed'] })).toEqual([closed]);
  expect(await listed({ isExcepted: true })).toEqual([hidden]);
  const alerted = await findAlertedFindings(scratch.database, workspaceId, [hidden, open]);
  expect(alerted.map(({ id }) => id)).toEqual([open]);
});

test('an exception of a text for one agent hides it in every tool, and not of an agent without a name', async () => {
  const team = await addTeam();
  const id = await add(team);
  const otherTool = await add(team, { tool: 'x' });
  const otherAgents = [await add(team, { agent: 'x' }), await add(team, { agent: null })];
  await add(team, { text: 'x' });
  const { choices } = await offerOf(team, id);
  const counts = choices.map(({ parts, hidden, ofOtherAgents }) => [
    parts.join(' '),
    hidden.count,
    ofOtherAgents,
  ]);
  expect(counts).toHaveLength(15);
  expect(counts[0]).toEqual(['text tool agent service', 1, 0]);
  expect(counts).toContainEqual(['text agent', 2, 0]);
  expect(counts).toContainEqual(['text service', 4, 2]);
  expect(counts).toContainEqual(['tool', 4, 2]);
  await except(team, id, ['text', 'agent']);
  expect(await excepted(team)).toEqual([id, otherTool]);
  await except(team, String(otherAgents[1]), EXCEPTION_PARTS);
  expect(await excepted(team)).toEqual([id, otherTool, otherAgents[1]]);
  const [made] = await list(team);
  expect(made).toMatchObject({ text: true, tool: 'c', agent: '', service: 'b' });
});

test('a form is accepted only with known parts, a reason and 1 to 365 days', () => {
  const parse = (fields: unknown) => exceptionForm.safeParse(fields).success;
  const good = { text: 'yes', agent: 'yes', reason: 'expected', days: '30' };
  expect(exceptionForm.parse(good)).toEqual({ ...good, days: 30 });
  for (const name of Object.keys(good)) expect(parse({ ...good, [name]: '' }), name).toBe(false);
  // Nothing chosen would be an exception for every finding of the rule.
  const none = exceptionForm.safeParse({ reason: 'expected', days: '366' });
  expect(none.error?.issues.map(({ message }) => message)).toContain(
    'must be a number of days from 1 to 365',
  );
  const { text: _text, agent: _agent, ...unchosen } = good;
  expect(exceptionForm.safeParse(unchosen).error?.issues).toMatchObject([
    { path: ['text, tool, agent, service'], message: 'choose at least one' },
  ]);
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), fc.integer(), fc.string(), (any, days, text) => {
      expect(parse({ ...good, days: String(days) })).toBe(days >= 1 && days <= 365);
      expect(parse({ ...good, days: text })).toBe(/^[1-9]\d*$/.test(text) && Number(text) <= 365);
      expect(parse({ ...good, tool: any })).toBe(any === 'yes');
      const reason = exceptionForm.safeParse({ ...good, reason: any });
      if (reason.success) expect(reason.data.reason.length).toBeLessThanOrEqual(500);
    }),
  );
});
