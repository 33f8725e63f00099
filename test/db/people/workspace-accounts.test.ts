/**
 * Accounts created through an invitation link. The attacker is an admin of one workspace, invites a
 * foreign address, opens the link and chooses a password. The account gives no access elsewhere,
 * does not block the address, and reveals nothing.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { COMMAND_LINE } from '../../../src/db/people/audit.ts';
import {
  acceptInvitation,
  createInvitation,
  removeMember,
  setRole,
} from '../../../src/db/people/member-writes.ts';
import { addMember, listMembers } from '../../../src/db/people/memberships.ts';
import { createSession, findSession } from '../../../src/db/people/sessions.ts';
import { signInByPassword, signInByProvider } from '../../../src/db/people/sign-in.ts';
import { createMember, resetPassword } from '../../../src/db/people/user-writes.ts';
import { findAccount, hashPasswordOf, type User } from '../../../src/db/people/users.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { addPerson } from '../../support/people.ts';

const ATTACKER_PASSWORD = 'chosen by the attacker';

let scratch: MigratedDatabase;
let workspaces = 0;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());

async function addWorkspace(): Promise<number> {
  workspaces += 1;
  return (await createWorkspace(scratch.database, `w${workspaces}`, 'A workspace')).id;
}

const slugOf = (id: number): string => `w${id}`;

async function invited(workspaceId: number, email: string): Promise<string> {
  const whom = { email, role: 'admin' } as const;
  return (await createInvitation(scratch.database, workspaceId, whom, COMMAND_LINE)).token;
}

async function acceptNew(token: string, email: string, password: string): Promise<User> {
  const passwordHash = await hashPasswordOf(scratch.database, email, password);
  const who = { displayName: 'Somebody', passwordHash };
  return await acceptInvitation(scratch.database, token, who, '203.0.113.66');
}

/** The attack: the admin of a workspace invites the address and opens the link. */
async function squat(email: string): Promise<{ workspaceId: number; user: User }> {
  const workspaceId = await addWorkspace();
  const token = await invited(workspaceId, email);
  return { workspaceId, user: await acceptNew(token, email, ATTACKER_PASSWORD) };
}

const create = (workspaceId: number, email: string, password: string) =>
  createMember(
    scratch.database,
    { workspaceId, email, displayName: 'The victim', role: 'admin', password },
    COMMAND_LINE,
  );
const rolesOf = (userId: number) =>
  scratch.rows('SELECT workspace_id AS id, role FROM memberships WHERE user_id = $1 ORDER BY 1', [
    userId,
  ]);
const signIn = (email: string, password: string) =>
  signInByPassword(scratch.database, email, password);
const arrive = (verifiedEmail: string) =>
  signInByProvider(
    scratch.database,
    {
      provider: 'acme',
      issuer: 'https://id.test',
      subject: randomUUID(),
      verifiedEmail,
      displayName: null,
    },
    '203.0.113.1',
  );

describe('an account of a foreign address', () => {
  test('is not adopted by `user create`: the address gets an account of its own', async () => {
    const email = `create@victim.test`;
    const { workspaceId, user } = await squat(email);
    const theirs = await addWorkspace();
    const made = await create(theirs, email, 'shown to the operator once');
    expect(made).toMatchObject({ isNew: true, user: { email } });
    expect(made.user.id).not.toBe(user.id);
    expect(await rolesOf(user.id)).toEqual([{ id: workspaceId, role: 'admin' }]);
    expect(await rolesOf(made.user.id)).toEqual([{ id: theirs, role: 'admin' }]);
    expect(await signIn(email, ATTACKER_PASSWORD)).toMatchObject({ id: user.id });
    expect(await signIn(email, 'shown to the operator once')).toMatchObject({ id: made.user.id });
    expect(await signIn(email, 'neither of both')).toBeNull();
  });

  test('accepts no invitation of another workspace, and keeps nobody from accepting it', async () => {
    const email = `accept@victim.test`;
    const { workspaceId, user } = await squat(email);
    const theirs = await addWorkspace();
    const token = await invited(theirs, email);
    const attempt = acceptInvitation(scratch.database, token, { userId: user.id }, '203.0.113.66');
    await expect(attempt).rejects.toMatchObject({ code: 'conflict' });
    const victim = await acceptNew(token, email, 'chosen by the victim');
    expect(victim.id).not.toBe(user.id);
    expect(await rolesOf(user.id)).toEqual([{ id: workspaceId, role: 'admin' }]);
    expect(await signIn(email, 'chosen by the victim')).toMatchObject({ id: victim.id });
  });

  test('goes to whom a provider shows to be the owner, without its password and sessions', async () => {
    const email = `provider@victim.test`;
    const { workspaceId, user } = await squat(email);
    const session = { userId: user.id, workspaceSlug: null, userAgent: '', address: '' };
    const { token } = (await createSession(scratch.database, session)) ?? { token: '' };
    const owner = await arrive(email);
    expect(await findAccount(scratch.database, email)).toMatchObject({ id: owner?.id });
    expect(await rolesOf(owner?.id ?? 0)).toEqual([{ id: workspaceId, role: 'admin' }]);
    expect(await findSession(scratch.database, token)).toBeNull();
    expect(await signIn(email, ATTACKER_PASSWORD)).toBeNull();
  });
});

