/**
 * Findings in groups: of one run, or repetitions of one finding. Groups are a view of the newest
 * `FINDINGS_READ_MAX` findings of the filter's time; nothing about them is stored. Older findings are
 * grouped by the same filter with an earlier end of its time.
 */
import {
  type Finding,
  type FindingFilter,
  type FindingGroup,
  type FindingGrouping,
  type FindingOrder,
  GROUP_DAYS,
} from '../../model/findings.ts';
import { SEVERITIES, type Severity } from '../../model/rules.ts';
import type { Database } from '../database.ts';
import { toMicros } from '../sql-times.ts';
import { MATCHES, matchValues, parameter, repeatedText } from './finding-filter.ts';
import { findingsRead, rankOf, readsKind, searchedTo } from './finding-list.ts';
import { BESIDE, COLUMNS } from './findings.ts';

const KEYS: Readonly<Record<FindingGrouping, string>> = {
  run: 'run_id',
  // A finding without a digest is a separate group.
  match: 'rule_id, coalesce(agent_name, service_name), coalesce(match_text, id::text)',
};
/** Begins a text; the least (run) or greatest (match) such text ends in the id of the group's `top`. */
const TOPS: Readonly<Record<FindingGrouping, string>> = {
  run: `min(${rankOf('severity')} || ' ' || id)`,
  match: `max(lpad(${toMicros('created_at')}::text, 20, '0') || ' ' || id)`,
};
const ORDERS: Readonly<Record<FindingOrder, string>> = {
  newest: '"lastSeenAt" DESC, top',
  oldest: '"firstSeenAt", top',
  severity: 'rank, "lastSeenAt" DESC, top',
  count: 'findings DESC, "lastSeenAt" DESC, top',
};

const utcDay = (time: string): string => `(${time} AT TIME ZONE 'UTC')::date`;
const AGE_DAYS = `${utcDay('now()')} - ${utcDay('created_at')}`;

const groupsQuery = (grouping: FindingGrouping, order: FindingOrder, ofKind: boolean): string => `
  WITH read AS (
    SELECT f.id, f.created_at, f.run_id, f.rule_id, f.severity, ${repeatedText('f')} AS match_text,
           f.agent_name, f.service_name
      FROM (${findingsRead('DESC', ofKind)}) AS f
      JOIN workspaces w ON w.id = f.workspace_id
     WHERE ${MATCHES}
  ), grouped AS (
    SELECT count(*)::int AS findings, count(DISTINCT rule_id)::int AS rules,
           count(DISTINCT run_id)::int AS runs, min(created_at) AS "firstSeenAt",
           max(created_at) AS "lastSeenAt",
           array_agg(${AGE_DAYS}) FILTER (WHERE ${AGE_DAYS} < ${GROUP_DAYS}) AS ages, ${TOPS[grouping]} AS top,
           min(${rankOf('severity')}) AS rank,
           ${SEVERITIES.map((one) => `count(*) FILTER (WHERE severity = '${one}')::int AS ${one}`).join(', ')}
      FROM read GROUP BY ${KEYS[grouping]}
  ), shown AS (
    SELECT *, row_number() OVER (ORDER BY ${ORDERS[order]}) AS place FROM grouped
     ORDER BY place OFFSET ${parameter(1)} LIMIT ${parameter(2)}
  )
  SELECT ${COLUMNS}, g.findings, g.rules, g.runs, g."firstSeenAt", g."lastSeenAt", g.ages,
         ${SEVERITIES.map((one) => `g.${one}`).join(', ')}
    FROM shown g JOIN findings f
      ON f.workspace_id = $1 AND f.id = right(g.top, 36)::uuid
    ${BESIDE}
   ORDER BY g.place`;

type Row = Finding &
  Omit<FindingGroup, 'top' | 'days' | 'severities'> & { readonly ages: number[] | null } & Readonly<
    Record<Severity, number>
  >;

function toGroup(row: Row): FindingGroup {
  const { findings, rules, runs, firstSeenAt, lastSeenAt } = row;
  const severities = Object.fromEntries(
    SEVERITIES.filter((severity) => row[severity] > 0).map((severity) => [severity, row[severity]]),
  );
  const days = Array.from({ length: GROUP_DAYS }, () => 0);
  for (const age of row.ages ?? []) {
    // A finding of another process's transaction may be of tomorrow by now.
    const day = GROUP_DAYS - 1 - Math.max(0, age);
    days[day] = (days[day] ?? 0) + 1;
  }
  return { top: row, findings, rules, runs, firstSeenAt, lastSeenAt, days, severities };
}

/** One page of groups; `searchedTo` is the time before which no finding was read, null when all were. */
export async function listFindingGroups(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
  grouping: FindingGrouping,
  order: FindingOrder,
  skip: number,
  limit: number,
): Promise<{ groups: FindingGroup[]; next: number | null; searchedTo: Date | null }> {
  const query = groupsQuery(grouping, order, readsKind(filter));
  const { rows } = await database.query<Row>(query, [
    ...matchValues(workspaceId, filter),
    skip,
    limit + 1,
  ]);
  const groups = rows.slice(0, limit).map(toGroup);
  const next = rows.length > limit ? skip + limit : null;
  return { groups, next, searchedTo: await searchedTo(database, workspaceId, filter) };
}
