/** What a fresh database gets: one workspace, its owner, and a key of each kind. */
import { appendAudit, lockLedger } from './audit.ts';
import { type Connection, type Database, inTransaction } from './database.ts';
import { createKey, RATE_LIMIT_DEFAULT } from './keys.ts';
import { addMember } from './memberships.ts';
import { generatePassword, hashPassword } from './passwords.ts';
import { createUser } from './users.ts';
import { createWorkspace, listWorkspaces } from './workspaces.ts';

const LOCK_KEY = '0x736c756963652b32';
const FIRST_SLUG = 'default';
const FIRST_START = { userId: null, name: 'first start', origin: 'server' };

/** What the first start made, in clear: shown once, kept nowhere. */
export interface FirstKeys {
  readonly workspace: string;
  readonly agentKey: string;
  readonly workspaceKey: string;
  readonly owner: { readonly email: string; readonly password: string };
}

/** Makes the owner's account. */
async function makeOwner(
  connection: Connection,
  workspaceId: number,
  email: string,
): Promise<FirstKeys['owner']> {
  const password = generatePassword();
  const passwordHash = await hashPassword(password);
  const user = await createUser(connection, { email, displayName: 'Owner', passwordHash });
  await addMember(connection, workspaceId, user.id, 'owner');
  await lockLedger(connection, workspaceId);
  await appendAudit(connection, workspaceId, FIRST_START, {
    action: 'member.joined',
    subject: email,
    before: null,
    after: { role: 'owner' },
  });
  return { email, password };
}

/**
 * Makes the first workspace with its owner and its keys, all or nothing.
 *
 * @returns keys and password in clear, or null when there is a workspace already
 */
export async function ensureFirstWorkspace(
  database: Database,
  { brand, ownerEmail }: { readonly brand: string; readonly ownerEmail: string },
): Promise<FirstKeys | null> {
  return await inTransaction(database, async (connection) => {
    await connection.query(`SELECT pg_advisory_xact_lock(${BigInt(LOCK_KEY)})`);
    if ((await listWorkspaces(connection)).length > 0) return null;
    const { id: workspaceId, slug } = await createWorkspace(connection, FIRST_SLUG, 'Default');
    const shared = { workspaceId, brand, rateLimitPerMinute: RATE_LIMIT_DEFAULT };
    const agent = await createKey(connection, {
      ...shared,
      kind: 'agent',
      name: 'first agent key',
    });
    const reader = await createKey(connection, {
      ...shared,
      kind: 'workspace',
      name: 'first workspace key',
    });
    const owner = await makeOwner(connection, workspaceId, ownerEmail);
    return { workspace: slug, agentKey: agent.key, workspaceKey: reader.key, owner };
  });
}
