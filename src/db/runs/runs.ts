/**
 * Reads runs: the list, newest arrival first, and one by its id with the days on which its steps
 * arrived. Agent, model, session and user come from its steps and are set once it is evaluated.
 */
import type { Hex16 } from '../../model/json.ts';
import type { Severity } from '../../model/rules.ts';
import {
  type Checked,
  type PageCursor,
  RUN_NAME_ROWS,
  type RunFilter,
  type RunNames,
  type RunOrder,
  type RunSummary,
} from '../../model/runs.ts';
import { USAGE_COLUMNS } from '../../model/usage.ts';
import { type Database, onlyRow } from '../database.ts';
import { namePattern, wholeName } from '../findings/finding-filter.ts';
import { placesOf } from '../findings/finding-places.ts';
import { NAME_CHARS_MAX } from '../findings/findings.ts';
import { fromMicros, toMicros, utcDayOf } from '../sql-times.ts';
import { suggestedNames } from '../suggested-names.ts';
import { SETTLES_FROM } from './run-times.ts';
import { HAS_NAMES_ONLY, toSurfaces } from './surface-bits.ts';

/** A run and the UTC days (`2026-11-20`) of its first and last arrival. */
interface FoundRun {
  readonly run: RunSummary;
  /** digests of the names that are redacted */
  readonly redactedNames: readonly string[];
  readonly firstArrivalOn: string;
  readonly lastArrivalOn: string;
}

/** A count that is null where it is 0. It is not known before the run is evaluated, as its texts. */
const orZero = (column: string): string => `coalesce(r.${column}, 0 * r.texts)`;
const orEmpty = (column: string): string =>
  `coalesce(r.${column}, CASE WHEN r.texts IS NOT NULL THEN '{}'::text[] END)`;

/** Counted over the unique index of a run's findings: at most one per rule. */
const COLUMNS = `
  r.run_id AS "runId", r.state, r.evaluation,
  CASE WHEN found."redactedNames" IS NULL THEN left(r.name, ${NAME_CHARS_MAX}) END AS name,
  CASE WHEN NOT w.redact_excerpts THEN r.title END AS title,
  ${USAGE_COLUMNS.map(([field, column]) => `r.${column}::float8 AS "${field}"`).join(', ')},
  ${RUN_NAME_ROWS.map(({ key, column }) => `left(r.${column}, ${NAME_CHARS_MAX}) AS "${key}"`).join(', ')},
  r.start_unix_nano AS "startUnixNano", r.end_unix_nano AS "endUnixNano",
  r.first_arrival_at AS "firstArrivalAt", r.last_arrival_at AS "lastArrivalAt",
  ${SETTLES_FROM} AS "settlesFrom", r.session_key IS NOT NULL AS "isOfSession",
  r.spans, r.repeated_spans AS "repeatedSpans", r.log_records AS "logRecords", r.evaluated_at AS "evaluatedAt",
  r.evaluated_steps AS "evaluatedSteps", r.late_waits AS "lateWaits",
  coalesce(r.late_evaluated_steps, 0) AS "lateEvaluatedSteps", r.late_evaluated_at AS "lateEvaluatedAt", ${orZero('unread_steps')} AS "unreadSteps", r.texts,
  r.surfaces, ${orZero('truncated_texts')} AS "truncatedTexts", s.text_cap_bytes AS "textCapBytes",
  ${orZero('unparsed_values')} AS "unparsedValues", ${orEmpty('text_gaps')} AS "textGaps",
  ${orZero('unread_texts')} AS "unreadTexts", ${orEmpty('unread_keys')} AS "unreadKeys",
  ${orEmpty('unknown_roles')} AS "unknownRoles", r.capture_hint AS "captureHint",
  s.corpus_version AS "corpusVersion", encode(s.corpus_identity, 'hex') AS "corpusIdentity",
  found.severities, found."redactedNames",
  ${toMicros('r.first_arrival_at')} AS "atMicros",
  ${utcDayOf('r.first_arrival_at')} AS "firstArrivalOn", ${utcDayOf('r.last_arrival_at')} AS "lastArrivalOn"`;
const FOUND = `JOIN workspaces w ON w.id = r.workspace_id
  LEFT JOIN rule_sets s ON s.id = r.rule_set_id
  LEFT JOIN LATERAL (
    SELECT array_agg(f.severity) AS severities,
           CASE WHEN w.redact_excerpts THEN (
             SELECT array_agg(DISTINCT digest)
               FROM findings f, LATERAL (
                      SELECT jsonb_array_elements_text(f.place::jsonb->'nameDigests')
                       UNION ALL
                      SELECT jsonb_array_elements_text(more.place->'place'->'nameDigests')
                        FROM ${placesOf('f', 'more')}) AS named (digest)
              WHERE f.workspace_id = r.workspace_id AND f.run_id = r.run_id)
           END AS "redactedNames"
      FROM findings f
     WHERE f.workspace_id = r.workspace_id AND f.run_id = r.run_id
  ) AS found ON true`;
