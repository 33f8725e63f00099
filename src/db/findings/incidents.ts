/**
 * Reads incidents: the newest runs with findings of a filter, ranked. Nothing about them is stored: the rank changes
 * with what was found and decided since.
 */

import type { FindingFilter } from '../../model/findings.ts';
import { rankInPieces, whoOf } from '../../model/incidents/incident-rank.ts';
import {
  CHAIN_PLACES_MAX,
  HISTORY_DAYS,
  HISTORY_FINDINGS_MAX,
  HISTORY_PAIRS_MAX,
  INCIDENT_RUNS_MAX,
  type Incident,
  type IncidentFinding,
  type IncidentHistory,
  type IncidentPlace,
  type RuleHistory,
} from '../../model/incidents/incidents.ts';
import type { Hex16, Int64 } from '../../model/json.ts';
import { SEVERITIES } from '../../model/rules.ts';
import type { Database } from '../database.ts';
import { isExcepted } from './exceptions.ts';
import { GIVEN, MATCHES, matchValues } from './finding-filter.ts';
import { findingsRead, readsKind, searchedTo } from './finding-list.ts';
import { placesOf } from './finding-places.ts';
import { STATE_COLUMN } from './triage.ts';

const INCIDENT_FINDINGS_MAX = 3000;
/** False positives that are counted, the latest decided. */
const DISMISSED_READ_MAX = 2000;

const toolOf = (tool: string, surface: string): string =>
  `CASE WHEN NOT w.redact_excerpts OR ${surface} <> 'tool_name' THEN ${tool} END`;
/** The first place in columns, because most findings have no other; the others as `StoredPlace`. */
const PLACES = `
  f.place, f.surface, ${toolOf('f.tool_name', 'f.surface')} AS tool,
  encode(f.match_digest, 'hex') AS digest,
  CASE WHEN f.more_places IS NOT NULL THEN (
    SELECT jsonb_agg(jsonb_build_object('place', more.place->'place', 'surface', more.place->'surface',
                       'tool', ${toolOf("more.place->'tool'", "more.place->>'surface'")},
                       'digest', CASE WHEN NOT (more.place->>'rest')::boolean
                                      THEN more.place->'digest' END) ORDER BY more.ordinal)
      FROM ${placesOf('f', 'more')} WHERE more.ordinal < ${CHAIN_PLACES_MAX}) END AS more`;

/** Of the runs with findings that match, all findings that the list's exceptions leave; the newest runs first. */
const candidates = (read: string): string => `
  WITH hit AS MATERIALIZED (
    SELECT f.run_id, max(f.created_at) AS at
      FROM (${read}) AS f JOIN workspaces w ON w.id = f.workspace_id
     WHERE ${MATCHES} GROUP BY f.run_id ORDER BY at DESC, f.run_id LIMIT ${INCIDENT_RUNS_MAX + 1}
  )
  SELECT f.id, f.run_id AS "runId", f.created_at AS "createdAt", f.rule_id AS "ruleId", f.severity,
         f.category, f.agent_name AS "agentName", f.service_name AS "serviceName",
         f.user_id AS "userId", f.session_id AS "sessionId", ${STATE_COLUMN}, ${PLACES},
         (extract(epoch FROM hit.at) * 1000)::float8 AS "atMs"
    FROM hit JOIN findings f ON f.workspace_id = $1 AND f.run_id = hit.run_id
    JOIN workspaces w ON w.id = f.workspace_id
   WHERE ${GIVEN.isExcepted} IS DISTINCT FROM false OR NOT ${isExcepted('f')}
   ORDER BY hit.at DESC, f.run_id LIMIT ${INCIDENT_FINDINGS_MAX + 1}`;
const QUERIES = {
  run: candidates(`SELECT * FROM findings WHERE workspace_id = $1 AND run_id = ${GIVEN.runId}`),
  read: candidates(findingsRead('DESC', false)),
  readKind: candidates(findingsRead('DESC', true)),
};

