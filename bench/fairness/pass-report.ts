/**
 * Prints how long small runs wait beside another workspace's runs, and writes it as JSON and into
 * docs/performance.md.
 */
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import { writeMeasured, writeResult } from '../publish.ts';
import type { FairnessPassResult, FairnessScene, NoisyRun } from './pass.ts';

/** Target: a small run waits at most this much longer than alone. */
const TARGET_MS = 3000;

const seconds = (ms: number): string => (ms / 1000).toFixed(2);

function largeRuns(noisy: readonly NoisyRun[]): string {
  return noisy
    .map(({ seconds: took, attempts, unreadSteps }) => `${took} s, ${attempts}, ${unreadSteps}`)
    .join('; ');
}

function longestDelayMs(scenes: readonly FairnessScene[]): number {
  const [alone, ...beside] = scenes;
  return Math.max(...beside.map(({ mostMs }) => mostMs)) - (alone?.medianMs ?? 0);
}

/** The part of docs/performance.md that is written. */
function fairnessPassPlace({ machine, scenes }: FairnessPassResult): string {
  const facts = `${machineLine(machine)}; one match thread.`;
  const table = markdownTable(
    [
      'a small run waits',
      'median s',
      'most s',
      'every wait, s',
      'large runs: time, attempts, unread',
    ],
    scenes.map(({ name, waitedMs, medianMs, mostMs, noisy }) => [
      name,
      seconds(medianMs),
      seconds(mostMs),
      waitedMs.map(seconds).join(' '),
      largeRuns(noisy),
    ]),
  );
  const delayMs = longestDelayMs(scenes);
  const reached = delayMs <= TARGET_MS ? 'reached' : '**missed**';
  const verdict = `Target: at most ${seconds(TARGET_MS)} s longer than alone: ${seconds(delayMs)} s, ${reached}.`;
  return [facts, table, verdict].join('\n\n');
}

/** Prints a result and writes it, as JSON and into docs/performance.md. */
export function reportFairnessPass(result: FairnessPassResult): void {
  const place = fairnessPassPlace(result);
  process.stdout.write(`${place}\n`);
  writeResult(result);
  writeMeasured('docs/performance.md', [['fairness-pass', place]]);
}