const NEWEST_FIRST = 'ORDER BY r.first_arrival_at DESC, r.run_id DESC';
/** Runs that one page reads, and that a sort is of: about 50 ms of work (two slow cores). */
export const RUNS_READ_MAX = 10_000;
/** SQL that a sorted list has the highest values of first. */
const SORTED_BY: Readonly<Record<Exclude<RunOrder, 'newest'>, string>> = {
  longest: 'r.end_unix_nano - r.start_unix_nano',
  tokens: 'coalesce(r.input_tokens, 0 * r.output_tokens) + coalesce(r.output_tokens, 0)',
  findings: `(SELECT count(*) FROM findings f
               WHERE f.workspace_id = r.workspace_id AND f.run_id = r.run_id)`,
};

interface RunRow extends Omit<RunSummary, 'severities' | 'surfaces'> {
  readonly surfaces: number | null;
  readonly severities: readonly Severity[] | null;
  readonly redactedNames: FoundRun['redactedNames'] | null;
  readonly atMicros: string;
  readonly firstArrivalOn: string;
  readonly lastArrivalOn: string;
}

function toRun({
  atMicros: _,
  firstArrivalOn: _first,
  lastArrivalOn: _last,
  redactedNames: _names,
  severities,
  surfaces,
  ...row
}: RunRow): RunSummary {
  return {
    ...row,
    surfaces: surfaces === null ? null : toSurfaces(surfaces),
    severities: severities ?? [],
  };
}

class Conditions {
  readonly values: unknown[] = [];
  readonly #texts: string[] = [];

  /** Adds a condition unless its value is undefined, so that the planner sees a fitting index. */
  add(condition: (place: string) => string, value: unknown): void {
    if (value === undefined) return;
    this.values.push(value);
    this.#texts.push(condition(`$${this.values.length}`));
  }

  addText(condition: string): void {
    this.#texts.push(condition);
  }

  text(from = 0): string {
    return this.#texts.slice(from).join(' AND ') || 'true';
  }

  get count(): number {
    return this.#texts.length;
  }
}

/** Conditions that an index decides: workspace, a whole session, arrival. */
function addIndexed(all: Conditions, workspaceId: number, filter: ReadFilter): void {
  all.add((value) => `r.workspace_id = ${value}`, workspaceId);
  all.add((value) => `r.run_id = ANY (${value}::uuid[])`, filter.ids);
  all.add((value) => `r.session_id = ${value}`, filter.wholeSession);
  all.add((value) => `r.first_arrival_at >= ${value}`, filter.since);
  all.add((value) => `r.first_arrival_at < ${value}`, filter.until);
}

function afterCursor(all: Conditions, { atMicros, id }: PageCursor): void {
  const moment = fromMicros(`$${all.values.push(atMicros)}`);
  all.add((value) => `(r.first_arrival_at, r.run_id) < (${moment}, ${value}::uuid)`, id);
}

const EVALUATED = "r.evaluation = 'evaluated'";
const WITH_TEXT = `${EVALUATED} AND r.texts > 0`;
const LIMITED = `(r.spans + r.log_records > r.evaluated_steps OR ${orZero('unread_steps')} > 0
  OR ${orZero('truncated_texts')} > 0 OR ${orZero('unparsed_values')} > 0
  OR cardinality(${orEmpty('text_gaps')}) > 0 OR ${orZero('unread_texts')} > 0
  OR cardinality(${orEmpty('unknown_roles')}) > 0)`;
/** `checkOf` (run-check.ts) as conditions; a test compares the two. */
const IS_CHECKED: Readonly<Record<Checked, string>> = {
  pending: "r.evaluation = 'pending'",
  failed: "r.evaluation = 'evaluation_failed'",
  nothing: `${EVALUATED} AND r.texts = 0`,
  tool_names_only: `${WITH_TEXT} AND ${HAS_NAMES_ONLY}`,
  partly: `${WITH_TEXT} AND NOT ${HAS_NAMES_ONLY} AND ${LIMITED}`,
  fully: `${WITH_TEXT} AND NOT ${HAS_NAMES_ONLY} AND NOT ${LIMITED}`,
};

function addUnindexed(all: Conditions, filter: ReadFilter): void {
  const addName = (column: string, text: string | undefined): void => {
    all.add((value) => `${column} ILIKE ${value}`, namePattern(text));
  };
  all.add((value) => `r.state = ${value}`, filter.state);
  all.add((value) => `r.evaluation = ${value}`, filter.evaluation);
  for (const { key, column } of RUN_NAME_ROWS) addName(`r.${column}`, filter[key]);
  all.add(
    (value) => `(cardinality(${orEmpty('text_gaps')}) > 0) = ${value}`,
    filter.textIncomplete,
  );
  if (filter.checked !== undefined) all.addText(IS_CHECKED[filter.checked]);
  all.add((value) => `(found.severities IS NOT NULL) = ${value}`, filter.hasFindings);
}

