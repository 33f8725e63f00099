/** What is changed about a workspace itself and its keys, each with its ledger entry. */
import { OperatorError, SluiceError } from '../../errors.ts';
import type { Actor, Plan } from '../../model.ts';
import { type Connection, type Database, inTransaction } from '../database.ts';
import { appendAudit, type Change, lockLedger } from './audit.ts';
import { recordedByAdmin } from './authority.ts';
import { createKey, type NewKey, revokeKey } from './keys.ts';
import { createWorkspace, removeExcerpts, type Workspace } from './workspaces.ts';

/** Keys of one workspace that are not revoked. */
const KEYS_MAX = 1000;

interface Attributes {
  readonly name: string;
  readonly plan: Plan;
  readonly redactExcerpts: boolean;
}

const COLUMNS = { name: 'name', plan: 'plan', redactExcerpts: 'redact_excerpts' } as const;

/** A workspace as the ledger's first entry tells it. */
export function workspaceCreated({ slug, name, plan }: Workspace): Change {
  return {
    action: 'workspace.created',
    subject: 'workspace',
    before: null,
    after: { slug, name, plan },
  };
}

/**
 * Makes a workspace and records it.
 *
 * @throws as `createWorkspace`
 */
export async function makeWorkspace(
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

/** Changes one attribute, and records it when it is another than before. */
async function change<Name extends keyof Attributes>(
  database: Database,
  workspaceId: number,
  name: Name,
  value: Attributes[Name],
  actor: Actor,
): Promise<void> {
  const column = COLUMNS[name];
  await recordedByAdmin(database, workspaceId, actor, async (connection) => {
    const { rows } = await connection.query<{ before: Attributes[Name] }>(
      `SELECT ${column} AS before FROM workspaces WHERE id = $1`,
      [workspaceId],
    );
    const [row] = rows;
    if (row === undefined) throw new SluiceError('not_found', 'There is no such workspace.');
    if (row.before === value) return { result: undefined, change: null };
    await connection.query(`UPDATE workspaces SET ${column} = $2 WHERE id = $1`, [
      workspaceId,
      value,
    ]);
    const entry = {
      action: `workspace.${column}`,
      subject: 'workspace',
      before: { [column]: row.before },
      after: { [column]: value },
    };
    return { result: undefined, change: entry };
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
 * Switches redaction and records it, in one transaction; then removes what is stored. The same as
 * `setRedaction` (workspaces.ts) with its ledger entry: the setting is written once, so the last
 * entry tells what holds, whoever else switches at the same time.
 *
 * @returns how many excerpts were removed
 * @throws {OperatorError} when somebody switched it off again before all were removed
 */
export async function switchRedaction(
  database: Database,
  workspaceId: number,
  on: boolean,
  actor: Actor,
): Promise<number> {
  await change(database, workspaceId, 'redactExcerpts', on, actor);
  return on ? await removeExcerpts(database, workspaceId) : 0;
}

async function openKeys(connection: Connection, workspaceId: number): Promise<number> {
  const { rows } = await connection.query<{ keys: number }>(
    'SELECT count(*)::int AS keys FROM api_keys WHERE workspace_id = $1 AND revoked_at IS NULL',
    [workspaceId],
  );
  return rows[0]?.keys ?? 0;
}

/** A new key as the ledger tells it: never the key itself. */
export function keyCreated(id: number, { kind, name, rateLimitPerMinute }: NewKey): Change {
  const after = { kind, name, rate_limit_per_minute: rateLimitPerMinute };
  return { action: 'key.created', subject: `key ${id}`, before: null, after };
}

/**
 * Makes a key and records it; the ledger never holds the key.
 *
 * @returns the key in clear; it cannot be read again
 * @throws {SluiceError} `conflict` when the workspace has too many
 */
export async function makeKey(
  database: Database,
  key: NewKey,
  actor: Actor,
): Promise<{ id: number; key: string }> {
  return await recordedByAdmin(database, key.workspaceId, actor, async (connection) => {
    if ((await openKeys(connection, key.workspaceId)) >= KEYS_MAX) {
      throw new SluiceError('conflict', `A workspace has ${KEYS_MAX} valid keys at most.`);
    }
    const made = await createKey(connection, key);
    return { result: made, change: keyCreated(made.id, key) };
  });
}

/**
 * Revokes a key of the workspace and records it; one that is revoked already stays as it is.
 *
 * @throws {SluiceError} `not_found` when the workspace has no such key
 */
export async function endKey(
  database: Database,
  workspaceId: number,
  id: number,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection) => {
    const { rows } = await connection.query<{ name: string; kind: string; revoked: boolean }>(
      `SELECT name, kind, revoked_at IS NOT NULL AS revoked FROM api_keys
        WHERE id = $1 AND workspace_id = $2 FOR UPDATE`,
      [id, workspaceId],
    );
    const [key] = rows;
    if (key === undefined) throw new SluiceError('not_found', 'The workspace has no such key.');
    if (key.revoked) return { result: undefined, change: null };
    await revokeKey(connection, id);
    const before = { name: key.name, kind: key.kind, revoked: false };
    const after = { ...before, revoked: true };
    return {
      result: undefined,
      change: { action: 'key.revoked', subject: `key ${id}`, before, after },
    };
  });
}

/**
 * Revokes a key of whichever workspace, as `endKey`: for an operator, who names keys by id alone.
 *
 * @throws {OperatorError} when there is no such key
 */
export async function endAnyKey(database: Database, id: number, actor: Actor): Promise<void> {
  const { rows } = await database.query<{ workspaceId: number }>(
    'SELECT workspace_id AS "workspaceId" FROM api_keys WHERE id = $1',
    [id],
  );
  const [key] = rows;
  if (key === undefined) throw new OperatorError(`There is no key ${id}: see sluice key list`);
  await endKey(database, key.workspaceId, id, actor);
}
