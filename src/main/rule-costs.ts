/**
 * Keeps what matching rules took: collected from the match threads, written every minute and at the stop. Has
 * rules' ids and times only; what a failed write had is kept for the next one, at most one sum for each rule.
 */
import type { RuleCost } from '../db/findings/rule-costs.ts';
import type { Events } from '../observe/events.ts';
import type { MeteredRule } from '../pool/rule-meter.ts';
import type { StopOrder } from './stop-order.ts';
import { flushUntilStop } from './upkeep.ts';

const INTERVAL_MS = 60_000;

/** @returns to be called with what a thread has measured */
export function keepRuleCosts(
  rules: readonly { readonly id: string }[],
  record: (costs: readonly RuleCost[]) => Promise<void>,
  {
    ruleCostsUnrecorded: failed,
    ruleCostsRecorded: worked,
  }: Pick<Events, 'ruleCostsUnrecorded' | 'ruleCostsRecorded'>,
  stops: Pick<StopOrder, 'add'>,
  intervalMs: number = INTERVAL_MS,
): (measured: readonly MeteredRule[]) => void {
  const sums = new Map<string, RuleCost>();
  const add = ({ ruleId, searches, micros }: RuleCost): void => {
    const sum = sums.get(ruleId);
    sums.set(ruleId, {
      ruleId,
      searches: searches + (sum?.searches ?? 0),
      micros: micros + (sum?.micros ?? 0),
    });
  };
  const flush = async (): Promise<void> => {
    const costs = [...sums.values()];
    sums.clear();
    try {
      await record(costs);
    } catch (error) {
      costs.forEach(add);
      throw error;
    }
  };
  flushUntilStop('matcher times', flush, intervalMs, { failed, worked }, stops);
  return (measured) => {
    for (const { ruleIndex, searches, micros } of measured) {
      const rule = rules[ruleIndex];
      if (rule !== undefined) add({ ruleId: rule.id, searches, micros });
    }
  };
}
