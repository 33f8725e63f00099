/** Builds the chain of an incident: its matches in the order of time, each text once. */

import { compareInt64 } from '../json.ts';
import { type Category, SEVERITIES } from '../rules.ts';
import type { Surface } from '../steps.ts';
import {
  CHAIN_LINKS_MAX,
  type ChainLink,
  type IncidentFinding,
  type IncidentPlace,
} from './incidents.ts';

/** Text from outside: of users, and what tools return. */
const UNTRUSTED: ReadonlySet<Surface> = new Set(['step_input', 'tool_result']);
const CALLS: readonly Surface[] = ['tool_args', 'tool_name', 'query_text'];
const ANSWERS: readonly Surface[] = ['agent_output', 'step_output'];

/** On which surfaces a match of a category is an act of the agent. */
const ACT_SURFACES: Readonly<Partial<Record<Category, readonly Surface[]>>> = {
  'context-exfiltration': [...CALLS, ...ANSWERS],
  'excessive-autonomy': CALLS,
  'privilege-escalation': CALLS,
  'tool-poisoning': CALLS,
  'skill-compromise': CALLS,
  'agent-manipulation': ANSWERS,
  'model-abuse': ANSWERS,
};

const COMMANDS: readonly Category[] = [
  'context-exfiltration',
  'excessive-autonomy',
  'privilege-escalation',
  'tool-poisoning',
  'skill-compromise',
];
const ANY_ACT: readonly Category[] = [...COMMANDS, 'agent-manipulation', 'model-abuse'];
/** Which acts fit an instruction in untrusted text, by the instruction's category. */
const FITTING_ACTS: Readonly<Partial<Record<Category, readonly Category[]>>> = {
  'prompt-injection': ANY_ACT,
  'agent-manipulation': ANY_ACT,
  'data-poisoning': ANY_ACT,
  'context-exfiltration': COMMANDS,
  'excessive-autonomy': COMMANDS,
  'privilege-escalation': COMMANDS,
  'tool-poisoning': COMMANDS,
  'skill-compromise': COMMANDS,
  'model-abuse': ['model-abuse', 'context-exfiltration'],
};

interface Match {
  readonly finding: IncidentFinding;
  readonly place: IncidentPlace;
}

type Group = [Match, ...Match[]];

function compareMatches({ finding: a, place: one }: Match, { finding: b, place: other }: Match) {
  return (
    compareInt64(one.atUnixNano, other.atUnixNano) ||
    // Steps of other runs have other numbers.
    (a.runId === b.runId ? 0 : a.runId < b.runId ? -1 : 1) ||
    one.step - other.step ||
    one.text - other.text
  );
}

const rankOf = ({ severity }: IncidentFinding): number => SEVERITIES.indexOf(severity);

/** Matches in the order of time. A text that repeats one of an earlier match is left out. */
function inOrder(findings: readonly IncidentFinding[]): Match[] {
  const matches = findings
    .flatMap((finding) => finding.places.map((place) => ({ finding, place })))
    .sort(compareMatches);
  const firsts = new Map<string, Match>();
  return matches.filter((match) => {
    const { digest } = match.place;
    if (digest === null) return false;
    const first = firsts.get(digest);
    if (first === undefined) firsts.set(digest, match);
    return first === undefined || isSamePlace(first, match);
  });
}

function isSamePlace({ finding: a, place: one }: Match, { finding: b, place: other }: Match) {
  return (
    a.runId === b.runId &&
    one.step === other.step &&
    one.surface === other.surface &&
    one.tool === other.tool
  );
}

function inGroups(matches: readonly Match[]): Group[] {
  const groups: Group[] = [];
  for (const match of matches) {
    const group = groups.at(-1);
    if (group !== undefined && isSamePlace(group[0], match)) group.push(match);
    else groups.push([match]);
  }
  return groups;
}

/** Notes where the first instruction is that an act of each category fits. */
function noteInjection(group: Group, index: number, injections: Map<Category, number>): void {
  if (!UNTRUSTED.has(group[0].place.surface)) return;
  for (const { finding } of group) {
    for (const act of FITTING_ACTS[finding.category] ?? []) {
      if (!injections.has(act)) injections.set(act, index);
    }
  }
}

/**
 * The first act of the agent that follows an injection in untrusted text and fits it. An act is found by a rule that
 * has not matched before: a rule that matches everything the agent reads and writes shows no attack.
 */
function attackIn(groups: readonly Group[]): { injection: number; act: number } | null {
  const known = new Set<string>();
  /** category of acts → index of the first injection that they fit */
  const injections = new Map<Category, number>();
  for (const [index, group] of groups.entries()) {
    for (const { finding, place } of group) {
      const { ruleId, category } = finding;
      const injection = injections.get(category);
      const isAct = ACT_SURFACES[category]?.includes(place.surface) === true;
      if (injection !== undefined && isAct && !known.has(ruleId)) return { injection, act: index };
    }
    for (const { finding } of group) known.add(finding.ruleId);
    noteInjection(group, index, injections);
  }
  return null;
}

export interface Chain {
  readonly links: readonly ChainLink[];
  readonly moreLinks: number;
}

export function chainOf(findings: readonly IncidentFinding[]): Chain {
  const groups = inGroups(inOrder(findings));
  const attack = attackIn(groups);
  const links = groups.map((group, index): ChainLink => {
    const role = index === attack?.injection ? 'injection' : index === attack?.act ? 'act' : null;
    return toLink(group, role);
  });
  const kept = new Set(
    links
      .map((link, index) => ({ link, index }))
      .sort(
        ({ link: one }, { link: other }) =>
          Number(other.role !== null) - Number(one.role !== null) ||
          SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity),
      )
      .slice(0, CHAIN_LINKS_MAX)
      .map(({ index }) => index),
  );
  const shown = links.filter((_, index) => kept.has(index));
  return { links: shown, moreLinks: links.length - shown.length };
}

function toLink(group: Group, role: ChainLink['role']): ChainLink {
  const [first, ...others] = group;
  const top = others.reduce(
    (worst, { finding }) => (rankOf(finding) < rankOf(worst) ? finding : worst),
    first.finding,
  );
  const rules = new Set(group.map(({ finding }) => finding.ruleId));
  const { step, surface, tool } = first.place;
  return {
    runId: top.runId,
    step,
    surface,
    tool,
    findingId: top.id,
    ruleId: top.ruleId,
    severity: top.severity,
    category: top.category,
    moreRules: rules.size - 1,
    role,
  };
}
