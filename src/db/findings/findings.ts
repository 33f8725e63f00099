/**
 * Reads findings: their columns; one by its id; and for the export, which never has excerpts, pages from
 * a cursor on, oldest first. The list is in finding-list.ts.
 */
import type { Finding, FindingFilter } from '../../model/findings.ts';
import type { Hex16, Int64 } from '../../model/json.ts';
import { type PageCursor, RUN_NAME_ROWS } from '../../model/runs.ts';
import type { Database } from '../database.ts';
import { fromMicros, toMicros } from '../sql-times.ts';
import { isExcepted, shownPlace } from './exceptions.ts';
import { MATCHES, MATCHES_UNSEARCHED, matchValues, parameter } from './finding-filter.ts';
import { TRIAGE_COLUMNS } from './triage.ts';

/** A finding without customers' text, as the export sends it. */
export type FindingFacts = Omit<Finding, 'excerpt'>;

/** Both ends exclusive; `after` null begins at the first finding. */
export interface ExportRange {
  readonly after: PageCursor | null;
  /** microseconds since 1970 */
  readonly before: Int64;
}

/**
 * Longer than a transaction takes from reading its clock to being visible in `pg_stat_activity`, even
 * on an overloaded machine.
 */
const UNSEEN_SECONDS = 5;
/** Most characters of a step's name in the export; senders may send any length. */
const STEP_NAME_CHARS = 256;
/** Findings that a page of the export looks at for its filter: a search reads their texts, about 60 ms of work. */
export const EXPORT_READ_MAX = 5000;

/** Names are cut to this length when they are stored. */
export const NAME_CHARS_MAX = 256;

const AT_MICROS = `${toMicros('f.created_at')} AS "atMicros"`;
function valueShown(column: string, key: string): string {
  return `CASE WHEN shown.place IS NULL THEN f.${column} ELSE shown.place->>'${key}' END`;
}
const shown = (column: string, key: string): string => `${valueShown(column, key)} AS "${key}"`;
const FACTS = `
  f.id, f.created_at AS "createdAt", f.run_id AS "runId", f.rule_id AS "ruleId",
  f.rule_version AS "ruleVersion", f.rule_status AS "ruleStatus", f.severity, f.category,
  f.subcategory, f.corpus_version AS "corpusVersion",
  encode(f.corpus_identity, 'hex') AS "corpusIdentity", ${shown('description', 'description')},
  CASE WHEN shown.place IS NULL THEN f.condition_index
       ELSE (shown.place->>'condition')::smallint END AS "conditionIndex",
  ${shown('condition_description', 'conditionDescription')},
  ${shown('field', 'field')}, ${shown('surface', 'surface')},
  CASE WHEN shown.place IS NULL THEN encode(f.step_span_id, 'hex')
       ELSE shown.place->>'span' END AS "stepSpanId",
  ${RUN_NAME_ROWS.map(({ key, column }) => `f.${column} AS "${key}"`).join(', ')},
  CASE WHEN shown.place IS NULL THEN f.place ELSE (shown.place->'place')::json END AS place,
  CASE WHEN f.more_places IS NOT NULL THEN json_build_object(
    'count', jsonb_array_length(f.more_places),
    'isCut', coalesce((f.more_places->-1->>'rest')::boolean, false),
    'isPartlyExcepted', shown.place IS NOT NULL) END AS others,
  f.recommended_actions AS "recommendedActions", ${AT_MICROS}, ${TRIAGE_COLUMNS},
  ${isExcepted('f')} AS "isExcepted"`;
/** Joins the place that a finding shows where that is not its first one (`shownPlace`). */
export const JOIN_SHOWN = `CROSS JOIN LATERAL (SELECT ${shownPlace('f')} AS place OFFSET 0) AS shown`;
const SHOWN_SURFACE = valueShown('surface', 'surface');
const SHOWN_NAME = valueShown('step_name', 'stepName');
const SHOWN_TOOL = valueShown('tool_name', 'tool');
const SHOWN_NAME_MATCHED = `CASE WHEN shown.place IS NULL THEN f.step_name_matched
  ELSE (shown.place->>'stepNameMatched')::boolean END`;
export const COLUMNS = `${FACTS},
  CASE WHEN w.redact_excerpts AND ${SHOWN_NAME_MATCHED} THEN NULL ELSE ${SHOWN_NAME} END AS "stepName",
  CASE WHEN w.redact_excerpts AND ${SHOWN_SURFACE} = 'tool_name' THEN NULL ELSE ${SHOWN_TOOL} END AS "toolName",
  CASE WHEN w.redact_excerpts THEN NULL ELSE ${valueShown('excerpt', 'excerpt')} END AS excerpt`;
export const BESIDE = `JOIN workspaces w ON w.id = f.workspace_id ${JOIN_SHOWN}`;
export const SOURCE = 'findings f JOIN workspaces w ON w.id = f.workspace_id';

export interface Place {
  readonly id: Hex16;
  readonly atMicros: string;
}

/** A page out of one row more than its limit. */
export function toPage<Row extends Place>(
  rows: readonly Row[],
  limit: number,
): { findings: Row[]; next: PageCursor | null } {
  const findings = rows.slice(0, limit);
  const last = rows.length > limit ? findings.at(-1) : undefined;
  return {
    findings,
    next: last === undefined ? null : { atMicros: last.atMicros, id: last.id },
  };
}

export async function findFinding(
  database: Database,
  workspaceId: number,
  id: Hex16,
): Promise<Finding | null> {
  const { rows } = await database.query<Finding>(
    `SELECT ${COLUMNS} FROM findings f ${BESIDE} WHERE f.workspace_id = $1 AND f.id = $2`,
    [workspaceId, id],
  );
  return rows[0] ?? null;
}

