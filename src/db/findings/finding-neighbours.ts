/** The findings before and after one in a list, whichever page of the list they are on. */
import type { FindingFilter, FindingNeighbours, FindingOrder } from '../../model/findings.ts';
import type { Hex16 } from '../../model/json.ts';
import { SEVERITIES } from '../../model/rules.ts';
import type { PageCursor } from '../../model/runs.ts';
import type { Database } from '../database.ts';
import { rowsBySeverity, rowsInTime, severityOf } from './finding-list.ts';
import { findPlace } from './findings.ts';

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
