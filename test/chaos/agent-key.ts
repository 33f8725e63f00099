/** The key of a load: of the first workspace, with a limit that is out of the way. */
import { createDatabase } from '../../src/db/database.ts';
import { createKey } from '../../src/db/people/keys.ts';
import { findWorkspace } from '../../src/db/people/workspaces.ts';
import { RATE_LIMIT_MAX } from '../../src/model/people.ts';

/** @param url of the servers' database */
export async function makeAgentKey(url: string): Promise<string> {
  const database = createDatabase(url, 1, { connectionLost: () => undefined });
  try {
    const { id } = await findWorkspace(database, 'default');
    const made = await createKey(database, {
      workspaceId: id,
      kind: 'agent',
      name: 'load',
      rateLimitPerMinute: RATE_LIMIT_MAX,
      brand: 'sluice',
    });
    return made.key;
  } finally {
    await database.end();
  }
}
