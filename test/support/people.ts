/** People in a database, made by the project's own functions: accounts, memberships, sessions. */
import type { Database } from '../../src/db/database.ts';
import { listAudit } from '../../src/db/people/audit.ts';
import {
  beginDeviceLogin,
  decideDeviceLogin,
  parseUserCode,
  pollDeviceLogin,
} from '../../src/db/people/device-logins.ts';
import { addMember } from '../../src/db/people/memberships.ts';
import { hashPassword } from '../../src/db/people/passwords.ts';
import { createSession } from '../../src/db/people/sessions.ts';
import { createUser, findAccount } from '../../src/db/people/users.ts';
import type { Role } from '../../src/model/people.ts';

export interface Person {
  readonly id: number;
  readonly email: string;
  readonly role: Role;
  /** of an open session that looks at the workspace */
  readonly token: string;
}

/** Of this worker; others may make people in the same database. */
let people = 0;

/**
 * Makes somebody who is signed in to a workspace.
 *
 * @param options.password without one there is none: hashing takes a while
 * @param options.email an address that has an account: that one joins
 */
export async function addPerson(
  database: Database,
  workspaceId: number,
  role: Role,
  options: { readonly email?: string; readonly password?: string } = {},
): Promise<Person> {
  people += 1;
  const email = options.email ?? `${role}${people}.${process.pid}@people.test`;
  const passwordHash = options.password === undefined ? null : await hashPassword(options.password);
  const user =
    (await findAccount(database, email)) ??
    (await createUser(database, { email, displayName: `The ${role}`, passwordHash }));
  await addMember(database, workspaceId, user.id, role);
  const { rows } = await database.query<{ slug: string }>(
    'SELECT slug FROM workspaces WHERE id = $1',
    [workspaceId],
  );
  const session = await createSession(database, {
    userId: user.id,
    workspaceSlug: rows[0]?.slug ?? null,
    userAgent: 'a test',
    address: '127.0.0.0/24',
  });
  if (session === null) throw new Error('no session was made');
  return { id: user.id, email, role, token: session.token };
}

/**
 * Signs a command line in, confirmed by a person's session.
 *
 * @returns its token
 */
export async function addCommandLine(
  database: Database,
  workspaceId: number,
  person: Pick<Person, 'id' | 'email'>,
): Promise<string> {
  people += 1;
  // Networks have limits of their own.
  const network = `10.${process.pid & 255}.${people >> 8}.${people & 255}`;
  const device = { name: 'a test device', address: network, network };
  const { deviceCode, userCode } = await beginDeviceLogin(database, device);
  const { rows } = await database.query<{ id: string }>(
    "SELECT id FROM sessions WHERE user_id = $1 AND kind = 'browser' ORDER BY created_at DESC",
    [person.id],
  );
  const actor = { userId: person.id, name: person.email, origin: '', sessionId: rows[0]?.id ?? '' };
  const decision = { userCode: parseUserCode(userCode) ?? '', approved: true };
  await decideDeviceLogin(database, workspaceId, decision, actor);
  const poll = await pollDeviceLogin(database, deviceCode, 'sluice');
  if (poll.state !== 'approved') throw new Error(`no command line was signed in: ${poll.state}`);
  return poll.token;
}

const ENTRIES_MAX = 500;

/** The newest entries first; numbers and hashes as text shows them. */
export async function ledgerOf(database: Database, workspaceId: number) {
  const { entries } = await listAudit(database, workspaceId, null, ENTRIES_MAX);
  return entries.map(({ seq, hash, ...entry }) => ({
    ...entry,
    seq: Number(seq),
    hash: hash.toString('hex'),
  }));
}
