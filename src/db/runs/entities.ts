/**
 * Counts the runs of an agent, service, user, session, model, tool or MCP server: the newest runs of a range, as the
 * list of runs reads them. Nothing about entities is stored.
 */
import {
  ENTITY_KIND_NAMES,
  ENTITY_KINDS,
  type EntityFacts,
  type EntityKind,
  type EntityRef,
  MCP_TOOL,
} from '../../model/shown/entities.ts';
import { USAGE_COLUMNS } from '../../model/usage.ts';
import { type Database, onlyRow } from '../database.ts';
import { RUNS_READ_MAX } from './runs.ts';

const NAMES_MAX = 20;
/** Findings of a run, one for a rule; each run is looked up by the index. */
const RUN_FINDINGS_MAX = 500;
const RULES_MAX = 50;

const SERVERS = `(SELECT array_agg(DISTINCT server) FROM unnest(tools) AS tool, substring(tool FROM '${MCP_TOOL}') AS server
                 WHERE server IS NOT NULL)`;

/** The condition of an entity's runs; `$4` is its name. */
function isOf(kind: EntityKind): string {
  const { column } = ENTITY_KINDS[kind];
  if (column !== null) return `${column} = $4`;
  return kind === 'tool' ? '$4 = ANY (tools)' : '$4 = ANY (servers)';
}

function isFoundIn(kind: EntityKind): string {
  if (kind === 'tool') return 'f.tool_name = $4';
  return kind === 'mcp_server' ? `substring(f.tool_name FROM '${MCP_TOOL}') = $4` : 'true';
}

const namesOf = (kind: EntityKind): string => {
  const { column } = ENTITY_KINDS[kind];
  const list = kind === 'tool' ? 'unnest(tools)' : 'unnest(servers)';
  return `'${kind}', coalesce((SELECT json_agg(named) FROM (
      SELECT name, count(*)::int AS runs FROM (SELECT ${column ?? list} AS name FROM own) AS of_run
       WHERE name IS NOT NULL GROUP BY name ORDER BY runs DESC, name LIMIT ${NAMES_MAX}) AS named), '[]')`;
};

const SUMS = `count(*)::int AS runs, (count(*) FILTER (WHERE state = 'failed'))::int AS errors,
         ${USAGE_COLUMNS.map(([field, column]) => `sum(${column})::float8 AS "${field}"`).join(', ')}`;
const MS = '(end_unix_nano - start_unix_nano) / 1000000.0';
const HAS_ENDED = `state IN ('completed', 'failed') AND end_unix_nano >= start_unix_nano`;
const quantile = (part: number): string =>
  `percentile_cont(${part}) WITHIN GROUP (ORDER BY ${MS}) FILTER (WHERE ${HAS_ENDED})`;

/** @param kind null: all runs; `$2` and `$3` are the range */
const factsOf = (kind: EntityKind | null): string => `
  WITH newest AS MATERIALIZED (
    SELECT r.run_id, first_arrival_at, last_arrival_at, start_unix_nano, end_unix_nano, state, evaluation,
           agent_name, service_name, user_id, session_id, model, ${USAGE_COLUMNS.map(([, column]) => column).join(', ')},
           CASE WHEN NOT redact_excerpts THEN tools END AS tools
      FROM runs r JOIN workspaces w ON w.id = r.workspace_id
     WHERE workspace_id = $1 AND first_arrival_at >= $2 AND first_arrival_at < $3
       ${kind === 'session' ? 'AND session_id = $4' : ''}
     ORDER BY first_arrival_at DESC LIMIT ${RUNS_READ_MAX}
  ), own AS MATERIALIZED (
    SELECT * FROM (SELECT *, ${SERVERS} AS servers FROM newest) AS run
     WHERE ${kind === null ? '$4::text IS NULL' : isOf(kind)}
  ), found AS (
    SELECT f.rule_id AS "ruleId", min(f.severity) AS severity, count(*)::int AS findings,
           (count(*) FILTER (WHERE s.state = 'false_positive'))::int AS dismissed, max(f.created_at) AS "lastAt"
      FROM own CROSS JOIN LATERAL (
             SELECT * FROM findings WHERE workspace_id = $1 AND run_id = own.run_id LIMIT ${RUN_FINDINGS_MAX}) AS f
      LEFT JOIN finding_states s ON s.workspace_id = $1 AND s.finding_id = f.id
     WHERE ${kind === null ? 'false' : isFoundIn(kind)}
     GROUP BY f.rule_id ORDER BY findings DESC, f.rule_id LIMIT ${RULES_MAX}
  )
  SELECT ${SUMS}, (count(*) FILTER (WHERE evaluation <> 'evaluated'))::int AS "notEvaluated",
         ${quantile(0.5)} AS p50, ${quantile(0.95)} AS p95,
         min(first_arrival_at) AS "firstSeen", max(last_arrival_at) AS "lastSeen",
         coalesce((SELECT json_agg(day_of ORDER BY day) FROM (
           SELECT to_char(first_arrival_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, ${SUMS}
             FROM own GROUP BY 1) AS day_of), '[]') AS days,
         json_build_object(${ENTITY_KIND_NAMES.map(namesOf).join(', ')}) AS names,
         coalesce((SELECT json_agg(found) FROM found), '[]') AS rules,
         (SELECT CASE WHEN count(*) = ${RUNS_READ_MAX} THEN min(first_arrival_at) END FROM newest) AS "readTo"
    FROM own`;

const QUERIES = new Map([null, ...ENTITY_KIND_NAMES].map((kind) => [kind, factsOf(kind)]));

type Row = Omit<EntityFacts, 'rules'> & {
  readonly rules: readonly (Omit<EntityFacts['rules'][number], 'lastAt'> & {
    readonly lastAt: string;
  })[];
};

/** @param entity null: all runs of the workspace, without findings */
export async function readEntity(
  database: Database,
  workspaceId: number,
  entity: EntityRef | null,
  since: Date,
  until: Date,
): Promise<EntityFacts> {
  const text = QUERIES.get(entity?.kind ?? null) ?? '';
  const values = [workspaceId, since, until, entity?.name ?? null];
  const { rules, ...row } = onlyRow(await database.query<Row>(text, values));
  return { ...row, rules: rules.map((rule) => ({ ...rule, lastAt: new Date(rule.lastAt) })) };
}