test('several accounts of one address become one when a provider shows whose it is', async () => {
  const email = 'honest@people.test';
  const one = await squat(email);
  const other = await squat(email);
  const theirs = await addWorkspace();
  const made = await create(theirs, email, 'shown to the operator once');
  expect(await arrive(email)).toMatchObject({ id: made.user.id });
  expect((await rolesOf(made.user.id)).map(({ id }) => id)).toEqual(
    [one.workspaceId, other.workspaceId, theirs].sort((a, b) => Number(a) - Number(b)),
  );
  for (const { user } of [one, other]) expect(await rolesOf(user.id)).toEqual([]);
  expect(await signIn(email, ATTACKER_PASSWORD)).toBeNull();
  expect(await signIn(email, 'shown to the operator once')).toMatchObject({ id: made.user.id });
});

test('no way of joining takes it into another workspace', async () => {
  const { user } = await squat('join@victim.test');
  const theirs = await addWorkspace();
  const joining = addMember(scratch.database, theirs, user.id, 'admin');
  await expect(joining).rejects.toMatchObject({ code: 'conflict' });
  const change = { userId: user.id, role: 'owner' } as const;
  const promoting = setRole(scratch.database, theirs, change, COMMAND_LINE);
  await expect(promoting).rejects.toMatchObject({ code: 'not_found' });
  expect(await listMembers(scratch.database, theirs)).toEqual([]);
});

test('a workspace has one member of an address', async () => {
  const workspaceId = await addWorkspace();
  const email = 'twice@people.test';
  const token = await invited(workspaceId, email);
  await create(workspaceId, email, 'shown to the operator once');
  await expect(acceptNew(token, email, 'chosen by a link')).rejects.toMatchObject({
    code: 'conflict',
  });
  expect(await listMembers(scratch.database, workspaceId)).toHaveLength(1);
});

test('who was removed and is invited again has the new password and none of the old sessions', async () => {
  const email = 'again@people.test';
  const { workspaceId, user } = await squat(email);
  await addPerson(scratch.database, workspaceId, 'owner');
  const session = { userId: user.id, workspaceSlug: null, userAgent: '', address: '' };
  const { token } = (await createSession(scratch.database, session)) ?? { token: '' };
  await removeMember(scratch.database, workspaceId, user.id, COMMAND_LINE);
  const link = await invited(workspaceId, email);
  expect(await acceptNew(link, email, 'chosen the second time')).toMatchObject({ id: user.id });
  expect(await findSession(scratch.database, token)).toBeNull();
  expect(await signIn(email, ATTACKER_PASSWORD)).toBeNull();
  expect(await signIn(email, 'chosen the second time')).toMatchObject({ id: user.id });
});

describe('signing in', () => {
  test('with the same password everywhere, the workspace that is named counts', async () => {
    const email = 'same@people.test';
    const [one, other] = [await squat(email), await squat(email)];
    for (const { workspaceId, user } of [one, other]) {
      const meant = { workspaceSlug: slugOf(workspaceId) };
      const found = await signInByPassword(scratch.database, email, ATTACKER_PASSWORD, meant);
      expect(found?.id).toBe(user.id);
      const own = { userId: user.id };
      const mine = await signInByPassword(scratch.database, email, ATTACKER_PASSWORD, own);
      expect(mine?.id).toBe(user.id);
    }
  });

  test('takes one computation however many accounts an address has: they share a salt', async () => {
    const email = 'salt@people.test';
    await squat(email);
    await create(await addWorkspace(), email, 'shown to the operator once');
    await acceptNew(await invited(await addWorkspace(), email), email, 'a third password');
    await resetPassword(
      scratch.database,
      email,
      'a fourth password',
      COMMAND_LINE,
      slugOf(workspaces),
    );
    const salts = await scratch.rows(
      `SELECT DISTINCT split_part(password_hash, '$', 4) AS salt FROM users WHERE address = $1`,
      [email],
    );
    expect(salts).toHaveLength(1);
  });
});

test('a password is reset for the account that is meant', async () => {
  const email = 'reset@people.test';
  const { workspaceId, user } = await squat(email);
  const theirs = await addWorkspace();
  const { user: victim } = await create(theirs, email, 'shown to the operator once');
  const reset = (workspace: string | null) =>
    resetPassword(scratch.database, email, 'given by the operator', COMMAND_LINE, workspace);
  await expect(reset(null)).rejects.toThrow(
    `several accounts; choose one by its workspace with --workspace (${slugOf(workspaceId)}, ${slugOf(theirs)})`,
  );
  await reset(slugOf(theirs));
  expect(await signIn(email, 'given by the operator')).toMatchObject({ id: victim.id });
  expect(await signIn(email, ATTACKER_PASSWORD)).toMatchObject({ id: user.id });
});
