/**
 * The list of findings: a page of it in several orders, how many there are, and names for its filters.
 * A filter that no index answers is applied to the newest `FINDINGS_READ_MAX` findings from the cursor on;
 * the next page continues after them.
 */
import type {
  Finding,
  FindingFilter,
  FindingNames,
  FindingOrder,
  FindingTotal,
} from '../../model/findings.ts';
import { SEVERITIES } from '../../model/rules.ts';
import type { PageCursor } from '../../model/runs.ts';
import type { Database } from '../database.ts';
import { fromMicros, toMicros } from '../sql-times.ts';
import {
  DECIDED,
  IS_TRIAGED,
  isOfKinds,
  isTriaged,
  MATCHES,
  matchValues,
  needsReading,
  parameter,
} from './finding-filter.ts';
import { COLUMNS, type Place, SOURCE, toPage } from './findings.ts';

/** Findings that a page reads for a filter that no index answers: about 60 ms of work. */
export const FINDINGS_READ_MAX = 5000;
/** A total is exact up to here. */
export const FINDINGS_COUNTED_MAX = 10_000;
/** Findings whose names are suggested for filters. */
const SUGGESTED_FROM = 2000;
/** Names suggested for one filter. */
const SUGGESTIONS_MAX = 50;

type Direction = 'DESC' | 'ASC';

const CURSOR = [parameter(1), parameter(2)] as const;
const LIMIT = parameter(3);
const afterCursor = (direction: Direction): string => `(${CURSOR[0]}::bigint IS NULL
        OR (f.created_at, f.id) ${direction === 'DESC' ? '<' : '>'} (${fromMicros(CURSOR[0])}, ${CURSOR[1]}::uuid))`;
const byTime = (direction: Direction, of = 'f'): string =>
  `ORDER BY ${of}.created_at ${direction}, ${of}.id ${direction}`;

/**
 * The first findings of each matching kind, merged. A kind is a severity, category and rule; there
 * are about as many as rules with findings. Each next kind, and the first of a kind, is one look-up in
 * the index `findings_by_kind`, so a filter that matches few of very many findings costs no more.
 */
const placesByKind = (direction: Direction): string => `
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
         AND rule_id = kind.rule_id
         AND ($6::timestamptz IS NULL OR created_at >= $6)
         AND ($7::timestamptz IS NULL OR created_at < $7)
         AND ${DECIDED} AND ${afterCursor(direction)}
       ${byTime(direction)} LIMIT ${LIMIT}
    ) AS place
   WHERE ($2::text IS NULL OR severity = $2) AND ($3::text IS NULL OR category = $3)
     AND ($4::text IS NULL OR rule_id = $4) AND ($19::text[] IS NULL OR rule_id = ANY ($19))
   ${byTime(direction, 'place')} LIMIT ${LIMIT}`;

/** `$5` and `$8` to `$16` are null here; PostgreSQL needs the type of each. */
const UNUSED = `($5::uuid IS NULL AND $8::text[] IS NULL AND $14::text IS NULL AND $15::uuid IS NULL
   AND concat($9::text, $10::text, $11::text, $12::text, $13::text, $16::text) = '')`;

const listByKind = (direction: Direction): string => `
  SELECT ${COLUMNS} FROM (${placesByKind(direction)}) AS place
    JOIN findings f ON f.workspace_id = $1 AND f.id = place.id
    JOIN workspaces w ON w.id = f.workspace_id
   WHERE ${UNUSED} ${byTime(direction)}`;

const listByTime = (direction: Direction, also = ''): string => `
  SELECT ${COLUMNS} FROM ${SOURCE} WHERE ${MATCHES} ${also} AND ${afterCursor(direction)}
   ${byTime(direction)} LIMIT ${LIMIT}`;

/** What a page reads: findings of the time from the cursor on. */
const read = (direction: Direction): string => `
  SELECT * FROM findings f
   WHERE f.workspace_id = $1 AND ($6::timestamptz IS NULL OR f.created_at >= $6)
     AND ($7::timestamptz IS NULL OR f.created_at < $7) AND ${afterCursor(direction)}
   ${byTime(direction)} LIMIT ${FINDINGS_READ_MAX}`;

const listRead = (direction: Direction): string => `
  SELECT ${COLUMNS} FROM (${read(direction)}) AS f JOIN workspaces w ON w.id = f.workspace_id
   WHERE ${MATCHES} ${byTime(direction)} LIMIT ${LIMIT}`;

