/**
 * The outbox of alerts: findings are queued in the transaction that stores them (`QUEUE_ALERTS`), and
 * processes take turns in sending them. All times are PostgreSQL's.
 *
 *   queued ─► claimed with its destination (lease) ─► begin (an attempt counted) ─► sent ─► deleted
 *                     ▲                                                        └► due later, or dead
 *                     └── the lease expires, whatever happened to its process ──┘
 *
 * An attempt is counted before the message is sent, and the row is deleted after that, so a process may
 * be killed at any point: the message is sent again, with the same id.
 */
import { randomUUID } from 'node:crypto';

import type {
  AlertTarget,
  DeliveryKind,
  DeliveryOutcome,
  Destination,
  SendResult,
} from '../../model/alerts.ts';
import type { Hex16 } from '../../model/json.ts';
import { type Database, inTransaction, type Queryable } from '../database.ts';
import { logDelivery, MESSAGE_KIND, type NewAlertLog } from './deliveries.ts';

/** Longer than sending one message takes; renewed before each. */
export const LEASE_SECONDS = 30;
/** A message is tried this often, over some nine hours, and then is dead. */
export const ATTEMPTS_MAX = 20;
/** A message that is older is not tried again. */
export const AGE_HOURS_MAX = 36;
/** Wait before the second attempt; it doubles with each further one, up to the maximum. */
const BACKOFF_SECONDS = 10;
const BACKOFF_SECONDS_MAX = 3600;
/** The pause of a destination after a failure; it doubles with each further one in a row. */
const PAUSE_SECONDS = 2;
const PAUSE_SECONDS_MAX = 60;
const FAILURES_COUNTED_MAX = 10;
/** The longest wait that a receiver may demand by Retry-After. */
const RETRY_AFTER_SECONDS_MAX = 3600;
/** A destination gets a message in so many seconds, on average over one turn. */
const SECONDS_PER_MESSAGE = 2;
/** Above so many runs with new findings a destination gets one digest; and most messages of one turn. */
export const SINGLES_MAX = 10;
/** Most findings of one digest, and of one in OCSF, which holds each as an event. */
const DIGEST_FINDINGS_MAX = 1000;
const OCSF_DIGEST_FINDINGS_MAX = 100;

/**
 * Queues the findings of `found` for the destinations of their workspace whose filter they pass.
 * Without destinations it finds none, and writes nothing. The agent of a run that is not evaluated yet
 * is unknown, and passes every filter.
 */
export const QUEUE_ALERTS = `
    INSERT INTO alert_outbox (workspace_id, destination_id, finding_id, run_id)
    SELECT found.workspace_id, d.id, found.id, found.run_id
      FROM found
      JOIN own ON own.workspace_id = found.workspace_id AND own.run_id = found.run_id
      JOIN alert_destinations d ON d.workspace_id = found.workspace_id
     WHERE NOT d.paused AND found.severity = ANY (d.severities)
       AND (d.categories IS NULL OR found.category = ANY (d.categories))
       AND (d.agent IS NULL OR own.steps = 0
            OR CASE d.agent_match WHEN 'equals' THEN lower(own.agent) = lower(d.agent)
                    ELSE strpos(lower(own.agent), lower(d.agent)) > 0 END)
    ON CONFLICT (workspace_id, destination_id, finding_id) DO NOTHING`;

/**
 * Queues changes of tools, `$2`, of the workspace `$1`. A tool with an earlier change that nobody has marked as seen
 * has had its message: one that changes in each run does not send a message for each.
 */
export const QUEUE_TOOL_CHANGES = `
    INSERT INTO alert_outbox (workspace_id, destination_id, finding_id, run_id, is_change)
    SELECT t.workspace_id, d.id, t.id, t.first_run_id, true
      FROM tool_definitions t JOIN alert_destinations d ON d.workspace_id = t.workspace_id
     WHERE t.workspace_id = $1 AND t.id = ANY ($2::uuid[]) AND t.is_change
       AND d.tool_changes AND NOT d.paused AND d.format <> 'ocsf'
       AND (d.agent IS NULL OR CASE d.agent_match WHEN 'equals' THEN lower(t.agent) = lower(d.agent)
                                    ELSE strpos(lower(t.agent), lower(d.agent)) > 0 END)
       AND NOT EXISTS (SELECT FROM tool_definitions o
                        WHERE o.workspace_id = t.workspace_id AND o.tool_id = t.tool_id
                          AND o.version < t.version AND o.is_change AND o.acknowledged_at IS NULL)
    ON CONFLICT (workspace_id, destination_id, finding_id) DO NOTHING`;

