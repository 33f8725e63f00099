/** Incidents: runs that deserve a look, with the chain of their matches and the reasons of their rank. */
import type { Hex16, Int64 } from '../json.ts';
import type { Category, Severity } from '../rules.ts';
import type { Surface } from '../steps.ts';
import type { FindingState } from '../triage.ts';

/** Most links of a chain that are kept; the first injection and the act that follows it are among them. */
export const CHAIN_LINKS_MAX = 12;
/** Matches of a finding, the first ones, that a chain is made of. */
export const CHAIN_PLACES_MAX = 8;
/** Newest runs with findings of a filter that are ranked. */
export const INCIDENT_RUNS_MAX = 1000;
/** Pairs of agent and rule whose history is read, those of the most severe findings first. */
export const HISTORY_PAIRS_MAX = 500;
/** Newest findings of a rule for an agent that are counted. */
export const HISTORY_FINDINGS_MAX = 50;
export const HISTORY_DAYS = 30;

/** Where in its run a finding matched, as a chain needs it. */
export interface IncidentPlace {
  readonly step: number;
  /** when its text was written, as far as the spans say */
  readonly atUnixNano: Int64;
  /** index of the text among the texts of the step */
  readonly text: number;
  readonly surface: Surface;
  /** null if it is unknown or redacted */
  readonly tool: string | null;
  /** keyed digest of the matched text; null for a place that represents others */
  readonly digest: string | null;
}

export interface IncidentFinding {
  readonly id: Hex16;
  readonly runId: Hex16;
  readonly createdAt: Date;
  readonly ruleId: string;
  readonly severity: Severity;
  readonly category: Category;
  readonly agentName: string | null;
  readonly serviceName: string | null;
  readonly userId: string | null;
  readonly sessionId: string | null;
  readonly state: FindingState;
  /** the first match and the distinct ones after it */
  readonly places: readonly IncidentPlace[];
}

/** How often a rule found something for an agent in the last `HISTORY_DAYS` days. */
export interface RuleHistory {
  /** runs or sessions; `HISTORY_FINDINGS_MAX` stands for that many or more */
  readonly fired: number;
  /** of them, those set to false positive */
  readonly dismissed: number;
}

/** The known past of an incident's agent, tools and user. */
export interface IncidentHistory {
  /** @returns null where it was not read */
  readonly ofRule: (who: string, ruleId: string) => RuleHistory | null;
  /** when the first finding of an agent, tool or user was stored; null where it was not read */
  readonly firstAt: (kind: 'agent' | 'tool' | 'user', name: string) => Date | null;
}

/** Matches on one surface of one step. */
export interface ChainLink {
  readonly runId: Hex16;
  readonly step: number;
  readonly surface: Surface;
  readonly tool: string | null;
  /** the most severe finding with a match here */
  readonly findingId: Hex16;
  readonly ruleId: string;
  readonly severity: Severity;
  readonly category: Category;
  /** number of further rules that matched here */
  readonly moreRules: number;
  /** the part of the link in the attack of the chain; null for other links */
  readonly role: 'injection' | 'act' | null;
}

export const RANK_PARTS = ['severity', 'chain', 'rarity', 'dismissed', 'novelty'] as const;

export interface RankReason {
  readonly part: (typeof RANK_PARTS)[number];
  readonly points: number;
  /** a sentence without customers' text */
  readonly text: string;
}

/** One line of the list of incidents: a run or session, with others that found the same. */
export interface Incident {
  /** the run with the finding that leads */
  readonly runId: Hex16;
  /** the finding that its rank is about */
  readonly findingId: Hex16;
  readonly ruleId: string;
  /** of the most severe finding that is open; of any, if none is */
  readonly severity: Severity;
  readonly agentName: string | null;
  readonly serviceName: string | null;
  readonly userId: string | null;
  readonly sessionId: string | null;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  readonly findings: number;
  readonly rules: number;
  readonly runs: number;
  /** runs or sessions with the same findings of the same agent, this one included */
  readonly repeats: number;
  readonly states: Readonly<Partial<Record<FindingState, number>>>;
  readonly chain: readonly ChainLink[];
  /** links that are not in `chain` */
  readonly moreLinks: number;
  readonly score: number;
  readonly reasons: readonly RankReason[];
}
