/**
 * A new workspace on the run's shared server (test/support/global-server.ts), for a test file that
 * needs no settings of its own and only looks at rows of its own workspaces.
 *
 * Other files use the server at the same time: nothing here stops it, reads its log, counts rows of
 * all workspaces, or uses its database's workspace `default`. A file that must uses `openGateway`.
 */
import { inject } from 'vitest';

import { createDatabase, type Database } from '../../src/db/database.ts';
import { addMember } from '../../src/db/people/memberships.ts';
import { hashPassword } from '../../src/db/people/passwords.ts';
import { createUser } from '../../src/db/people/users.ts';
import type { SharedServer } from '../support/global-server.ts';
import { addKey, addWorkspace, type Gateway, randomId } from './gateway.ts';

const CONNECTIONS = 2;
const PASSWORD = 'the password of an owner';

/** Hashing takes a while: once per worker. */
let passwordHash: Promise<string> | null = null;

export interface SharedGateway extends Omit<Gateway, 'server'> {
  readonly server: Omit<SharedServer, 'databaseUrl'>;
  /** the new workspace, that of `keys` and `owner`; its slug is unlike any other file's */
  readonly workspace: { readonly id: number; readonly slug: string };
}

/** Makes a workspace with its owner and a key of each kind; `close` leaves both where they are. */
export async function openSharedGateway(): Promise<SharedGateway> {
  const { databaseUrl, ...server } = inject('sharedServer');
  const database: Database = createDatabase(databaseUrl, CONNECTIONS, { connectionLost: () => {} });
  const slug = `file-${randomId(8)}`;
  const { id, agent, workspace } = await addWorkspace(database, slug);
  const email = `owner@${slug}.test`;
  passwordHash ??= hashPassword(PASSWORD);
  const user = await createUser(database, {
    email,
    displayName: 'The owner',
    passwordHash: await passwordHash,
  });
  await addMember(database, id, user.id, 'owner');
  return {
    server,
    database,
    databaseUrl,
    keys: { agent, workspace },
    owner: { email, password: PASSWORD },
    workspace: { id, slug },
    addWorkspace: (name) => addWorkspace(database, name),
    addKey: (kind, rateLimitPerMinute) => addKey(database, id, kind, rateLimitPerMinute),
    close: () => database.end(),
  };
}
