/**
 * API keys: shown once when created, stored as SHA-256. A key is 32 random bytes, which cannot be
 * guessed, so a slow hash would protect nothing more.
 */
import { hash, randomBytes } from 'node:crypto';

import { OperatorError } from '../../errors.ts';
import {
  type AgentKeyPrefix,
  type Credential,
  KEY_PREFIX_CHARS,
  type KeyArrival,
  type KeyKind,
  type ListedKey,
  RATE_LIMIT_MAX,
} from '../../model/people.ts';
import { onlyRow, type Queryable } from '../database.ts';
import { KEY_CHANGED_CHANNEL } from './key-changes.ts';

const SECRET_BYTES = 32;

export interface ApiKey extends ListedKey {
  readonly workspace: string;
}

export interface NewKey {
  readonly workspaceId: number;
  readonly kind: KeyKind;
  readonly name: string;
  readonly rateLimitPerMinute: number;
  readonly brand: string;
  /** `live` when left out */
  readonly agentPrefix?: AgentKeyPrefix;
}

export function digestKey(secret: string): Buffer {
  // A third of the time of createHash, which is spent on every request.
  return Buffer.from(hash('sha256', secret), 'hex');
}

function checkLimit(perMinute: number): void {
  if (Number.isInteger(perMinute) && perMinute >= 1 && perMinute <= RATE_LIMIT_MAX) return;
  throw new OperatorError(`A key's limit must be a whole number from 1 to ${RATE_LIMIT_MAX}.`);
}

/** Creates a key: `<brand>_live_…` or `<brand>_obs_…` for agents, `<brand>_key_…` for reading. */
export async function createKey(
  database: Queryable,
  { workspaceId, kind, name, rateLimitPerMinute, brand, agentPrefix = 'live' }: NewKey,
): Promise<{ id: number; key: string }> {
  checkLimit(rateLimitPerMinute);
  const secret = randomBytes(SECRET_BYTES).toString('base64url').replaceAll(/[-_]/g, 'x');
  const key = `${brand}_${kind === 'agent' ? agentPrefix : 'key'}_${secret}`;
  const created = onlyRow(
    await database.query<{ id: number }>(
      `INSERT INTO api_keys (workspace_id, kind, name, prefix, secret_sha256, rate_limit_per_minute)
     VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`,
      [
        workspaceId,
        kind,
        name,
        key.slice(0, key.length - secret.length + KEY_PREFIX_CHARS),
        digestKey(key),
        rateLimitPerMinute,
      ],
    ),
  );
  return { id: created.id, key };
}

/** The keys of one workspace, or of all. @param revokedMax how many of the latest revoked ones; null for all */
export async function listKeys(
  database: Queryable,
  workspaceId: number | null,
  revokedMax: number | null = null,
): Promise<ApiKey[]> {
  const { rows } = await database.query<ApiKey>(
    `SELECT k.id, w.slug AS workspace, k.kind, k.name, k.prefix,
            k.rate_limit_per_minute AS "rateLimitPerMinute", k.created_at AS "createdAt",
            k.last_used_at AS "lastUsedAt", k.revoked_at AS "revokedAt"
       FROM api_keys k JOIN workspaces w ON w.id = k.workspace_id
      WHERE ($1::int IS NULL OR k.workspace_id = $1)
        AND (k.revoked_at IS NULL OR k.id IN (
          SELECT id FROM api_keys
           WHERE revoked_at IS NOT NULL AND ($1::int IS NULL OR workspace_id = $1)
           ORDER BY revoked_at DESC, id DESC LIMIT $2))
      ORDER BY k.id`,
    [workspaceId, revokedMax],
  );
  return rows;
}

/** Finds the first run since a key was created; another key may have sent it. */
export async function findKeyArrival(
  database: Queryable,
  workspaceId: number,
  id: number,
): Promise<KeyArrival | null> {
  type Row = Omit<KeyArrival, 'run'> & { readonly runId: string | null; readonly at: Date };
  const { rows } = await database.query<Row>(
    `SELECT k.name, k.last_used_at AS "lastUsedAt", replace(r.run_id::text, '-', '') AS "runId", r.at
       FROM api_keys k LEFT JOIN LATERAL (
         SELECT run_id, first_arrival_at AS at FROM runs
          WHERE workspace_id = k.workspace_id AND first_arrival_at >= k.created_at
          ORDER BY first_arrival_at LIMIT 1) AS r ON true
      WHERE k.workspace_id = $1 AND k.id = $2`,
    [workspaceId, id],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const { name, lastUsedAt, runId, at } = row;
  return { name, lastUsedAt, run: runId === null ? null : { id: runId, at } };
}

/** Revokes a key for good. The same statement notifies the servers when its transaction commits. */
export async function revokeKey(database: Queryable, id: number): Promise<void> {
  const { rowCount } = await database.query(
    `WITH revoked AS (
       UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 RETURNING id
     )
     SELECT pg_notify($2, id::text) FROM revoked`,
    [id, KEY_CHANGED_CHANNEL],
  );
  if (rowCount === 0)
    throw new OperatorError(`There is no key with the id ${id}: see sluice key list`);
}

/** Sets the limit of a key that exists, and notifies the servers. */
export async function setKeyLimit(
  database: Queryable,
  id: number,
  perMinute: number,
): Promise<void> {
  checkLimit(perMinute);
  await database.query(
    `WITH changed AS (
       UPDATE api_keys SET rate_limit_per_minute = $2 WHERE id = $1 RETURNING id
     )
     SELECT pg_notify($3, id::text) FROM changed`,
    [id, perMinute, KEY_CHANGED_CHANNEL],
  );
}

/** Looks a key up by its digest; null when it does not exist or is revoked. */
export async function findCredential(
  database: Queryable,
  digest: Buffer,
): Promise<Credential | null> {
  type Row = Omit<Credential, 'redaction'> & {
    readonly settings: string | null;
    readonly key: Buffer | null;
  };
  const { rows } = await database.query<Row>({
    text: `SELECT k.id AS "keyId", k.workspace_id AS "workspaceId", k.kind,
                  k.rate_limit_per_minute AS "rateLimitPerMinute",
                  w.redaction::text AS settings,
                  CASE WHEN w.redaction IS NOT NULL THEN w.redaction_key END AS key
             FROM api_keys k JOIN workspaces w ON w.id = k.workspace_id
            WHERE k.secret_sha256 = $1 AND k.revoked_at IS NULL`,
    values: [digest],
  });
  const [row] = rows;
  if (row === undefined) return null;
  const { settings, key, ...credential } = row;
  return { ...credential, redaction: settings === null || key === null ? null : { settings, key } };
}

export async function recordKeyUse(database: Queryable, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await database.query('UPDATE api_keys SET last_used_at = now() WHERE id = ANY ($1::int[])', [
    ids,
  ]);
}
