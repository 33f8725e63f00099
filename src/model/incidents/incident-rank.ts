/** Makes incidents of findings and ranks them. Each part of a rank is a sentence. */

import { groupBy } from '../groups.ts';
import { SEVERITIES, type Severity } from '../rules.ts';
import { surfaceLabel } from '../steps.ts';
import { type FindingState, OPEN_STATES } from '../triage.ts';
import { chainOf } from './incident-chain.ts';
import {
  type ChainLink,
  HISTORY_DAYS,
  HISTORY_FINDINGS_MAX,
  type Incident,
  type IncidentFinding,
  type IncidentHistory,
  type RankReason,
} from './incidents.ts';

const SEVERITY_POINTS: Readonly<Record<Severity, number>> = {
  critical: 40,
  high: 25,
  medium: 10,
  low: 4,
  informational: 1,
};
/** For an injection in a tool's result that an act follows which fits it; users' own messages are less certain. */
const CHAIN_POINTS = { tool_result: 40, step_input: 20 } as const;
/** Points by how many runs or sessions of an agent a rule fired in: up to so many. */
const RARITY_POINTS = [
  { most: 1, points: 10 },
  { most: 5, points: 5 },
  { most: 20, points: 0 },
  { most: HISTORY_FINDINGS_MAX - 1, points: -10 },
] as const;
const COMMON_POINTS = -20;
const DISMISSED_POINTS = { some: -5, mostly: -20 } as const;
/** From so many dismissals on, a rule can count as mostly dismissed. */
const MOSTLY_DISMISSED_MIN = 2;
const NOVELTY_POINTS = 5;
const NOVELTY_POINTS_MAX = 10;

/** Names the owner of findings, for comparisons: the agent, else the service. */
export const whoOf = ({
  agentName,
  serviceName,
}: Pick<IncidentFinding, 'agentName' | 'serviceName'>): string => agentName ?? serviceName ?? '';

type Findings = readonly [IncidentFinding, ...IncidentFinding[]];

/** Runs and sessions: a session's runs are one, because later ones send the earlier messages again. */
function unitsOf(findings: readonly IncidentFinding[]): Iterable<Findings> {
  return groupBy(findings, ({ sessionId, runId }) =>
    sessionId === null ? `run ${runId}` : `session ${sessionId}`,
  ).values();
}

/** Equal for runs of one agent in which the same rules matched the same texts. */
function signatureOf(findings: Findings): string {
  const texts = findings.flatMap(({ ruleId, places }) =>
    places.map(({ digest }) => `${ruleId} ${digest ?? 'more'}`),
  );
  return [whoOf(findings[0]), ...[...new Set(texts)].sort()].join('\n');
}

const timeOf = (findings: Findings, pick: (...times: number[]) => number): number =>
  pick(...findings.map(({ createdAt }) => createdAt.getTime()));
const lastOf = (findings: Findings): number => timeOf(findings, Math.max);

const PIECE_INCIDENTS = 50;

/**
 * The incidents of findings, those that deserve a look first on top. The thread that takes requests may do something
 * else at each yield.
 */
export function* rankInPieces(
  findings: readonly IncidentFinding[],
  history: IncidentHistory,
): Generator<void, Incident[], void> {
  const weigh = weigher(history);
  const incidents: Incident[] = [];
  for (const units of groupBy(unitsOf(findings), signatureOf).values()) {
    incidents.push(toIncident(units, history, weigh));
    if (incidents.length % PIECE_INCIDENTS === 0) yield;
  }
  return incidents.sort(
    (a, b) =>
      b.score - a.score ||
      b.lastSeenAt.getTime() - a.lastSeenAt.getTime() ||
      (a.runId < b.runId ? -1 : 1),
  );
}

function toIncident(
  units: readonly [Findings, ...Findings[]],
  history: IncidentHistory,
  weigh: ReturnType<typeof weigher>,
): Incident {
  const newest = units.reduce((one, other) => (lastOf(other) > lastOf(one) ? other : one));
  const all = units.flat();
  const open = newest.filter(({ state }) => OPEN_STATES.includes(state));
  const [first, ...others] = open.length > 0 ? open : newest;
  if (first === undefined) throw new RangeError('an incident without findings');
  const lead = others.reduce(
    (best, finding) => (weigh(finding).points > weigh(best).points ? finding : best),
    first,
  );
  const chain = chainOf(newest);
  const firstSeenAt = new Date(Math.min(...units.map((unit) => timeOf(unit, Math.min))));
  const parts = [
    ...weigh(lead).reasons,
    ...chainReason(chain.links),
    ...noveltyReason(newest, firstSeenAt, history),
  ];
  return {
    runId: lead.runId,
    findingId: lead.id,
    ruleId: lead.ruleId,
    severity: worstOf([first, ...others]),
    agentName: lead.agentName,
    serviceName: lead.serviceName,
    userId: lead.userId,
    sessionId: lead.sessionId,
    firstSeenAt,
    lastSeenAt: new Date(lastOf(newest)),
    findings: all.length,
    rules: new Set(all.map(({ ruleId }) => ruleId)).size,
    runs: new Set(all.map(({ runId }) => runId)).size,
    repeats: units.length,
    states: statesOf(all),
    chain: chain.links,
    moreLinks: chain.moreLinks,
    score: pointsOf(parts),
    reasons: parts,
  };
}

