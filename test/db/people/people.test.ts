/** Accounts, sessions and invitations as the database keeps them. */

import { randomUUID, scryptSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { setExperimental, setOverride } from '../../../src/db/findings/rule-settings.ts';
import { COMMAND_LINE, listAudit } from '../../../src/db/people/audit.ts';
import { findInvitationByToken, listInvitations } from '../../../src/db/people/invitations.ts';
import {
  acceptInvitation,
  createInvitation,
  removeMember,
  revokeInvitation,
  setRole,
} from '../../../src/db/people/member-writes.ts';
import { addMember, listMembers } from '../../../src/db/people/memberships.ts';
import {
  findFitting,
  generatePassword,
  hashPassword,
  isOutdated,
} from '../../../src/db/people/passwords.ts';
import { createSession, findSession, listSessions } from '../../../src/db/people/sessions.ts';
import { signInByPassword, signInByProvider } from '../../../src/db/people/sign-in.ts';
import { changePassword, resetPassword } from '../../../src/db/people/user-writes.ts';
import {
  createUser,
  findAccount,
  type ProvenUser,
  setPassword,
} from '../../../src/db/people/users.ts';
import {
  createRecordedKey,
  renameWorkspace,
  revokeRecordedKey,
  setRedaction,
} from '../../../src/db/people/workspace-writes.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import type { Actor } from '../../../src/model/people.ts';
import { useQuickScrypt, useRealScrypt } from '../../support/child-settings.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { addPerson, type Person } from '../../support/people.ts';
import { waitFor } from '../../support/wait-for.ts';

/** scrypt with the least cost: the same form, and quick. */
const QUICK_HASH = '$scrypt$ln=1,r=1,p=1$c2FsdHNhbHQ$XlgzAIJW0iwADbMb7dHCsZ1PmsfmMIxF9GZrkBZ8OBo';

/** Whether a password fits a stored hash. */
const fits = async (password: string, stored: string | null): Promise<boolean> =>
  (await findFitting(password, stored === null ? [] : [stored])) !== null;

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

async function actionsOf(workspaceId: number): Promise<string[]> {
  const { entries } = await listAudit(scratch.database, workspaceId, null, 100);
  return entries.map(({ action, subject }) => `${action} ${subject}`).reverse();
}

/** Somebody who acts in the dashboard. */
const actorOf = ({ id, email }: Person): Actor => ({
  userId: id,
  name: email,
  origin: '203.0.113.1',
});

describe('passwords', () => {
  test('are kept with their parameters and a salt of their own', async () => {
    useRealScrypt();
    onTestFinished(useQuickScrypt);
    const hashes = [await hashPassword('one and the same'), await hashPassword('one and the same')];
    expect(hashes[0]).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(hashes[0]).not.toBe(hashes[1]);
    expect(await fits('one and the same', hashes[0] ?? '')).toBe(true);
    expect(await fits('one and the sam', hashes[0] ?? '')).toBe(false);
    expect(isOutdated(hashes[0] ?? '')).toBe(false);
  });

  test('composed and decomposed characters are the same', async () => {
    const stored = await hashPassword('Zürich \u00e9t\u00e9 12');
    expect(await fits('Zu\u0308rich e\u0301te\u0301 12', stored)).toBe(true);
  });

  test.each([null, '', 'plain', '$scrypt$ln=15,r=8,p=3$$', '$2b$12$abc'])(
    'against %s nothing fits',
    async (stored) => {
      expect(await fits('', stored)).toBe(false);
    },
  );

  test('only so many wait; one more is refused, and nobody’s password takes its turn too', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 35 }, (_, at) => fits('x', at % 4 === 0 ? null : QUICK_HASH)),
    );
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(1);
    expect(refused[0]).toMatchObject({ reason: { code: 'overloaded' } });
    expect(await fits('x', QUICK_HASH)).toBe(false);
  });

  test('that are made up are long and never the same', () => {
    const made = Array.from({ length: 50 }, () => generatePassword());
    expect(new Set(made).size).toBe(50);
    for (const one of made) expect(one).toMatch(/^([a-km-np-z2-9]{5}-){4}[a-km-np-z2-9]{5}$/);
  });

  test('one kept with other parameters is hashed again at the next sign-in', async () => {
    const email = 'outdated@people.test';
    const { id } = await createUser(scratch.database, {
      email,
      displayName: 'O',
      passwordHash: null,
    });
    const hash = scryptSync('an old password', 'saltsalt', 32, { N: 2, r: 1, p: 1 });
    const stored = `$scrypt$ln=1,r=1,p=1$c2FsdHNhbHQ$${hash.toString('base64').replace('=', '')}`;
    await setPassword(scratch.database, id, stored);
    expect(await signInByPassword(scratch.database, email, 'not it')).toBeNull();
    expect(await signInByPassword(scratch.database, email, 'an old password')).toMatchObject({
      id,
    });
    const account = await findAccount(scratch.database, email);
    expect(isOutdated(account?.passwordHash ?? '')).toBe(false);
    expect(await signInByPassword(scratch.database, email, 'an old password')).toMatchObject({
      id,
    });
  });
});

