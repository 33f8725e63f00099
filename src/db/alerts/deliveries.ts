/** The log of sent messages, the last of each workspace, and the messages that are not tried again. */
import {
  DEAD_SHOWN,
  DELIVERIES_KEPT,
  type DeadMessage,
  type Destination,
  type LoggedAlert,
} from '../../model/alerts.ts';
import type { Hex16 } from '../../model/json.ts';
import type { Database, Queryable } from '../database.ts';

export const MESSAGE_KIND = `CASE WHEN bool_or(o.is_change) THEN 'tool_change'
  WHEN count(DISTINCT o.run_id) > 1 THEN 'digest' ELSE 'incident' END`;

export type NewAlertLog = Omit<LoggedAlert, 'at' | 'name'>;

/** Adds a line to the log of a workspace, and removes the oldest. */
export async function logDelivery(
  database: Queryable,
  workspaceId: number,
  { id, name }: Pick<Destination, 'id' | 'name'>,
  entry: NewAlertLog,
): Promise<void> {
  const { messageId, kind, findings, attempt, outcome, httpStatus, failure } = entry;
  const values = [messageId, kind, findings, attempt, outcome, httpStatus, failure];
  await database.query(
    `WITH old AS (
       DELETE FROM alert_deliveries WHERE workspace_id = $1 AND id <= (
         SELECT id FROM alert_deliveries WHERE workspace_id = $1
          ORDER BY id DESC OFFSET ${DELIVERIES_KEPT - 1} LIMIT 1)
     )
     INSERT INTO alert_deliveries (workspace_id, destination_id, name, message_id, kind, findings,
                                   attempt, outcome, http_status, failure)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [workspaceId, id, name, ...values],
  );
}

export async function listDeliveries(
  database: Database,
  workspaceId: number,
): Promise<LoggedAlert[]> {
  const { rows } = await database.query<LoggedAlert>(
    `SELECT at, name, message_id AS "messageId", kind, findings, attempt, outcome,
            http_status AS "httpStatus", failure
       FROM alert_deliveries WHERE workspace_id = $1 ORDER BY id DESC LIMIT ${DELIVERIES_KEPT}`,
    [workspaceId],
  );
  return rows;
}

/** Undelivered findings that a page reads, the latest: a receiver that is gone leaves very many. */
const DEAD_READ = 5_000;

/** The messages of a workspace that are not tried again, newest first, of its latest `DEAD_READ` findings. */
export async function listDead(database: Database, workspaceId: number): Promise<DeadMessage[]> {
  const { rows } = await database.query<DeadMessage>(
    `SELECT d.id AS "destinationId", d.name, coalesce(o.message_id, o.finding_id) AS id,
            ${MESSAGE_KIND} AS kind, (array_agg(replace(o.run_id::text, '-', '')))[1] AS "runId",
            count(*)::int AS findings, max(o.attempts)::int AS attempts,
            min(o.queued_at) AS "queuedAt", max(o.dead_at) AS "deadAt",
            max(o.http_status)::int AS "httpStatus", max(o.failure) AS failure
       FROM (SELECT * FROM alert_outbox
              WHERE workspace_id = $1 AND dead_at IS NOT NULL
              ORDER BY dead_at DESC LIMIT ${DEAD_READ}) AS o
       JOIN alert_destinations d ON d.id = o.destination_id AND d.workspace_id = $1
      GROUP BY d.id, d.name, coalesce(o.message_id, o.finding_id)
      ORDER BY max(o.dead_at) DESC LIMIT ${DEAD_SHOWN}`,
    [workspaceId],
  );
  return rows;
}

/** Queues an undelivered message again, with the same id. */
export async function sendAgain(
  database: Queryable,
  workspaceId: number,
  destinationId: number,
  messageId: Hex16,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE alert_outbox SET dead_at = NULL, attempts = 0, queued_at = now(), due_at = now()
      WHERE workspace_id = $1 AND destination_id = $2 AND dead_at IS NOT NULL
        AND coalesce(message_id, finding_id) = $3::uuid`,
    [workspaceId, destinationId, messageId],
  );
  return (rowCount ?? 0) > 0;
}
