/**
 * What every benchmark shares: variants measured in turn, in alternating order, and medians. A
 * variant whose check fails makes the whole run void.
 */

export interface Variant<T> {
  readonly name: string;
  /**
   * Measures once.
   *
   * @throws {VoidRun} when what is stored differs from what was acknowledged
   */
  readonly measure: (round: number) => Promise<T>;
}

/** Rows stored and rows acknowledged differ: no figure of this run may be used. */
export class VoidRun extends Error {}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

export function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Measures every variant once in each round, every second round in reverse order.
 *
 * @param lineOf how a value is logged
 * @returns all values by name, in the order of the variants
 */
export async function inTurn<T>(
  variants: readonly Variant<T>[],
  rounds: number,
  lineOf: (name: string, value: T) => string,
): Promise<{ readonly name: string; readonly raw: readonly T[] }[]> {
  const results = variants.map(({ name }) => ({ name, raw: [] as T[] }));
  for (let round = 0; round < rounds; round += 1) {
    const order = [...variants.entries()];
    for (const [index, { name, measure }] of round % 2 === 0 ? order : order.reverse()) {
      const value = await measure(round);
      results[index]?.raw.push(value);
      log(`${round + 1}/${rounds}  ${lineOf(name, value)}`);
    }
  }
  return results;
}