/** A destination that this process may send to, until its lease ends. */
export interface ClaimedDestination extends Destination {
  readonly lease: string;
}

export interface OutboxMessage {
  readonly kind: Exclude<DeliveryKind, 'test'>;
  readonly id: Hex16;
  readonly findingIds: readonly Hex16[];
}

interface DestinationRow {
  readonly id: number;
  readonly workspaceId: number;
  readonly workspace: string;
  readonly name: string;
  readonly format: 'json' | 'slack' | 'ocsf' | 'email';
  readonly url: string | null;
  readonly recipients: string[] | null;
  readonly secret: Buffer | null;
  /** null after its time */
  readonly oldSecret: Buffer | null;
  readonly showsUser: boolean;
}

export const DESTINATION_COLUMNS = `
  d.id, d.workspace_id AS "workspaceId", w.name AS workspace, d.name, d.format, d.url, d.recipients,
  d.shows_user AS "showsUser", d.secret, CASE WHEN d.old_secret_until > now() THEN d.old_secret END AS "oldSecret"`;

export function targetOf({
  format,
  url,
  recipients,
}: Pick<DestinationRow, 'format' | 'url' | 'recipients'>): AlertTarget {
  return format === 'email' ? { format, recipients: recipients ?? [] } : { format, url: url ?? '' };
}

export function toDestination(row: DestinationRow): Destination {
  const { id, workspaceId, workspace, name, secret, oldSecret, showsUser } = row;
  const secrets = [secret, oldSecret].filter((one) => one !== null);
  return { id, workspaceId, workspace, name, secrets, showsUser, target: targetOf(row) };
}

const IS_DUE = 'o.dead_at IS NULL AND o.due_at <= now()';
/** No process sends to the destination, and it may get a message. */
const IS_FREE = `NOT d.paused AND d.next_at <= now()
  AND (d.lease_until IS NULL OR d.lease_until <= now())`;

export interface SendingSlots {
  readonly free: number;
  /** how many of the others each workspace holds */
  readonly heldBy: ReadonlyMap<number, number>;
}

/**
 * The destinations to claim for `$1` free slots, while the workspaces `$2` hold `$3` slots. Workspaces
 * take turns, the one with the fewest slots first. None takes a slot unless it holds fewer than are
 * free, so there is a slot for the next workspace (`byte-budget.ts` shares memory in the same way).
 */
const CHOSEN = `
  held AS (SELECT * FROM unnest($2::int[], $3::int[]) AS h(workspace_id, slots)),
  due AS (
    SELECT d.id, d.next_at,
           coalesce(h.slots, 0) - 1
             + row_number() OVER (PARTITION BY d.workspace_id ORDER BY d.next_at, d.id) AS held
      FROM alert_destinations d LEFT JOIN held h ON h.workspace_id = d.workspace_id
     WHERE ${IS_FREE}
       AND EXISTS (SELECT FROM alert_outbox o
                    WHERE o.destination_id = d.id AND o.workspace_id = d.workspace_id
                      AND ${IS_DUE})
  ),
  placed AS (SELECT id, held, row_number() OVER (ORDER BY held, next_at, id) - 1 AS taken FROM due),
  chosen AS (SELECT id FROM placed WHERE held < $1 - taken)`;

export async function claimDestinations(
  database: Database,
  { free, heldBy }: SendingSlots,
): Promise<ClaimedDestination[]> {
  const { rows } = await database.query<DestinationRow & { lease: string }>(
    `WITH ${CHOSEN},
     own AS (
       SELECT d.id FROM alert_destinations d JOIN chosen ON chosen.id = d.id
        WHERE ${IS_FREE} ORDER BY d.id FOR UPDATE OF d SKIP LOCKED
     )
     UPDATE alert_destinations d
        SET lease_until = now() + interval '${LEASE_SECONDS} seconds', lease_token = gen_random_uuid()
       FROM own, workspaces w WHERE d.id = own.id AND w.id = d.workspace_id
     RETURNING ${DESTINATION_COLUMNS}, d.lease_token AS lease`,
    [free, [...heldBy.keys()], [...heldBy.values()]],
  );
  return rows.map((row) => ({ ...toDestination(row), lease: row.lease }));
}

