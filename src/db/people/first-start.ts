/** The first start on an empty database: creates a workspace, its owner, and a key of each kind. */
import { RATE_LIMIT_DEFAULT } from '../../model/people.ts';
import { type Connection, type Database, inTransaction } from '../database.ts';
import { appendAudit, lockLedger } from './audit.ts';
import { createKey, type NewKey } from './keys.ts';
import { addMember, memberJoined } from './memberships.ts';
import { generatePassword, hashPassword } from './passwords.ts';
import { createUser } from './users.ts';
import { keyCreated, workspaceCreated } from './workspace-writes.ts';
import { createWorkspace, firstWorkspace } from './workspaces.ts';

const LOCK_KEY = '0x736c756963652b33';
export const FIRST_SLUG = 'default';
const FIRST_START = { userId: null, name: 'first start', origin: 'server' };

/** Keys and password in clear: shown once, stored as digests only. */
export interface FirstKeys {
  readonly workspace: string;
  readonly agentKey: string;
  readonly workspaceKey: string;
  readonly owner: { readonly email: string; readonly password: string };
}

async function createFirstKey(connection: Connection, key: NewKey): Promise<string> {
  const created = await createKey(connection, key);
  await appendAudit(connection, key.workspaceId, FIRST_START, keyCreated(created.id, key));
  return created.key;
}

async function createOwner(
  connection: Connection,
  workspaceId: number,
  email: string,
): Promise<FirstKeys['owner']> {
  const password = generatePassword();
  const passwordHash = await hashPassword(password);
  const user = await createUser(connection, { email, displayName: 'Owner', passwordHash });
  await addMember(connection, workspaceId, user.id, 'owner');
  await appendAudit(connection, workspaceId, FIRST_START, memberJoined(email, 'owner'));
  return { email, password };
}

/** Creates the first workspace with its owner and its keys; null when there is a workspace already. */
export async function ensureFirstWorkspace(
  database: Database,
  { brand, ownerEmail }: { readonly brand: string; readonly ownerEmail: string },
): Promise<FirstKeys | null> {
  return await inTransaction(database, async (connection) => {
    await connection.query(`SELECT pg_advisory_xact_lock(${BigInt(LOCK_KEY)})`);
    if ((await firstWorkspace(connection)) !== null) return null;
    const workspace = await createWorkspace(connection, FIRST_SLUG, 'Default');
    const { id: workspaceId, slug } = workspace;
    await lockLedger(connection, workspaceId);
    await appendAudit(connection, workspaceId, FIRST_START, workspaceCreated(workspace));
    const shared = { workspaceId, brand, rateLimitPerMinute: RATE_LIMIT_DEFAULT };
    const agent = { ...shared, kind: 'agent', name: 'first agent key' } as const;
    const reader = { ...shared, kind: 'workspace', name: 'first workspace key' } as const;
    const agentKey = await createFirstKey(connection, agent);
    const workspaceKey = await createFirstKey(connection, reader);
    const owner = await createOwner(connection, workspaceId, ownerEmail);
    return { workspace: slug, agentKey, workspaceKey, owner };
  });
}
