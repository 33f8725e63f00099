/** Events of the matcher times of rules. */
import { errorFacts } from './error-facts.ts';
import type { Metrics } from './metrics.ts';

/** Logs the beginning and the end of an outage (events.ts). */
interface RuleOutages {
  readonly fails: (concern: 'rule_costs', level: 'warn', facts: object, message: string) => void;
  readonly works: (concern: 'rule_costs') => void;
}

export function ruleEvents(metrics: Metrics, outages: RuleOutages) {
  return {
    ruleCostsUnrecorded(error: unknown): void {
      metrics.faults.inc({ place: 'rule_costs' });
      const message = 'matcher times of rules could not be stored; it will be retried';
      outages.fails('rule_costs', 'warn', errorFacts(error), message);
    },
    ruleCostsRecorded(): void {
      outages.works('rule_costs');
    },
  };
}
