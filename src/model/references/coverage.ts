/**
 * How far the rules of a workspace cover the lists of OWASP and MITRE: for each entry the rules that refer to
 * it, those that are on, and what they found. Pure.
 */
import type { RuleRecord } from '../findings.ts';
import type { RULE_STATUSES, Rule, RuleBook, RuleSettings } from '../rules.ts';
import {
  ATLAS_TACTICS,
  ATLAS_TECHNIQUES,
  type FrameworkEntry,
  OWASP_AGENTIC,
  OWASP_LLM,
} from './reference-frameworks.ts';
import { referenceLists } from './rule-references.ts';

export interface Coverage extends FrameworkEntry {
  /** rules that refer to it, or to a part of it */
  readonly rules: number;
  readonly stable: number;
  readonly experimental: number;
  /** that are on in the workspace */
  readonly on: number;
  /** of these rules, in the last thirty days */
  readonly findings: number;
}

export interface CoverageGroup extends FrameworkEntry {
  readonly entries: readonly Coverage[];
}

export interface FrameworkCoverage {
  /** as in a rule file: `mitre_atlas` */
  readonly kind: string;
  readonly label: string;
  /** one without a name where the framework has no groups */
  readonly groups: readonly CoverageGroup[];
}

/** Techniques are counted with their parts. */
const wholeOf = (id: string): string => id.replace(/\.\d{3}$/, '');

interface Part {
  readonly book: RuleBook;
  readonly settings: RuleSettings;
  readonly records: ReadonlyMap<string, RuleRecord>;
}

/** By the id of an entry, the rules that refer to it. */
function rulesByEntry(rules: readonly Rule[], kind: string): Map<string, Rule[]> {
  const found = new Map<string, Rule[]>();
  for (const rule of rules) {
    const list = referenceLists(rule.references).find((one) => one.kind === kind);
    const ids = list?.references.filter((one) => one.isKnown).map((one) => wholeOf(one.id));
    for (const id of new Set(ids)) {
      found.set(id, [...(found.get(id) ?? []), rule]);
    }
  }
  return found;
}

function coverageOf(
  entry: FrameworkEntry,
  rules: readonly Rule[],
  { book, settings, records }: Part,
): Coverage {
  const ofStatus = (status: (typeof RULE_STATUSES)[number]) =>
    rules.filter((rule) => rule.status === status).length;
  return {
    ...entry,
    rules: rules.length,
    stable: ofStatus('stable'),
    experimental: ofStatus('experimental'),
    on: rules.filter((rule) => book.decide(rule, settings).enabled).length,
    findings: rules.reduce((sum, { id }) => sum + (records.get(id)?.findings ?? 0), 0),
  };
}

interface Framework {
  readonly kind: string;
  readonly label: string;
  readonly groups: readonly (FrameworkEntry & { readonly entries: readonly FrameworkEntry[] })[];
}

const whole = (entries: readonly FrameworkEntry[]) => [{ id: '', name: '', entries }];
const TECHNIQUES = new Map(ATLAS_TECHNIQUES.map((one) => [one.id, one]));
const FRAMEWORKS: readonly Framework[] = [
  { kind: 'owasp_llm', label: 'OWASP Top 10 for LLM Applications', groups: whole(OWASP_LLM) },
  {
    kind: 'owasp_agentic',
    label: 'OWASP Top 10 for Agentic Applications',
    groups: whole(OWASP_AGENTIC),
  },
  {
    kind: 'mitre_atlas',
    label: 'MITRE ATLAS',
    groups: ATLAS_TACTICS.map(({ id, name, techniques }) => ({
      id,
      name,
      entries: techniques.flatMap((one) => TECHNIQUES.get(one) ?? []),
    })),
  },
  // Of its hundreds of techniques, those that rules refer to.
  { kind: 'mitre_attack', label: 'MITRE ATT&CK', groups: [] },
];

/** The name of a technique as the first rule that names it says. */
function nameIn(rules: readonly Rule[], kind: string, id: string): string {
  for (const { references } of rules) {
    const list = referenceLists(references).find((one) => one.kind === kind);
    const name = list?.references.find((one) => one.id === id)?.name;
    if (name) return name;
  }
  return id;
}

/** Every framework, its entries in its own order, whether or not a rule refers to them. */
export function frameworkCoverage(
  book: RuleBook,
  settings: RuleSettings,
  records: ReadonlyMap<string, RuleRecord>,
): FrameworkCoverage[] {
  const part = { book, settings, records };
  return FRAMEWORKS.map(({ kind, label, groups }) => {
    const rules = rulesByEntry(book.rules, kind);
    const known = new Set(groups.flatMap(({ entries }) => entries.map(({ id }) => id)));
    const others = [...rules.keys()].filter((id) => !known.has(id)).sort();
    const entries = others.map((id) => ({ id, name: nameIn(rules.get(id) ?? [], kind, id) }));
    const also = { id: '', name: groups.length === 0 ? '' : 'Other', entries };
    return {
      kind,
      label,
      groups: [...groups, ...(others.length === 0 ? [] : [also])].map((group) => ({
        ...group,
        entries: group.entries.map((one) => coverageOf(one, rules.get(one.id) ?? [], part)),
      })),
    };
  });
}

/** Each entry once: several tactics may have the same technique. */
export function entriesOf({ groups }: FrameworkCoverage): Coverage[] {
  return [
    ...new Map(groups.flatMap(({ entries }) => entries).map((one) => [one.id, one])).values(),
  ];
}