describe('a password that changes while somebody signs in with it', () => {
  const PASSWORD = 'the password of before';

  async function addWithPassword(): Promise<Person & { readonly workspaces: readonly number[] }> {
    const ids = [await addWorkspace(), await addWorkspace()];
    const [first = 0, second = 0] = ids;
    const person = await addPerson(scratch.database, first, 'owner', { password: PASSWORD });
    await addMember(scratch.database, second, person.id, 'member');
    return { ...person, workspaces: ids };
  }
  const prove = async (email: string): Promise<ProvenUser> => {
    const proven = await signInByPassword(scratch.database, email, PASSWORD);
    if (proven === null) throw new Error('the password does not fit');
    return proven;
  };
  const begin = ({ id: userId, proof }: ProvenUser) =>
    inTransaction(scratch.database, (connection) =>
      createSession(connection, {
        userId,
        proof,
        workspaceSlug: null,
        userAgent: 'a test',
        address: 'here',
      }),
    );

  test('what was checked against the old one begins no session and changes nothing', async () => {
    const person = await addWithPassword();
    const proven = await prove(person.email);
    expect(await begin(proven)).not.toBeNull();
    const next = 'another, longer password';
    await changePassword(scratch.database, proven, next, '203.0.113.1');
    expect(await listSessions(scratch.database, person.id)).toEqual([]);
    const late = { code: 'sign_in_failed' };
    await expect(begin(proven)).rejects.toMatchObject(late);
    const again = changePassword(scratch.database, proven, 'of a thief, as long', '203.0.113.2');
    await expect(again).rejects.toMatchObject(late);
    expect(await signInByPassword(scratch.database, person.email, next)).not.toBeNull();
    for (const id of person.workspaces) {
      expect(await actionsOf(id)).toEqual([`user.password_changed ${person.email}`]);
    }
  });

  test('a session that begins at that moment ends with the others', async () => {
    const person = await addWithPassword();
    const proven = await prove(person.email);
    let reset: Promise<number> = Promise.resolve(0);
    await inTransaction(scratch.database, async (connection) => {
      const session = { userId: person.id, workspaceSlug: null, userAgent: '', address: '' };
      await createSession(connection, { ...session, proof: proven.proof });
      reset = resetPassword(scratch.database, person.email, 'set by the operator', COMMAND_LINE);
      await waitFor(
        async () => {
          const waiting = await scratch.rows(
            `SELECT pid FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event_type = 'Lock'
                AND query LIKE 'UPDATE users%'`,
          );
          return waiting.length === 1;
        },
        { withinMs: 20_000, what: 'the reset to wait for the sign-in' },
      );
    });
    expect(await reset).toBe(2);
    expect(await listSessions(scratch.database, person.id)).toEqual([]);
  });

  test('an old hash made again at a sign-in does not bring an old password back', async () => {
    const person = await addWithPassword();
    const hash = scryptSync(PASSWORD, 'saltsalt', 32, { N: 2, r: 1, p: 1 });
    const stored = `$scrypt$ln=1,r=1,p=1$c2FsdHNhbHQ$${hash.toString('base64').replace('=', '')}`;
    await setPassword(scratch.database, person.id, stored);
    useRealScrypt();
    const signingIn = signInByPassword(scratch.database, person.email, PASSWORD);
    // Hashing takes a while: the password is changed in the midst of it.
    await setPassword(scratch.database, person.id, QUICK_HASH);
    await signingIn.finally(useQuickScrypt);
    const account = await findAccount(scratch.database, person.email);
    expect(account?.passwordHash).toBe(QUICK_HASH);
  });
});

