/** Invitations by the clock, and that each is used once. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { type Connection, inTransaction } from '../../../src/db/database.ts';
import { COMMAND_LINE, lockLedger } from '../../../src/db/people/audit.ts';
import {
  findInvitationByToken,
  findInvitationsByEmail,
  listInvitations,
  markAccepted,
  markRevoked,
} from '../../../src/db/people/invitations.ts';
import {
  acceptInvitation,
  createInvitation,
  removeMember,
  revokeInvitation,
} from '../../../src/db/people/member-writes.ts';
import { listMembers } from '../../../src/db/people/memberships.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { type ClockedDatabase, openClockedDatabase } from '../../support/database.ts';
import { addPerson } from '../../support/people.ts';

const NEWCOMER = { displayName: 'New', passwordHash: 'a hash' };

let scratch: ClockedDatabase;
let workspaceId: number;
let workspaces = 0;
beforeAll(async () => {
  scratch = await openClockedDatabase();
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.setClock('0');
  workspaces += 1;
  workspaceId = (await createWorkspace(scratch.database, `w${workspaces}`, 'A workspace')).id;
  await addPerson(scratch.database, workspaceId, 'owner');
});

const email = () => `w${workspaces}@people.test`;
const invite = (address = email()) =>
  createInvitation(scratch.database, workspaceId, { email: address, role: 'member' }, COMMAND_LINE);
const accept = (token: string) =>
  acceptInvitation(scratch.database, token, NEWCOMER, '203.0.113.1');
type Invited = Awaited<ReturnType<typeof invite>>;

async function one(found: Promise<readonly unknown[]>): Promise<void> {
  if ((await found).length !== 1) throw Object.assign(new Error('none'), { code: 'not_found' });
}

/** By every way to an open invitation, the last two of which use it up. */
const WAYS: readonly [string, (invited: Invited) => Promise<unknown>][] = [
  ['found by its link', ({ token }) => findInvitationByToken(scratch.database, token)],
  ['found by its address', () => one(findInvitationsByEmail(scratch.database, email()))],
  ['listed', () => one(listInvitations(scratch.database, workspaceId))],
  ['accepted', ({ token }) => accept(token)],
  [
    'revoked',
    ({ invitation }) =>
      revokeInvitation(scratch.database, workspaceId, invitation.id, COMMAND_LINE),
  ],
];

describe.each(WAYS)('an invitation is %s', (_way, use) => {
  test('until a week after it was made, and not from then on', async () => {
    const invited = await invite();
    await scratch.setClock('7 days');
    await expect(use(invited)).rejects.toMatchObject({ code: 'not_found' });
    await scratch.setClock('7 days -1 us');
    await use(invited);
  });

  test.each(['accepted', 'revoked'])('no more once it was %s', async (end) => {
    const invited = await invite();
    await WAYS.find(([way]) => way === end)?.[1](invited);
    await expect(use(invited)).rejects.toMatchObject({ code: 'not_found' });
  });
});

/** What another transaction does to an invitation while its acceptance waits for the ledger. */
const ENDS: readonly [string, (connection: Connection, id: number) => Promise<void>][] = [
  ['was accepted', markAccepted],
  ['was revoked', (connection, id) => markRevoked(connection, workspaceId, id)],
  ['expired', () => scratch.setClock('7 days')],
];

test.each(ENDS)('an invitation that %s meanwhile adds no member', async (_end, end) => {
  const { invitation, token } = await invite();
  const accepting = await inTransaction(scratch.database, async (connection) => {
    await lockLedger(connection, workspaceId);
    const begun = Promise.allSettled([accept(token)]);
    await scratch.blocked();
    await end(connection, invitation.id);
    return { begun };
  });
  expect(await accepting.begun).toMatchObject([{ reason: { code: 'not_found' } }]);
  expect(await listMembers(scratch.database, workspaceId)).toHaveLength(1);
});

test('a new invitation revokes the open ones of its address, and leaves those that have ended', async () => {
  const first = await invite();
  const { id } = await accept(first.token);
  await removeMember(scratch.database, workspaceId, id, COMMAND_LINE);
  await scratch.setClock('1 s');
  const second = await invite();
  await scratch.setClock('2 s');
  await invite(email().toUpperCase());
  const revoked = await scratch.rows(
    `SELECT id, extract(epoch FROM revoked_at - created_at)::int AS after FROM invitations
      WHERE workspace_id = $1 ORDER BY id`,
    [workspaceId],
  );
  expect(revoked).toMatchObject([
    { id: first.invitation.id, after: null },
    { id: second.invitation.id, after: 1 },
    { after: null },
  ]);
});

test('two hundred are open at most, and one that expires makes room', async () => {
  await scratch.rows(
    `INSERT INTO invitations (workspace_id, email, role, token_sha256, expires_at)
     SELECT $1, n || '@full.test', 'member', sha256(('full' || n)::bytea),
            now() + make_interval(secs => n) FROM generate_series(1, 199) AS n`,
    [workspaceId],
  );
  await invite();
  await expect(invite('another@full.test')).rejects.toMatchObject({ code: 'conflict' });
  await scratch.setClock('1 s -1 us');
  await expect(invite('another@full.test')).rejects.toMatchObject({ code: 'conflict' });
  await scratch.setClock('1 s');
  await invite('another@full.test');
});
