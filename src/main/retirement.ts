/**
 * The first step of a stop. Load balancers learn by `/ready` that this process stops; until they have,
 * it takes requests as before, and closes each connection with its answer, so that the next request
 * goes to another process.
 *
 *   ready ──stop──► not ready, for DRAIN_MS ──► no new connections
 */
import { setTimeout as pause } from 'node:timers/promises';

/** More than the pause itself. */
const SLACK_MS = 5000;

export interface Retirement {
  readonly check: () => Promise<void>;
  /** Resolves when load balancers know. @param retire has answers close their connections */
  readonly begin: (retire: () => void) => Promise<void>;
  /** most time that `begin` takes */
  readonly limitMs: number;
}

/** @param drainMs how long load balancers take to notice */
export function createRetirement(drainMs: number): Retirement {
  let isStopping = false;
  return {
    check: async () => {
      if (isStopping) throw new Error('the server is being stopped');
    },
    begin: async (retire) => {
      isStopping = true;
      retire();
      if (drainMs > 0) await pause(drainMs);
    },
    limitMs: drainMs + SLACK_MS,
  };
}
