/**
 * Owns the budget for parsing one value. A value may be as large as a request; rules are matched on
 * a few dozen kilobytes of it. A value that exceeds the budget must not be lost: its strings are
 * matched as they were written, not parsed, and the run counts the value as exceeded.
 */

/** Characters of JSON parsed or rebuilt per value. Long histories fit; screenshots do not count. */
export const CHARS_MAX = 4 << 20;

/** JSON that is nested deeper is matched as text. */
export const DEPTH_MAX = 64;

/** JSON nodes per value, enough for a few thousand messages or tool results. */
const NODES_MAX = 100_000;

/** What remains for one attribute, event or status of a step. */
export interface Budget {
  chars: number;
  nodes: number;
  /** something was not parsed, or left out, because too little was left */
  exceeded: boolean;
}

/** A full budget, for one value. */
export function createBudget(): Budget {
  return { chars: CHARS_MAX, nodes: NODES_MAX, exceeded: false };
}

/**
 * Takes from the budget, all or nothing.
 * @returns false, and marks the budget as exceeded, when there is not enough left
 */
export function take(budget: Budget, unit: 'chars' | 'nodes', amount: number): boolean {
  if (amount > budget[unit]) {
    budget.exceeded = true;
    return false;
  }
  budget[unit] -= amount;
  return true;
}
