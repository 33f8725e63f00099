/** What a fresh database gets: one workspace and a key of each kind. */
import { type Database, inTransaction } from './database.ts';
import { createKey, RATE_LIMIT_DEFAULT } from './keys.ts';
import { createWorkspace, listWorkspaces } from './workspaces.ts';

const LOCK_KEY = '0x736c756963652b32';
const FIRST_SLUG = 'default';

export interface FirstKeys {
  readonly workspace: string;
  readonly agentKey: string;
  readonly workspaceKey: string;
}

/**
 * Makes the first workspace with its keys, all or nothing.
 *
 * @returns the keys in clear, or null when there is a workspace already
 */
export async function ensureFirstWorkspace(
  database: Database,
  brand: string,
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
    return { workspace: slug, agentKey: agent.key, workspaceKey: reader.key };
  });
}
