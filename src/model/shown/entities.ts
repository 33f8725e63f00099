/** Entities: what runs name, each with a page. Plain data. */
import type { Severity } from '../rules.ts';
import { RUN_NAMES } from '../runs.ts';
import type { Usage } from '../usage.ts';

const { agentName, serviceName, userId, sessionId, model } = RUN_NAMES;

/** Kinds of entities. A run names tools; the names of some tell their MCP server. */
export const ENTITY_KINDS = {
  agent: { label: agentName.label, column: agentName.column, filter: agentName.name },
  service: { label: serviceName.label, column: serviceName.column, filter: serviceName.name },
  user: { label: userId.label, column: userId.column, filter: userId.name },
  session: { label: sessionId.label, column: sessionId.column, filter: sessionId.name },
  model: { label: model.label, column: model.column, filter: model.name },
  tool: { label: 'Tool', column: null, filter: null },
  mcp_server: { label: 'MCP server', column: null, filter: null },
} as const;
export type EntityKind = keyof typeof ENTITY_KINDS;
export const ENTITY_KIND_NAMES = Object.keys(ENTITY_KINDS) as EntityKind[];

export interface EntityRef {
  readonly kind: EntityKind;
  readonly name: string;
}

export const entityPath = (kind: EntityKind, name: string): string =>
  `/app/entities?kind=${kind}&name=${encodeURIComponent(name)}`;

export interface EntityDay extends Usage {
  /** UTC, as `2026-11-20` */
  readonly day: string;
  readonly runs: number;
  readonly errors: number;
}

export interface NamedRuns {
  readonly name: string;
  readonly runs: number;
}

export interface EntityRule {
  readonly ruleId: string;
  readonly severity: Severity;
  readonly findings: number;
  /** set to false positive */
  readonly dismissed: number;
  readonly lastAt: Date;
}

/** The runs of an entity in a range, counted. Tokens and cost are null where no sender reports them. */
export interface EntityFacts extends Usage {
  readonly runs: number;
  readonly errors: number;
  readonly notEvaluated: number;
  /** milliseconds; null without a run that has ended */
  readonly p50: number | null;
  readonly p95: number | null;
  readonly firstSeen: Date | null;
  readonly lastSeen: Date | null;
  /** days with runs, the oldest first */
  readonly days: readonly EntityDay[];
  /** by kind the names that its runs have, the most frequent first */
  readonly names: Readonly<Record<EntityKind, readonly NamedRuns[]>>;
  /** of its runs; of a tool or server those in its calls. The most frequent first */
  readonly rules: readonly EntityRule[];
  /** runs that arrived before were not read; null when all of the range were */
  readonly readTo: Date | null;
}

/** MCP server of a tool, as coding agents name both in one: `mcp__<server>__<tool>`. */
export const MCP_TOOL = '^mcp__(.+?)__';
