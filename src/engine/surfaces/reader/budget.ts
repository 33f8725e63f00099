/**
 * Owns the budget for parsing one value, and what parsing it showed. A value may be as large as a request; rules are matched on
 * a few dozen kilobytes of it. A value that exceeds the budget must not be lost: its strings are
 * matched as they were written, not parsed, and the run counts the value as exceeded.
 */

/** Characters of JSON parsed or rebuilt per value. Long histories fit; screenshots do not count. */
export const CHARS_MAX = 4 << 20;

/** JSON that is nested deeper is matched as text. */
export const DEPTH_MAX = 64;

/** JSON nodes per value, enough for a few thousand messages or tool results. */
const NODES_MAX = 100_000;

export interface Budget {
  chars: number;
  nodes: number;
  /** something was not parsed, or left out, because too little was left */
  exceeded: boolean;
  /** a string that the sender sent as a whole value is JSON that ends early */
  cut: boolean;
  /** JSON that ends early was read, in any string */
  hasCutJson: boolean;
  /** the strings that the sender sent as whole values, for which `cut` is noted */
  readonly sent: readonly unknown[];
  /** lists and objects that a cut left open: more members may have followed */
  readonly openEnded: WeakSet<object>;
  /** roles of its messages that are in no known word, the first ones */
  readonly unknownRoles: Set<string>;
}

/**
 * A full budget, for one value.
 * @param sent the value, or a list of values, if unterminated JSON in it means that its sender cut it
 */
export function createBudget(sent: unknown = []): Budget {
  return {
    chars: CHARS_MAX,
    nodes: NODES_MAX,
    exceeded: false,
    cut: false,
    hasCutJson: false,
    sent: Array.isArray(sent) ? sent : [sent],
    openEnded: new WeakSet(),
    unknownRoles: new Set(),
  };
}

/** Checks whether more may have followed in this list or object before its sender cut it. */
export function isOpenEnded(value: unknown, { openEnded }: Budget): boolean {
  return typeof value === 'object' && value !== null && openEnded.has(value);
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
