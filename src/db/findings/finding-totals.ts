/** How many findings a list has, up to a bound, and the names that its filters suggest. */
import type { FindingFilter, FindingNames, FindingTotal } from '../../model/findings.ts';
import { type Database, onlyRow } from '../database.ts';
import { SUGGESTIONS_MAX, suggestedNames } from '../suggested-names.ts';
import {
  DECIDED_IDS,
  DECIDED_READ_MAX,
  isTriaged,
  MATCHES,
  matchValues,
  needsReading,
} from './finding-filter.ts';
import { FINDINGS_READ_MAX, findingsRead, readsKind } from './finding-list.ts';
import { SOURCE } from './findings.ts';

/** A total is exact up to here. */
export const FINDINGS_COUNTED_MAX = 10_000;

const COUNT_MATCHES = `
  SELECT count(*)::int AS found FROM (
    SELECT 1 FROM ${SOURCE} WHERE ${MATCHES} LIMIT ${FINDINGS_COUNTED_MAX + 1}) AS found`;
/** Of the latest decided. */
const COUNT_TRIAGED = `
  WITH decided AS MATERIALIZED (SELECT ${DECIDED_IDS} AS ids)
  SELECT (SELECT count(*)::int FROM ${SOURCE}
           WHERE ${MATCHES} AND f.id = ANY ((SELECT ids FROM decided)::uuid[])) AS found,
         (SELECT cardinality(ids) FROM decided) AS read`;
const countRead = (ofKind: boolean): string => `
  WITH read AS MATERIALIZED (${findingsRead('DESC', ofKind)})
  SELECT (SELECT count(*)::int FROM read AS f JOIN workspaces w ON w.id = f.workspace_id
           WHERE ${MATCHES}) AS found,
         (SELECT count(*)::int FROM read) AS read`;
const COUNTS = {
  all: COUNT_MATCHES,
  triaged: COUNT_TRIAGED,
  read: countRead(false),
  readKind: countRead(true),
};

function countOf(filter: FindingFilter): { query: string; within: FindingTotal['within'] } {
  if (needsReading(filter)) {
    const query = readsKind(filter) ? COUNTS.readKind : COUNTS.read;
    return { query, within: { count: FINDINGS_READ_MAX, by: 'newest' } };
  }
  if (!isTriaged(filter)) return { query: COUNTS.all, within: null };
  return { query: COUNTS.triaged, within: { count: DECIDED_READ_MAX, by: 'decided' } };
}

export async function countFindings(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
): Promise<FindingTotal> {
  const { query, within } = countOf(filter);
  const { rows } = await database.query<{ found: number; read?: number }>(
    query,
    matchValues(workspaceId, filter),
  );
  const { found = 0, read: wereRead = 0 } = rows[0] ?? {};
  const isCut = within !== null && wereRead >= within.count;
  const count = Math.min(found, FINDINGS_COUNTED_MAX);
  return {
    count,
    isExact: !isCut && found <= FINDINGS_COUNTED_MAX,
    within: isCut ? within : null,
  };
}

const NAMES = suggestedNames(
  'findings',
  'created_at DESC, id DESC',
  `, ARRAY(SELECT DISTINCT u.address FROM users u JOIN memberships m ON m.user_id = u.id
           WHERE m.workspace_id = $1 AND EXISTS (
             SELECT FROM finding_states s WHERE s.workspace_id = $1 AND s.assignee_id = u.id)
           ORDER BY 1 LIMIT ${SUGGESTIONS_MAX}) AS assignees`,
);

export async function suggestNames(database: Database, workspaceId: number): Promise<FindingNames> {
  return onlyRow(await database.query<FindingNames>(NAMES, [workspaceId]));
}
