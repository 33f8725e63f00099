/**
 * The destinations of a workspace, with the ledger entries of their changes. The ledger, lists and logs
 * never hold a secret, nor more of a URL than its origin: the path of a webhook may be a password.
 */
import { randomBytes } from 'node:crypto';

import { SluiceError } from '../../errors.ts';
import {
  type AgentMatch,
  type AlertFilter,
  type AlertFormat,
  type AlertTarget,
  DESTINATIONS_MAX,
  type Destination,
  type DestinationSettings,
  type ListedDestination,
} from '../../model/alerts.ts';
import type { Hex16, JsonObject } from '../../model/json.ts';
import type { Actor } from '../../model/people.ts';
import { type Category, SEVERITIES, type Severity } from '../../model/rules.ts';
import type { Connection, Database } from '../database.ts';
import { recordedByAdmin } from '../people/authority.ts';
import { sendAgain } from './deliveries.ts';
import { DESTINATION_COLUMNS, targetOf, toDestination } from './outbox.ts';
import { deleteMessages } from './outbox-upkeep.ts';

/** Bytes of the key of signatures; Standard Webhooks wants 24 to 64. */
const SECRET_BYTES = 32;
/** Messages are signed with a replaced key, too, for so long. */
const OLD_SECRET_DAYS = 2;

const noDestination = () => new SluiceError('not_found', 'The workspace has no such destination.');

