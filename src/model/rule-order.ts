/**
 * The orders in which rules are listed: by id, by how many harmless texts they match, or by what they
 * found in a workspace.
 */
import type { RuleRecord } from './findings.ts';
import type { Rule } from './rules.ts';

export const RULE_ORDERS = [
  'id',
  'noise',
  'findings',
  'false_positives',
  'last_seen',
  'matcher_time',
  'wild_fp_rate',
  'confidence',
] as const;
export type RuleOrder = (typeof RULE_ORDERS)[number];

export const ORDER_LABELS: Readonly<Record<RuleOrder, string>> = {
  id: 'Id',
  noise: 'Noisiest first',
  findings: 'Most findings',
  false_positives: 'Most false positives',
  last_seen: 'Last seen',
  matcher_time: 'Most matcher time',
  wild_fp_rate: 'Authors’ false positive rate',
  confidence: 'Lowest confidence',
};

export type RuleRecords = ReadonlyMap<string, RuleRecord>;

export const WORKSPACE_ORDERS: readonly RuleOrder[] = [
  'findings',
  'false_positives',
  'last_seen',
  'matcher_time',
];

type Noisy = Pick<Rule, 'id' | 'quality' | 'measured'>;

/**
 * Noisier rules first: by the false positive rate that the authors measured, then by the share of
 * their harmless texts that it matches here, then by the lowest confidence. A rule without a figure
 * comes after those with one.
 */
export function byNoise(a: Noisy, b: Noisy): number {
  return (
    (b.quality.wildFpRate ?? -1) - (a.quality.wildFpRate ?? -1) ||
    harmlessShare(b) - harmlessShare(a) ||
    (a.quality.confidence ?? Number.MAX_VALUE) - (b.quality.confidence ?? Number.MAX_VALUE) ||
    byId(a, b)
  );
}

const byId = (a: Noisy, b: Noisy): number => (a.id < b.id ? -1 : 1);

function harmlessShare({ measured: { falsePositives } }: Noisy): number {
  return falsePositives.texts === 0 ? 0 : falsePositives.found / falsePositives.texts;
}

/** The value that an order compares, the greatest first; a rule without it comes last. */
const VALUES: Readonly<
  Record<Exclude<RuleOrder, 'id' | 'noise'>, (rule: Noisy, record?: RuleRecord) => number>
> = {
  findings: (_rule, record) => record?.findings ?? 0,
  false_positives: (_rule, record) => record?.falsePositives ?? 0,
  last_seen: (_rule, record) => record?.lastSeenAt?.getTime() ?? 0,
  matcher_time: (_rule, record) => record?.matcherShare ?? -1,
  wild_fp_rate: ({ quality }) => quality.wildFpRate ?? -1,
  confidence: ({ quality }) => -(quality.confidence ?? Number.MAX_VALUE),
};

export function inOrder<R extends Noisy>(
  rules: readonly R[],
  order: RuleOrder,
  records: RuleRecords,
): readonly R[] {
  if (order === 'id') return rules;
  if (order === 'noise') return rules.toSorted(byNoise);
  const rankOf = (rule: R): number => VALUES[order](rule, records.get(rule.id));
  return rules.toSorted((a, b) => rankOf(b) - rankOf(a) || byId(a, b));
}
