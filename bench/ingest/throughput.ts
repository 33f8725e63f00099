/**
 * The closed loops: how many rows per second are stored, what that costs, how long an
 * acknowledgement takes while everything is sent to the server at once.
 */
import type { Signal } from '../../src/model/telemetry.ts';
import type { RunData } from '../agent-runs/data.ts';
import { inTurn, log, type Variant } from '../harness.ts';
import { type Contents, contentsOf } from '../stored-records.ts';
import { lineOf, type Measured, type Series } from './measured.ts';
import { encodeRows, measureRaw, type RawRows } from './raw.ts';
import { type BodyKind, bodyOf } from './requests.ts';
import { COPIED_DATA, NAMES, nameOfData, nameOfRawData } from './result.ts';
import { clear, measureLoad, type Stage, type Target } from './stage.ts';

export const SPANS_PER_BODY = 100;
/** Of each signal, before anything is recorded: by then V8 has optimized what it runs. */
const WARM_UP_LOADS = 4;
/** concurrent exporters, each with one request in progress: a deployment at its peak */
export const PEAK_CONNECTIONS = 64;
/** fewer, where the question is how bodies compare */
const CONNECTIONS = 16;

export const kindOf = (signal: Signal, rows = SPANS_PER_BODY, gzip = false): BodyKind => ({
  signal,
  rows,
  gzip,
});

/** Agent runs: a body has fewer spans where they are large, so that bodies are of like size. */
const RUN_KINDS: Readonly<Record<RunData, { kind: BodyKind; bodies: number }>> = {
  plain: { kind: { ...kindOf('traces'), data: 'plain' }, bodies: 400 },
  conv3: { kind: { ...kindOf('traces'), data: 'conv3' }, bodies: 80 },
  conv10: { kind: { ...kindOf('traces', 50), data: 'conv10' }, bodies: 80 },
  conv30: { kind: { ...kindOf('traces', 30), data: 'conv30' }, bodies: 64 },
};
const RUN_LOGS: BodyKind = { ...kindOf('logs', 30), data: 'conv10' };

export interface ThroughputSettings {
  readonly rounds: number;
  /** bodies of a hundred rows, for what is fast and for what is slow */
  readonly bodies: number;
  readonly slowBodies: number;
  /** of the usual load of agent runs */
  readonly share: number;
}

export function loadOf(
  stage: Stage,
  name: string,
  target: Target,
  kind: BodyKind,
  bodies: number,
  expected: Contents | null = null,
  connections = PEAK_CONNECTIONS,
): Variant<Measured> {
  const pace = { type: 'once', bodies } as const;
  return { name, measure: () => measureLoad(stage, target, { kind, connections, pace, expected }) };
}

/** Stores the records of a number of bodies through Sluice. @returns what was sent */
async function fill(stage: Stage, kind: BodyKind, bodies: number): Promise<Contents> {
  await loadOf(stage, '', stage.sluice, kind, bodies).measure(0);
  const sent = Array.from({ length: bodies }, (_, index) => bodyOf(kind, index + 1));
  return contentsOf(kind.signal, sent);
}

/** The same records for Sluice and for raw COPY. */
interface Yardstick {
  readonly sent: Contents;
  readonly raw: RawRows;
}

/** Stores the records of a number of bodies through Sluice, and encodes them as rows. */
export async function yardstickOf(
  stage: Stage,
  kind: BodyKind,
  bodies: number,
): Promise<Yardstick> {
  const sent = await fill(stage, kind, bodies);
  return { sent, raw: await encodeRows(stage, kind, bodies, 1) };
}

interface Yardsticks {
  readonly spans: Yardstick;
  readonly two: RawRows;
  readonly logs: Yardstick;
  readonly points: Yardstick;
  /** rows of the other servers */
  readonly slow: Contents;
}

/** Warms up all variants, and encodes the rows that raw COPY copies. */
async function prepare(
  stage: Stage,
  { bodies, slowBodies }: ThroughputSettings,
): Promise<Yardsticks> {
  for (const signal of ['traces', 'logs', 'metrics'] as const) {
    for (let load = 0; load < WARM_UP_LOADS; load += 1) {
      await loadOf(stage, '', stage.sluice, kindOf(signal), bodies).measure(0);
    }
  }
  const spans = await yardstickOf(stage, kindOf('traces'), bodies);
  const two = await encodeRows(stage, kindOf('traces'), bodies, 2);
  const slow = await encodeRows(stage, kindOf('traces'), slowBodies, 1);
  const logs = await yardstickOf(stage, kindOf('logs'), bodies);
  const points = await yardstickOf(stage, kindOf('metrics'), bodies);
  return { spans, two, logs, points, slow: slow.contents };
}

