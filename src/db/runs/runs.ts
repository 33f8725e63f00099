/**
 * Reading runs: the list, the newest arrival first, and one by its id with the days its steps
 * arrived on. What a run's steps say about it is there once it is evaluated.
 */
import type { Hex8, Hex16, PageCursor, RunFilter, RunSummary, Severity } from '../../model.ts';
import type { Database } from '../database.ts';
import { MATCHED_NAME } from '../findings/findings.ts';

/** A run, and between which UTC days (`2026-11-20`) its steps arrived. */
export interface FoundRun {
  readonly run: RunSummary;
  /** spans whose names are redacted; null stands for log records without a span */
  readonly redactedSteps: readonly (Hex8 | null)[];
  readonly firstArrivalOn: string;
  readonly lastArrivalOn: string;
}

const day = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;

/** Names are cut when stored; older versions stored them whole. */
const NAME_CHARS_MAX = 256;

/** Counted over the unique index of a run's findings: at most one per rule. */
const COLUMNS = `
  r.run_id AS "runId", r.state, r.evaluation,
  CASE WHEN found."redactedSteps" IS NULL THEN left(r.name, ${NAME_CHARS_MAX}) END AS name,
  left(r.service_name, ${NAME_CHARS_MAX}) AS "serviceName",
  r.agent_name AS "agentName", r.model, r.session_id AS "sessionId", r.user_id AS "userId",
  r.start_unix_nano AS "startUnixNano", r.end_unix_nano AS "endUnixNano",
  r.first_arrival_at AS "firstArrivalAt", r.last_arrival_at AS "lastArrivalAt",
  r.spans, r.log_records AS "logRecords", r.evaluated_at AS "evaluatedAt",
  r.evaluated_steps AS "evaluatedSteps", r.unread_steps AS "unreadSteps", r.texts,
  r.truncated_texts AS "truncatedTexts", r.text_gaps AS "textGaps",
  r.corpus_version AS "corpusVersion", found.severities, found."redactedSteps",
  (extract(epoch FROM r.first_arrival_at) * 1000000)::bigint AS "atMicros",
  ${day('r.first_arrival_at')} AS "firstArrivalOn", ${day('r.last_arrival_at')} AS "lastArrivalOn"`;
const FOUND = `JOIN workspaces w ON w.id = r.workspace_id
  LEFT JOIN LATERAL (
    SELECT array_agg(f.severity) AS severities,
           array_agg(encode(f.step_span_id, 'hex'))
             FILTER (WHERE w.redact_excerpts AND ${MATCHED_NAME}) AS "redactedSteps"
      FROM findings f
     WHERE f.workspace_id = r.workspace_id AND f.run_id = r.run_id
  ) AS found ON true`;
const NEWEST_FIRST = 'ORDER BY r.first_arrival_at DESC, r.run_id DESC';
/** Runs that one page looks at: about 50 ms of work (two slow cores). */
export const LOOKED_AT_MAX = 10_000;

interface RunRow extends Omit<RunSummary, 'severities'> {
  readonly severities: readonly Severity[] | null;
  readonly redactedSteps: FoundRun['redactedSteps'] | null;
  readonly atMicros: string;
  readonly firstArrivalOn: string;
  readonly lastArrivalOn: string;
}

function toRun({
  atMicros: _,
  firstArrivalOn: _first,
  lastArrivalOn: _last,
  redactedSteps: _redacted,
  severities,
  ...row
}: RunRow): RunSummary {
  return { ...row, severities: severities ?? [] };
}

/** Conditions, and the values that their parameters stand for. */
class Conditions {
  readonly values: unknown[] = [];
  readonly #texts: string[] = [];

  /** Only what was asked for, so that the planner sees an index that fits. */
  add(condition: (place: string) => string, value: unknown): void {
    if (value === undefined) return;
    this.values.push(value);
    this.#texts.push(condition(`$${this.values.length}`));
  }

  /** what was added since `from` conditions were */
  text(from = 0): string {
    return this.#texts.slice(from).join(' AND ') || 'true';
  }

