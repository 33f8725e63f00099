/**
 * Connects the demo to a running server: checks that it answers, opens its database, and creates
 * two keys for the time of the demo. Never starts a server or a database.
 */
import type { Config } from '../src/config/config.ts';
import type { Database } from '../src/db/database.ts';
import { connectEmbedded } from '../src/db/embedded/connect.ts';
import { COMMAND_LINE } from '../src/db/people/audit.ts';
import { createRecordedKey, revokeRecordedKey } from '../src/db/people/workspace-writes.ts';
import { findWorkspace } from '../src/db/people/workspaces.ts';
import { OperatorError } from '../src/errors.ts';
import { openForCommand } from '../src/main/open-database.ts';
import type { KeyKind } from '../src/model/people.ts';

const PROBE_TIMEOUT_MS = 5000;
/** Enough for the exports of `--large`. */
const REQUESTS_PER_MINUTE = 6000;
/** The author of its entries in the audit ledger. */
const DEMO = { ...COMMAND_LINE, name: 'npm run demo' };

export interface Session {
  readonly baseUrl: string;
  readonly observeUrl: string;
  readonly workspace: { readonly id: number; readonly slug: string };
  readonly database: Database;
  readonly agentKey: string;
  readonly workspaceKey: string;
  /** Revokes the keys and disconnects. */
  readonly close: () => Promise<void>;
}

/** @throws {OperatorError} when no server answers */
async function requireServer({ baseUrl, port, observePort }: Config): Promise<void> {
  if (port === 0 || observePort === 0) {
    throw new OperatorError(
      'PORT and OBSERVE_PORT are 0 here, so the server may be anywhere: set both to the ports ' +
        'that npm start has printed.',
    );
  }
  const hint =
    'Start one with npm start in a second terminal, with the same settings, then try again.';
  let status: number;
  try {
    const response = await fetch(`${baseUrl}/health`, {
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    await response.arrayBuffer();
    status = response.status;
  } catch (cause) {
    throw new OperatorError(`No server answers at ${baseUrl}. ${hint}`, { cause });
  }
  if (status !== 200) {
    throw new OperatorError(`${baseUrl}/health answers ${status}: that is no Sluice. ${hint}`);
  }
}

/** A server with another database would not accept the demo's keys. */
async function requireDatabase({ databaseUrl, dataDir, baseUrl }: Config): Promise<void> {
  if (databaseUrl !== null || (await connectEmbedded(dataDir)) !== null) return;
  throw new OperatorError(
    `A server answers at ${baseUrl}, but no database runs in ${dataDir}, so the demo cannot make ` +
      'its keys: give it the DATA_DIR or DATABASE_URL the server was started with.',
  );
}

/**
 * Opens the session.
 *
 * @param workspaceSlug null for the only workspace
 * @throws {OperatorError} when no server runs, or no keys can be created for it
 */
export async function openSession(config: Config, workspaceSlug: string | null): Promise<Session> {
  await requireServer(config);
  await requireDatabase(config);
  const open = await openForCommand(config);
  const { database } = open;
  const keys: { readonly workspaceId: number; readonly id: number }[] = [];
  const close = async (): Promise<void> => {
    try {
      for (const { workspaceId, id } of keys) {
        await revokeRecordedKey(database, workspaceId, id, DEMO);
      }
    } finally {
      await open.close();
    }
  };
  try {
    const workspace = await findWorkspace(database, workspaceSlug);
    const createDemoKey = async (kind: KeyKind): Promise<string> => {
      const workspaceId = workspace.id;
      const { id, key } = await createRecordedKey(
        database,
        workspaceId,
        {
          kind,
          name: 'npm run demo',
          rateLimitPerMinute: REQUESTS_PER_MINUTE,
          brand: config.brand,
        },
        DEMO,
      );
      keys.push({ workspaceId, id });
      return key;
    };
    return {
      baseUrl: config.baseUrl,
      observeUrl: config.observeUrl,
      workspace,
      database,
      agentKey: await createDemoKey('agent'),
      workspaceKey: await createDemoKey('workspace'),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
