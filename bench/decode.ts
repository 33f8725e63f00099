/**
 * How long does decoding take, from a body's bytes to lines and runs, compared with `JSON.parse` of its
 * text alone? The fast way, the plain way and `JSON.parse` take turns, in alternating order, in one
 * process. The ratio is computed within each round, so that a busy machine slows all of them alike;
 * the median counts.
 *
 * `JSON.parse` is given a string; creating the string is not counted.
 */
import { isDeepStrictEqual } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { LogRuns } from '../src/db/telemetry/log-runs.ts';
import { decodePlainly } from '../src/ingest/plain-decoder.ts';
import type { Signal } from '../src/model/telemetry.ts';
import { decodeRequest, scanOrNull } from '../test/support/decoding.ts';
import { AGENT_DATA, MODEL_CALLS } from './agent-runs/data.ts';
import { runLogBody, SHAPES, spansPerRun, wholeRunsBody } from './agent-runs/runs.ts';
import { traceBody } from './bodies.ts';
import { log, median, VoidRun } from './harness.ts';
import { type MachineFacts, machineFacts } from './machine.ts';
import { logBody, metricBody } from './signal-bodies.ts';

/**
 * Bytes decoded per measurement, in any number of bodies: about two milliseconds of work, so that
 * most measurements end before the scheduler preempts the thread.
 */
const BYTES_PER_MEASUREMENT = 600_000;
const WARM_UP_ROUNDS = 30;
const ALLOCATION_SAMPLES = 9;
/** More at once might start a garbage collection, which would spoil the sample. */
const ALLOCATION_ROWS_MAX = 100;
const ALLOCATION_BYTES_MAX = 400_000;
/** Of a service's requests, which are short. */
const PLAIN_RUNS = 20;
const SEED = 3;

interface Kind {
  readonly name: string;
  readonly signal: Signal;
  readonly rows: number;
  readonly body: Buffer;
}

const WAYS = ['JSON.parse', 'plain', 'fast'] as const;
type Way = (typeof WAYS)[number];

export interface DecodeMeasured {
  readonly kind: string;
  readonly bytesPerRow: number;
  /** whether the body was scanned, not decoded the plain way */
  readonly scanned: boolean;
  readonly parseNsPerRow: number;
  readonly plainNsPerRow: number;
  readonly fastNsPerRow: number;
  readonly fastMbPerSecond: number;
  /** medians of each round's ratio */
  readonly plainToParse: number;
  readonly fastToParse: number;
  /** bytes of heap and buffers; null where a sample would be too large to be accurate */
  readonly plainBytesAllocatedPerRow: number | null;
  readonly fastBytesAllocatedPerRow: number | null;
  readonly raw: Readonly<Record<Way, readonly number[]>>;
}

export interface DecodeResult {
  readonly name: 'decode';
  readonly question: string;
  readonly machine: MachineFacts;
  readonly rounds: number;
  readonly kinds: readonly DecodeMeasured[];
}

/** A body of each form of agent runs: they differ in the number and the length of their attributes. */
function runKinds(): Kind[] {
  const traces = (name: string, body: Buffer, rows: number): Kind => ({
    name: `${name}, ${rows} spans`,
    signal: 'traces',
    rows,
    body,
  });
  const plain = wholeRunsBody('plain', SEED, PLAIN_RUNS);
  const agents = AGENT_DATA.flatMap((data) =>
    SHAPES.map(({ name }, seed) =>
      traces(`${data}, ${name}`, wholeRunsBody(data, seed, 1), spansPerRun(data)),
    ),
  );
  const records = MODEL_CALLS.conv10;
  const logs: Kind = {
    name: `conv10, ${records} log records`,
    signal: 'logs',
    rows: records,
    body: runLogBody('conv10', 0, records),
  };
  return [traces('plain', plain, PLAIN_RUNS * spansPerRun('plain')), ...agents, logs];
}