export async function findPlace(
  database: Database,
  workspaceId: number,
  id: Hex16,
): Promise<PageCursor | null> {
  const { rows } = await database.query<PageCursor>(
    `SELECT f.id, ${AT_MICROS} FROM findings f WHERE f.workspace_id = $1 AND f.id = $2`,
    [workspaceId, id],
  );
  return rows[0] ?? null;
}

/**
 * The time before which no finding can appear any more. A finding has the time at which its transaction
 * began and is visible after its commit, so findings do not become visible in the order of their times:
 * a reader that continues from the newest visible one misses those of open transactions.
 *
 * Only connections with this one's application_name count, so that another program's long transaction
 * (a backup) delays nothing. All processes must use the same PostgreSQL role, because roles cannot see
 * each other's transactions.
 *
 * @returns microseconds since 1970, by the database's clock
 */
export async function settledBefore(
  database: Database,
  unseenSeconds: number = UNSEEN_SECONDS,
): Promise<Int64> {
  const { rows } = await database.query<{ micros: Int64 }>(
    `SELECT ${toMicros('least(now() - make_interval(secs => $1), min(xact_start))')} AS micros
       FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND application_name = current_setting('application_name')`,
    [unseenSeconds],
  );
  return rows[0]?.micros ?? '0';
}

const AFTER = (at: string, id: string): string =>
  `(${at}::bigint IS NULL OR (f.created_at, f.id) > (${fromMicros(at)}, ${id}::uuid))`;

/** In the index by time; of a rule, in the one by rule. */
const WINDOW_END = `
  SELECT ${AT_MICROS}, f.id FROM findings f
   WHERE f.workspace_id = $1 AND f.created_at < ${fromMicros('$2')} AND ${AFTER('$3', '$4')}
     AND ($5::timestamptz IS NULL OR f.created_at >= $5)
     AND ($6::timestamptz IS NULL OR f.created_at < $6)
     AND ($7::text IS NULL OR f.rule_id = $7)
   ORDER BY f.created_at, f.id OFFSET ${EXPORT_READ_MAX - 1} LIMIT 1`;

/** Checks whether a page of the export may have to look at many more findings than match. */
function leavesOut({ since: _since, until: _until, runId, ...others }: FindingFilter): boolean {
  return runId === undefined && Object.values(others).some((one) => one !== undefined);
}

/** The last finding that a page of the export looks at; null when it looks at all that are left. */
async function windowEnd(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
  { after, before }: ExportRange,
): Promise<PageCursor | null> {
  if (!leavesOut(filter)) return null;
  const { rows } = await database.query<PageCursor>(WINDOW_END, [
    workspaceId,
    before,
    after?.atMicros ?? null,
    after?.id ?? null,
    filter.since ?? null,
    filter.until ?? null,
    filter.ruleId ?? null,
  ]);
  return rows[0] ?? null;
}

const exportPage = (matches: string): string => `
  SELECT ${FACTS}, CASE WHEN NOT (${SHOWN_NAME_MATCHED})
                        THEN left(${SHOWN_NAME}, ${STEP_NAME_CHARS}) END AS "stepName",
         CASE WHEN ${SHOWN_SURFACE} <> 'tool_name' THEN ${SHOWN_TOOL} END AS "toolName"
    FROM findings f ${BESIDE}
   WHERE ${matches} AND f.created_at < ${fromMicros(parameter(1))}
     AND ${AFTER(parameter(2), parameter(3))}
     AND (${parameter(4)}::bigint IS NULL
       OR (f.created_at, f.id) <= (${fromMicros(parameter(4))}, ${parameter(5)}::uuid))
   ORDER BY f.created_at, f.id LIMIT ${parameter(6)}`;
const EXPORT_PAGE = exportPage(MATCHES_UNSEARCHED);
const EXPORT_PAGE_SEARCHED = exportPage(MATCHES);

/**
 * One page of a workspace's findings, oldest first. Without excerpts (the column is not read) and
 * without step names that contain matched text, whether or not the workspace redacts. A page looks at
 * `EXPORT_READ_MAX` findings at most, so it may have few or none and yet have a next one.
 */
export async function listFindingFacts(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
  range: ExportRange,
  limit: number,
): Promise<{ findings: FindingFacts[]; next: PageCursor | null }> {
  const { after, before } = range;
  // First: what is deleted meanwhile must not move the end past findings that were not looked at.
  const end = await windowEnd(database, workspaceId, filter, range);
  const { rows } = await database.query<FindingFacts & Place>(
    filter.search === undefined ? EXPORT_PAGE : EXPORT_PAGE_SEARCHED,
    [
      ...matchValues(workspaceId, filter),
      before,
      after?.atMicros ?? null,
      after?.id ?? null,
      end?.atMicros ?? null,
      end?.id ?? null,
      limit + 1,
    ],
  );
  const page = toPage(rows, limit);
  return { ...page, next: page.next ?? end };
}

/**
 * Findings by their ids, in no order; those that are gone, and those that an active exception covers, are
 * left out. Without excerpts, and without the names of step and tool.
 */
export async function findAlertedFindings(
  database: Database,
  workspaceId: number,
  ids: readonly Hex16[],
): Promise<FindingFacts[]> {
  const { rows } = await database.query<FindingFacts>(
    `SELECT ${FACTS}, NULL AS "stepName", NULL AS "toolName"
       FROM findings f ${JOIN_SHOWN} WHERE f.workspace_id = $1 AND f.id = ANY ($2::uuid[])
         AND NOT ${isExcepted('f')}`,
    [workspaceId, ids],
  );
  return rows;
}
