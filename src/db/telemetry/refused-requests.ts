/**
 * Refused requests of known keys, revoked ones too: counted in `rejected_requests`, five minutes and
 * equal refusals to a row, for an hour. What a workspace reads is about its own keys only.
 */
import type { ListedRefusal, ListedRefusals, RefusedGroup } from '../../model/refused-requests.ts';
import type { Signal } from '../../model/telemetry.ts';
import { type Database, inTransaction } from '../database.ts';

/** Most rows of counted refusals per workspace; the oldest are removed. */
export const COUNTED_ROWS_MAX = 500;
export const LISTED_MAX = 20;

interface KnownKey {
  readonly id: number;
  readonly workspaceId: number;
  readonly isRevoked: boolean;
  readonly digest: Buffer;
}

async function findKeys(
  database: Database,
  groups: readonly RefusedGroup[],
): Promise<Map<string, KnownKey>> {
  const digests = groups.flatMap(({ digest }) => (digest === null ? [] : [digest]));
  if (digests.length === 0) return new Map();
  const { rows } = await database.query<KnownKey>(
    `SELECT id, workspace_id AS "workspaceId", revoked_at IS NOT NULL AS "isRevoked",
            secret_sha256 AS digest
       FROM api_keys WHERE secret_sha256 = ANY ($1::bytea[])`,
    [digests],
  );
  return new Map(rows.map((key) => [key.digest.toString('latin1'), key]));
}

/** Rows are written in the order of their key, so that two processes cannot wait for each other. */
const ADD = `
  INSERT INTO rejected_requests
    (workspace_id, since, reason, key_id, address, user_agent, path, requests)
  SELECT workspace_id, date_bin('5 minutes', now(), 'epoch'), reason, key_id, address, user_agent,
         path, sum(requests)
    FROM unnest($1::int[], $2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::int[])
      AS refused (workspace_id, reason, key_id, address, user_agent, path, requests)
   GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
  ON CONFLICT (workspace_id, since, reason, key_id, address, user_agent, path)
    WHERE since IS NOT NULL
  DO UPDATE SET requests = rejected_requests.requests + EXCLUDED.requests, rejected_at = now()`;

const REMOVE_OLD = `
  DELETE FROM rejected_requests AS old USING unnest($1::int[]) AS touched (workspace_id)
   WHERE old.workspace_id = touched.workspace_id AND old.since IS NOT NULL
     AND (old.rejected_at < now() - interval '1 hour' OR old.id <= (
       SELECT id FROM rejected_requests AS one
        WHERE one.workspace_id = touched.workspace_id AND one.since IS NOT NULL
        ORDER BY id DESC OFFSET $2 LIMIT 1))`;

/** Adds refusals to those of their keys' workspaces; returns those whose key is not known. */
export async function recordRefusedRequests(
  database: Database,
  groups: readonly RefusedGroup[],
): Promise<RefusedGroup[]> {
  const keys = await findKeys(database, groups);
  const keyOf = ({ digest }: RefusedGroup) =>
    digest === null ? undefined : keys.get(digest.toString('latin1'));
  const known = groups.flatMap((group) => {
    const key = keyOf(group);
    if (key === undefined) return [];
    const isRevoked = group.reason === 'invalid_credential' && key.isRevoked;
    return [{ ...group, key, reason: isRevoked ? 'revoked_key' : group.reason }];
  });
  if (known.length > 0) {
    const workspaceIds = known.map(({ key }) => key.workspaceId);
    await database.query(ADD, [
      workspaceIds,
      known.map(({ reason }) => reason),
      known.map(({ key }) => key.id),
      known.map(({ address }) => address),
      known.map(({ userAgent }) => userAgent),
      known.map(({ path }) => path),
      known.map(({ requests }) => requests),
    ]);
    await database.query(REMOVE_OLD, [[...new Set(workspaceIds)], COUNTED_ROWS_MAX]);
  }
  return groups.filter((group) => keyOf(group) === undefined);
}

export async function listRefusedRequests(
  database: Database,
  workspaceId: number,
): Promise<ListedRefusals> {
  const { rows } = await database.query<ListedRefusal & { readonly total: number }>(
    `SELECT r.reason, k.name AS "keyName", k.prefix AS "keyPrefix", r.address,
            r.user_agent AS "userAgent", r.path, sum(r.requests)::float8 AS requests,
            max(r.rejected_at) AS "lastAt", (sum(sum(r.requests)) OVER ())::float8 AS total
       FROM rejected_requests r
       JOIN api_keys k ON k.id = r.key_id AND k.workspace_id = r.workspace_id
      WHERE r.workspace_id = $1 AND r.since IS NOT NULL
        AND r.rejected_at > now() - interval '1 hour'
      GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY requests DESC, "lastAt" DESC LIMIT $2`,
    [workspaceId, LISTED_MAX],
  );
  return {
    requests: rows[0]?.total ?? 0,
    groups: rows.map(({ total: _total, ...group }) => group),
  };
}

/** Per workspace; the oldest go first. */
export const KEPT_REQUESTS_MAX = 100;

interface RejectedRequest {
  readonly workspaceId: number;
  readonly signal: Signal;
  /** decoded, before JSON was parsed; its beginning is enough */
  readonly body: Buffer;
  readonly bodyBytes: number;
  readonly error: unknown;
}

function textOf(error: unknown, key: string): string {
  const value: unknown = error instanceof Error ? Reflect.get(error, key) : undefined;
  return typeof value === 'string' ? value : '';
}

/** Stores a refused request, and removes the workspace's oldest beyond the limit. */
export async function keepRejectedRequest(
  database: Database,
  { workspaceId, signal, body, bodyBytes, error }: RejectedRequest,
): Promise<void> {
  await inTransaction(database, async (connection) => {
    await connection.query(
      `INSERT INTO rejected_requests (workspace_id, signal, error_code, error, body_bytes, body)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [
        workspaceId,
        signal,
        textOf(error, 'code'),
        textOf(error, 'message').replaceAll('\0', '\ufffd'),
        bodyBytes,
        body,
      ],
    );
    await connection.query(
      `DELETE FROM rejected_requests WHERE workspace_id = $1 AND since IS NULL AND id <= (
         SELECT id FROM rejected_requests WHERE workspace_id = $1 AND since IS NULL
          ORDER BY id DESC OFFSET $2 LIMIT 1)`,
      [workspaceId, KEPT_REQUESTS_MAX],
    );
  });
}
