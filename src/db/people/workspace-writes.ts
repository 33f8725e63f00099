/** Changes of a workspace and its keys, each with its ledger entry. */
import { OperatorError, SluiceError } from '../../errors.ts';
import type { Actor, Plan } from '../../model/people.ts';
import { type Connection, type Database, inTransaction } from '../database.ts';
import { appendAudit, type Change, lockLedger } from './audit.ts';
import { recordedByAdmin } from './authority.ts';
import { createKey, type NewKey, revokeKey } from './keys.ts';
import { createWorkspace, removeExcerpts, type Workspace } from './workspaces.ts';

/** Most keys of a workspace that are not revoked. */
const KEYS_MAX = 1000;

interface Attributes {
  readonly name: string;
  readonly plan: Plan;
  readonly redactExcerpts: boolean;
}

const COLUMNS = { name: 'name', plan: 'plan', redactExcerpts: 'redact_excerpts' } as const;

/** The first entry of a workspace's ledger. */
export function workspaceCreated({ slug, name, plan }: Workspace): Change {
  return { action: 'workspace.created', subject: 'workspace', after: { slug, name, plan } };
}

/** @throws as `createWorkspace` */
export async function createRecordedWorkspace(
  database: Database,
  slug: string,
  name: string,
  actor: Actor,
): Promise<Workspace> {
  return await inTransaction(database, async (connection) => {
    const workspace = await createWorkspace(connection, slug, name);
    await lockLedger(connection, workspace.id);
    await appendAudit(connection, workspace.id, actor, workspaceCreated(workspace));
    return workspace;
  });
}

/** Changes one attribute; records nothing if it has that value already. */
async function change<Name extends keyof Attributes>(
  database: Database,
  workspaceId: number,
  name: Name,
  value: Attributes[Name],
  actor: Actor,
): Promise<void> {
  const column = COLUMNS[name];
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const { rows } = await connection.query<{ before: Attributes[Name] }>(
      `SELECT ${column} AS before FROM workspaces WHERE id = $1`,
      [workspaceId],
    );
    const [row] = rows;
    if (row === undefined) throw new SluiceError('not_found', 'There is no such workspace.');
    if (row.before === value) return;
    await connection.query(`UPDATE workspaces SET ${column} = $2 WHERE id = $1`, [
      workspaceId,
      value,
    ]);
    await record({
      action: `workspace.${column}`,
      subject: 'workspace',
      before: { [column]: row.before },
      after: { [column]: value },
    });
  });
}

export async function renameWorkspace(
  database: Database,
  workspaceId: number,
  name: string,
  actor: Actor,
): Promise<void> {
  await change(database, workspaceId, 'name', name, actor);
}

export async function setPlan(
  database: Database,
  workspaceId: number,
  plan: Plan,
  actor: Actor,
): Promise<void> {
  await change(database, workspaceId, 'plan', plan, actor);
}

/**
 * Switches a workspace's redaction. On: no more excerpts and no more step names that are matched
 * text (matched-name.ts) are stored, and when this returns none is left in the table, unless it was
 * switched off meanwhile. Off: excerpts of later findings are stored; removed ones do not come back.
 *
 * The switch is a transaction with its ledger entry. It waits for transactions that are storing
 * excerpts, and later ones see it (`completeRuns`, complete-runs.ts), so after it excerpts only become
 * fewer. The removal comes after the commit. Readers get no excerpts from the switch on. After a
 * failure redaction is on and some excerpts are still stored; switching it on once more removes them.
 *
 * A removed excerpt is in no query's result. PostgreSQL keeps the row's old version on disk until
 * VACUUM, and in the write-ahead log, replicas and backups as long as these are kept. The telemetry
 * that an excerpt was cut from is not affected.
 *
 * @returns how many findings lost their excerpt
 * @throws {OperatorError} when it was switched off again before all were removed
 */
export async function setRedaction(
  database: Database,
  workspaceId: number,
  on: boolean,
  actor: Actor,
): Promise<number> {
  await change(database, workspaceId, 'redactExcerpts', on, actor);
  return on ? await removeExcerpts(database, workspaceId) : 0;
}

async function countValidKeys(connection: Connection, workspaceId: number): Promise<number> {
  const { rows } = await connection.query<{ keys: number }>(
    'SELECT count(*)::int AS keys FROM api_keys WHERE workspace_id = $1 AND revoked_at IS NULL',
    [workspaceId],
  );
  return rows[0]?.keys ?? 0;
}

/** A new key's ledger entry, without the key itself. */
export function keyCreated(id: number, { kind, name, rateLimitPerMinute }: NewKey): Change {
  const after = { kind, name, rate_limit_per_minute: rateLimitPerMinute };
  return { action: 'key.created', subject: `key ${id}`, after };
}

/**
 * @returns the key in clear; it cannot be read again
 * @throws {SluiceError} `conflict` when the workspace has too many
 */
export async function createRecordedKey(
  database: Database,
  key: NewKey,
  actor: Actor,
): Promise<{ id: number; key: string }> {
  return await recordedByAdmin(database, key.workspaceId, actor, async (connection, record) => {
    if ((await countValidKeys(connection, key.workspaceId)) >= KEYS_MAX) {
      throw new SluiceError('conflict', `A workspace has ${KEYS_MAX} valid keys at most.`);
    }
    const created = await createKey(connection, key);
    await record(keyCreated(created.id, key));
    return created;
  });
}

/**
 * Revokes a key of the workspace; records nothing if it is revoked already.
 *
 * @throws {SluiceError} `not_found` when the workspace has no such key
 */
export async function revokeRecordedKey(
  database: Database,
  workspaceId: number,
  id: number,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const { rows } = await connection.query<{ name: string; kind: string; revoked: boolean }>(
      `SELECT name, kind, revoked_at IS NOT NULL AS revoked FROM api_keys
        WHERE id = $1 AND workspace_id = $2 FOR UPDATE`,
      [id, workspaceId],
    );
    const [key] = rows;
    if (key === undefined) throw new SluiceError('not_found', 'The workspace has no such key.');
    if (key.revoked) return;
    await revokeKey(connection, id);
    const before = { name: key.name, kind: key.kind, revoked: false };
    const after = { ...before, revoked: true };
    await record({ action: 'key.revoked', subject: `key ${id}`, before, after });
  });
}

/**
 * As `revokeRecordedKey`, in whichever workspace the key is: commands name keys by id alone.
 *
 * @throws {OperatorError} when there is no such key
 */
export async function revokeAnyKey(database: Database, id: number, actor: Actor): Promise<void> {
  const { rows } = await database.query<{ workspaceId: number }>(
    'SELECT workspace_id AS "workspaceId" FROM api_keys WHERE id = $1',
    [id],
  );
  const [key] = rows;
  if (key === undefined) throw new OperatorError(`There is no key ${id}: see sluice key list`);
  await revokeRecordedKey(database, key.workspaceId, id, actor);
}
