/**
 * Does the server's memory stay constant? 80 % of the peak rate, for minutes, in stretches:
 * at the end of each the rows are counted and removed, which takes a second or two, so that a disk
 * need not hold all of them.
 */
import { log, median } from '../harness.ts';
import { machineFacts } from '../machine.ts';
import { residentMb } from './cpu.ts';
import { lineOf } from './measured.ts';
import { measurePaced } from './paced.ts';
import type { MemoryResult, MemorySample } from './result.ts';
import { measureLoad, onStage, type Stage } from './stage.ts';
import { SPANS_PER_BODY } from './throughput.ts';

const SHARE_OF_PEAK = 0.8;
const STRETCH_SECONDS = 30;
const SAMPLE_EVERY_MS = 2000;
const PEAK_RUNS = 3;
const PEAK_SECONDS = 5;
const CONNECTIONS = 16;

async function peakOf(stage: Stage): Promise<number> {
  const rates: number[] = [];
  // The first warms up.
  for (let run = -1; run < PEAK_RUNS; run += 1) {
    const { rowsPerSecond } = await measureLoad(stage, stage.sluice, {
      kind: { signal: 'traces', rows: SPANS_PER_BODY, gzip: false },
      connections: CONNECTIONS,
      pace: { type: 'while', seconds: PEAK_SECONDS },
      expected: null,
    });
    if (run >= 0) rates.push(rowsPerSecond);
  }
  return Math.round(median(rates));
}

async function watch(stage: Stage, minutes: number): Promise<MemoryResult> {
  const machine = machineFacts();
  const peakRowsPerSecond = await peakOf(stage);
  const offered = Math.round(peakRowsPerSecond * SHARE_OF_PEAK);
  log(`peak ${peakRowsPerSecond} spans/s; ${minutes} minutes of ${offered}`);
  const samples: MemorySample[] = [];
  const startedAt = performance.now();
  const elapsed = (): number => (performance.now() - startedAt) / 60_000;
  const sample = (): void => {
    const resident = residentMb(stage.sluice.pid);
    samples.push({ minutes: Number(elapsed().toFixed(2)), residentMb: resident });
  };
  const timer = setInterval(sample, SAMPLE_EVERY_MS);
  let rows = 0;
  try {
    sample();
    while (elapsed() < minutes) {
      const seconds = Math.min(STRETCH_SECONDS, Math.max(1, (minutes - elapsed()) * 60));
      const measured = await measurePaced(stage, offered, seconds);
      log(lineOf(`minute ${elapsed().toFixed(1)}, ${samples.at(-1)?.residentMb} MB`, measured));
      rows += measured.rows;
    }
  } finally {
    clearInterval(timer);
  }
  return {
    name: 'ingest-memory',
    machine,
    minutes,
    peakRowsPerSecond,
    offered,
    rows,
    samples,
  };
}

export async function ingestMemory(minutes: number): Promise<MemoryResult> {
  return await onStage(false, (stage) => watch(stage, minutes));
}
