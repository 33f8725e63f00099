/** Questions with several figures each: variants in alternating order, medians beside all raw values. */
import { median } from '../harness.ts';

/** What one measurement gives, by the name of the figure, unit included. */
export type Figures = Readonly<Record<string, number>>;

export interface StoreVariant {
  readonly name: string;
  readonly measure: () => Promise<Figures>;
}

export interface Answer {
  readonly name: string;
  readonly question: string;
  readonly rounds: number;
  readonly variants: readonly {
    readonly name: string;
    readonly medians: Figures;
    readonly raw: Readonly<Record<string, readonly number[]>>;
  }[];
}

/** To three digits that count, so that results can be read. */
function rounded(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}

/**
 * Measures all variants `rounds` times, every second round in reverse order, after one round that does
 * not count (plans, caches, files that grow).
 */
export async function answer(
  name: string,
  question: string,
  rounds: number,
  variants: readonly StoreVariant[],
): Promise<Answer> {
  const raw = new Map(variants.map((one) => [one.name, {} as Record<string, number[]>]));
  for (let round = -1; round < rounds; round += 1) {
    for (const one of round % 2 === 0 ? variants : [...variants].reverse()) {
      const figures = await one.measure();
      if (round < 0) continue;
      const its = raw.get(one.name) ?? {};
      for (const [figure, value] of Object.entries(figures)) {
        its[figure] = [...(its[figure] ?? []), rounded(value)];
      }
    }
    const seconds = (performance.now() / 1000).toFixed(0);
    process.stderr.write(`${seconds} s  ${name}: round ${round + 1} of ${rounds}\n`);
  }
  return {
    name,
    question,
    rounds,
    variants: [...raw].map(([variant, values]) => ({
      name: variant,
      medians: Object.fromEntries(
        Object.entries(values).map(([figure, list]) => [figure, rounded(median(list))]),
      ),
      raw: values,
    })),
  };
}