test('an e-mail address has one account, whatever its capitals', async () => {
  const user = { email: 'Ana@People.test', displayName: 'Ana', passwordHash: null };
  await createUser(scratch.database, user);
  await expect(
    createUser(scratch.database, { ...user, email: 'ana@people.TEST' }),
  ).rejects.toMatchObject({ code: 'conflict' });
});

describe('sessions', () => {
  test('of one user are fifty at most: the oldest ends', async () => {
    const workspaceId = await addWorkspace();
    const { id, token } = await addPerson(scratch.database, workspaceId, 'member');
    const session = { userId: id, workspaceSlug: null, userAgent: 'a test', address: 'here' };
    for (let more = 0; more < 50; more += 1) await createSession(scratch.database, session);
    expect(await listSessions(scratch.database, id)).toHaveLength(50);
    expect(await findSession(scratch.database, token)).toBeNull();
  });

  test('tell the role of this moment, and nothing of a workspace one has left', async () => {
    const workspaceId = await addWorkspace();
    await addPerson(scratch.database, workspaceId, 'owner');
    const { id, token } = await addPerson(scratch.database, workspaceId, 'member');
    const role = async () => (await findSession(scratch.database, token))?.workspace?.role;
    expect(await role()).toBe('member');
    const change = { userId: id, role: 'admin' } as const;
    await setRole(scratch.database, workspaceId, change, COMMAND_LINE);
    expect(await role()).toBe('admin');
    await removeMember(scratch.database, workspaceId, id, COMMAND_LINE);
    expect(await findSession(scratch.database, token)).toMatchObject({ workspace: null });
  });

  test('are not opened for a workspace of others', async () => {
    const [mine, theirs] = [await addWorkspace(), await addWorkspace()];
    const { id } = await addPerson(scratch.database, mine, 'owner');
    await addPerson(scratch.database, theirs, 'owner');
    const session = { userId: id, userAgent: '', address: '', workspaceSlug: `w${workspaces}` };
    expect(await createSession(scratch.database, session)).toBeNull();
  });
});

