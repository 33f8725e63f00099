/**
 * Owns how much of one value is taken apart. A value may be as large as a request; what a rule
 * looks at is a few dozen kilobytes of it. Past the budget a value must not be lost: its strings
 * are matched as they were written, unopened, and the run is told that something was left closed.
 */

/** Characters of JSON opened or rebuilt per value. Long histories fit; screenshots do not count. */
export const CHARS_MAX = 4 << 20;

/** JSON that is nested deeper is not a tool call; it is not parsed but matched as text. */
export const DEPTH_MAX = 64;

/** JSON nodes per value: what a few thousand messages or tool results need. */
const NODES_MAX = 100_000;

/** What is left for one attribute, event or status of a step. */
export interface Budget {
  chars: number;
  nodes: number;
  /** was anything left closed, or left out, for want of either? */
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
