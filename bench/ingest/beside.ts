/**
 * What a change costs ingest: the servers of two checkouts, each on a database of its own, take the
 * same loads in alternating order. Only prints.
 */
import { inTurn, log, median, type Variant } from '../harness.ts';
import { lineOf, type Measured, medianOf, ratioOf } from './measured.ts';
import { measureRawSustained } from './raw.ts';
import type { BodyKind } from './requests.ts';
import { measureLoad, onStage, type Stage } from './stage.ts';
import { measureMinute, SUSTAINED_SPANS } from './sustained.ts';
import { cpuRatio } from './targets.ts';
import { nameOfBody, yardstickOf } from './throughput.ts';

const CONNECTIONS = 64;
const WARM_UP_SECONDS = 10;
/** Whose rows raw COPY stores again and again. */
const RAW_BODIES = 600;

const LOADS: readonly (readonly [kind: BodyKind, bodies: number])[] = [
  [{ signal: 'traces', rows: 100, gzip: false }, 2400],
  [{ signal: 'traces', rows: 1, gzip: false }, 8000],
  [{ signal: 'logs', rows: 100, gzip: false }, 2400],
];

export interface BesideOptions {
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
  const { stored, latency, residentMb } = medianOf({ raw });
  return (
    `${name}: ${rows.toLocaleString('en')} rows/s, CPU seconds per million rows ` +
    `${decimals(server)} + PostgreSQL ${decimals(postgres)}   (${raws}); WAL ${stored?.wal} and disk ` +
    `${stored?.disk} bytes a row; p99 ${latency?.p99 ?? '–'} ms; ${residentMb} MB`
  );
}

type OtherOptions = Pick<BesideOptions, 'node' | 'set'>;

/** Runs `work` with both servers. @param other the folder of the other checkout, built and with its modules */
async function onBothStages(
  other: string,
  { node, set }: OtherOptions,
  work: (here: Stage, there: Stage) => Promise<void>,
): Promise<void> {
  await onStage(false, (here) =>
    onStage(false, (there) => work(here, there), {
      root: other,
      settings: set,
      ...(node === undefined ? {} : { node }),
    }),
  );
}

/** Sustained minutes of both servers and of raw COPY, in turn. */
export async function besideSustained(
  other: string,
  { rounds, seconds, ...options }: OtherOptions & { rounds: number; seconds: number },
): Promise<void> {
  await onBothStages(other, options, async (here, there) => {
    const { raw: rows } = await yardstickOf(here, SUSTAINED_SPANS, RAW_BODIES);
    const variants: Variant<Measured>[] = [
      { name: 'here', measure: () => measureMinute(here, seconds) },
      { name: 'there', measure: () => measureMinute(there, seconds) },
      { name: 'raw COPY', measure: () => measureRawSustained(here, rows, seconds) },
    ];
    log('warm-up');
    for (const stage of [here, there])
      await measureMinute(stage, Math.min(seconds, WARM_UP_SECONDS));
    const measured = await inTurn(variants, rounds, lineOf);
    for (const { name, raw } of measured) process.stdout.write(`${summary(name, raw)}\n`);
    const [own, others, copied] = measured;
    if (own === undefined || others === undefined || copied === undefined) return;
    process.stdout.write(
      `here to there: ${decimals(ratioOf(own, others))} times the spans per second; ` +
        `all CPU time to raw COPY's: here ${decimals(cpuRatio(own, copied))}, ` +
        `there ${decimals(cpuRatio(others, copied))}\n`,
    );
  });
}

/** The usual loads of both servers, in turn. */
export async function besideBench(
  other: string,
  { rounds, kinds, ...options }: BesideOptions,
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
  await onBothStages(other, options, async (here, there) => {
    const own = variantsOf('here', here);
    const others = variantsOf('there', there);
    const pairs = own.flatMap((variant, at) => [variant, ...others.slice(at, at + 1)]);
    log('warm-up');
    for (const { measure } of pairs) await measure(0);
    const measured = await inTurn(pairs, rounds, lineOf);
    for (const { name, raw } of measured) process.stdout.write(`${summary(name, raw)}\n`);
  });
}
