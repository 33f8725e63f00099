/** Definitions of tools, as agents send them to their model or MCP servers list them. Plain data. */
import type { Hex16 } from '../json.ts';

/** One definition of a tool, as its hash knows it. Texts are cut; the hashes are over all of them. */
export interface ToolDefinition {
  readonly name: string;
  /** the MCP server; empty where the sender does not say it */
  readonly server: string;
  /** null: the sender does not send it; empty: the tool has none */
  readonly description: string | null;
  /** JSON with sorted keys; null: the sender does not send it */
  readonly schema: string | null;
  /** of the whole texts, before they were cut */
  readonly descriptionChars: number;
  readonly schemaChars: number;
  readonly descriptionHash: Hex16 | null;
  readonly schemaHash: Hex16 | null;
  /** server, name and hashes: equal for equal definitions */
  readonly key: string;
}

/** The definitions that the steps of a run send. */
export interface RunTools {
  readonly definitions: readonly ToolDefinition[];
  /** definitions or lists that were not read: past a limit, or cut by their sender */
  readonly leftOut: number;
}

/** Definitions of one run that are kept. */
export const RUN_DEFINITIONS_MAX = 500;
/** Definitions of a workspace that are kept. */
export const TOOL_DEFINITIONS_MAX = 5000;
/** Versions of one tool that are kept, the newest. */
export const TOOL_VERSIONS_MAX = 20;
/** Lists of tools of a workspace whose runs are counted, those seen last. */
export const TOOL_LISTS_MAX = 1000;
/** Characters that are kept of a name, of a description and of a schema. */
export const TOOL_NAME_CHARS_MAX = 256;
export const DESCRIPTION_CHARS_MAX = 16_384;
export const SCHEMA_CHARS_MAX = 32_768;

/** A tool of the inventory. Names are null where the workspace redacts. */
export interface ListedTool {
  /** of agent, server and name */
  readonly id: Hex16;
  /** or else the service */
  readonly agent: string;
  readonly server: string | null;
  readonly name: string | null;
  /** number of its newest version, from 1; older ones may be forgotten */
  readonly version: number;
  /** versions that are kept */
  readonly versions: number;
  readonly firstSeenAt: Date;
  /** to within ten minutes */
  readonly lastSeenAt: Date;
  /** changes that nobody has marked as seen */
  readonly changes: number;
  /** when the last change was first seen; null if it never changed */
  readonly changedAt: Date | null;
}

/** Exact names; `changed`: with a change that nobody has marked as seen, the latest first. */
export interface ToolFilter {
  readonly agent?: string | undefined;
  readonly server?: string | undefined;
  readonly name?: string | undefined;
  readonly changed?: boolean | undefined;
}

export interface ToolInventory {
  readonly tools: readonly ListedTool[];
  /** tools before the next page; null on the last one */
  readonly next: number | null;
  /** new definitions are not kept */
  readonly isFull: boolean;
  /** most definitions that one run sent and that were not kept or read */
  readonly leftOut: number;
}

/** A version of a tool. Texts are null where the sender does not send them, and where the workspace redacts. */
export interface ToolVersion
  extends Pick<
    ToolDefinition,
    'description' | 'schema' | 'descriptionChars' | 'schemaChars' | 'descriptionHash' | 'schemaHash'
  > {
  readonly id: Hex16;
  readonly version: number;
  readonly isChange: boolean;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  readonly firstRunId: Hex16;
  readonly acknowledgedAt: Date | null;
  readonly acknowledgedBy: string | null;
  /** stored runs that sent it */
  readonly runs: number;
  /** false: there are more runs than were counted */
  readonly isExact: boolean;
  readonly newestRuns: readonly Hex16[];
}

export interface ToolPage {
  readonly tool: Pick<ListedTool, 'id' | 'agent' | 'server' | 'name'> & {
    readonly isRedacted: boolean;
  };
  /** the newest first */
  readonly versions: readonly ToolVersion[];
}

/** A change as an alert names it: never a text of the definition. */
export interface ToolChange
  extends Pick<ListedTool, 'id' | 'agent' | 'server' | 'name' | 'version'> {
  readonly firstSeenAt: Date;
  readonly firstRunId: Hex16;
  /** the parts that differ from the version before */
  readonly description: boolean;
  readonly schema: boolean;
}

export const toolLabel = ({ name, id }: Pick<ListedTool, 'name' | 'id'>): string =>
  name ?? `tool ${id.slice(0, 8)}`;

export const toolPath = (toolId: Hex16): string => `/app/tools/${toolId}`;