/** Agent runs through Sluice, and their rows by raw COPY. @param share of the usual load */
async function runVariants(stage: Stage, share: number): Promise<Variant<Measured>[]> {
  const variants: Variant<Measured>[] = [];
  for (const data of COPIED_DATA) {
    const { kind, bodies } = RUN_KINDS[data];
    const count = Math.ceil(bodies * share);
    const { sent, raw } = await yardstickOf(stage, kind, count);
    variants.push(loadOf(stage, nameOfData(data), stage.sluice, kind, count, sent), {
      name: nameOfRawData(data),
      measure: () => measureRaw(stage, raw),
    });
  }
  return variants;
}

export async function measureThroughput(
  stage: Stage,
  settings: ThroughputSettings,
): Promise<Series[]> {
  const { sluice, insert } = stage;
  if (insert === null) throw new Error('the other servers were not started');
  log('warm-up, and the rows that raw COPY copies');
  const { spans, two, logs, points, slow } = await prepare(stage, settings);
  const { bodies, slowBodies, rounds, share } = settings;
  const plain = kindOf('traces');
  const gzipped = kindOf('traces', SPANS_PER_BODY, true);
  const variants: Variant<Measured>[] = [
    loadOf(stage, NAMES.sluice, sluice, plain, bodies, spans.sent),
    { name: NAMES.rawOne, measure: () => measureRaw(stage, spans.raw) },
    { name: NAMES.rawTwo, measure: () => measureRaw(stage, two) },
    loadOf(stage, NAMES.gzip, sluice, gzipped, bodies, spans.sent),
    loadOf(stage, NAMES.perRequest, insert.perRequest, plain, slowBodies, slow),
    loadOf(stage, NAMES.batched, insert.batched, plain, slowBodies, slow),
    loadOf(stage, NAMES.logs, sluice, kindOf('logs'), bodies, logs.sent),
    { name: NAMES.rawLogs, measure: () => measureRaw(stage, logs.raw) },
    loadOf(stage, NAMES.points, sluice, kindOf('metrics'), bodies, points.sent),
    { name: NAMES.rawPoints, measure: () => measureRaw(stage, points.raw) },
    ...(await runVariants(stage, share)),
  ];
  // Once without counting, in which the other servers warm up and nothing is recorded.
  for (const { measure } of variants.slice(3, 6)) await measure(0);
  const measured = await inTurn(variants, rounds, lineOf);
  await clear(stage);
  return measured;
}

const NOUNS: Readonly<Record<Signal, readonly [one: string, many: string]>> = {
  traces: ['span', 'spans'],
  logs: ['log record', 'log records'],
  metrics: ['data point', 'data points'],
};

/** `100 spans, gzip`, `conv10, 50 spans` */
export function nameOfBody({ signal, rows, gzip, data }: BodyKind): string {
  const [one, many] = NOUNS[signal];
  const before = data === undefined ? '' : `${data}, `;
  return `${before}${rows.toLocaleString('en')} ${rows === 1 ? one : many}${gzip ? ', gzip' : ''}`;
}

/** Bodies of every size and kind, as they are and compressed. @param share of the usual load */
export async function measureBodies(
  stage: Stage,
  rounds: number,
  share: number,
): Promise<Series[]> {
  const sizes: readonly (readonly [kind: BodyKind, bodies: number])[] = [
    [kindOf('traces', 1), 8000],
    [kindOf('traces', 10), 1600],
    [kindOf('traces', 100), 400],
    [kindOf('traces', 1000), 48],
    [kindOf('logs'), 400],
    [kindOf('metrics'), 400],
  ];
  const { bodies: runBodies } = RUN_KINDS.conv10;
  const kinds: readonly (readonly [kind: BodyKind, bodies: number])[] = [
    ...sizes.flatMap(([kind, bodies]) =>
      [false, true].map((gzip) => [{ ...kind, gzip }, bodies] as const),
    ),
    ...Object.values(RUN_KINDS).map(({ kind, bodies }) => [kind, bodies] as const),
    [{ ...RUN_KINDS.conv10.kind, gzip: true }, runBodies],
    [RUN_LOGS, runBodies],
  ];
  const variants = kinds.map(([kind, bodies]) => {
    const count = Math.ceil(bodies * share);
    return loadOf(stage, nameOfBody(kind), stage.sluice, kind, count, null, CONNECTIONS);
  });
  // Other sizes are other work: each is sent once before anything is recorded.
  for (const { measure } of variants) await measure(0);
  return await inTurn(variants, rounds, lineOf);
}

export async function measureConnections(
  stage: Stage,
  rounds: number,
  share: number,
): Promise<Series[]> {
  const variants = [1, 4, 16, 64].map((connections) => {
    const bodies = Math.ceil((connections === 1 ? 200 : 400) * share);
    const name = connections === 1 ? '1 connection' : `${connections} connections`;
    return loadOf(stage, name, stage.sluice, kindOf('traces'), bodies, null, connections);
  });
  return await inTurn(variants, rounds, lineOf);
}