  get count(): number {
    return this.#texts.length;
  }
}

/** What an index tells: whose, of which session, and from when. */
function indexed(all: Conditions, workspaceId: number, filter: RunFilter): void {
  all.add((value) => `r.workspace_id = ${value}`, workspaceId);
  all.add((value) => `r.session_id = ${value}`, filter.sessionId);
  all.add((value) => `r.first_arrival_at >= ${value}`, filter.since);
  all.add((value) => `r.first_arrival_at < ${value}`, filter.until);
}

function afterCursor(all: Conditions, { atMicros, id }: PageCursor): void {
  const place = `('epoch'::timestamptz + $${all.values.push(atMicros)}::bigint
                  * interval '1 microsecond'`;
  all.add((value) => `(r.first_arrival_at, r.run_id) < ${place}, ${value}::uuid)`, id);
}

/** What only the run itself tells. */
function looked(all: Conditions, filter: RunFilter): void {
  all.add((value) => `r.state = ${value}`, filter.state);
  all.add((value) => `r.evaluation = ${value}`, filter.evaluation);
  all.add((value) => `r.service_name = ${value}`, filter.serviceName);
  all.add((value) => `r.agent_name = ${value}`, filter.agentName);
  all.add((value) => `r.model = ${value}`, filter.model);
  all.add((value) => `r.user_id = ${value}`, filter.userId);
  all.add((value) => `(cardinality(r.text_gaps) > 0) = ${value}`, filter.textIncomplete);
  all.add((value) => `(found.severities IS NOT NULL) = ${value}`, filter.hasFindings);
}

/** The last run that a page looked at; null when there are no more than it may look at. */
async function lastLookedAt(
  database: Database,
  where: string,
  values: readonly unknown[],
): Promise<PageCursor | null> {
  const { rows } = await database.query<PageCursor>(
    `SELECT (extract(epoch FROM r.first_arrival_at) * 1000000)::bigint AS "atMicros",
            r.run_id AS id
       FROM runs r WHERE ${where} ${NEWEST_FIRST} OFFSET ${LOOKED_AT_MAX - 1} LIMIT 1`,
    [...values],
  );
  return rows[0] ?? null;
}

/**
 * One page of a workspace's runs, by the arrival of their first step, newest first. It looks at
 * `LOOKED_AT_MAX` runs: with a filter that fits few of them the page may hold fewer than `limit`,
 * even none, and still not be the last.
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
  const all = new Conditions();
  indexed(all, workspaceId, filter);
  if (cursor !== null) afterCursor(all, cursor);
  const inOrder = { where: all.text(), values: [...all.values], count: all.count };
  looked(all, filter);
  const { rows } = await database.query<RunRow>(
    `SELECT ${COLUMNS}
       FROM (SELECT * FROM runs r WHERE ${inOrder.where} ${NEWEST_FIRST} LIMIT ${LOOKED_AT_MAX})
              AS r ${FOUND}
      WHERE ${all.text(inOrder.count)} ${NEWEST_FIRST} LIMIT ${limit + 1}`,
    all.values,
  );
  const runs = rows.slice(0, limit).map(toRun);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  if (last !== undefined) return { runs, next: { atMicros: last.atMicros, id: last.runId } };
  const isNarrow = all.count > inOrder.count;
  const next = isNarrow ? await lastLookedAt(database, inOrder.where, inOrder.values) : null;
  return { runs, next };
}

/** One run of a workspace; null when it has none of that id. */
export async function findRun(
  database: Database,
  workspaceId: number,
  runId: Hex16,
): Promise<FoundRun | null> {
  const { rows } = await database.query<RunRow>(
    `SELECT ${COLUMNS} FROM runs r ${FOUND} WHERE r.workspace_id = $1 AND r.run_id = $2`,
    [workspaceId, runId],
  );
  const [row] = rows;
  if (row === undefined) return null;
  const { firstArrivalOn, lastArrivalOn } = row;
  const redactedSteps = row.redactedSteps ?? [];
  return { run: toRun(row), firstArrivalOn, lastArrivalOn, redactedSteps };
}