describe('members', () => {
  test('the last owner stays one', async () => {
    const workspaceId = await addWorkspace();
    const owner = await addPerson(scratch.database, workspaceId, 'owner');
    const admin = await addPerson(scratch.database, workspaceId, 'admin');
    const demotion = { userId: owner.id, role: 'admin' } as const;
    await expect(
      setRole(scratch.database, workspaceId, demotion, COMMAND_LINE),
    ).rejects.toMatchObject({ code: 'conflict' });
    await expect(
      removeMember(scratch.database, workspaceId, owner.id, COMMAND_LINE),
    ).rejects.toMatchObject({ code: 'conflict' });
    const promotion = { userId: admin.id, role: 'owner' } as const;
    await setRole(scratch.database, workspaceId, promotion, COMMAND_LINE);
    await setRole(scratch.database, workspaceId, demotion, COMMAND_LINE);
    const roles = (await listMembers(scratch.database, workspaceId)).map(({ role }) => role);
    expect(roles).toEqual(['admin', 'owner']);
    expect(await actionsOf(workspaceId)).toEqual([
      `member.role ${admin.email}`,
      `member.role ${owner.email}`,
    ]);
  });

  test('two owners who remove each other at once: one stays, and the other has done nothing', async () => {
    const workspaceId = await addWorkspace();
    const [one, other] = [
      await addPerson(scratch.database, workspaceId, 'owner'),
      await addPerson(scratch.database, workspaceId, 'owner'),
    ];
    // A third owner: not keeping the last one is what lets the second removal fail.
    await addPerson(scratch.database, workspaceId, 'owner');
    const outcomes = await Promise.allSettled([
      removeMember(scratch.database, workspaceId, other.id, actorOf(one)),
      removeMember(scratch.database, workspaceId, one.id, actorOf(other)),
    ]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(outcomes).toContainEqual(
      expect.objectContaining({ reason: expect.objectContaining({ code: 'role_required' }) }),
    );
    expect(await listMembers(scratch.database, workspaceId)).toHaveLength(2);
    expect(await actionsOf(workspaceId)).toHaveLength(1);
  });

  const demote = (workspaceId: number, { id }: Person) =>
    setRole(scratch.database, workspaceId, { userId: id, role: 'admin' }, COMMAND_LINE);
  const remove = (workspaceId: number, { id }: Person) =>
    removeMember(scratch.database, workspaceId, id, COMMAND_LINE);

  test.each([
    ['are removed', remove, remove],
    ['lose their role', demote, demote],
    ['are removed and lose their role', remove, demote],
  ])('the last two owners %s at once: one stays', async (_what, change, otherChange) => {
    const workspaceId = await addWorkspace();
    const one = await addPerson(scratch.database, workspaceId, 'owner');
    const other = await addPerson(scratch.database, workspaceId, 'owner');
    const { changes } = await inTransaction(scratch.database, async (connection) => {
      await connection.query('SELECT FROM memberships WHERE workspace_id = $1 FOR UPDATE', [
        workspaceId,
      ]);
      const begun = Promise.allSettled([change(workspaceId, one), otherChange(workspaceId, other)]);
      await scratch.blocked(2);
      return { changes: begun };
    });
    const outcomes = await changes;
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(outcomes).toContainEqual(
      expect.objectContaining({ reason: expect.objectContaining({ code: 'conflict' }) }),
    );
    const members = await listMembers(scratch.database, workspaceId);
    expect(members.filter(({ role }) => role === 'owner')).toHaveLength(1);
    expect(await actionsOf(workspaceId)).toHaveLength(1);
  });

  test('an admin deals with no owner', async () => {
    const workspaceId = await addWorkspace();
    const owner = await addPerson(scratch.database, workspaceId, 'owner');
    const admin = await addPerson(scratch.database, workspaceId, 'admin');
    const actor = actorOf(admin);
    const { database } = scratch;
    const attempts = [
      setRole(database, workspaceId, { userId: admin.id, role: 'owner' }, actor),
      setRole(database, workspaceId, { userId: owner.id, role: 'member' }, actor),
      removeMember(database, workspaceId, owner.id, actor),
      createInvitation(database, workspaceId, { email: 'a@b.test', role: 'owner' }, actor),
    ];
    for (const outcome of await Promise.allSettled(attempts)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'role_required' } });
    }
    expect(await actionsOf(workspaceId)).toEqual([]);
  });

  test('who has lost the role or the session since the request came changes nothing', async () => {
    const workspaceId = await addWorkspace();
    await addPerson(scratch.database, workspaceId, 'owner');
    const { database } = scratch;
    const writes = (actor: Actor): Promise<unknown>[] => [
      setExperimental(database, workspaceId, true, actor),
      setOverride(database, workspaceId, 'ATR-2026-00001', false, actor),
      renameWorkspace(database, workspaceId, 'Taken over', actor),
      setRedaction(database, workspaceId, true, actor),
      createRecordedKey(
        database,
        workspaceId,
        { kind: 'agent', name: 'x', rateLimitPerMinute: 1, brand: 'b' },
        actor,
      ),
      revokeRecordedKey(database, workspaceId, 1, actor),
      createInvitation(database, workspaceId, { email: 'a@b.test', role: 'member' }, actor),
      revokeInvitation(database, workspaceId, 1, actor),
    ];
    const refusals = async (person: Person): Promise<unknown[]> => {
      const session = await findSession(database, person.token);
      const actor = { ...actorOf(person), sessionId: session?.id ?? '' };
      await scratch.rows(person.role === 'admin' ? REVOKE : DEMOTE, [person.id]);
      const outcomes = await Promise.allSettled(writes(actor));
      return outcomes.map((one) => (one.status === 'rejected' ? one.reason.code : one.status));
    };
    const DEMOTE = "UPDATE memberships SET role = 'member' WHERE user_id = $1";
    const REVOKE = 'UPDATE sessions SET revoked_at = now() WHERE user_id = $1';
    const former = await addPerson(database, workspaceId, 'owner');
    expect(await refusals(former)).toEqual(Array(8).fill('role_required'));
    const signedOut = await addPerson(database, workspaceId, 'admin');
    expect(await refusals(signedOut)).toEqual(Array(8).fill('not_signed_in'));
    expect(await actionsOf(workspaceId)).toEqual([]);
  });
});