interface StoredPlace extends Pick<IncidentPlace, 'surface' | 'tool' | 'digest'> {
  readonly place: {
    readonly step: number;
    readonly text: number;
    readonly startUnixNano: Int64;
    readonly endUnixNano?: Int64;
  };
}

interface Row extends Omit<IncidentFinding, 'places'>, StoredPlace {
  readonly more: readonly StoredPlace[] | null;
  /** when the newest of the findings of its run that match was stored, in milliseconds */
  readonly atMs: number;
}

function toPlace({ place, surface, tool, digest }: StoredPlace): IncidentPlace {
  const { step, text, startUnixNano, endUnixNano = startUnixNano } = place;
  return { step, text, atUnixNano: endUnixNano, surface, tool, digest };
}

const toFinding = (row: Row): IncidentFinding => ({
  id: row.id,
  runId: row.runId,
  createdAt: row.createdAt,
  ruleId: row.ruleId,
  severity: row.severity,
  category: row.category,
  agentName: row.agentName,
  serviceName: row.serviceName,
  userId: row.userId,
  sessionId: row.sessionId,
  state: row.state,
  places: row.more === null ? [toPlace(row)] : [row, ...row.more].map(toPlace),
});

/** The findings of the runs that are ranked, and the time of the first run that is not; null if all are. */
async function readCandidates(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
): Promise<{ findings: IncidentFinding[]; until: Date | null }> {
  const way = filter.runId !== undefined ? 'run' : readsKind(filter) ? 'readKind' : 'read';
  const { rows } = await database.query<Row>(QUERIES[way], matchValues(workspaceId, filter));
  const runs = [...new Set(rows.map(({ runId }) => runId))];
  const isCut = runs.length > INCIDENT_RUNS_MAX || rows.length > INCIDENT_FINDINGS_MAX;
  if (!isCut || runs.length === 1) return { findings: rows.map(toFinding), until: null };
  // The last run may be there in part.
  const last = runs.at(-1);
  const atMs = rows.at(-1)?.atMs;
  const until = atMs === undefined ? null : new Date(Math.floor(atMs) + 1);
  return { findings: rows.filter(({ runId }) => runId !== last).map(toFinding), until };
}

const WHO = `coalesce(f.agent_name, f.service_name, '')`;
const UNIT = `coalesce('s' || f.session_id, f.run_id::text)`;
const RECENT = `f.created_at > now() - interval '${HISTORY_DAYS} days'`;

/** `$2` and `$3` are agents and rules in pairs; `$4` tools, `$5` users. */
const HISTORY = `
  WITH pair AS (
    SELECT who, rule_id FROM unnest($2::text[], $3::text[]) AS pair (who, rule_id)
  ), false_positive AS MATERIALIZED (
    SELECT finding_id FROM finding_states WHERE workspace_id = $1 AND state = 'false_positive'
     ORDER BY updated_at DESC LIMIT ${DISMISSED_READ_MAX}
  ), dismissed AS (
    SELECT ${WHO} AS who, f.rule_id, count(DISTINCT ${UNIT})::int AS dismissed
      FROM false_positive JOIN findings f ON f.workspace_id = $1 AND f.id = finding_id
     WHERE ${RECENT} GROUP BY 1, 2
  )
  SELECT 'rule' AS kind, pair.who AS name, pair.rule_id AS "ruleId", recent.fired,
         coalesce(dismissed.dismissed, 0) AS dismissed, NULL::timestamptz AS at
    FROM pair CROSS JOIN LATERAL (
      SELECT count(DISTINCT unit)::int AS fired FROM (
        SELECT ${UNIT} AS unit FROM findings f
         WHERE f.workspace_id = $1 AND ${WHO} = pair.who AND f.rule_id = pair.rule_id AND ${RECENT}
         ORDER BY f.created_at DESC LIMIT ${HISTORY_FINDINGS_MAX}) AS newest) AS recent
    LEFT JOIN dismissed ON dismissed.who = pair.who AND dismissed.rule_id = pair.rule_id
  UNION ALL
  SELECT 'agent', who, NULL, 0, 0, min(first.at)
    FROM pair CROSS JOIN LATERAL (
      SELECT f.created_at AS at FROM findings f
       WHERE f.workspace_id = $1 AND ${WHO} = pair.who AND f.rule_id = pair.rule_id
       ORDER BY f.created_at LIMIT 1) AS first
   GROUP BY who
  UNION ALL
  SELECT 'tool', name, NULL, 0, 0, (SELECT min(created_at) FROM findings
           WHERE workspace_id = $1 AND tool_name = name)
    FROM unnest($4::text[]) AS tool (name)
  UNION ALL
  SELECT 'user', name, NULL, 0, 0, (SELECT min(created_at) FROM findings
           WHERE workspace_id = $1 AND user_id = name)
    FROM unnest($5::text[]) AS of_user (name)`;

