/**
 * Reading runs: the list, the newest arrival first, and one by its id with the days its steps
 * arrived on. What a run's steps say about it is there once it is evaluated.
 */
import type { Hex16, PageCursor, RunFilter, RunSummary, Severity } from '../model.ts';
import type { Database } from './database.ts';

/** A run, and between which UTC days (`2026-11-20`) its steps arrived. */
export interface FoundRun {
  readonly run: RunSummary;
  readonly firstArrivalOn: string;
  readonly lastArrivalOn: string;
}

const day = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;

/** Counted over the unique index of a run's findings: at most one per rule. */
const COLUMNS = `
  r.run_id AS "runId", r.state, r.evaluation, r.name, r.service_name AS "serviceName",
  r.agent_name AS "agentName", r.model, r.session_id AS "sessionId", r.user_id AS "userId",
  r.start_unix_nano AS "startUnixNano", r.end_unix_nano AS "endUnixNano",
  r.first_arrival_at AS "firstArrivalAt", r.last_arrival_at AS "lastArrivalAt",
  r.spans, r.log_records AS "logRecords", r.evaluated_at AS "evaluatedAt",
  r.evaluated_steps AS "evaluatedSteps", r.unread_steps AS "unreadSteps", r.texts,
  r.truncated_texts AS "truncatedTexts", r.text_gaps AS "textGaps",
  r.corpus_version AS "corpusVersion", found.severities,
  (extract(epoch FROM r.first_arrival_at) * 1000000)::bigint AS "atMicros",
  ${day('r.first_arrival_at')} AS "firstArrivalOn", ${day('r.last_arrival_at')} AS "lastArrivalOn"`;
const SOURCE = `runs r LEFT JOIN LATERAL (
    SELECT array_agg(f.severity) AS severities FROM findings f
     WHERE f.workspace_id = r.workspace_id AND f.run_id = r.run_id
  ) AS found ON true`;

interface RunRow extends Omit<RunSummary, 'severities'> {
  readonly severities: readonly Severity[] | null;
  readonly atMicros: string;
  readonly firstArrivalOn: string;
  readonly lastArrivalOn: string;
}

function toRun({
  atMicros: _,
  firstArrivalOn: _first,
  lastArrivalOn: _last,
  severities,
  ...row
}: RunRow): RunSummary {
  return { ...row, severities: severities ?? [] };
}

/**
 * One page of a workspace's runs, by the arrival of their first step, newest first. Without a filter,
 * or with one that fits many runs, it reads the page; with a rare one, what lies between.
 *
 * @param limit most runs of the page
 * @returns the page, and where the next begins (null at the end)
 */
export async function listRuns(
  database: Database,
  workspaceId: number,
  filter: RunFilter,
  cursor: PageCursor | null,
  limit: number,
): Promise<{ runs: RunSummary[]; next: PageCursor | null }> {
  const values: unknown[] = [workspaceId];
  const conditions = ['r.workspace_id = $1'];
  /** Only what was asked for, so that the planner sees an index that fits. */
  const where = (condition: (place: string) => string, value: unknown): void => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  where((value) => `r.state = ${value}`, filter.state);
  where((value) => `r.evaluation = ${value}`, filter.evaluation);
  where((value) => `r.service_name = ${value}`, filter.serviceName);
  where((value) => `r.agent_name = ${value}`, filter.agentName);
  where((value) => `r.model = ${value}`, filter.model);
  where((value) => `r.session_id = ${value}`, filter.sessionId);
  where((value) => `r.user_id = ${value}`, filter.userId);
  where((value) => `(cardinality(r.text_gaps) > 0) = ${value}`, filter.textIncomplete);
  where((value) => `(found.severities IS NOT NULL) = ${value}`, filter.hasFindings);
  where((value) => `r.first_arrival_at >= ${value}`, filter.since);
  where((value) => `r.first_arrival_at < ${value}`, filter.until);
  if (cursor !== null) {
    values.push(cursor.atMicros, cursor.id);
    const at = `'epoch'::timestamptz + $${values.length - 1}::bigint * interval '1 microsecond'`;
    conditions.push(`(r.first_arrival_at, r.run_id) < (${at}, $${values.length}::uuid)`);
  }
  values.push(limit + 1);
  const { rows } = await database.query<RunRow>(
    `SELECT ${COLUMNS} FROM ${SOURCE} WHERE ${conditions.join(' AND ')}
      ORDER BY r.first_arrival_at DESC, r.run_id DESC LIMIT $${values.length}`,
    values,
  );
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    runs: rows.slice(0, limit).map(toRun),
    next: last === undefined ? null : { atMicros: last.atMicros, id: last.runId },
  };
}

/** One run of a workspace; null when it has none of that id. */
export async function findRun(
  database: Database,
  workspaceId: number,
  runId: Hex16,
): Promise<FoundRun | null> {
  const { rows } = await database.query<RunRow>(
    `SELECT ${COLUMNS} FROM ${SOURCE} WHERE r.workspace_id = $1 AND r.run_id = $2`,
    [workspaceId, runId],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const { firstArrivalOn, lastArrivalOn } = row;
  return { run: toRun(row), firstArrivalOn, lastArrivalOn };
}
