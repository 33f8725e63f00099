/** Events of the read replica. */
import { errorFacts } from './error-facts.ts';
import type { Metrics } from './metrics.ts';

/** Logs the beginning and the end of an outage (events.ts). */
interface ReplicaOutages {
  readonly fails: (concern: 'replica', level: 'warn', facts: object, message: string) => void;
  readonly works: (concern: 'replica') => void;
}

export function replicaEvents(metrics: Metrics, outages: ReplicaOutages) {
  return {
    replicaUnused(error: unknown): void {
      const message = 'the read replica is away or behind; reads go to the primary';
      outages.fails('replica', 'warn', errorFacts(error), message);
    },
    replicaUsed(): void {
      outages.works('replica');
    },
    replicaMeasured(seconds: number, isUsed: boolean): void {
      metrics.replicaLag.set(seconds);
      metrics.replicaUsed.set(isUsed ? 1 : 0);
    },
    replicaFellBack(reason: string): void {
      metrics.replicaFallbacks.inc({ reason });
    },
  };
}
