/**
 * The list of findings: a page of it in several orders.
 * A filter that no index answers is applied to the newest `FINDINGS_READ_MAX` findings from the cursor on;
 * the next page continues after them.
 */
import type {
  Finding,
  FindingFilter,
  FindingNeighbours,
  FindingOrder,
} from '../../model/findings.ts';
import type { Hex16 } from '../../model/json.ts';
import { SEVERITIES } from '../../model/rules.ts';
import type { PageCursor } from '../../model/runs.ts';
import { type Database, inSnapshot, type Queryable } from '../database.ts';
import { fromMicros, toMicros } from '../sql-times.ts';
import {
  IN_TIME,
  IS_TRIAGED,
  isOfKinds,
  isTriaged,
  MATCHES,
  matchValues,
  needsReading,
  OF_KIND,
  OF_RULE,
  OF_SEVERITY_AND_CATEGORY,
  parameter,
  readsNames,
  unused,
} from './finding-filter.ts';
import { BESIDE, COLUMNS, findPlace, type Place, toPage } from './findings.ts';

/** Findings that a page reads for a filter that no index answers: about 60 ms of work. */
export const FINDINGS_READ_MAX = 5000;

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
    FROM (SELECT * FROM kind AS f WHERE ${OF_KIND}) AS kind CROSS JOIN LATERAL (
      SELECT created_at, id FROM findings f
       WHERE workspace_id = $1 AND severity = kind.severity AND category = kind.category
         AND rule_id = kind.rule_id AND ${IN_TIME} AND ${afterCursor(direction)}
       ${byTime(direction)} LIMIT ${LIMIT}
    ) AS place
   ${byTime(direction, 'place')} LIMIT ${LIMIT}`;

const UNUSED = unused('severity', 'category', 'ruleId', 'ruleIds', 'since', 'until');

const listByKind = (direction: Direction): string => `
  SELECT ${COLUMNS} FROM (${placesByKind(direction)}) AS place
    JOIN findings f ON f.workspace_id = $1 AND f.id = place.id
    ${BESIDE}
   WHERE ${UNUSED} ${byTime(direction)}`;

const listByTime = (direction: Direction, also = ''): string => `
  SELECT ${COLUMNS} FROM findings f ${BESIDE} WHERE ${MATCHES} ${also} AND ${afterCursor(direction)}
   ${byTime(direction)} LIMIT ${LIMIT}`;

const ofTime = (after: string): string => `f.workspace_id = $1 AND ${IN_TIME} AND ${after}`;

/**
 * The rows that a page reads: findings of the filter's time, severity, category and rule. Severity and category are in
 * the index by time, so few of very many are found without reading the others; that both parts have the same
 * time and id lets PostgreSQL keep their order.
 */
export const findingsRead = (direction: Direction, ofKind: boolean, after = 'true'): string =>
  ofKind
    ? `
  SELECT own.* FROM (
    SELECT f.created_at, f.id FROM findings f
     WHERE ${ofTime(after)} AND ${OF_SEVERITY_AND_CATEGORY}
     ${byTime(direction)} LIMIT ${FINDINGS_READ_MAX}) AS place
   CROSS JOIN LATERAL (
     SELECT * FROM findings WHERE workspace_id = $1 AND id = place.id OFFSET 0) AS own
   WHERE own.created_at = place.created_at AND own.id = place.id
   ${byTime(direction, 'place')}`
    : `
  SELECT * FROM findings f WHERE ${ofTime(after)} AND ${OF_RULE}
   ${byTime(direction)} LIMIT ${FINDINGS_READ_MAX}`;

const listRead = (direction: Direction, ofKind: boolean): string => `
  SELECT ${COLUMNS} FROM (${findingsRead(direction, ofKind, afterCursor(direction))}) AS f
    ${BESIDE}
   WHERE ${MATCHES} ${byTime(direction)} LIMIT ${LIMIT}`;

/** 1 for the most severe. */
export const rankOf = (severity: string): string =>
  `array_position('{${SEVERITIES.join(',')}}'::text[], ${severity})`;
/** Among the newest findings that a page may read, for all its pages. */
const LIST_READ_BY_SEVERITY = `
  SELECT ${COLUMNS} FROM (${findingsRead('DESC', false)}) AS f
    ${BESIDE}
   WHERE ${MATCHES} AND (${parameter(4)}::text IS NULL
      OR ${rankOf('f.severity')} > ${rankOf(parameter(4))}
      OR (f.severity = ${parameter(4)} AND ${afterCursor('DESC')}))
   ORDER BY ${rankOf('f.severity')}, f.created_at DESC, f.id DESC LIMIT ${LIMIT}`;

const queriesOf = (direction: Direction) => ({
  byKind: listByKind(direction),
  byTime: listByTime(direction),
  byState: listByTime(direction, `AND ${IS_TRIAGED}`),
  read: listRead(direction, false),
  readKind: listRead(direction, true),
  place: `SELECT ${toMicros('f.created_at')} AS "atMicros", f.id FROM findings f
     WHERE f.workspace_id = $1 AND ($2::timestamptz IS NULL OR f.created_at >= $2)
       AND ($3::timestamptz IS NULL OR f.created_at < $3)
       AND ($4::bigint IS NULL
         OR (f.created_at, f.id) ${direction === 'DESC' ? '<' : '>'} (${fromMicros('$4')}, $5::uuid))
       AND ($6::text IS NULL OR f.severity = $6) AND ($7::text IS NULL OR f.category = $7)
       AND ($8::text IS NULL OR f.rule_id = $8)
     ${byTime(direction)} OFFSET $9::int LIMIT 1`,
});
type TimeOrder = 'newest' | 'oldest';
const QUERIES = { newest: queriesOf('DESC'), oldest: queriesOf('ASC') };

export interface FindingList {
  readonly findings: Finding[];
  readonly next: PageCursor | null;
  /** the page ended before it was full, because it had read as many findings as it may */
  readonly endedEarly: boolean;
  /** by severity: findings stored before were not searched; null when all were, and in other orders */
  readonly searchedTo: Date | null;
}

/** Checks whether the findings that a page reads are those of a severity or category; else of a rule, or all. */
export function readsKind({ severity, category, ruleId }: FindingFilter): boolean {
  return ruleId === undefined && (severity !== undefined || category !== undefined);
}

function wayOf(filter: FindingFilter): 'read' | 'readKind' | 'byState' | 'byKind' | 'byTime' {
  if (needsReading(filter)) return readsKind(filter) ? 'readKind' : 'read';
  if (isTriaged(filter)) return 'byState';
  return isOfKinds(filter) ? 'byKind' : 'byTime';
}

export async function rowsInTime(
  database: Queryable,
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

/** The place of a finding that a page reads, behind so many others; null when there are no more. */
async function placeBehind(
  others: number,
  database: Queryable,
  workspaceId: number,
  filter: FindingFilter,
  order: TimeOrder,
  cursor: PageCursor | null,
): Promise<PageCursor | null> {
  const { since, until, severity, category, ruleId } = filter;
  const kind = readsKind(filter) ? [severity ?? null, category ?? null] : [null, null];
  const from = [since ?? null, until ?? null, cursor?.atMicros ?? null, cursor?.id ?? null];
  const range = [...from, ...kind, ruleId ?? null];
  const values = [workspaceId, ...range, others];
  const { rows } = await database.query<PageCursor>(QUERIES[order].place, values);
  return rows[0] ?? null;
}

/** The most severe first, of equal severity the newest: severity by severity until the page is full. */
export async function rowsBySeverity(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
  cursor: PageCursor | null,
  most: number,
): Promise<(Finding & Place)[]> {
  const at = cursor === null ? null : await severityOf(database, workspaceId, cursor);
  if (readsNames(filter)) {
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

const MICROS_PER_MS = 1000;

/**
 * The time before which nothing was searched, where a list that is not in the order of time has read as many
 * findings as it may. Findings of the last millisecond searched are searched again.
 */
export async function searchedTo(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
): Promise<Date | null> {
  const first = await placeBehind(FINDINGS_READ_MAX, database, workspaceId, filter, 'newest', null);
  if (first === null) return null;
  const time = new Date(Math.floor(Number(first.atMicros) / MICROS_PER_MS) + 1);
  return filter.until !== undefined && time >= filter.until ? null : time;
}

/** The same for a list by severity: the latest of the times of its severities. */
async function searchedBySeverity(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
): Promise<Date | null> {
  if (!needsReading(filter)) return null;
  if (readsNames(filter)) {
    const { severity: _severity, category: _category, ...all } = filter;
    return await searchedTo(database, workspaceId, all);
  }
  const times: number[] = [];
  for (const severity of filter.severity === undefined ? SEVERITIES : [filter.severity]) {
    const time = await searchedTo(database, workspaceId, { ...filter, severity });
    if (time !== null) times.push(time.getTime());
  }
  return times.length === 0 ? null : new Date(Math.max(...times));
}

export async function severityOf(database: Database, workspaceId: number, { id }: PageCursor) {
  const { rows } = await database.query<Pick<Finding, 'severity'>>(
    'SELECT severity FROM findings WHERE workspace_id = $1 AND id = $2',
    [workspaceId, id],
  );
  return rows[0]?.severity ?? null;
}

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
    const page = toPage(rows, limit);
    const time =
      page.next === null ? await searchedBySeverity(database, workspaceId, filter) : null;
    return { ...page, endedEarly: false, searchedTo: time };
  }
  const inTime = order === 'oldest' ? order : 'newest';
  const pageOf = async (queryable: Queryable) =>
    toPage(await rowsInTime(queryable, workspaceId, filter, inTime, cursor, more), limit);
  if (!needsReading(filter)) {
    return { ...(await pageOf(database)), endedEarly: false, searchedTo: null };
  }
  // In one snapshot: findings deleted or added meanwhile must not move the end of the page.
  return await inSnapshot(database, async (connection) => {
    const page = await pageOf(connection);
    const last = FINDINGS_READ_MAX - 1;
    const end =
      page.next === null
        ? await placeBehind(last, connection, workspaceId, filter, inTime, cursor)
        : null;
    return { ...page, next: page.next ?? end, endedEarly: end !== null, searchedTo: null };
  });
}

const NONE: FindingNeighbours = { previous: null, next: null };

/** The nearest of those above in a list by severity. Of each severity the oldest come nearest. */
async function aboveBySeverity(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
  place: PageCursor,
): Promise<Hex16 | null> {
  const own = await severityOf(database, workspaceId, place);
  if (own === null) return null;
  for (const severity of SEVERITIES.slice(0, SEVERITIES.indexOf(own) + 1).toReversed()) {
    if (filter.severity !== undefined && filter.severity !== severity) continue;
    const from = severity === own ? place : null;
    const one = { ...filter, severity };
    const [row] = await rowsInTime(database, workspaceId, one, 'oldest', from, 1);
    if (row !== undefined) return row.id;
  }
  return null;
}

/**
 * The neighbours of a finding in a list. The finding itself need not match the filter any more, so one that was
 * just closed has neighbours in the list of open ones. With a filter that no index answers, a neighbour is
 * searched among the next findings that a page of the list would read (`FINDINGS_READ_MAX`).
 */
export async function findNeighbours(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
  order: FindingOrder,
  id: Hex16,
): Promise<FindingNeighbours> {
  const place = await findPlace(database, workspaceId, id);
  if (place === null) return NONE;
  if (order === 'severity') {
    const [next] = await rowsBySeverity(database, workspaceId, filter, place, 1);
    const previous = await aboveBySeverity(database, workspaceId, filter, place);
    return { previous, next: next?.id ?? null };
  }
  const [down, up] =
    order === 'oldest' ? (['oldest', 'newest'] as const) : (['newest', 'oldest'] as const);
  const [next] = await rowsInTime(database, workspaceId, filter, down, place, 1);
  const [previous] = await rowsInTime(database, workspaceId, filter, up, place, 1);
  return { previous: previous?.id ?? null, next: next?.id ?? null };
}