/** 1 for the most severe. */
export const rankOf = (severity: string): string =>
  `array_position('{${SEVERITIES.join(',')}}'::text[], ${severity})`;
/** Among the newest findings that a page may read, for all its pages. */
const LIST_READ_BY_SEVERITY = `
  SELECT ${COLUMNS} FROM (
    SELECT * FROM findings f
     WHERE f.workspace_id = $1 AND ($6::timestamptz IS NULL OR f.created_at >= $6)
       AND ($7::timestamptz IS NULL OR f.created_at < $7)
     ${byTime('DESC')} LIMIT ${FINDINGS_READ_MAX}) AS f JOIN workspaces w ON w.id = f.workspace_id
   WHERE ${MATCHES} AND (${parameter(4)}::text IS NULL
      OR ${rankOf('f.severity')} > ${rankOf(parameter(4))}
      OR (f.severity = ${parameter(4)} AND ${afterCursor('DESC')}))
   ORDER BY ${rankOf('f.severity')}, f.created_at DESC, f.id DESC LIMIT ${LIMIT}`;

const queriesOf = (direction: Direction) => ({
  byKind: listByKind(direction),
  byTime: listByTime(direction),
  byState: listByTime(direction, `AND ${IS_TRIAGED}`),
  read: listRead(direction),
  lastRead: `SELECT ${toMicros('f.created_at')} AS "atMicros", f.id FROM findings f
     WHERE f.workspace_id = $1 AND ($2::timestamptz IS NULL OR f.created_at >= $2)
       AND ($3::timestamptz IS NULL OR f.created_at < $3)
       AND ($4::bigint IS NULL
         OR (f.created_at, f.id) ${direction === 'DESC' ? '<' : '>'} (${fromMicros('$4')}, $5::uuid))
     ${byTime(direction)} OFFSET ${FINDINGS_READ_MAX - 1} LIMIT 1`,
});
type TimeOrder = 'newest' | 'oldest';
const QUERIES = { newest: queriesOf('DESC'), oldest: queriesOf('ASC') };

/** A page of findings. */
export interface FindingList {
  readonly findings: Finding[];
  /** null at the end */
  readonly next: PageCursor | null;
  /** the page ended before it was full, because it had read as many findings as it may */
  readonly endedEarly: boolean;
}

/** How a filter's findings are found. */
function wayOf(filter: FindingFilter): 'read' | 'byState' | 'byKind' | 'byTime' {
  if (needsReading(filter)) return 'read';
  if (isTriaged(filter)) return 'byState';
  return isOfKinds(filter) ? 'byKind' : 'byTime';
}

async function rowsInTime(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
  order: TimeOrder,
  cursor: PageCursor | null,
  most: number,
): Promise<(Finding & Place)[]> {
  const query = QUERIES[order][wayOf(filter)];
  const from = [cursor?.atMicros ?? null, cursor?.id ?? null];
  const values = [...matchValues(workspaceId, filter), ...from, most];
  const { rows } = await database.query<Finding & Place>(query, values);
  return rows;
}

/** The last finding that a page has read; null when it has read all. */
async function lastRead(
  database: Database,
  workspaceId: number,
  { since, until }: FindingFilter,
  order: TimeOrder,
  cursor: PageCursor | null,
): Promise<PageCursor | null> {
  const range = [since ?? null, until ?? null, cursor?.atMicros ?? null, cursor?.id ?? null];
  const { rows } = await database.query<PageCursor>(QUERIES[order].lastRead, [
    workspaceId,
    ...range,
  ]);
  return rows[0] ?? null;
}

/** The most severe first, of equal severity the newest: severity by severity until the page is full. */
async function rowsBySeverity(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
  cursor: PageCursor | null,
  most: number,
): Promise<(Finding & Place)[]> {
  const at = cursor === null ? null : await severityOf(database, workspaceId, cursor);
  if (needsReading(filter)) {
    const from = [cursor?.atMicros ?? null, cursor?.id ?? null, most, at];
    const values = [...matchValues(workspaceId, filter), ...from];
    const { rows } = await database.query<Finding & Place>(LIST_READ_BY_SEVERITY, values);
    return rows;
  }
  const rows: (Finding & Place)[] = [];
  for (const severity of SEVERITIES.slice(at === null ? 0 : SEVERITIES.indexOf(at))) {
    if (filter.severity !== undefined && filter.severity !== severity) continue;
    const from = severity === at ? cursor : null;
    const own = { ...filter, severity };
    const left = most - rows.length;
    rows.push(...(await rowsInTime(database, workspaceId, own, 'newest', from, left)));
    if (rows.length === most) break;
  }
  return rows;
}