function kindsOf(): Kind[] {
  const traces = (rows: number): Kind => ({
    name: `traces, ${rows} ${rows === 1 ? 'span' : 'spans'}`,
    signal: 'traces',
    rows,
    body: traceBody(SEED, rows),
  });
  const logs = (rows: number): Kind => ({
    name: `logs, ${rows} records`,
    signal: 'logs',
    rows,
    body: logBody(SEED, rows),
  });
  const points = 100;
  const metrics: Kind = {
    name: `metrics, ${points} points`,
    signal: 'metrics',
    rows: points,
    body: metricBody(SEED, points),
  };
  return [
    ...[traces(1), traces(10), traces(100), traces(1000), logs(10), logs(100), metrics],
    ...runKinds(),
  ];
}

type Work = () => unknown;

function waysOf({ signal, body }: Kind): Record<Way, Work> {
  const text = body.toString();
  const context = { workspaceId: 1, arrivedAtMs: Date.now(), logRuns: new LogRuns() };
  return {
    'JSON.parse': () => JSON.parse(text),
    plain: () => decodePlainly(signal, body, context),
    fast: () => decodeRequest(signal, body, context),
  };
}

/** Nanoseconds per row. */
function time(work: Work, { rows, body }: Kind): number {
  const times = Math.max(1, Math.round(BYTES_PER_MEASUREMENT / body.length));
  const startedAt = process.hrtime.bigint();
  for (let count = 0; count < times; count += 1) work();
  return Number(process.hrtime.bigint() - startedAt) / times / rows;
}

/** Collects garbage, which needs a flag that this sets. */
function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

function allocated(work: Work, { rows, body }: Kind, collect: () => void): number | null {
  if (rows > ALLOCATION_ROWS_MAX || body.length > ALLOCATION_BYTES_MAX) return null;
  const times = Math.floor(ALLOCATION_ROWS_MAX / rows);
  const samples = Array.from({ length: ALLOCATION_SAMPLES }, () => {
    collect();
    const before = process.memoryUsage();
    for (let count = 0; count < times; count += 1) work();
    const after = process.memoryUsage();
    const grown = after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers;
    return grown / rows / times;
  });
  return Math.round(median(samples));
}

function check({ name, signal, body }: Kind): boolean {
  const context = () => ({ workspaceId: 1, arrivedAtMs: 0, logRuns: new LogRuns() });
  const scanned = scanOrNull(signal, body, context());
  const plain = decodePlainly(signal, body, context());
  if (scanned !== null && !isDeepStrictEqual(scanned, plain)) {
    throw new VoidRun(`${name} differs`);
  }
  return scanned !== null;
}

function measure(kind: Kind, rounds: number, collect: () => void): DecodeMeasured {
  const scanned = check(kind);
  const ways = waysOf(kind);
  const raw: Record<Way, number[]> = { 'JSON.parse': [], plain: [], fast: [] };
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    const order = round % 2 === 0 ? WAYS : [...WAYS].reverse();
    for (const way of order) {
      const figure = time(ways[way], kind);
      if (round >= 0) raw[way].push(Math.round(figure));
    }
  }
  const ratio = (way: Way): number =>
    Number(
      median(raw[way].map((figure, round) => figure / (raw['JSON.parse'][round] ?? 0))).toFixed(2),
    );
  const bytesPerRow = Math.round(kind.body.length / kind.rows);
  const fast = median(raw.fast);
  log(`${kind.name}: ${ratio('fast')} of JSON.parse`);
  return {
    kind: kind.name,
    bytesPerRow,
    scanned,
    parseNsPerRow: median(raw['JSON.parse']),
    plainNsPerRow: median(raw.plain),
    fastNsPerRow: fast,
    fastMbPerSecond: Math.round((bytesPerRow / fast) * 1000),
    plainToParse: ratio('plain'),
    fastToParse: ratio('fast'),
    plainBytesAllocatedPerRow: allocated(ways.plain, kind, collect),
    fastBytesAllocatedPerRow: allocated(ways.fast, kind, collect),
    raw,
  };
}

/** Runs the benchmark. */
export function decodeBench(rounds: number): DecodeResult {
  const machine = machineFacts();
  const collect = garbageCollector();
  return {
    name: 'decode',
    question: 'Request bytes to lines and runs, beside JSON.parse of the same body',
    machine,
    rounds,
    kinds: kindsOf().map((kind) => measure(kind, rounds, collect)),
  };
}