const OF_DESTINATION = 'o.workspace_id = $1 AND o.destination_id = $2';

/**
 * Gives findings that were not tried yet the id of their message: those of a run have one, and all have one where
 * there are many runs. Not those that another process sends since its lease has ended here.
 */
async function groupUntried(
  database: Queryable,
  { workspaceId, id, target: { format } }: Destination,
): Promise<void> {
  const max = format === 'ocsf' ? OCSF_DIGEST_FINDINGS_MAX : DIGEST_FINDINGS_MAX;
  const { rows } = await database.query<{ findingId: Hex16; runId: Hex16; isChange: boolean }>(
    `SELECT o.finding_id AS "findingId", o.run_id AS "runId", o.is_change AS "isChange" FROM alert_outbox o
      WHERE ${OF_DESTINATION} AND ${IS_DUE} AND NOT o.tried
      ORDER BY o.queued_at, o.run_id, o.finding_id LIMIT ${max}`,
    [workspaceId, id],
  );
  if (rows.length === 0) return;
  const digestId = randomUUID();
  const ids = new Map(
    rows.filter(({ isChange }) => !isChange).map(({ runId }) => [runId, randomUUID()]),
  );
  const idOf = ({ runId, isChange }: (typeof rows)[number]) => {
    if (isChange) return randomUUID();
    return ids.size > SINGLES_MAX ? digestId : (ids.get(runId) ?? digestId);
  };
  await database.query(
    `UPDATE alert_outbox o SET message_id = own.message_id
       FROM unnest($3::uuid[], $4::uuid[]) AS own (finding_id, message_id)
      WHERE ${OF_DESTINATION} AND o.finding_id = own.finding_id AND NOT o.tried`,
    [workspaceId, id, rows.map(({ findingId }) => findingId), rows.map(idOf)],
  );
}

/**
 * The messages of a turn: those that were tried, then one for each run with new findings, or a digest where there
 * are many. A message that was tried has the same id and findings whenever it is sent.
 */
export async function nextMessages(
  database: Database,
  destination: Destination,
): Promise<OutboxMessage[]> {
  await groupUntried(database, destination);
  const { rows } = await database.query<Omit<OutboxMessage, 'findingIds'> & { findings: string }>(
    `WITH due AS (
       SELECT o.message_id, bool_or(o.tried) AS tried, min(o.queued_at) AS at FROM alert_outbox o
        WHERE ${OF_DESTINATION} AND ${IS_DUE} AND o.message_id IS NOT NULL
        GROUP BY o.message_id ORDER BY tried DESC, at, o.message_id LIMIT ${SINGLES_MAX}
     )
     SELECT o.message_id AS id, ${MESSAGE_KIND} AS kind,
            string_agg(replace(o.finding_id::text, '-', ''), ' ' ORDER BY o.finding_id) AS findings
       FROM due JOIN alert_outbox o ON ${OF_DESTINATION} AND o.message_id = due.message_id
        AND o.dead_at IS NULL
      GROUP BY o.message_id, due.tried, due.at ORDER BY due.tried DESC, due.at, o.message_id`,
    [destination.workspaceId, destination.id],
  );
  return rows.map(({ id, kind, findings }) => ({ id, kind, findingIds: findings.split(' ') }));
}

/** The pause after so many attempts, an SQL expression. */
export const backoff = (attempts: string): string =>
  `least(${BACKOFF_SECONDS_MAX}, ${BACKOFF_SECONDS} * power(2, ${attempts} - 1)) *
   (0.5 + random() / 2) * interval '1 second'`;

const OF_MESSAGE = `${OF_DESTINATION} AND o.dead_at IS NULL AND o.message_id = $3`;

function messageValues({ workspaceId, id }: Destination, message: OutboxMessage): unknown[] {
  return [workspaceId, id, message.id];
}

