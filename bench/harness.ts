/**
 * What every benchmark shares: variants measured in turn, in alternating order, medians beside all
 * raw values, results as JSON and as a table. A variant whose check fails makes the whole run void.
 */
import { writeFileSync } from 'node:fs';

import { renderTable } from '../src/cli/table.ts';
import { type MachineFacts, machineFacts } from './machine.ts';

export interface Variant {
  readonly name: string;
  /**
   * Measures once.
   *
   * @returns the figure, in the benchmark's unit
   * @throws {VoidRun} when what is stored differs from what was acknowledged
   */
  readonly measure: (round: number) => Promise<number>;
}

/** Rows stored and rows acknowledged differ: no figure of this run may be used. */
export class VoidRun extends Error {}

export interface Benchmark {
  readonly name: string;
  readonly question: string;
  readonly unit: string;
  /** the variant the others are compared with */
  readonly yardstick: string;
  readonly rounds: number;
}

export interface Result extends Benchmark {
  readonly machine: MachineFacts;
  readonly variants: readonly {
    readonly name: string;
    readonly median: number;
    readonly ratio: number;
    readonly raw: readonly number[];
  }[];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** Runs all variants `rounds` times, every second round in reverse order. */
export async function compare(benchmark: Benchmark, variants: readonly Variant[]): Promise<Result> {
  const machine = machineFacts();
  const raw = new Map<string, number[]>(variants.map(({ name }) => [name, []]));
  for (let round = 0; round < benchmark.rounds; round += 1) {
    const order = round % 2 === 0 ? variants : [...variants].reverse();
    for (const variant of order) {
      const figure = await variant.measure(round);
      raw.get(variant.name)?.push(figure);
      const place = `${round + 1}/${benchmark.rounds}`;
      process.stderr.write(`${place}  ${variant.name}: ${Math.round(figure)} ${benchmark.unit}\n`);
    }
  }
  const yardstick = median(raw.get(benchmark.yardstick) ?? []);
  return {
    ...benchmark,
    machine,
    variants: [...raw].map(([name, values]) => ({
      name,
      median: Math.round(median(values)),
      ratio: Number((median(values) / yardstick).toFixed(3)),
      raw: values.map(Math.round),
    })),
  };
}

/** Prints a result for people and writes it as JSON beside the benchmark. */
export function report(result: Result): void {
  const { machine, unit } = result;
  const whole = (value: number) => Math.round(value).toLocaleString('en');
  process.stdout.write(
    [
      '',
      result.question,
      `${machine.cores} cores (${machine.cpu}), ${machine.memoryGib} GiB, Node ${machine.node}, ` +
        `load before ${machine.loadBefore}`,
      '',
      renderTable(
        [
          { title: 'VARIANT' },
          { title: `MEDIAN ${unit}`, align: 'right' },
          { title: `RATIO TO ${result.yardstick}`, align: 'right' },
          { title: 'ALL VALUES' },
        ],
        result.variants.map(({ name, median: middle, ratio, raw }) => [
          name,
          whole(middle),
          ratio.toFixed(2),
          raw.map(whole).join(' '),
        ]),
      ),
      '',
      '',
    ].join('\n'),
  );
  const path = new URL(`results/${result.name}.json`, import.meta.url);
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`);
}
