/** Changes of a workspace and its keys, each with its ledger entry. */
import { OperatorError, SluiceError } from '../../errors.ts';
import type { Actor, Plan } from '../../model/people.ts';
import { type Connection, type Database, inTransaction } from '../database.ts';
import { removeToolTexts } from '../tools/tool-writes.ts';
import { appendAudit, type Change, lockLedger } from './audit.ts';
import { recordedByAdmin } from './authority.ts';
import { createKey, type NewKey, revokeKey, setKeyLimit } from './keys.ts';
import { createWorkspace, removeExcerpts, type Workspace } from './workspaces.ts';

const KEYS_MAX = 1000;

interface Attributes {
  readonly name: string;
  readonly plan: Plan;
  readonly redactExcerpts: boolean;
}

const COLUMNS = { name: 'name', plan: 'plan', redactExcerpts: 'redact_excerpts' } as const;

export function workspaceCreated({ slug, name, plan }: Workspace): Change {
  return { action: 'workspace.created', subject: 'workspace', after: { slug, name, plan } };
}

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
 * that an excerpt was cut from is not affected. Titles of runs are not read from the switch on, and
 * removed by the next upkeep (run-titles.ts).
 */
export async function setRedaction(
  database: Database,
  workspaceId: number,
  on: boolean,
  actor: Actor,
): Promise<number> {
  await change(database, workspaceId, 'redactExcerpts', on, actor);
  if (!on) return 0;
  await removeToolTexts(database, workspaceId);
  return await removeExcerpts(database, workspaceId);
}

async function countValidKeys(connection: Connection, workspaceId: number): Promise<number> {
  const { rows } = await connection.query<{ keys: number }>(
    'SELECT count(*)::int AS keys FROM api_keys WHERE workspace_id = $1 AND revoked_at IS NULL',
    [workspaceId],
  );
  return rows[0]?.keys ?? 0;
}

/** A new key's ledger entry, without the key itself. */
export function keyCreated(
  id: number,
  { kind, name, rateLimitPerMinute }: Omit<NewKey, 'workspaceId'>,
): Change {
  const after = { kind, name, rate_limit_per_minute: rateLimitPerMinute };
  return { action: 'key.created', subject: `key ${id}`, after };
}

/** @returns the key in clear; it cannot be read again */
export async function createRecordedKey(
  database: Database,
  workspaceId: number,
  key: Omit<NewKey, 'workspaceId'>,
  actor: Actor,
): Promise<{ id: number; key: string }> {
  return await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    if ((await countValidKeys(connection, workspaceId)) >= KEYS_MAX) {
      throw new SluiceError(
        'conflict',
        `A workspace can have at most ${KEYS_MAX} valid keys. Revoke one first.`,
      );
    }
    const created = await createKey(connection, { ...key, workspaceId });
    await record(keyCreated(created.id, key));
    return created;
  });
}

interface StoredKey {
  readonly name: string;
  readonly kind: string;
  readonly rateLimitPerMinute: number;
  readonly revoked: boolean;
}

async function lockKey(connection: Connection, workspaceId: number, id: number) {
  const { rows } = await connection.query<StoredKey>(
    `SELECT name, kind, rate_limit_per_minute AS "rateLimitPerMinute",
            revoked_at IS NOT NULL AS revoked
       FROM api_keys WHERE id = $1 AND workspace_id = $2 FOR UPDATE`,
    [id, workspaceId],
  );
  const [key] = rows;
  if (key === undefined) throw new SluiceError('not_found', 'The workspace has no such key.');
  return key;
}

/** Revokes a key of the workspace; records nothing if it is revoked already. */
export async function revokeRecordedKey(
  database: Database,
  workspaceId: number,
  id: number,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const { name, kind, revoked } = await lockKey(connection, workspaceId, id);
    if (revoked) return;
    await revokeKey(connection, id);
    const before = { name, kind, revoked };
    const after = { ...before, revoked: true };
    await record({ action: 'key.revoked', subject: `key ${id}`, before, after });
  });
}

/** Changes the limit of a key of the workspace, for all servers at once; records nothing if it is the same. */
export async function setRecordedKeyLimit(
  database: Database,
  workspaceId: number,
  id: number,
  perMinute: number,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const { name, kind, rateLimitPerMinute, revoked } = await lockKey(connection, workspaceId, id);
    if (revoked) throw new SluiceError('conflict', 'The key is revoked.');
    if (rateLimitPerMinute === perMinute) return;
    await setKeyLimit(connection, id, perMinute);
    const before = { name, kind, rate_limit_per_minute: rateLimitPerMinute };
    const after = { ...before, rate_limit_per_minute: perMinute };
    await record({ action: 'key.rate_limit_per_minute', subject: `key ${id}`, before, after });
  });
}

/** The workspace of a key: commands name keys by id alone. */
export async function workspaceOfKey(
  database: Database,
  id: number,
): Promise<{ readonly id: number; readonly slug: string }> {
  const { rows } = await database.query<{ id: number; slug: string }>(
    'SELECT w.id, w.slug FROM api_keys k JOIN workspaces w ON w.id = k.workspace_id WHERE k.id = $1',
    [id],
  );
  const [workspace] = rows;
  if (workspace === undefined)
    throw new OperatorError(`There is no key with the id ${id}: see sluice key list`);
  return workspace;
}
