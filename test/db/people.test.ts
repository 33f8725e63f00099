/** Accounts, sessions and invitations as the database keeps them. */
import { randomUUID, scryptSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMAND_LINE, listAudit } from '../../src/db/audit.ts';
import { findInvitationByToken, listInvitations } from '../../src/db/invitations.ts';
import {
  acceptInvitation,
  changeRole,
  dropMember,
  invite,
  uninvite,
} from '../../src/db/member-writes.ts';
import { listMembers } from '../../src/db/memberships.ts';
import {
  generatePassword,
  hashPassword,
  isOutdated,
  verifyPassword,
} from '../../src/db/passwords.ts';
import { createSession, findSession, listSessions } from '../../src/db/sessions.ts';
import { signInByPassword, signInByProvider } from '../../src/db/sign-in.ts';
import { createUser, findAccount, setPassword } from '../../src/db/users.ts';
import { createWorkspace } from '../../src/db/workspaces.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/migrated-database.ts';
import { addPerson } from '../support/people.ts';

/** scrypt with the least cost: the same form, and quick. */
const QUICK_HASH = '$scrypt$ln=1,r=1,p=1$c2FsdHNhbHQ$XlgzAIJW0iwADbMb7dHCsZ1PmsfmMIxF9GZrkBZ8OBo';

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

describe('passwords', () => {
  test('are kept with their parameters and a salt of their own', async () => {
    const hashes = [await hashPassword('one and the same'), await hashPassword('one and the same')];
    expect(hashes[0]).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(hashes[0]).not.toBe(hashes[1]);
    expect(await verifyPassword('one and the same', hashes[0] ?? '')).toBe(true);
    expect(await verifyPassword('one and the sam', hashes[0] ?? '')).toBe(false);
    expect(isOutdated(hashes[0] ?? '')).toBe(false);
  });

  test('composed and decomposed characters are the same', async () => {
    const stored = await hashPassword('Zürich \u00e9t\u00e9 12');
    expect(await verifyPassword('Zu\u0308rich e\u0301te\u0301 12', stored)).toBe(true);
  });

  test.each([null, '', 'plain', '$scrypt$ln=15,r=8,p=3$$', '$2b$12$abc'])(
    'against %s nothing fits',
    async (stored) => {
      expect(await verifyPassword('', stored)).toBe(false);
    },
  );

  test('only so many wait; one more is refused, and nobody’s password takes its turn too', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 35 }, (_, at) => verifyPassword('x', at % 4 === 0 ? null : QUICK_HASH)),
    );
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(1);
    expect(refused[0]).toMatchObject({ reason: { code: 'overloaded' } });
    expect(await verifyPassword('x', QUICK_HASH)).toBe(false);
  });

  test('that are made up are long and never the same', () => {
    const made = Array.from({ length: 50 }, () => generatePassword());
    expect(new Set(made).size).toBe(50);
    for (const one of made) expect(one).toMatch(/^([a-km-np-z2-9]{5}-){4}[a-km-np-z2-9]{5}$/);
  });

  test('one kept with other parameters is hashed anew at the next sign-in', async () => {
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
    const change = { userId: id, role: 'admin', by: 'owner' } as const;
    await changeRole(scratch.database, workspaceId, change, COMMAND_LINE);
    expect(await role()).toBe('admin');
    await dropMember(scratch.database, workspaceId, { userId: id, by: 'owner' }, COMMAND_LINE);
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
    const demotion = { userId: owner.id, role: 'admin', by: 'owner' } as const;
    await expect(
      changeRole(scratch.database, workspaceId, demotion, COMMAND_LINE),
    ).rejects.toMatchObject({ code: 'conflict' });
    const removal = { userId: owner.id, by: 'owner' } as const;
    await expect(
      dropMember(scratch.database, workspaceId, removal, COMMAND_LINE),
    ).rejects.toMatchObject({ code: 'conflict' });
    const promotion = { userId: admin.id, role: 'owner', by: 'owner' } as const;
    await changeRole(scratch.database, workspaceId, promotion, COMMAND_LINE);
    await changeRole(scratch.database, workspaceId, demotion, COMMAND_LINE);
    const roles = (await listMembers(scratch.database, workspaceId)).map(({ role }) => role);
    expect(roles).toEqual(['admin', 'owner']);
    expect(await actionsOf(workspaceId)).toEqual([
      `member.role ${admin.email}`,
      `member.role ${owner.email}`,
    ]);
  });

  test('two owners who remove each other at once: one stays', async () => {
    const workspaceId = await addWorkspace();
    const owners = [
      await addPerson(scratch.database, workspaceId, 'owner'),
      await addPerson(scratch.database, workspaceId, 'owner'),
    ];
    const removals = owners.map(({ id: userId }) =>
      dropMember(scratch.database, workspaceId, { userId, by: 'owner' }, COMMAND_LINE),
    );
    const outcomes = await Promise.allSettled(removals);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await listMembers(scratch.database, workspaceId)).toHaveLength(1);
  });

  test('an admin deals with no owner', async () => {
    const workspaceId = await addWorkspace();
    const owner = await addPerson(scratch.database, workspaceId, 'owner');
    const admin = await addPerson(scratch.database, workspaceId, 'admin');
    const by = 'admin' as const;
    const attempts = [
      changeRole(
        scratch.database,
        workspaceId,
        { userId: admin.id, role: 'owner', by },
        COMMAND_LINE,
      ),
      changeRole(
        scratch.database,
        workspaceId,
        { userId: owner.id, role: 'member', by },
        COMMAND_LINE,
      ),
      dropMember(scratch.database, workspaceId, { userId: owner.id, by }, COMMAND_LINE),
      invite(scratch.database, workspaceId, { email: 'a@b.test', role: 'owner', by }, COMMAND_LINE),
    ];
    for (const outcome of await Promise.allSettled(attempts)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'role_required' } });
    }
    expect(await actionsOf(workspaceId)).toEqual([]);
  });
});

