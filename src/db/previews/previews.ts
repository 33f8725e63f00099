/**
 * A workspace's previews as people request, see and cancel them. Starting and cancelling are in the
 * ledger. The queue that works on them is `preview-queue.ts`.
 */
import { SluiceError } from '../../errors.ts';
import type { Hex16 } from '../../model/json.ts';
import type { Actor } from '../../model/people.ts';
import type { Preview, PreviewKind, PreviewTally, RuleTally } from '../../model/previews.ts';
import type { Snapshot } from '../../model/rules.ts';
import type { Database } from '../database.ts';
import { recordedByAdmin } from '../people/authority.ts';

/** Finished previews that a workspace keeps, the latest. */
const KEPT_MAX = 20;

export interface NewPreview {
  readonly kind: PreviewKind;
  readonly ruleIds: readonly string[];
  readonly days: number;
  readonly snapshot: Pick<Snapshot, 'version' | 'identity'>;
}

const ID = `replace(id::text, '-', '')`;
const COLUMNS = `
  ${ID} AS id, kind, rule_ids AS "ruleIds", days, requested_by AS "requestedBy",
  requested_at AS "requestedAt", state, started_at AS "startedAt", finished_at AS "finishedAt",
  failure, corpus_version AS "corpusVersion", encode(corpus_identity, 'hex') AS "corpusIdentity",
  runs_in_range AS "runsInRange", oldest_days AS "oldestDays", sample, runs_planned AS "runsPlanned",
  runs_read AS read, runs_found AS found, runs_skipped AS skipped, runs_cut AS cut,
  cpu_ms AS "cpuMs"`;

interface PreviewRow extends Omit<Preview, 'tally'>, Omit<PreviewTally, 'rules'> {
  readonly results: Readonly<Record<string, RuleTally>>;
}

function toPreview({ read, found, skipped, cut, cpuMs, results, ...row }: PreviewRow): Preview {
  return { ...row, tally: { read, found, skipped, cut, cpuMs, rules: results } };
}

/** The workspace's previews, the latest first, without their results by rule. */
export async function listPreviews(database: Database, workspaceId: number): Promise<Preview[]> {
  const { rows } = await database.query<PreviewRow>(
    `SELECT ${COLUMNS}, '{}'::json AS results FROM rule_previews WHERE workspace_id = $1
      ORDER BY requested_at DESC, id DESC LIMIT ${KEPT_MAX + 1}`,
    [workspaceId],
  );
  return rows.map(toPreview);
}

export async function findPreview(
  database: Database,
  workspaceId: number,
  id: Hex16,
): Promise<Preview | null> {
  const { rows } = await database.query<PreviewRow>(
    `SELECT ${COLUMNS}, results FROM rule_previews WHERE workspace_id = $1 AND id = $2`,
    [workspaceId, id],
  );
  return rows[0] === undefined ? null : toPreview(rows[0]);
}

/** The latest finished preview of one rule, or of the experimental tier. */
export async function latestPreview(
  database: Database,
  workspaceId: number,
  ruleId: string | null,
): Promise<Preview | null> {
  const { rows } = await database.query<PreviewRow>(
    `SELECT ${COLUMNS}, results FROM rule_previews
      WHERE workspace_id = $1 AND state = 'done'
        AND CASE WHEN $2::text IS NULL THEN kind = 'experimental'
                 ELSE kind = 'rule' AND rule_ids[1] = $2 END
      ORDER BY requested_at DESC, id DESC LIMIT 1`,
    [workspaceId, ruleId],
  );
  return rows[0] === undefined ? null : toPreview(rows[0]);
}

/** Queues a preview, and removes the oldest finished ones. Returns the open one if the workspace has one. */
export async function startPreview(
  database: Database,
  workspaceId: number,
  { kind, ruleIds, days, snapshot }: NewPreview,
  actor: Actor,
): Promise<Hex16> {
  return await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const { rows: open } = await connection.query<{ id: Hex16 }>(
      `SELECT ${ID} AS id FROM rule_previews
        WHERE workspace_id = $1 AND state IN ('queued', 'running')`,
      [workspaceId],
    );
    if (open[0] !== undefined) return open[0].id;
    const { rows } = await connection.query<{ id: Hex16 }>(
      `INSERT INTO rule_previews
         (workspace_id, kind, rule_ids, days, requested_by, corpus_version, corpus_identity)
       VALUES ($1, $2, $3, $4, $5, $6, decode($7, 'hex')) RETURNING ${ID} AS id`,
      [workspaceId, kind, ruleIds, days, actor.name, snapshot.version, snapshot.identity],
    );
    await connection.query(
      `DELETE FROM rule_previews AS old
        USING (SELECT id FROM rule_previews
                WHERE workspace_id = $1 AND state NOT IN ('queued', 'running')
                ORDER BY requested_at DESC, id DESC OFFSET ${KEPT_MAX}) AS past
        WHERE old.workspace_id = $1 AND old.id = past.id`,
      [workspaceId],
    );
    const subject = kind === 'rule' ? (ruleIds[0] ?? '') : 'experimental tier';
    const after = { rules: ruleIds.length, days };
    await record({ action: 'rules.preview', subject, before: null, after });
    const [created] = rows;
    if (created === undefined) throw new Error('a preview was stored without an id');
    return created.id;
  });
}

/** Cancels a preview that is queued or running; what it has counted so far is kept. */
export async function cancelPreview(
  database: Database,
  workspaceId: number,
  id: Hex16,
  actor: Actor,
): Promise<void> {
  await recordedByAdmin(database, workspaceId, actor, async (connection, record) => {
    const { rows } = await connection.query<{ subject: string; isOpen: boolean }>(
      `SELECT CASE kind WHEN 'rule' THEN rule_ids[1] ELSE 'experimental tier' END AS subject,
              state IN ('queued', 'running') AS "isOpen"
         FROM rule_previews WHERE workspace_id = $1 AND id = $2 FOR UPDATE`,
      [workspaceId, id],
    );
    const [found] = rows;
    if (found === undefined) throw new SluiceError('not_found', 'There is no such preview.');
    if (!found.isOpen) return;
    await connection.query(
      `UPDATE rule_previews SET state = 'cancelled', finished_at = now(), claim = NULL,
              lease_until = NULL
        WHERE workspace_id = $1 AND id = $2`,
      [workspaceId, id],
    );
    await record({
      action: 'rules.preview_cancelled',
      subject: found.subject,
      before: null,
      after: null,
    });
  });
}