async function severityOf(database: Database, workspaceId: number, { id }: PageCursor) {
  const { rows } = await database.query<Pick<Finding, 'severity'>>(
    'SELECT severity FROM findings WHERE workspace_id = $1 AND id = $2',
    [workspaceId, id],
  );
  return rows[0]?.severity ?? null;
}

/**
 * One page of a workspace's findings.
 *
 * @param limit most findings of the page
 */
export async function listFindings(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
  cursor: PageCursor | null,
  limit: number,
  order: FindingOrder = 'newest',
): Promise<FindingList> {
  const more = limit + 1;
  if (order === 'severity') {
    const rows = await rowsBySeverity(database, workspaceId, filter, cursor, more);
    return { ...toPage(rows, limit), endedEarly: false };
  }
  const inTime = order === 'oldest' ? order : 'newest';
  const rows = await rowsInTime(database, workspaceId, filter, inTime, cursor, more);
  const page = toPage(rows, limit);
  if (page.next !== null || !needsReading(filter)) return { ...page, endedEarly: false };
  const next = await lastRead(database, workspaceId, filter, inTime, cursor);
  return { ...page, next, endedEarly: next !== null };
}

const countMatches = (also = ''): string => `
  SELECT count(*)::int AS found FROM (
    SELECT 1 FROM ${SOURCE} WHERE ${MATCHES} ${also} LIMIT ${FINDINGS_COUNTED_MAX + 1}) AS found`;
const COUNT_MATCHES = countMatches();
const COUNT_TRIAGED = countMatches(`AND ${IS_TRIAGED}`);
const COUNT_READ = `
  WITH read AS MATERIALIZED (
    SELECT * FROM findings f
     WHERE f.workspace_id = $1 AND ($6::timestamptz IS NULL OR f.created_at >= $6)
       AND ($7::timestamptz IS NULL OR f.created_at < $7)
     ${byTime('DESC')} LIMIT ${FINDINGS_READ_MAX})
  SELECT (SELECT count(*)::int FROM read AS f JOIN workspaces w ON w.id = f.workspace_id
           WHERE ${MATCHES}) AS found,
         (SELECT count(*)::int FROM read) AS read`;

/** How many findings match, up to a bound. */
export async function countFindings(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
): Promise<FindingTotal> {
  const whole = isTriaged(filter) ? COUNT_TRIAGED : COUNT_MATCHES;
  const query = needsReading(filter) ? COUNT_READ : whole;
  const { rows } = await database.query<{ found: number; read?: number }>(
    query,
    matchValues(workspaceId, filter),
  );
  const { found = 0, read: wereRead = 0 } = rows[0] ?? {};
  const isBounded = found > FINDINGS_COUNTED_MAX || wereRead >= FINDINGS_READ_MAX;
  return { count: Math.min(found, FINDINGS_COUNTED_MAX), isExact: !isBounded };
}

const NAME_COLUMNS = {
  agents: 'agent_name',
  services: 'service_name',
  users: 'user_id',
  sessions: 'session_id',
  models: 'model',
} as const;
const NAMES = `
  WITH newest AS MATERIALIZED (
    SELECT agent_name, service_name, user_id, session_id, model FROM findings
     WHERE workspace_id = $1 ORDER BY created_at DESC, id DESC LIMIT ${SUGGESTED_FROM})
  SELECT ${Object.entries(NAME_COLUMNS).map(
    ([name, column]) => `ARRAY(SELECT ${column} FROM newest WHERE ${column} IS NOT NULL
        GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ${SUGGESTIONS_MAX}) AS ${name}`,
  )},
    ARRAY(SELECT DISTINCT u.address FROM users u JOIN memberships m ON m.user_id = u.id
           WHERE m.workspace_id = $1 AND EXISTS (
             SELECT FROM finding_states s WHERE s.workspace_id = $1 AND s.assignee_id = u.id)
           ORDER BY 1 LIMIT ${SUGGESTIONS_MAX}) AS assignees`;

/** What the filters of the list suggest. */
export async function suggestNames(database: Database, workspaceId: number): Promise<FindingNames> {
  const { rows } = await database.query<FindingNames>(NAMES, [workspaceId]);
  const [names] = rows;
  if (names === undefined) throw new Error('a SELECT without FROM has one row');
  return names;
}