/** The form in which receivers are given the key of the signatures (Standard Webhooks). */
function shownSecret(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`;
}

function severitiesFrom(least: Severity): Severity[] {
  return SEVERITIES.slice(0, SEVERITIES.indexOf(least) + 1);
}

function recordedTarget(target: AlertTarget): string {
  return target.format === 'email' ? target.recipients.join(', ') : new URL(target.url).origin;
}

function recordOf({
  name,
  target,
  filter,
  showsUser,
  toolChanges = false,
}: DestinationSettings): JsonObject {
  return {
    name,
    format: target.format,
    to: recordedTarget(target),
    min_severity: filter.minSeverity,
    categories: [...filter.categories],
    agent: filter.agent,
    agent_match: filter.agentMatch,
    shows_user: showsUser,
    tool_changes: toolChanges,
  };
}

/** `$3` to `$12` of the statements below. */
function valuesOf({
  name,
  target,
  filter,
  showsUser,
  toolChanges = false,
}: DestinationSettings): unknown[] {
  const isEmail = target.format === 'email';
  return [
    name,
    target.format,
    isEmail ? null : target.url,
    isEmail ? target.recipients : null,
    severitiesFrom(filter.minSeverity),
    filter.categories.length === 0 ? null : filter.categories,
    filter.agent,
    filter.agentMatch,
    showsUser,
    toolChanges,
  ];
}

interface SettingsRow {
  readonly name: string;
  readonly format: AlertFormat;
  readonly url: string | null;
  readonly recipients: string[] | null;
  readonly severities: Severity[];
  readonly categories: Category[] | null;
  readonly agent: string | null;
  readonly agentMatch: AgentMatch;
  readonly paused: boolean;
  readonly showsUser: boolean;
  readonly toolChanges: boolean;
}

const SETTINGS = `d.name, d.format, d.url, d.recipients, d.severities, d.categories, d.agent,
  d.agent_match AS "agentMatch", d.paused, d.shows_user AS "showsUser", d.tool_changes AS "toolChanges"`;

function filterOf(row: SettingsRow): AlertFilter {
  return {
    minSeverity: row.severities.at(-1) ?? 'critical',
    categories: row.categories ?? [],
    agent: row.agent,
    agentMatch: row.agentMatch,
  };
}

function settingsOf(row: SettingsRow): DestinationSettings {
  const { name, showsUser, toolChanges } = row;
  return { name, target: targetOf(row), filter: filterOf(row), showsUser, toolChanges };
}

async function lockDestination(
  connection: Connection,
  workspaceId: number,
  id: number,
): Promise<SettingsRow> {
  const { rows } = await connection.query<SettingsRow>(
    `SELECT ${SETTINGS} FROM alert_destinations d WHERE d.workspace_id = $1 AND d.id = $2 FOR UPDATE`,
    [workspaceId, id],
  );
  const [row] = rows;
  if (row === undefined) throw noDestination();
  return row;
}

/** Adds a destination. The key of its signatures is not shown again; null for e-mail. */
export async function createDestination(
  database: Database,
  workspaceId: number,
  settings: DestinationSettings,
  actor: Actor,
): Promise<{ readonly id: number; readonly secret: string | null }> {
  const secret = settings.target.format === 'email' ? null : randomBytes(SECRET_BYTES);
  return await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const { rows } = await connection.query<{ id: number }>(
      `INSERT INTO alert_destinations (workspace_id, secret, name, format, url, recipients,
                                       severities, categories, agent, agent_match, shows_user,
                                       tool_changes)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12
        WHERE (SELECT count(*) FROM alert_destinations WHERE workspace_id = $1) < ${DESTINATIONS_MAX}
       RETURNING id`,
      [workspaceId, secret, ...valuesOf(settings)],
    );
    const [row] = rows;
    if (row === undefined) {
      throw new SluiceError(
        'conflict',
        `A workspace can have at most ${DESTINATIONS_MAX} destinations. Delete one first.`,
      );
    }
    const subject = `destination ${row.id}`;
    await record({ action: 'alert.created', subject, after: recordOf(settings) });
    return { id: row.id, secret: secret === null ? null : shownSecret(secret) };
  });
}

/** Changes a destination; what is queued is sent to the changed one. A webhook without a URL keeps its own. */
export async function updateDestination(
  database: Database,
  workspaceId: number,
  id: number,
  settings: Omit<DestinationSettings, 'target'> & { readonly target: KeptTarget },
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const row = await lockDestination(connection, workspaceId, id);
    const { target } = settings;
    if ((row.format === 'email') !== (target.format === 'email')) {
      throw new SluiceError('conflict', 'A webhook cannot become an e-mail; add another one.');
    }
    const kept = { ...target, ...('url' in target ? { url: target.url ?? row.url ?? '' } : {}) };
    const changed = { ...settings, target: kept as AlertTarget };
    await connection.query(
      `UPDATE alert_destinations
          SET name = $3, format = $4, url = $5, recipients = $6, severities = $7, categories = $8,
              agent = $9, agent_match = $10, shows_user = $11, tool_changes = $12, next_at = now(), failures = 0
        WHERE workspace_id = $1 AND id = $2`,
      [workspaceId, id, ...valuesOf(changed)],
    );
    const before = recordOf(settingsOf(row));
    const after = recordOf(changed);
    const isSameUrl = !('url' in kept) || kept.url === row.url;
    if (isSameUrl && JSON.stringify(before) === JSON.stringify(after)) return;
    await record({ action: 'alert.changed', subject: `destination ${id}`, before, after });
  });
}

export type KeptTarget =
  | { readonly format: 'json' | 'slack' | 'ocsf'; readonly url: string | null }
  | { readonly format: 'email'; readonly recipients: readonly string[] };

/** Pauses a destination, or resumes it. While it is paused nothing is queued, and what is queued waits. */
export async function pauseDestination(
  database: Database,
  workspaceId: number,
  id: number,
  paused: boolean,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const row = await lockDestination(connection, workspaceId, id);
    if (row.paused === paused) return;
    await connection.query(
      'UPDATE alert_destinations SET paused = $3, next_at = now(), failures = 0 WHERE workspace_id = $1 AND id = $2',
      [workspaceId, id, paused],
    );
    const subject = `destination ${id}`;
    await record({
      action: 'alert.paused',
      subject,
      before: { paused: !paused },
      after: { paused },
    });
  });
}

export async function deleteDestination(
  database: Database,
  workspaceId: number,
  id: number,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const row = await lockDestination(connection, workspaceId, id);
    await connection.query('DELETE FROM alert_destinations WHERE workspace_id = $1 AND id = $2', [
      workspaceId,
      id,
    ]);
    await deleteMessages(connection, workspaceId, id);
    const before = recordOf(settingsOf(row));
    await record({ action: 'alert.deleted', subject: `destination ${id}`, before });
  });
}

/** Replaces the key of a webhook's signatures; the old one is used too for `OLD_SECRET_DAYS`. */
export async function renewSecret(
  database: Database,
  workspaceId: number,
  id: number,
  actor: Actor,
): Promise<string> {
  const secret = randomBytes(SECRET_BYTES);
  return await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const { name, format } = await lockDestination(connection, workspaceId, id);
    if (format === 'email') throw new SluiceError('conflict', 'An e-mail has no secret.');
    await connection.query(
      `UPDATE alert_destinations
          SET old_secret = secret, old_secret_until = now() + interval '${OLD_SECRET_DAYS} days',
              secret = $3
        WHERE workspace_id = $1 AND id = $2`,
      [workspaceId, id, secret],
    );
    await record({ action: 'alert.secret', subject: `destination ${id}`, after: { name } });
    return shownSecret(secret);
  });
}

export async function resendDead(
  database: Database,
  workspaceId: number,
  id: number,
  messageId: Hex16,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const { name } = await lockDestination(connection, workspaceId, id);
    if (!(await sendAgain(connection, workspaceId, id, messageId))) {
      throw new SluiceError('not_found', 'This message is not waiting to be sent again.');
    }
    const after = { name, message: messageId };
    await record({ action: 'alert.sent_again', subject: `destination ${id}`, after });
  });
}

export async function listDestinations(
  database: Database,
  workspaceId: number,
): Promise<ListedDestination[]> {
  const { rows } = await database.query<
    SettingsRow & Omit<ListedDestination, keyof DestinationSettings>
  >(
    `SELECT d.id, d.created_at AS "createdAt", ${SETTINGS}, waiting.pending, waiting.dead,
            (SELECT json_build_object('at', l.at, 'outcome', l.outcome,
                                      'httpStatus', l.http_status, 'failure', l.failure)
               FROM alert_deliveries l WHERE l.workspace_id = $1 AND l.destination_id = d.id
              ORDER BY l.id DESC LIMIT 1) AS last
       FROM alert_destinations d CROSS JOIN LATERAL (
         SELECT (count(*) FILTER (WHERE dead_at IS NULL))::int AS pending,
                (count(*) FILTER (WHERE dead_at IS NOT NULL))::int AS dead
           FROM alert_outbox o WHERE o.workspace_id = $1 AND o.destination_id = d.id) AS waiting
      WHERE d.workspace_id = $1 ORDER BY d.id`,
    [workspaceId],
  );
  return rows.map((row) => ({
    ...settingsOf(row),
    id: row.id,
    paused: row.paused,
    createdAt: row.createdAt,
    pending: row.pending,
    dead: row.dead,
    last: row.last === null ? null : { ...row.last, at: new Date(row.last.at) },
  }));
}

export async function findDestination(
  database: Database,
  workspaceId: number,
  id: number,
): Promise<Destination | null> {
  const { rows } = await database.query<Parameters<typeof toDestination>[0]>(
    `SELECT ${DESTINATION_COLUMNS} FROM alert_destinations d JOIN workspaces w
         ON w.id = d.workspace_id WHERE d.workspace_id = $1 AND d.id = $2`,
    [workspaceId, id],
  );
  const [row] = rows;
  return row === undefined ? null : toDestination(row);
}