describe('invitations', () => {
  const inviting = (workspaceId: number, email: string) =>
    invite(scratch.database, workspaceId, { email, role: 'member', by: 'owner' }, COMMAND_LINE);
  const newcomer = { displayName: 'New', passwordHash: QUICK_HASH };
  const accept = (token: string, who: Parameters<typeof acceptInvitation>[2] = newcomer) =>
    acceptInvitation(scratch.database, token, who, '203.0.113.1');

  test('make an account of whoever holds the link, once', async () => {
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

  test('never get into an account that is there: its owner accepts, nobody else', async () => {
    const [first, second] = [await addWorkspace(), await addWorkspace()];
    const person = await addPerson(scratch.database, first, 'owner');
    const other = await addPerson(scratch.database, first, 'member');
    const { token } = await inviting(second, person.email.toUpperCase());
    await expect(accept(token)).rejects.toMatchObject({ code: 'not_signed_in' });
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
    await uninvite(scratch.database, workspaceId, { id, by: 'owner' }, COMMAND_LINE);
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
      uninvite(scratch.database, mine, { id: invitation.id, by: 'owner' }, COMMAND_LINE),
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

  test('without an address, or with one nobody knows, is nobody', async () => {
    expect(await arrive(null)).toBeNull();
    expect(await arrive('stranger@people.test')).toBeNull();
    expect(await findAccount(scratch.database, 'stranger@people.test')).toBeNull();
  });

  test('accepts the invitations of its verified address', async () => {
    const [first, second] = [await addWorkspace(), await addWorkspace()];
    const email = 'invited@people.test';
    for (const id of [second, first]) {
      const whom = { email, role: 'admin', by: 'owner' } as const;
      await invite(scratch.database, id, whom, COMMAND_LINE);
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
