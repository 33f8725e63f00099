/** Loads at a fixed rate, and probes at full load: every one once in each round, medians. */
import { inTurn, log } from '../harness.ts';
import { residentMb } from './cpu.ts';
import type { Latency } from './latency.ts';
import { lineOf, type Measured, medianLatency, medianOf } from './measured.ts';
import { probeHealth } from './probe.ts';
import type { BodyKind } from './requests.ts';
import { bodyOf } from './requests.ts';
import type { Paced, Probed } from './result.ts';
import { measureLoad, type Stage } from './stage.ts';
import { nameOfBody, SPANS_PER_BODY } from './throughput.ts';

/** Enough that a request never waits for a connection unless the server has fallen behind. */
const CONNECTIONS = 64;
const SPANS: BodyKind = { signal: 'traces', rows: SPANS_PER_BODY, gzip: false };

/** How long, and how often. */
export interface Rounds {
  readonly rounds: number;
  readonly seconds: number;
}

export async function measurePaced(
  stage: Stage,
  spansPerSecond: number,
  seconds: number,
): Promise<Measured> {
  const perSecond = spansPerSecond / SPANS_PER_BODY;
  return await measureLoad(stage, stage.sluice, {
    kind: SPANS,
    connections: CONNECTIONS,
    pace: { type: 'paced', seconds, perSecond },
    expected: null,
  });
}

/** @param rates spans per second by name */
export async function measurePaces(
  stage: Stage,
  rates: ReadonlyMap<string, number>,
  { rounds, seconds }: Rounds,
): Promise<Paced[]> {
  const variants = [...rates].map(([name, rate]) => ({
    name,
    measure: () => measurePaced(stage, rate, seconds),
  }));
  return (await inTurn(variants, rounds, lineOf)).map(({ name, raw }) => {
    const measured = medianOf({ raw });
    const cores = (perMillionRows: number): number =>
      Number(((perMillionRows * measured.rowsPerSecond) / 1e6).toFixed(3));
    return {
      name,
      offered: Math.round(rates.get(name) ?? 0),
      measured,
      raw,
      serverCores: cores(measured.cpu.server),
      postgresCores: cores(measured.cpu.postgres),
    };
  });
}

/** `/health` with nothing beside it. */
async function probeAlone(stage: Stage, seconds: number): Promise<Probed> {
  const idle = new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const latency = await probeHealth(stage.sluice.url, idle);
  return {
    name: 'nothing',
    bodyBytes: 0,
    rowsPerSecond: 0,
    latency,
    raw: [latency],
    stolenCores: 0,
    residentMb: residentMb(stage.sluice.pid),
  };
}

/** `/health` while bodies of so many spans come as fast as they are answered. */
async function probeBeside(
  stage: Stage,
  kind: BodyKind,
  connections: number,
  seconds: number,
): Promise<Measured> {
  let latency: Latency | null = null;
  const load = { kind, connections, pace: { type: 'while', seconds }, expected: null } as const;
  const measured = await measureLoad(stage, stage.sluice, load, async (ended) => {
    latency = await probeHealth(stage.sluice.url, ended);
  });
  return { ...measured, latency };
}

/** `/health` with nothing beside it, and beside bodies of every size. */
export async function measureProbes(stage: Stage, { rounds, seconds }: Rounds): Promise<Probed[]> {
  const kinds = [
    [100, 64],
    [1000, 16],
    [8000, 4],
  ].map(([spans = 0, connections = 0]) => {
    const kind = { ...SPANS, rows: spans };
    return { name: nameOfBody(kind), kind, connections };
  });
  const variants = kinds.map(({ name, kind, connections }) => ({
    name,
    measure: () => probeBeside(stage, kind, connections, seconds),
  }));
  const probes = [await probeAlone(stage, seconds)];
  const series = await inTurn(variants, rounds, lineOf);
  series.forEach(({ name, raw }, which) => {
    const latencies = raw.flatMap(({ latency }) => latency ?? []);
    const latency = medianLatency(latencies);
    const kind = kinds[which]?.kind;
    if (latency === null || kind === undefined) throw new Error('nothing was probed');
    const { rowsPerSecond, stolenCores } = medianOf({ raw });
    const bodyBytes = bodyOf(kind, 1).length;
    const resident = Math.max(...raw.map((one) => one.residentMb));
    probes.push({
      name,
      bodyBytes,
      rowsPerSecond,
      latency,
      raw: latencies,
      stolenCores,
      residentMb: resident,
    });
  });
  for (const { name, latency } of probes) {
    log(`/health beside ${name}: p50 ${latency.p50}, p99 ${latency.p99}, max ${latency.max} ms`);
  }
  return probes;
}
