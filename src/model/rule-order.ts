/** The orders in which rules are listed: by id, or those first that match most harmless texts. */
import type { Rule } from './rules.ts';

export const RULE_ORDERS = ['id', 'noise'] as const;
export type RuleOrder = (typeof RULE_ORDERS)[number];

export const ORDER_LABELS: Readonly<Record<RuleOrder, string>> = {
  id: 'Id',
  noise: 'Noisiest first',
};

/** What the order by noise compares. */
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
    (a.id < b.id ? -1 : 1)
  );
}

function harmlessShare({ measured: { falsePositives } }: Noisy): number {
  return falsePositives.texts === 0 ? 0 : falsePositives.found / falsePositives.texts;
}

/** @param rules by id */
export function inOrder<R extends Noisy>(rules: readonly R[], order: RuleOrder): readonly R[] {
  return order === 'id' ? rules : rules.toSorted(byNoise);
}