function worstOf(findings: readonly IncidentFinding[]): Severity {
  const found = new Set(findings.map(({ severity }) => severity));
  return SEVERITIES.find((severity) => found.has(severity)) ?? 'informational';
}

function statesOf(findings: readonly IncidentFinding[]): Partial<Record<FindingState, number>> {
  const states: Partial<Record<FindingState, number>> = {};
  for (const { state } of findings) states[state] = (states[state] ?? 0) + 1;
  return states;
}

const pointsOf = (reasons: readonly RankReason[]): number =>
  reasons.reduce((sum, { points }) => sum + points, 0);

/** Weighs findings; those of one rule and agent weigh the same. */
function weigher(history: IncidentHistory) {
  const known = new Map<string, { readonly reasons: RankReason[]; readonly points: number }>();
  return (finding: IncidentFinding) => {
    const key = `${finding.severity} ${finding.ruleId} ${whoOf(finding)}`;
    let weight = known.get(key);
    if (weight === undefined) {
      const reasons = reasonsOf(finding, history);
      weight = { reasons, points: pointsOf(reasons) };
      known.set(key, weight);
    }
    return weight;
  };
}

/** Weight of a finding by itself: severity, rarity and dismissals. */
function reasonsOf(finding: IncidentFinding, history: IncidentHistory): RankReason[] {
  const { severity, ruleId } = finding;
  const own: RankReason = {
    part: 'severity',
    points: SEVERITY_POINTS[severity],
    text: `${ruleId} is of ${severity} severity.`,
  };
  const known = history.ofRule(whoOf(finding), ruleId);
  if (known === null) return [own];
  return [own, rarityReason(ruleId, known.fired), ...dismissedReason(ruleId, known)];
}

function rarityReason(ruleId: string, fired: number): RankReason {
  const points = RARITY_POINTS.find(({ most }) => fired <= most)?.points ?? COMMON_POINTS;
  const often =
    fired <= 1
      ? 'in no other run or session'
      : fired < HISTORY_FINDINGS_MAX
        ? `in ${fired} runs or sessions`
        : `in ${HISTORY_FINDINGS_MAX} runs or sessions or more`;
  const text = `${ruleId} fired ${often} of this agent in the last ${HISTORY_DAYS} days.`;
  return { part: 'rarity', points, text };
}

function dismissedReason(
  ruleId: string,
  { fired, dismissed }: { readonly fired: number; readonly dismissed: number },
): RankReason[] {
  if (dismissed === 0) return [];
  const isMostly = dismissed >= MOSTLY_DISMISSED_MIN && dismissed * 2 >= fired;
  const often = dismissed === 1 ? 'once' : `${dismissed} times`;
  return [
    {
      part: 'dismissed',
      points: isMostly ? DISMISSED_POINTS.mostly : DISMISSED_POINTS.some,
      text: `People set ${ruleId} to false positive ${often} for this agent in the last ${HISTORY_DAYS} days.`,
    },
  ];
}

const whereOf = ({ surface, step }: ChainLink): string =>
  `${surfaceLabel(surface).toLowerCase()} of step ${step}`;

function chainReason(links: readonly ChainLink[]): RankReason[] {
  const injection = links.find(({ role }) => role === 'injection');
  const act = links.find(({ role }) => role === 'act');
  if (injection === undefined || act === undefined) return [];
  const text =
    `An instruction in the ${whereOf(injection)} was followed by an act that fits it, in the ` +
    `${whereOf(act)}.`;
  const points =
    injection.surface === 'tool_result' ? CHAIN_POINTS.tool_result : CHAIN_POINTS.step_input;
  return [{ part: 'chain', points, text }];
}

function noveltyReason(
  findings: Findings,
  firstSeenAt: Date,
  { firstAt }: IncidentHistory,
): RankReason[] {
  const [{ userId }] = findings;
  const tools = findings.flatMap(({ places }) => places.flatMap(({ tool }) => tool ?? []));
  const names = [
    { kind: 'agent' as const, names: [whoOf(findings[0])].filter((name) => name !== '') },
    { kind: 'tool' as const, names: tools },
    { kind: 'user' as const, names: userId === null ? [] : [userId] },
  ];
  const isFirst = (time: Date | null): boolean => time !== null && time >= firstSeenAt;
  const isNew = names.flatMap(({ kind, names: own }) =>
    own.some((name) => isFirst(firstAt(kind, name))) ? [kind] : [],
  );
  if (isNew.length === 0) return [];
  const points = Math.min(isNew.length * NOVELTY_POINTS, NOVELTY_POINTS_MAX);
  const last = isNew.at(-1) ?? '';
  const rest = isNew.slice(0, -1).join(', this ');
  const what = rest === '' ? `this ${last}` : `this ${rest} and this ${last}`;
  return [{ part: 'novelty', points, text: `It has the first finding of ${what}.` }];
}
