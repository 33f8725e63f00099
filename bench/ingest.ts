/**
 * How fast is ingest, compared with raw COPY of the same rows and with a simple server that inserts
 * them? How much CPU time does it take, how long does an acknowledgement take, and do probes
 * suffer? One machine, variants in turn; the load generator shares the cores with what it measures.
 */
import { log } from './harness.ts';
import { measurePaces, measureProbes } from './ingest/paced.ts';
import { bodyOf } from './ingest/requests.ts';
import type { IngestOptions, IngestResult } from './ingest/result.ts';
import { onStage, type Stage } from './ingest/stage.ts';
import { measureSustained } from './ingest/sustained.ts';
import {
  measureBodies,
  measureConnections,
  measureThroughput,
  SPANS_PER_BODY,
} from './ingest/throughput.ts';
import { machineFacts } from './machine.ts';

/** A fixed rate whose CPU time is measured, spans per second. */
export const STEADY_RATE = 10_000;
const SUSTAINED_SECONDS = 60;
const SUSTAINED_ROUNDS = 2;

async function measureAll(stage: Stage, options: IngestOptions): Promise<IngestResult> {
  const { quick, rounds } = options;
  const machine = machineFacts();
  const share = quick ? 0.2 : 1;
  const throughput = await measureThroughput(
    stage,
    quick
      ? { rounds, share, bodies: 200, slowBodies: 50 }
      : { rounds, share, bodies: 600, slowBodies: 150 },
  );
  log('bodies of every size and kind');
  const bodies = await measureBodies(stage, Math.min(rounds, 3), share);
  log('few and many connections');
  const connections = await measureConnections(stage, Math.min(rounds, 3), share);
  log('minutes at full rate');
  const sustained = await measureSustained(stage, {
    rounds: Math.min(rounds, SUSTAINED_ROUNDS),
    ...(quick ? { seconds: 10, bodies: 200 } : { seconds: SUSTAINED_SECONDS, bodies: 600 }),
  });
  log('fixed rates');
  const rate = sustained.measured.rowsPerSecond;
  const rates = new Map([
    ['10,000 spans/s', STEADY_RATE],
    ['50 % of the sustained rate', rate * 0.5],
    ['80 % of the sustained rate', rate * 0.8],
  ]);
  const turns = Math.min(rounds, 3);
  const paced = await measurePaces(stage, rates, { rounds: turns, seconds: quick ? 3 : 6 });
  log('probes at full load');
  const probes = await measureProbes(stage, { rounds: turns, seconds: quick ? 2 : 5 });
  const bytesPer = (signal: 'traces' | 'logs'): number =>
    Math.round(bodyOf({ signal, rows: 1000, gzip: false }, 1).length / 1000);
  return {
    name: 'ingest',
    machine,
    ...options,
    spansPerBody: SPANS_PER_BODY,
    bytesPerSpan: bytesPer('traces'),
    bytesPerLogRecord: bytesPer('logs'),
    throughput,
    bodies,
    connections,
    sustained,
    paced,
    probes,
  };
}

export async function ingest(options: IngestOptions): Promise<IngestResult> {
  return await onStage(true, (stage) => measureAll(stage, options));
}
