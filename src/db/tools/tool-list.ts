/** Reads the inventory of tools: what is listed of each tool, and the versions of one. */
import type { Hex16 } from '../../model/json.ts';
import {
  type ListedTool,
  TOOL_DEFINITIONS_MAX,
  type ToolChange,
  type ToolFilter,
  type ToolInventory,
  type ToolPage,
  type ToolVersion,
} from '../../model/shown/tools.ts';
import { type Database, onlyRow } from '../database.ts';

/** Runs of a version that are counted. */
const RUNS_COUNTED_MAX = 10_000;
/** Runs of a version that are named, the newest. */
const RUNS_NAMED = 5;

/** Text that readers get unless the workspace redacts. */
const shown = (column: string): string =>
  `CASE WHEN NOT w.redact_excerpts THEN d.${column} END AS ${column}`;

const TOOLS = `
  SELECT d.tool_id AS id, d.agent, (array_agg(d.server ORDER BY d.version DESC))[1] AS server,
         (array_agg(d.name ORDER BY d.version DESC))[1] AS name, max(d.version) AS version,
         count(*)::int AS versions, min(d.first_seen_at) AS "firstSeenAt", max(d.last_seen_at) AS "lastSeenAt",
         (count(*) FILTER (WHERE d.is_change AND d.acknowledged_at IS NULL))::int AS changes,
         max(d.first_seen_at) FILTER (WHERE d.is_change) AS "changedAt"
    FROM (SELECT d.tool_id, d.agent, d.version, d.first_seen_at, d.last_seen_at, d.is_change, d.acknowledged_at,
                 ${shown('server')}, ${shown('name')}
            FROM tool_definitions d JOIN workspaces w ON w.id = d.workspace_id
           WHERE d.workspace_id = $1) AS d
   GROUP BY d.tool_id, d.agent`;

/** @param skip tools before the page */
export async function listTools(
  database: Database,
  workspaceId: number,
  { agent, server, name, changed }: ToolFilter,
  skip: number,
  limit: number,
): Promise<ToolInventory> {
  const { rows } = await database.query<ListedTool>(
    `SELECT * FROM (${TOOLS}) AS tool
      WHERE ($2::text IS NULL OR agent = $2) AND ($3::text IS NULL OR server = $3)
        AND ($4::text IS NULL OR name = $4) AND (NOT $5 OR changes > 0)
      ORDER BY CASE WHEN $5 THEN "changedAt" END DESC, agent, server, name, id OFFSET $6 LIMIT $7`,
    [workspaceId, agent ?? null, server ?? null, name ?? null, changed === true, skip, limit + 1],
  );
  const kept = onlyRow(
    await database.query<{ definitions: number; leftOut: number | null }>(
      `SELECT (SELECT count(*)::int FROM tool_definitions WHERE workspace_id = $1) AS definitions,
              (SELECT max(left_out) FROM tool_lists WHERE workspace_id = $1) AS "leftOut"`,
      [workspaceId],
    ),
  );
  return {
    tools: rows.slice(0, limit),
    next: rows.length > limit ? skip + limit : null,
    isFull: kept.definitions >= TOOL_DEFINITIONS_MAX,
    leftOut: kept.leftOut ?? 0,
  };
}

const VERSIONS = `
  WITH own AS (
    SELECT * FROM tool_definitions WHERE workspace_id = $1 AND tool_id = $2
  ), lists AS (
    SELECT own.id, array_agg(l.id) AS ids
      FROM tool_lists l CROSS JOIN LATERAL unnest(l.definitions) AS definition (id) JOIN own ON own.id = definition.id
     WHERE l.workspace_id = $1 GROUP BY own.id
  )
  SELECT d.id, d.tool_id AS "toolId", d.agent, ${shown('server')}, ${shown('name')}, d.version,
         d.is_change AS "isChange", d.first_seen_at AS "firstSeenAt", d.last_seen_at AS "lastSeenAt",
         d.first_run_id AS "firstRunId", d.acknowledged_at AS "acknowledgedAt", d.acknowledged_by AS "acknowledgedBy",
         d.description_chars AS "descriptionChars", d.schema_chars AS "schemaChars",
         d.description_hash AS "descriptionHash", d.schema_hash AS "schemaHash",
         ${shown('description')}, ${shown('schema')}, w.redact_excerpts AS "isRedacted",
         used.runs, coalesce(used.newest, '{}') AS "newestRuns"
    FROM own d JOIN workspaces w ON w.id = d.workspace_id LEFT JOIN lists ON lists.id = d.id
   CROSS JOIN LATERAL (
     SELECT count(*)::int AS runs, (array_agg(run_id::text ORDER BY first_arrival_at DESC))[1:${RUNS_NAMED}] AS newest
       FROM (SELECT run_id, first_arrival_at FROM runs
              WHERE workspace_id = $1 AND tool_list_id = ANY (lists.ids) LIMIT ${RUNS_COUNTED_MAX + 1}) AS r) AS used
   ORDER BY d.version DESC`;

type VersionRow = Omit<ToolVersion, 'isExact'> & ToolPage['tool'];

/** @returns null for an unknown tool; its versions, the newest first */
export async function findTool(
  database: Database,
  workspaceId: number,
  toolId: Hex16,
): Promise<ToolPage | null> {
  const { rows } = await database.query<VersionRow>(VERSIONS, [workspaceId, toolId]);
  const [newest] = rows;
  if (newest === undefined) return null;
  const { agent, server, name, isRedacted } = newest;
  return {
    tool: { id: toolId, agent, server, name, isRedacted },
    versions: rows.map((row) => ({
      ...row,
      runs: Math.min(row.runs, RUNS_COUNTED_MAX),
      isExact: row.runs <= RUNS_COUNTED_MAX,
      newestRuns: row.newestRuns.map((id) => id.replaceAll('-', '')),
    })),
  };
}

/** A change that nobody has marked as seen; null once somebody has, or when it is gone. */
export async function findToolChange(
  database: Database,
  workspaceId: number,
  definitionId: Hex16,
): Promise<ToolChange | null> {
  const { rows } = await database.query<ToolChange>(
    `SELECT d.tool_id AS id, d.agent, ${shown('server')}, ${shown('name')}, d.version,
            d.first_seen_at AS "firstSeenAt", d.first_run_id AS "firstRunId",
            (before.description_hash <> d.description_hash) IS TRUE AS description,
            (before.schema_hash <> d.schema_hash) IS TRUE AS schema
       FROM tool_definitions d JOIN workspaces w ON w.id = d.workspace_id
       LEFT JOIN tool_definitions before ON before.workspace_id = d.workspace_id AND before.tool_id = d.tool_id
        AND before.version = d.version - 1
      WHERE d.workspace_id = $1 AND d.id = $2 AND d.is_change AND d.acknowledged_at IS NULL`,
    [workspaceId, definitionId],
  );
  return rows[0] ?? null;
}
