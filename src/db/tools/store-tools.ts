/**
 * Stores the definitions of tools that evaluated runs send: each distinct one once per workspace, and the list of a
 * run's definitions once, named by the run. Runs mostly have a list that was stored before, so a process remembers
 * lists for a while, and then writes nothing but the id in the run's row.
 *
 * A definition is a change if the tool never had its description before, or never its schema. A part that is not
 * sent is no change.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Hex16, Int64 } from '../../model/json.ts';
import {
  type RunTools,
  TOOL_DEFINITIONS_MAX,
  TOOL_LISTS_MAX,
  TOOL_VERSIONS_MAX,
  type ToolDefinition,
} from '../../model/shown/tools.ts';
import { QUEUE_TOOL_CHANGES } from '../alerts/outbox.ts';
import { poolOf } from '../connection-turns.ts';
import { type Connection, type Database, onlyRow } from '../database.ts';

/** The list of a run's definitions, as its agent has them. */
export interface ToolList {
  readonly id: Int64;
  readonly agent: string;
  readonly definitions: readonly IdentifiedDefinition[];
  readonly leftOut: number;
}

interface IdentifiedDefinition extends ToolDefinition {
  readonly id: Hex16;
  readonly toolId: Hex16;
}

const digestOf = (value: unknown): Buffer =>
  createHash('sha256').update(JSON.stringify(value)).digest();
const idOf = (value: unknown): Hex16 => digestOf(value).toString('hex', 0, 16);

/** Definitions are the same objects from run to run (`run-tools.ts`), mostly of one agent. */
const IDENTIFIED = new WeakMap<ToolDefinition, { agent: string; one: IdentifiedDefinition }>();

function identified(definition: ToolDefinition, agent: string): IdentifiedDefinition {
  const before = IDENTIFIED.get(definition);
  if (before?.agent === agent) return before.one;
  const { server, name, descriptionHash, schemaHash } = definition;
  const toolId = idOf([agent, server, name]);
  const one = { ...definition, toolId, id: idOf([toolId, descriptionHash, schemaHash]) };
  IDENTIFIED.set(definition, { agent, one });
  return one;
}

/** @returns null for a run without definitions */
export function toolListOf({ definitions, leftOut }: RunTools, agent: string): ToolList | null {
  if (definitions.length === 0 && leftOut === 0) return null;
  const all = definitions.map((one) => identified(one, agent));
  const ids = all.map(({ id }) => id).sort();
  const id = String(digestOf([agent, leftOut, ...ids]).readBigInt64BE());
  return { id, agent, definitions: all, leftOut };
}

export interface RunWithTools {
  readonly workspaceId: number;
  readonly runId: Hex16;
  readonly list: ToolList;
}

const keyOf = ({ workspaceId, list: { id } }: Omit<RunWithTools, 'runId'>) =>
  `${workspaceId} ${id}`;

/** After that time a list is stored once more, so that it and its definitions count as seen. */
export const LIST_KNOWN_MS = 10 * 60_000;
export const KNOWN_LISTS_MAX = 10_000;

class KnownToolLists {
  readonly #known = new LRUCache<string, true>({ max: KNOWN_LISTS_MAX, ttl: LIST_KNOWN_MS });