/** With a session that an index finds instead of a part of its id. */
interface ReadFilter extends RunFilter {
  readonly wholeSession?: string;
}

/** The filter as it is read: the id of a session that there is finds its runs however old they are. */
async function toRead(
  database: Database,
  workspaceId: number,
  filter: RunFilter,
): Promise<ReadFilter> {
  if (filter.sessionId === undefined) return filter;
  const sessionId = wholeName(filter.sessionId) ?? filter.sessionId;
  const { rowCount } = await database.query(
    'SELECT FROM runs WHERE workspace_id = $1 AND session_id = $2 LIMIT 1',
    [workspaceId, sessionId],
  );
  if (rowCount === 0) return filter;
  return { ...filter, sessionId: undefined, wholeSession: sessionId };
}

/** The last run that a page read; null when there are no more than `RUNS_READ_MAX`. */
async function lastRead(
  database: Database,
  where: string,
  values: readonly unknown[],
): Promise<PageCursor | null> {
  const { rows } = await database.query<PageCursor>(
    `SELECT ${toMicros('r.first_arrival_at')} AS "atMicros", r.run_id AS id
       FROM runs r WHERE ${where} ${NEWEST_FIRST} OFFSET ${RUNS_READ_MAX - 1} LIMIT 1`,
    [...values],
  );
  return rows[0] ?? null;
}

function timeAfter(last: PageCursor | null): Date | null {
  return last === null ? null : new Date(Math.floor(Number(last.atMicros) / 1000) + 1);
}

/** One page of the newest `RUNS_READ_MAX` runs of a filter, sorted; `searchedTo` is null when all were read. */
export async function listSortedRuns(
  database: Database,
  workspaceId: number,
  filter: RunFilter,
  order: keyof typeof SORTED_BY,
  skip: number,
  limit: number,
): Promise<{ runs: RunSummary[]; next: number | null; searchedTo: Date | null }> {
  const all = new Conditions();
  const read = await toRead(database, workspaceId, filter);
  addIndexed(all, workspaceId, read);
  const inTime = { where: all.text(), values: [...all.values], count: all.count };
  addUnindexed(all, read);
  const by = `ORDER BY ${SORTED_BY[order]} DESC NULLS LAST, r.first_arrival_at DESC, r.run_id DESC`;
  const { rows } = await database.query<RunRow>(
    `SELECT ${COLUMNS}
       FROM (SELECT r.*
               FROM (SELECT * FROM runs r WHERE ${inTime.where} ${NEWEST_FIRST}
                      LIMIT ${RUNS_READ_MAX}) AS r ${filter.hasFindings === undefined ? '' : FOUND}
              WHERE ${all.text(inTime.count)} ${by} OFFSET ${skip} LIMIT ${limit + 1}) AS r ${FOUND}
      ${by}`,
    all.values,
  );
  return {
    runs: rows.slice(0, limit).map(toRun),
    next: rows.length > limit ? skip + limit : null,
    searchedTo: timeAfter(await lastRead(database, inTime.where, inTime.values)),
  };
}

/**
 * One page of a workspace's runs, by the arrival of their first step, newest first. It reads at most
 * `RUNS_READ_MAX` runs: with a filter that few of them match, the page may have fewer than `limit`
 * runs, even none, and not be the last.
 */
export async function listRuns(
  database: Database,
  workspaceId: number,
  filter: RunFilter,
  cursor: PageCursor | null,
  limit: number,
): Promise<{ runs: RunSummary[]; next: PageCursor | null }> {
  const all = new Conditions();
  const read = await toRead(database, workspaceId, filter);
  addIndexed(all, workspaceId, read);
  if (cursor !== null) afterCursor(all, cursor);
  const inOrder = { where: all.text(), values: [...all.values], count: all.count };
  addUnindexed(all, read);
  const { rows } = await database.query<RunRow>(
    `SELECT ${COLUMNS}
       FROM (SELECT * FROM runs r WHERE ${inOrder.where} ${NEWEST_FIRST} LIMIT ${RUNS_READ_MAX})
              AS r ${FOUND}
      WHERE ${all.text(inOrder.count)} ${NEWEST_FIRST} LIMIT ${limit + 1}`,
    all.values,
  );
  const runs = rows.slice(0, limit).map(toRun);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  if (last !== undefined) return { runs, next: { atMicros: last.atMicros, id: last.runId } };
  const isNarrow = all.count > inOrder.count;
  const next = isNarrow ? await lastRead(database, inOrder.where, inOrder.values) : null;
  return { runs, next };
}

const NAMES = suggestedNames('runs', 'first_arrival_at DESC, run_id DESC');

export async function suggestRunNames(database: Database, workspaceId: number): Promise<RunNames> {
  return onlyRow(await database.query<RunNames>(NAMES, [workspaceId]));
}

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
  const redactedNames = row.redactedNames ?? [];
  return { run: toRun(row), firstArrivalOn, lastArrivalOn, redactedNames };
}
