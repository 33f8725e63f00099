/** Loads measured in turn, every second round in reverse order. */
import type { Measured, Series } from './measured.ts';

export interface Variant {
  readonly name: string;
  readonly measure: () => Promise<Measured>;
}

/** One line of progress, on standard error. */
export function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

export function lineOf(name: string, { rowsPerSecond, latency, cpu }: Measured): string {
  const times = latency === null ? '' : `, p50 ${latency.p50} p99 ${latency.p99} ms`;
  return (
    `${name}: ${rowsPerSecond.toLocaleString('en')} rows/s${times}, CPU s per million rows: ` +
    `server ${cpu.server}, PostgreSQL ${cpu.postgres}, client ${cpu.client}`
  );
}

/** Measures every variant once in each round. */
export async function inTurn(variants: readonly Variant[], rounds: number): Promise<Series[]> {
  const raw = new Map<string, Measured[]>(variants.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? variants : [...variants].reverse();
    for (const { name, measure } of order) {
      const measured = await measure();
      raw.get(name)?.push(measured);
      tell(`${round + 1}/${rounds}  ${lineOf(name, measured)}`);
    }
  }
  return [...raw].map(([name, all]) => ({ name, raw: all }));
}
