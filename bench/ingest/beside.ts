/**
 * What a change costs ingest: the servers of two checkouts, each on a database of its own, take the
 * same loads in alternating order. Only prints.
 */
import { inTurn, log, median, type Variant } from '../harness.ts';
import { lineOf, type Measured } from './measured.ts';
import type { BodyKind } from './requests.ts';
import { measureLoad, onStage, type Stage } from './stage.ts';
import { nameOfBody } from './throughput.ts';

const CONNECTIONS = 64;

const LOADS: readonly (readonly [kind: BodyKind, bodies: number])[] = [
  [{ signal: 'traces', rows: 100, gzip: false }, 2400],
  [{ signal: 'traces', rows: 1, gzip: false }, 8000],
  [{ signal: 'logs', rows: 100, gzip: false }, 2400],
];

export interface BesideOptions {
  /** of every load on both servers */
  readonly rounds: number;
  /** the first loads of `LOADS` only */
  readonly kinds: number;
  /** the Node.js of the other server; its checkout has modules for it */
  readonly node?: string;
  /** settings of the other server */
  readonly set: Readonly<Record<string, string>>;
}

const decimals = (value: number): string => value.toFixed(2);

function summary(name: string, raw: readonly Measured[]): string {
  const server = median(raw.map(({ cpu }) => cpu.server));
  const postgres = median(raw.map(({ cpu }) => cpu.postgres));
  const rows = Math.round(median(raw.map(({ rowsPerSecond }) => rowsPerSecond)));
  const raws = raw.map(({ cpu }) => `${decimals(cpu.server)}+${decimals(cpu.postgres)}`).join(' ');
  return (
    `${name}: ${rows.toLocaleString('en')} rows/s, CPU seconds per million rows ` +
    `${decimals(server)} + PostgreSQL ${decimals(postgres)}   (${raws})`
  );
}

/** @param other the folder of the other checkout, built and with its modules */
export async function besideBench(
  other: string,
  { rounds, kinds, node, set }: BesideOptions,
): Promise<void> {
  const variantsOf = (name: string, stage: Stage): Variant<Measured>[] =>
    LOADS.slice(0, kinds).map(([kind, bodies]) => ({
      name: `${nameOfBody(kind)}, ${name}`,
      measure: () =>
        measureLoad(stage, stage.sluice, {
          kind,
          connections: CONNECTIONS,
          pace: { type: 'once', bodies },
          expected: null,
        }),
    }));
  await onStage(false, (here) =>
    onStage(
      false,
      async (there) => {
        const own = variantsOf('here', here);
        const others = variantsOf('there', there);
        const pairs = own.flatMap((variant, at) => [variant, ...others.slice(at, at + 1)]);
        log('warm-up');
        for (const { measure } of pairs) await measure(0);
        const measured = await inTurn(pairs, rounds, lineOf);
        for (const { name, raw } of measured) process.stdout.write(`${summary(name, raw)}\n`);
      },
      { root: other, settings: set, ...(node === undefined ? {} : { node }) },
    ),
  );
}