interface HistoryRow extends RuleHistory {
  readonly kind: 'rule' | 'agent' | 'tool' | 'user';
  readonly name: string;
  readonly ruleId: string | null;
  readonly at: Date | null;
}

/** Names hold no NUL: PostgreSQL refuses it. */
const SEPARATOR = '\0';
const keyOf = (...parts: readonly string[]): string => parts.join(SEPARATOR);

function distinct(findings: readonly IncidentFinding[], of: (one: IncidentFinding) => string[]) {
  return [...new Set(findings.flatMap(of))].slice(0, HISTORY_PAIRS_MAX);
}

async function readHistory(
  database: Database,
  workspaceId: number,
  findings: readonly IncidentFinding[],
): Promise<IncidentHistory> {
  const worstFirst = [...findings].sort(
    (a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity),
  );
  const pairs = distinct(worstFirst, (one) => [keyOf(whoOf(one), one.ruleId)]).map((key) =>
    key.split(SEPARATOR),
  );
  const { rows } = await database.query<HistoryRow>(HISTORY, [
    workspaceId,
    pairs.map(([who]) => who),
    pairs.map(([, ruleId]) => ruleId),
    distinct(worstFirst, ({ places }) => places.flatMap(({ tool }) => tool ?? [])),
    distinct(worstFirst, ({ userId }) => (userId === null ? [] : [userId])),
  ]);
  const known = new Map(rows.map((row) => [keyOf(row.kind, row.name, row.ruleId ?? ''), row]));
  return {
    ofRule: (who, ruleId) => known.get(keyOf('rule', who, ruleId)) ?? null,
    firstAt: (kind, name) => known.get(keyOf(kind, name, ''))?.at ?? null,
  };
}

export interface IncidentList {
  readonly incidents: Incident[];
  /** how many to skip for the next page; null at the end */
  readonly next: number | null;
  /** of all pages */
  readonly total: number;
  /** runs with findings stored before were not ranked; null when all were */
  readonly searchedTo: Date | null;
}

/** Lets the event loop do something else. */
const turn = (): Promise<void> => new Promise((resume) => setImmediate(resume));

/** One page of a workspace's incidents, those that deserve a look first on top. */
export async function listIncidents(
  database: Database,
  workspaceId: number,
  filter: FindingFilter,
  skip: number,
  limit: number,
): Promise<IncidentList> {
  const { findings, until } = await readCandidates(database, workspaceId, filter);
  await turn();
  const history = await readHistory(database, workspaceId, findings);
  await turn();
  const pieces = rankInPieces(findings, history);
  let piece = pieces.next();
  for (; piece.done !== true; piece = pieces.next()) await turn();
  const ranked = piece.value;
  const isWhole = until === null && filter.runId !== undefined;
  return {
    incidents: ranked.slice(skip, skip + limit),
    next: ranked.length > skip + limit ? skip + limit : null,
    total: ranked.length,
    searchedTo: until ?? (isWhole ? null : await searchedTo(database, workspaceId, filter)),
  };
}

/** The incident of a run, by itself; null if it has no findings, or exceptions cover them all. */
export async function incidentOfRun(
  database: Database,
  workspaceId: number,
  runId: Hex16,
): Promise<Incident | null> {
  const filter: FindingFilter = { runId, isExcepted: false };
  const { incidents } = await listIncidents(database, workspaceId, filter, 0, 1);
  return incidents[0] ?? null;
}
