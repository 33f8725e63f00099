/**
 * Reads findings: the list, newest first; one by its id; and for the export, which never has excerpts,
 * pages from a cursor on, oldest first.
 */
import type { Finding, FindingFilter } from '../../model/findings.ts';
import type { Hex16, Int64 } from '../../model/json.ts';
import type { PageCursor } from '../../model/runs.ts';
import type { Database } from '../database.ts';
import { fromMicros, toMicros } from '../sql-times.ts';

/** A finding without customers' text, as the export sends it. */
export type FindingFacts = Omit<Finding, 'excerpt'>;

/** Both ends exclusive; `after` null begins at the first finding. */
interface ExportRange {
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

/** Names are cut to this length when they are stored or, stored by older versions, when they are read. */
export const NAME_CHARS_MAX = 256;

const AT_MICROS = `${toMicros('f.created_at')} AS "atMicros"`;
const FACTS = `
  f.id, f.created_at AS "createdAt", f.run_id AS "runId", f.rule_id AS "ruleId",
  f.rule_version AS "ruleVersion", f.rule_status AS "ruleStatus", f.severity, f.category,
  f.subcategory, f.corpus_version AS "corpusVersion",
  encode(f.corpus_identity, 'hex') AS "corpusIdentity", f.description,
  f.condition_index AS "conditionIndex", f.condition_description AS "conditionDescription",
  f.field, f.surface, encode(f.step_span_id, 'hex') AS "stepSpanId",
  f.agent_name AS "agentName", f.service_name AS "serviceName", f.user_id AS "userId",
  f.session_id AS "sessionId", f.model,
  f.place, f.recommended_actions AS "recommendedActions", ${AT_MICROS}`;
/**
 * The step's name contains matched text; for findings before migration 10, known only for tool
 * names.
 */
export const MATCHED_NAME = `(f.step_name_matched OR f.surface = 'tool_name')`;
const COLUMNS = `${FACTS},
  CASE WHEN w.redact_excerpts AND ${MATCHED_NAME} THEN NULL ELSE f.step_name END AS "stepName",
  CASE WHEN w.redact_excerpts AND f.surface = 'tool_name' THEN NULL ELSE f.tool_name END AS "toolName",
  CASE WHEN w.redact_excerpts THEN NULL ELSE f.excerpt END AS excerpt`;
const SOURCE = 'findings f JOIN workspaces w ON w.id = f.workspace_id';

/** `$1` to `$8` are `matchValues`. */
const MATCHES = `
        f.workspace_id = $1
        AND ($2::text IS NULL OR f.severity = $2) AND ($3::text IS NULL OR f.category = $3)
        AND ($4::text IS NULL OR f.rule_id = $4) AND ($5::uuid IS NULL OR f.run_id = $5)
        AND ($6::timestamptz IS NULL OR f.created_at >= $6)
        AND ($7::timestamptz IS NULL OR f.created_at < $7)
        AND ($8::text[] IS NULL OR f.rule_id = ANY ($8))`;

function matchValues(workspaceId: number, filter: FindingFilter): unknown[] {
  return [
    workspaceId,
    filter.severity ?? null,
    filter.category ?? null,
    filter.ruleId ?? null,
    filter.runId ?? null,
    filter.since ?? null,
    filter.until ?? null,
    filter.ruleIds ?? null,
  ];
}

const AFTER_CURSOR = `($9::bigint IS NULL
        OR (f.created_at, f.id) < (${fromMicros('$9')}, $10::uuid))`;

interface Place {
  readonly id: Hex16;
  readonly atMicros: string;
}

/** A page out of one row more than its limit. */
function toPage<Row extends Place>(
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

/**
 * The newest findings of each matching kind, merged. A kind is a severity, category and rule; there
 * are about as many as rules with findings. Each next kind, and the newest of a kind, is one look-up in
 * the index `findings_by_kind`, so a filter that matches few of very many findings costs no more. `$1` to `$11` are as in `listFindings`.
 */
const PLACES_BY_KIND = `
  WITH RECURSIVE kind AS (
    (SELECT severity, category, rule_id FROM findings WHERE workspace_id = $1
      ORDER BY severity, category, rule_id LIMIT 1)
    UNION ALL
    SELECT next.* FROM kind CROSS JOIN LATERAL (
      SELECT severity, category, rule_id FROM findings
       WHERE workspace_id = $1
         AND (severity, category, rule_id) > (kind.severity, kind.category, kind.rule_id)
       ORDER BY severity, category, rule_id LIMIT 1
    ) AS next
  )
  SELECT place.created_at, place.id
    FROM kind CROSS JOIN LATERAL (
      SELECT created_at, id FROM findings f
       WHERE workspace_id = $1 AND severity = kind.severity AND category = kind.category
         AND rule_id = kind.rule_id AND ($5::uuid IS NULL OR run_id = $5)
         AND ($6::timestamptz IS NULL OR created_at >= $6)
         AND ($7::timestamptz IS NULL OR created_at < $7)
         AND ${AFTER_CURSOR}
       ORDER BY created_at DESC, id DESC LIMIT $11
    ) AS place
   WHERE ($2::text IS NULL OR severity = $2) AND ($3::text IS NULL OR category = $3)
     AND ($4::text IS NULL OR rule_id = $4) AND ($8::text[] IS NULL OR rule_id = ANY ($8))
   ORDER BY place.created_at DESC, place.id DESC LIMIT $11`;

const LIST_BY_KIND = `
  SELECT ${COLUMNS} FROM (${PLACES_BY_KIND}) AS place
    JOIN findings f ON f.workspace_id = $1 AND f.id = place.id
    JOIN workspaces w ON w.id = f.workspace_id
   ORDER BY f.created_at DESC, f.id DESC`;

const LIST_BY_TIME = `
  SELECT ${COLUMNS} FROM ${SOURCE} WHERE ${MATCHES} AND ${AFTER_CURSOR}
   ORDER BY f.created_at DESC, f.id DESC LIMIT $11`;

/** A run has at most one finding per rule: its own index finds them. */
function listQuery({ severity, category, ruleId, ruleIds, runId }: FindingFilter): string {
  const isNarrow = [severity, category, ruleId, ruleIds].some((value) => value !== undefined);
  return isNarrow && runId === undefined ? LIST_BY_KIND : LIST_BY_TIME;
}

/**
 * One page of a workspace's findings, newest first.
 *
 * @param limit most findings of the page
 * @returns the page, and where the next begins (null at the end)
 */
export async function listFindings(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
  cursor: PageCursor | null,
  limit: number,
): Promise<{ findings: Finding[]; next: PageCursor | null }> {
  if (filter.ruleIds?.length === 0) return { findings: [], next: null };
  const { rows } = await database.query<Finding & Place>(listQuery(filter), [
    ...matchValues(workspaceId, filter),
    cursor?.atMicros ?? null,
    cursor?.id ?? null,
    limit + 1,
  ]);
  return toPage(rows, limit);
}

/** One finding of a workspace; null when it has none of that id. */
export async function findFinding(
  database: Database,
  workspaceId: number,
  id: Hex16,
): Promise<Finding | null> {
  const { rows } = await database.query<Finding>(
    `SELECT ${COLUMNS} FROM ${SOURCE} WHERE f.workspace_id = $1 AND f.id = $2`,
    [workspaceId, id],
  );
  return rows[0] ?? null;
}

/** The cursor of a finding of a workspace; null when there is none of that id. */
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
 * @param unseenSeconds for tests
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

/**
 * One page of a workspace's findings, oldest first. Without excerpts (the column is not read) and
 * without step names that contain matched text, whether or not the workspace redacts.
 *
 * @param range its `before` from `settledBefore`, the same for all pages of one reading
 * @param limit most findings of the page
 * @returns the page, and where the next begins (null at the end)
 */
export async function listFindingFacts(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
  { after, before }: ExportRange,
  limit: number,
): Promise<{ findings: FindingFacts[]; next: PageCursor | null }> {
  const { rows } = await database.query<FindingFacts & Place>(
    `SELECT ${FACTS}, CASE WHEN NOT ${MATCHED_NAME}
                          THEN left(f.step_name, ${STEP_NAME_CHARS}) END AS "stepName",
            CASE WHEN f.surface <> 'tool_name' THEN f.tool_name END AS "toolName"
       FROM findings f
      WHERE ${MATCHES}
        AND f.created_at < ${fromMicros('$9')}
        AND ($10::bigint IS NULL OR (f.created_at, f.id) > (${fromMicros('$10')}, $11::uuid))
      ORDER BY f.created_at, f.id LIMIT $12`,
    [
      ...matchValues(workspaceId, filter),
      before,
      after?.atMicros ?? null,
      after?.id ?? null,
      limit + 1,
    ],
  );
  return toPage(rows, limit);
}

/**
 * Findings by their ids, in no order; those that are gone are left out. Without excerpts, and without
 * the names of step and tool.
 *
 * @param ids of findings of the workspace
 */
export async function findFindingFacts(
  database: Database,
  workspaceId: number,
  ids: readonly Hex16[],
): Promise<FindingFacts[]> {
  const { rows } = await database.query<FindingFacts>(
    `SELECT ${FACTS}, NULL AS "stepName", NULL AS "toolName"
       FROM findings f WHERE f.workspace_id = $1 AND f.id = ANY ($2::uuid[])`,
    [workspaceId, ids],
  );
  return rows;
}
