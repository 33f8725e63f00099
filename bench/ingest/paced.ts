/** Loads at a fixed rate, and probes at full load. */

import type { Latency } from './latency.ts';
import { probeHealth } from './probe.ts';
import type { BodyKind } from './requests.ts';
import { bodyOf } from './requests.ts';
import type { Paced, Probed } from './result.ts';
import { lineOf, tell } from './series.ts';
import { measureLoad, type Stage } from './stage.ts';
import { nameOfBody, SPANS_PER_BODY } from './throughput.ts';

/** Enough that a request never waits for a connection unless the server has fallen behind. */
const CONNECTIONS = 64;
const SPANS: BodyKind = { signal: 'traces', rows: SPANS_PER_BODY, gzip: false };

/** Offers so many spans per second for so long. */
export async function measurePaced(
  stage: Stage,
  name: string,
  spansPerSecond: number,
  seconds: number,
): Promise<Paced> {
  const perSecond = spansPerSecond / SPANS_PER_BODY;
  const measured = await measureLoad(stage, stage.sluice, {
    kind: SPANS,
    connections: CONNECTIONS,
    pace: { type: 'paced', seconds, perSecond },
    expected: null,
  });
  tell(lineOf(name, measured));
  const cores = (perMillionRows: number): number =>
    Number(((perMillionRows * measured.rowsPerSecond) / 1e6).toFixed(3));
  return {
    name,
    offered: Math.round(spansPerSecond),
    measured,
    serverCores: cores(measured.cpu.server),
    postgresCores: cores(measured.cpu.postgres),
  };
}

/** `/health` while bodies of so many spans come as fast as they are answered. */
async function measureProbed(
  stage: Stage,
  spans: number,
  connections: number,
  seconds: number,
): Promise<Probed> {
  const kind = { ...SPANS, rows: spans };
  let latency: Latency | null = null;
  const load = { kind, connections, pace: { type: 'while', seconds }, expected: null } as const;
  const { rowsPerSecond } = await measureLoad(stage, stage.sluice, load, async (ended) => {
    latency = await probeHealth(stage.sluice.url, ended);
  });
  if (latency === null) throw new Error('nothing was probed');
  return { name: nameOfBody(kind), bodyBytes: bodyOf(kind, 1).length, rowsPerSecond, latency };
}

/** `/health` with nothing beside it, and beside bodies of every size. */
export async function measureProbes(stage: Stage, seconds: number): Promise<Probed[]> {
  const idle = new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const alone = await probeHealth(stage.sluice.url, idle);
  const probes = [{ name: 'nothing', bodyBytes: 0, rowsPerSecond: 0, latency: alone }];
  for (const [spans, connections] of [
    [100, 64],
    [1000, 16],
    [8000, 4],
  ] as const) {
    probes.push(await measureProbed(stage, spans, connections, seconds));
  }
  for (const { name, latency } of probes) {
    tell(`/health beside ${name}: p50 ${latency.p50}, p99 ${latency.p99}, max ${latency.max} ms`);
  }
  return probes;
}
