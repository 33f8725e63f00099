/**
 * The queue of previews: each is claimed by one process at a time, slice by slice, with a lease. A
 * workspace has one open preview, so previews that take turns are workspaces that take turns: the one
 * that has waited longest, since it was requested or since its last slice, is next. A claim is the
 * fencing token: who lost it stores nothing.
 *
 *   queued ──claim──► running ──slice done: yield──► waits for its turn ──claim──► running …
 *                        │ ├─ finish: done, failed
 *                        │ └─ silent for LEASE_SECONDS: claimed again, from its cursor
 *                        └─ cancelled by a person: the next keep or yield changes no row
 */
import { randomUUID } from 'node:crypto';
import type { Hex16 } from '../../model/json.ts';
import {
  PREVIEW_RUNS_MAX,
  type PreviewTally,
  type RuleTally,
  SAMPLE_WHOLE,
} from '../../model/previews.ts';
import { type Database, onlyRow } from '../database.ts';
import type { RunToRead } from '../runs/run-to-read.ts';
import { fromMicros, toMicros, utcDayOf } from '../sql-times.ts';

/** A preview whose process was silent for this long is claimed by another one. */
const LEASE_SECONDS = 30;
const LEASE = `now() + interval '${LEASE_SECONDS} seconds'`;

export interface PreviewCursor {
  readonly atMicros: string;
  readonly runId: Hex16;
}

/** The runs that a preview is about, by the arrival of their first step. */
export interface PreviewRange {
  readonly workspaceId: number;
  readonly sinceMicros: string;
  readonly untilMicros: string;
}

export interface ClaimedPreview extends PreviewRange {
  readonly id: Hex16;
  readonly claim: string;
  readonly ruleIds: readonly string[];
  readonly corpusIdentity: string;
  /** null before the first run was counted */
  readonly cursor: PreviewCursor | null;
  /** counts up to the cursor */
  readonly tally: PreviewTally;
  /** null before `planPreview` */
  readonly sample: number | null;
}

export interface PreviewRun extends RunToRead {
  readonly atMicros: string;
}

interface ClaimedRow
  extends Omit<ClaimedPreview, 'claim' | 'cursor' | 'tally'>,
    Omit<PreviewTally, 'rules'> {
  readonly results: Readonly<Record<string, RuleTally>>;
  readonly atMicros: string | null;
  readonly cursorRun: Hex16 | null;
}