test('redaction is what the ledger says last, however many switch it at once', async () => {
  const workspaceId = await addWorkspace();
  const { database } = scratch;
  for (let round = 0; round < 10; round += 1) {
    const switches = [true, false, true].map((on) =>
      setRedaction(database, workspaceId, on, COMMAND_LINE),
    );
    await Promise.allSettled(switches);
    const { entries } = await listAudit(database, workspaceId, null, 1);
    const rows = await scratch.rows('SELECT redact_excerpts FROM workspaces WHERE id = $1', [
      workspaceId,
    ]);
    expect(rows).toEqual([entries[0]?.after]);
  }
});

describe('invitations', () => {
  const inviting = (workspaceId: number, email: string) =>
    createInvitation(scratch.database, workspaceId, { email, role: 'member' }, COMMAND_LINE);
  const newcomer = { displayName: 'New', passwordHash: QUICK_HASH };
  const accept = (token: string, who: Parameters<typeof acceptInvitation>[2] = newcomer) =>
    acceptInvitation(scratch.database, token, who, '203.0.113.1');

  test('make an account for the holder of the link, once', async () => {
    const workspaceId = await addWorkspace();
    const { token } = await inviting(workspaceId, 'new@people.test');
    const outcomes = await Promise.allSettled([accept(token), accept(token), accept(token)]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(accept(token)).rejects.toMatchObject({ code: 'not_found' });
    expect(await listMembers(scratch.database, workspaceId)).toMatchObject([
      { email: 'new@people.test', displayName: 'New', role: 'member' },
    ]);
    expect(await actionsOf(workspaceId)).toEqual([
      'invitation.created new@people.test',
      'member.joined new@people.test',
    ]);
    const stored = await scratch.rows('SELECT to_jsonb(invitations) AS row FROM invitations');
    expect(JSON.stringify(stored)).not.toContain(token);
  });

  test('are accepted with an account that is there by its owner, nobody else', async () => {
    const [first, second] = [await addWorkspace(), await addWorkspace()];
    const person = await addPerson(scratch.database, first, 'owner');
    const other = await addPerson(scratch.database, first, 'member');
    const { token } = await inviting(second, person.email.toUpperCase());
    await expect(accept(token, { userId: other.id })).rejects.toMatchObject({ code: 'conflict' });
    expect(await accept(token, { userId: person.id })).toMatchObject({ id: person.id });
    expect(await listMembers(scratch.database, second)).toHaveLength(1);
  });

  test('end by being revoked, replaced, or old', async () => {
    const workspaceId = await addWorkspace();
    const email = 'late@people.test';
    const replaced = await inviting(workspaceId, email);
    const revoked = await inviting(workspaceId, email);
    expect(await listInvitations(scratch.database, workspaceId)).toHaveLength(1);
    const { id } = revoked.invitation;
    await revokeInvitation(scratch.database, workspaceId, id, COMMAND_LINE);
    const expired = await inviting(workspaceId, email);
    await scratch.rows(
      `UPDATE invitations SET expires_at = now() - interval '1 second'
                         WHERE workspace_id = $1 AND revoked_at IS NULL`,
      [workspaceId],
    );
    for (const { token } of [replaced, revoked, expired]) {
      await expect(accept(token)).rejects.toMatchObject({ code: 'not_found' });
      await expect(findInvitationByToken(scratch.database, token)).rejects.toMatchObject({
        code: 'not_found',
      });
    }
    expect(await findAccount(scratch.database, email)).toBeNull();
  });

  test('are not made for members, and of another workspace cannot be revoked', async () => {
    const [mine, theirs] = [await addWorkspace(), await addWorkspace()];
    const member = await addPerson(scratch.database, mine, 'member');
    await expect(inviting(mine, member.email)).rejects.toMatchObject({ code: 'conflict' });
    const { invitation } = await inviting(theirs, 'x@people.test');
    await expect(
      revokeInvitation(scratch.database, mine, invitation.id, COMMAND_LINE),
    ).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('an account at a provider', () => {
  const arrive = (verifiedEmail: string | null, subject: string = randomUUID()) =>
    signInByProvider(
      scratch.database,
      { provider: 'acme', issuer: 'https://id.test', subject, verifiedEmail, displayName: 'Pat' },
      '203.0.113.1',
    );

  test('is linked to the account of its verified address, and known from then on', async () => {
    const workspaceId = await addWorkspace();
    const person = await addPerson(scratch.database, workspaceId, 'member');
    expect(await arrive(person.email.toUpperCase(), 'linked')).toMatchObject({ id: person.id });
    expect(await arrive(null, 'linked')).toMatchObject({ id: person.id });
    expect(await arrive('changed@people.test', 'linked')).toMatchObject({ id: person.id });
    expect(await arrive(null, 'unlinked')).toBeNull();
  });

  test('of somebody else, who has been given the address, does not get into the account', async () => {
    const workspaceId = await addWorkspace();
    const { email, id } = await addPerson(scratch.database, workspaceId, 'member');
    expect(await arrive(email, 'who left')).toMatchObject({ id });
    expect(await arrive(email, 'who came')).toBeNull();
    expect(await arrive(email, 'who left')).toMatchObject({ id });
    expect(await actionsOf(workspaceId)).toEqual([`user.provider_linked ${email}`]);
  });

  test('of two that arrive at once with one address, one is linked', async () => {
    const workspaceId = await addWorkspace();
    const { email, id } = await addPerson(scratch.database, workspaceId, 'member');
    const arrivals = await Promise.all([arrive(email), arrive(email), arrive(email)]);
    expect(arrivals.filter((user) => user !== null)).toMatchObject([{ id }]);
  });

  test('proves the address: a password chosen by an earlier holder of the link is gone, and its sessions', async () => {
    const workspaceId = await addWorkspace();
    const email = 'victim@people.test';
    const whom = { email, role: 'member' } as const;
    const { token } = await createInvitation(scratch.database, workspaceId, whom, COMMAND_LINE);
    const who = { displayName: 'Eve', passwordHash: QUICK_HASH };
    const eve = await acceptInvitation(scratch.database, token, who, '203.0.113.66');
    const session = { userId: eve.id, workspaceSlug: null, userAgent: '', address: '' };
    await createSession(scratch.database, session);
    expect(await arrive(email)).toMatchObject({ id: eve.id });
    expect(await findAccount(scratch.database, email)).toMatchObject({
      id: eve.id,
      passwordHash: null,
    });
    expect(await listSessions(scratch.database, eve.id)).toEqual([]);
    const { entries } = await listAudit(scratch.database, workspaceId, null, 1);
    expect(entries).toMatchObject([
      {
        action: 'user.provider_linked',
        subject: email,
        origin: '203.0.113.1',
        after: { provider: 'acme', issuer: 'https://id.test', password_removed: true },
      },
    ]);
  });

  test('leaves the password of an account that an operator made', async () => {
    const workspaceId = await addWorkspace();
    const { email } = await addPerson(scratch.database, workspaceId, 'member', {
      password: 'given by the operator',
    });
    await arrive(email);
    expect((await findAccount(scratch.database, email))?.passwordHash).toMatch(/^\$scrypt/);
  });

  test('without an address, or with one nobody knows, is nobody', async () => {
    expect(await arrive(null)).toBeNull();
    expect(await arrive('stranger@people.test')).toBeNull();
    expect(await findAccount(scratch.database, 'stranger@people.test')).toBeNull();
  });

  test('accepts the invitations of its verified address', async () => {
    const [first, second] = [await addWorkspace(), await addWorkspace()];
    const email = 'invited@people.test';
    for (const id of [second, first]) {
      const whom = { email, role: 'admin' } as const;
      await createInvitation(scratch.database, id, whom, COMMAND_LINE);
    }
    const user = await arrive(email);
    expect(user).toMatchObject({ email, displayName: 'Pat' });
    for (const id of [first, second]) {
      expect(await listMembers(scratch.database, id)).toMatchObject([{ email, role: 'admin' }]);
      expect(await listInvitations(scratch.database, id)).toEqual([]);
      expect(await actionsOf(id)).toEqual([
        `invitation.created ${email}`,
        `member.joined ${email}`,
      ]);
    }
  });
});