  /** Returns one run for each list that must be stored. */
  unknown(runs: readonly RunWithTools[]): RunWithTools[] {
    const lists = new Map(runs.map((run) => [keyOf(run), run]));
    return [...lists].filter(([key]) => !this.#known.has(key)).map(([, run]) => run);
  }

  /** To be called after the COMMIT. */
  add(runs: readonly RunWithTools[]): void {
    for (const run of runs) this.#known.set(keyOf(run), true);
  }
}

const KNOWN_LISTS = new WeakMap<object, KnownToolLists>();

/** The lists that this thread has stored in a database. */
export function knownToolLists(database: Database): KnownToolLists {
  const pool = poolOf(database);
  const known = KNOWN_LISTS.get(pool) ?? new KnownToolLists();
  KNOWN_LISTS.set(pool, known);
  return known;
}

const LOCK_CLASS = 0x7001;

interface KnownRow {
  readonly id: Hex16;
  readonly toolId: Hex16;
  readonly version: number;
  readonly descriptionHash: Hex16 | null;
  readonly schemaHash: Hex16 | null;
}

const KNOWN = `
  SELECT id, tool_id AS "toolId", version, description_hash AS "descriptionHash", schema_hash AS "schemaHash"
    FROM tool_definitions WHERE workspace_id = $1 AND tool_id = ANY ($2::uuid[])`;

const SENT = `
  SELECT sent.* FROM json_to_recordset($2) AS sent (
    id uuid, "toolId" uuid, "runId" uuid, version int, "isChange" boolean, "descriptionHash" uuid, "schemaHash" uuid,
    "descriptionChars" int, "schemaChars" int, agent text, server text, name text, description text, schema text)`;
/** Texts are kept unless the workspace redacts. */
const KEEPS = '(SELECT NOT redact_excerpts FROM workspaces WHERE id = $1)';

const INSERT = `
  INSERT INTO tool_definitions (workspace_id, id, tool_id, first_run_id, version, is_change, description_hash,
    schema_hash, description_chars, schema_chars, agent, server, name, description, schema)
  SELECT $1, id, "toolId", "runId", version, "isChange", "descriptionHash", "schemaHash", "descriptionChars",
         "schemaChars", agent, CASE WHEN keeps THEN server END, CASE WHEN keeps THEN name END,
         CASE WHEN keeps THEN description END, CASE WHEN keeps THEN schema END
    FROM (${SENT}) AS sent CROSS JOIN (SELECT ${KEEPS} AS keeps) AS workspace
  ON CONFLICT (workspace_id, id) DO NOTHING`;

/** Also restores texts that redaction removed, once it is off. */
const TOUCH = `
  UPDATE tool_definitions AS d
     SET last_seen_at = now(), server = CASE WHEN keeps THEN sent.server END,
         name = CASE WHEN keeps THEN sent.name END, description = CASE WHEN keeps THEN sent.description END,
         schema = CASE WHEN keeps THEN sent.schema END
    FROM (${SENT}) AS sent CROSS JOIN (SELECT ${KEEPS} AS keeps) AS workspace
   WHERE d.workspace_id = $1 AND d.id = sent.id`;

const REMOVE_OLD_VERSIONS = `
  DELETE FROM tool_definitions AS d
   USING (SELECT tool_id, max(version) AS newest FROM tool_definitions
           WHERE workspace_id = $1 AND tool_id = ANY ($2::uuid[]) GROUP BY tool_id) AS tool
   WHERE d.workspace_id = $1 AND d.tool_id = tool.tool_id
     AND d.version <= tool.newest - ${TOOL_VERSIONS_MAX}`;

const STORE_LIST = `
  INSERT INTO tool_lists (workspace_id, id, left_out, definitions) VALUES ($1, $2, $3, $4::uuid[])
  ON CONFLICT (workspace_id, id) DO UPDATE SET last_seen_at = now(), left_out = EXCLUDED.left_out`;

const REMOVE_OLD_LISTS = `
  DELETE FROM tool_lists WHERE workspace_id = $1 AND id IN (
    SELECT id FROM tool_lists WHERE workspace_id = $1 ORDER BY last_seen_at DESC, id OFFSET ${TOOL_LISTS_MAX})`;

/**
 * Stores lists with their definitions; the caller is in the transaction that completes the runs, and holds no lock
 * that another process takes after this one's. The lock of a workspace orders the versions of a tool.
 *
 * @returns definitions that were not kept, because the workspace has too many
 */
export async function storeTools(
  connection: Connection,
  runs: readonly RunWithTools[],
): Promise<number> {
  let refused = 0;
  const workspaceIds = [...new Set(runs.map(({ workspaceId }) => workspaceId))];
  for (const workspaceId of workspaceIds.sort((a, b) => a - b)) {
    await connection.query('SELECT pg_advisory_xact_lock($1, $2)', [LOCK_CLASS, workspaceId]);
    for (const run of runs) {
      if (run.workspaceId === workspaceId) refused += await storeList(connection, run);
    }
    await connection.query(REMOVE_OLD_LISTS, [workspaceId]);
  }
  return refused;
}

async function storeList(
  connection: Connection,
  { workspaceId, runId, list }: RunWithTools,
): Promise<number> {
  const { id, agent, definitions, leftOut } = list;
  const toolIds = [...new Set(definitions.map(({ toolId }) => toolId))];
  const { rows } = await connection.query<KnownRow>(KNOWN, [workspaceId, toolIds]);
  const known = new Set(rows.map((row) => row.id));
  const [before, unknown] = [
    definitions.filter((one) => known.has(one.id)),
    definitions.filter((one) => !known.has(one.id)),
  ];
  const kept = unknown.slice(0, unknown.length === 0 ? 0 : await room(connection, workspaceId));
  if (kept.length > 0) {
    const sent = versioned(kept, rows).map((one) => ({ ...one, agent, runId }));
    await connection.query(INSERT, [workspaceId, JSON.stringify(sent)]);
    await connection.query(REMOVE_OLD_VERSIONS, [workspaceId, toolIds]);
    const changes = sent.filter(({ isChange }) => isChange).map((one) => one.id);
    if (changes.length > 0) await connection.query(QUEUE_TOOL_CHANGES, [workspaceId, changes]);
  }
  if (before.length > 0) await connection.query(TOUCH, [workspaceId, JSON.stringify(before)]);
  const refused = unknown.length - kept.length;
  const ids = [...before, ...kept].map((one) => one.id);
  await connection.query(STORE_LIST, [workspaceId, id, leftOut + refused, ids]);
  return refused;
}

async function room(connection: Connection, workspaceId: number): Promise<number> {
  const { stored } = onlyRow(
    await connection.query<{ stored: number }>(
      'SELECT count(*)::int AS stored FROM tool_definitions WHERE workspace_id = $1',
      [workspaceId],
    ),
  );
  return Math.max(0, TOOL_DEFINITIONS_MAX - stored);
}

function versioned(definitions: readonly IdentifiedDefinition[], stored: readonly KnownRow[]) {
  const all = [...stored];
  return definitions.map((one) => {
    const others = all.filter(({ toolId }) => toolId === one.toolId);
    const version = Math.max(0, ...others.map((other) => other.version)) + 1;
    all.push({ ...one, version });
    return { ...one, version, isChange: isChangeOf(one, others) };
  });
}

type Hashes = Pick<KnownRow, 'descriptionHash' | 'schemaHash'>;

/** Checks whether one of its parts is known of other versions, and differs in all of them. */
function isChangeOf(one: Hashes, others: readonly Hashes[]): boolean {
  return (['descriptionHash', 'schemaHash'] as const).some((part) => {
    const known = others.map((other) => other[part]).filter((hash) => hash !== null);
    return one[part] !== null && known.length > 0 && !known.includes(one[part]);
  });
}
