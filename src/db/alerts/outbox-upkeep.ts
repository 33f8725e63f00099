/**
 * Counts what waits in the outbox of alerts, and deletes what is not sent any more. A row that a
 * sender holds is left for the next time: waiting for several, in another order than the sender's,
 * could be a deadlock.
 */
import type { Database, Queryable } from '../database.ts';
import { tidyAssignmentMails } from './assignment-mails.ts';
import { AGE_HOURS_MAX } from './outbox.ts';

const DEAD_KEPT_DAYS = 30;

const deleteUnlocked = (where: string): string => `
  WITH unlocked AS MATERIALIZED (
    SELECT o.ctid FROM alert_outbox o WHERE ${where} FOR UPDATE SKIP LOCKED
  )
  DELETE FROM alert_outbox o USING unlocked WHERE o.ctid = unlocked.ctid`;

const IS_OLD = `o.dead_at < now() - interval '${DEAD_KEPT_DAYS} days'`;
const IS_LEFT = 'NOT EXISTS (SELECT FROM alert_destinations d WHERE d.id = o.destination_id)';

/** Findings of all workspaces that wait to be sent, and how long the oldest has waited. */
export async function pendingAlerts(
  database: Database,
): Promise<{ readonly pending: number; readonly oldestSeconds: number }> {
  const { rows } = await database.query<{ pending: number; oldestSeconds: number }>(
    `SELECT count(*)::int AS pending,
            coalesce(extract(epoch FROM now() - min(o.queued_at)), 0)::float AS "oldestSeconds"
       FROM alert_outbox o JOIN alert_destinations d ON d.id = o.destination_id
      WHERE o.dead_at IS NULL`,
  );
  return rows[0] ?? { pending: 0, oldestSeconds: 0 };
}

/** Of destinations that fail: their messages are not tried as often as they wait. */
const GIVE_UP = `
  WITH old AS MATERIALIZED (
    SELECT o.ctid FROM alert_outbox o JOIN alert_destinations d ON d.id = o.destination_id
     WHERE o.dead_at IS NULL AND o.queued_at < now() - interval '${AGE_HOURS_MAX} hours'
       AND NOT d.paused FOR UPDATE OF o SKIP LOCKED
  )
  UPDATE alert_outbox o SET dead_at = now() FROM old WHERE o.ctid = old.ctid`;

/** Gives up what waits for too long, and deletes what is undelivered for long or has no destination. */
export async function tidyOutbox(database: Database): Promise<void> {
  await database.query(GIVE_UP);
  await database.query(deleteUnlocked(`${IS_OLD} OR ${IS_LEFT}`));
  await tidyAssignmentMails(database);
}

export async function deleteMessages(
  connection: Queryable,
  workspaceId: number,
  destinationId: number,
): Promise<void> {
  const where = 'o.workspace_id = $1 AND o.destination_id = $2';
  await connection.query(deleteUnlocked(where), [workspaceId, destinationId]);
}
