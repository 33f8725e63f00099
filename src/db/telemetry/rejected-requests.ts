/** Requests whose rows PostgreSQL refused; the newest of each workspace are kept. */
import type { Signal } from '../../model/telemetry.ts';
import { type Database, inTransaction } from '../database.ts';

/** Per workspace; the oldest go first. */
export const KEPT_REQUESTS_MAX = 100;

interface RejectedRequest {
  readonly workspaceId: number;
  readonly signal: Signal;
  /** decoded, before JSON was parsed; its beginning is enough */
  readonly body: Buffer;
  readonly bodyBytes: number;
  /** PostgreSQL's */
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