/** Begins an attempt: counts it, and renews the lease. Returns null when the lease is lost: do not send. */
export async function beginAttempt(
  database: Database,
  destination: ClaimedDestination,
  message: OutboxMessage,
): Promise<number | null> {
  const { rows } = await database.query<{ attempt: number }>(
    `WITH own AS (
       UPDATE alert_destinations SET lease_until = now() + interval '${LEASE_SECONDS} seconds'
        WHERE id = $2 AND lease_token = $4 AND NOT paused RETURNING id
     )
     UPDATE alert_outbox o
        SET attempts = o.attempts + 1, tried = true, due_at = now() + ${backoff('(o.attempts + 1)')}
       FROM own WHERE ${OF_MESSAGE} RETURNING o.attempts AS attempt`,
    [...messageValues(destination, message), destination.lease],
  );
  return rows[0]?.attempt ?? null;
}

const DEFER = `
  UPDATE alert_outbox o
     SET http_status = $4, failure = $5,
         due_at = greatest(o.due_at, now() + least($6::int, ${RETRY_AFTER_SECONDS_MAX})
                                              * interval '1 second'),
         dead_at = CASE WHEN $7 OR o.attempts >= ${ATTEMPTS_MAX}
                          OR o.queued_at < now() - interval '${AGE_HOURS_MAX} hours' THEN now() END
   WHERE ${OF_MESSAGE} RETURNING o.dead_at IS NOT NULL AS dead`;

/** Stores how an attempt ended, also after the lease was lost: what was delivered need not be sent again. */
export async function endAttempt(
  database: Database,
  destination: Destination,
  {
    message,
    attempt,
    result,
  }: {
    readonly message: OutboxMessage;
    readonly attempt: number;
    readonly result: SendResult;
  },
  messageId: string,
): Promise<DeliveryOutcome> {
  return await inTransaction(database, async (connection) => {
    const values = messageValues(destination, message);
    let outcome: DeliveryOutcome = 'delivered';
    if (result.failure === null) {
      await connection.query(`DELETE FROM alert_outbox o WHERE ${OF_MESSAGE}`, values);
    } else {
      const { rows } = await connection.query<{ dead: boolean }>(DEFER, [
        ...values,
        result.status,
        result.failure,
        result.retryAfterSeconds ?? 0,
        result.isGone,
      ]);
      outcome = rows[0]?.dead === true ? 'dead' : 'failed';
    }
    const entry: NewAlertLog = {
      messageId,
      kind: message.kind,
      findings: message.findingIds.length,
      attempt,
      outcome,
      httpStatus: result.status,
      failure: result.failure,
    };
    await logDelivery(connection, destination.workspaceId, destination, entry);
    return outcome;
  });
}

/** Removes findings that are not to be sent: they are gone, or an exception hides them. */
export async function dropFromOutbox(
  database: Database,
  { workspaceId, id }: Destination,
  findingIds: readonly Hex16[],
): Promise<void> {
  await database.query(
    `DELETE FROM alert_outbox o WHERE ${OF_DESTINATION} AND o.finding_id = ANY ($3::uuid[])`,
    [workspaceId, id, findingIds],
  );
}

/** Ends a turn. The next one waits for each message sent, longer after failures, or as the receiver wants. */
export async function releaseDestination(
  database: Database,
  { id, lease }: ClaimedDestination,
  { messages, last }: { readonly messages: number; readonly last: SendResult | null },
): Promise<void> {
  await database.query(
    `UPDATE alert_destinations
        SET lease_until = NULL, lease_token = NULL,
            failures = CASE WHEN $4 THEN least(failures + 1, ${FAILURES_COUNTED_MAX}) ELSE 0 END,
            next_at = now() + interval '1 second' * greatest(
              $3::int * ${SECONDS_PER_MESSAGE}, least($5::int, ${RETRY_AFTER_SECONDS_MAX}),
              CASE WHEN $4 THEN least(${PAUSE_SECONDS_MAX}, ${PAUSE_SECONDS} * power(2, failures)) END)
      WHERE id = $1 AND lease_token = $2`,
    [id, lease, messages, last !== null && last.failure !== null, last?.retryAfterSeconds ?? 0],
  );
}