/** Claims the preview that has waited longest for its turn, or whose process has died; null: none. */
export async function claimPreview(database: Database): Promise<ClaimedPreview | null> {
  const claim = randomUUID();
  const { rows } = await database.query<ClaimedRow>(
    `UPDATE rule_previews AS p
        SET state = 'running', claim = $1, lease_until = ${LEASE},
            started_at = coalesce(p.started_at, now())
       FROM (SELECT workspace_id, id FROM rule_previews
              WHERE state = 'queued' OR (state = 'running' AND lease_until <= now())
              ORDER BY coalesce(lease_until, requested_at) LIMIT 1 FOR UPDATE SKIP LOCKED) AS due
      WHERE p.workspace_id = due.workspace_id AND p.id = due.id
  RETURNING p.workspace_id AS "workspaceId", replace(p.id::text, '-', '') AS id,
            p.rule_ids AS "ruleIds", encode(p.corpus_identity, 'hex') AS "corpusIdentity",
            ${toMicros('p.requested_at - make_interval(days => p.days)')} AS "sinceMicros",
            ${toMicros('p.requested_at')} AS "untilMicros", p.sample, p.runs_read AS read, p.runs_found AS found, p.runs_skipped AS skipped,
            p.runs_cut AS cut, p.cpu_ms AS "cpuMs", p.results,
            ${toMicros('p.cursor_at')} AS "atMicros",
            replace(p.cursor_run::text, '-', '') AS "cursorRun"`,
    [claim],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const { read, found, skipped, cut, cpuMs, results, atMicros, cursorRun, ...job } = row;
  const isBegun = atMicros !== null && cursorRun !== null;
  return {
    ...job,
    claim,
    cursor: isBegun ? { atMicros, runId: cursorRun } : null,
    tally: { read, found, skipped, cut, cpuMs, rules: results },
  };
}

/**
 * Evaluated runs of the preview's days. What arrives after it was requested is not part of it. Not a
 * join with the preview, after which PostgreSQL would sort all runs for every page.
 */
const IN_RANGE = `r.workspace_id = $1 AND r.evaluation = 'evaluated'
  AND r.first_arrival_at > ${fromMicros('$2')} AND r.first_arrival_at <= ${fromMicros('$3')}`;
const OWN = 'p.workspace_id = $1 AND p.id = $2';

export async function lastDays(
  database: Database,
  workspaceId: number,
  days: number,
): Promise<PreviewRange> {
  const { rows } = await database.query<{ sinceMicros: string; untilMicros: string }>(
    `SELECT ${toMicros('now() - make_interval(days => $1)')} AS "sinceMicros",
            ${toMicros('now()')} AS "untilMicros"`,
    [days],
  );
  const [range] = rows;
  if (range === undefined) throw new Error('PostgreSQL did not say what time it is');
  return { workspaceId, ...range };
}

interface PreviewSize {
  readonly inRange: number;
  /** how many days before the end of the range the oldest of them arrived; null without runs */
  readonly oldestDays: number | null;
  /** of how many in `SAMPLE_WHOLE` */
  readonly sample: number;
  readonly planned: number;
}

export async function countPreviewRuns(
  database: Database,
  { workspaceId, sinceMicros, untilMicros }: PreviewRange,
): Promise<PreviewSize> {
  const { rows } = await database.query<{ runs: number; oldestDays: number | null }>(
    `SELECT count(*)::int AS runs,
            (extract(epoch FROM ${fromMicros('$3')} - min(r.first_arrival_at)) / 86400)::float8 AS "oldestDays"
       FROM runs AS r WHERE ${IN_RANGE}`,
    [workspaceId, sinceMicros, untilMicros],
  );
  const { runs: inRange, oldestDays } = onlyRow({ rows });
  const part = Math.floor((SAMPLE_WHOLE * PREVIEW_RUNS_MAX) / Math.max(1, inRange));
  const sample = Math.max(1, Math.min(SAMPLE_WHOLE, part));
  const planned = Math.round((inRange * sample) / SAMPLE_WHOLE);
  return { inRange, oldestDays, sample, planned };
}

/** Counts the runs of the range and decides how many of them are matched, of `SAMPLE_WHOLE`. */
export async function planPreview(
  database: Database,
  { workspaceId, id, claim, sinceMicros, untilMicros }: ClaimedPreview,
): Promise<number> {
  const range = { workspaceId, sinceMicros, untilMicros };
  const { inRange, oldestDays, sample, planned } = await countPreviewRuns(database, range);
  await database.query(
    `UPDATE rule_previews AS p
        SET runs_in_range = $4, sample = $5, runs_planned = $6, oldest_days = $7, lease_until = ${LEASE}
      WHERE ${OWN} AND claim = $3`,
    [workspaceId, id, claim, inRange, sample, planned, oldestDays],
  );
  return sample;
}

export async function readPreviewRuns(
  database: Database,
  { workspaceId, sinceMicros, untilMicros }: PreviewRange,
  sample: number,
  cursor: PreviewCursor | null,
  limit: number,
): Promise<PreviewRun[]> {
  const after =
    cursor === null ? '' : `AND (r.first_arrival_at, r.run_id) < (${fromMicros('$6')}, $7::uuid)`;
  // By a hash and not by chance: a preview that continues elsewhere has the same sample.
  const { rows } = await database.query<PreviewRun>(
    `SELECT r.workspace_id AS "workspaceId", replace(r.run_id::text, '-', '') AS "runId",
            ${utcDayOf('r.first_arrival_at')} AS "firstArrivalOn",
            ${utcDayOf('r.last_arrival_at')} AS "lastArrivalOn",
            ${toMicros('r.first_arrival_at')} AS "atMicros"
       FROM runs AS r
      WHERE ${IN_RANGE} ${after}
        AND ($4 >= ${SAMPLE_WHOLE} OR abs(uuid_hash(r.run_id)::bigint) % ${SAMPLE_WHOLE} < $4)
      ORDER BY r.first_arrival_at DESC, r.run_id DESC LIMIT $5`,
    [
      workspaceId,
      sinceMicros,
      untilMicros,
      sample,
      limit,
      ...(cursor === null ? [] : [cursor.atMicros, cursor.runId]),
    ],
  );
  return rows;
}

const STILL_OWN = `lease_until = ${LEASE}`;
/** Its turn ends: it waits behind those that wait already. */
const YIELDED = 'lease_until = now(), claim = NULL';

/** Stores what was counted so far. @returns false when it was cancelled, or claimed by another */
export async function keepPreview(
  database: Database,
  job: ClaimedPreview,
  tally: PreviewTally,
  cursor: PreviewCursor | null,
): Promise<boolean> {
  return await storeCounted(database, job, tally, cursor, STILL_OWN);
}

export async function yieldPreview(
  database: Database,
  job: ClaimedPreview,
  tally: PreviewTally,
  cursor: PreviewCursor | null,
): Promise<void> {
  await storeCounted(database, job, tally, cursor, YIELDED);
}

async function storeCounted(
  database: Database,
  { workspaceId, id, claim }: ClaimedPreview,
  tally: PreviewTally,
  cursor: PreviewCursor | null,
  lease: string,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE rule_previews AS p
        SET runs_read = $4, runs_found = $5, runs_skipped = $6, runs_cut = $7, cpu_ms = $8,
            results = $9, ${lease},
            cursor_at = CASE WHEN $10::bigint IS NULL THEN NULL ELSE ${fromMicros('$10')} END,
            cursor_run = $11
      WHERE ${OWN} AND claim = $3`,
    [
      workspaceId,
      id,
      claim,
      tally.read,
      tally.found,
      tally.skipped,
      tally.cut,
      tally.cpuMs,
      JSON.stringify(tally.rules),
      cursor?.atMicros ?? null,
      cursor?.runId ?? null,
    ],
  );
  return rowCount === 1;
}

/** @param failure why it has failed, in words of this program; null when it is done */
export async function finishPreview(
  database: Database,
  { workspaceId, id, claim }: ClaimedPreview,
  failure: string | null,
): Promise<void> {
  await database.query(
    `UPDATE rule_previews AS p
        SET state = CASE WHEN $4::text IS NULL THEN 'done' ELSE 'failed' END, failure = $4,
            finished_at = now(), claim = NULL, lease_until = NULL
      WHERE ${OWN} AND claim = $3`,
    [workspaceId, id, claim, failure],
  );
}
