/** The part of docs/performance.md about one workspace's runs beside another's. Pure. */
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
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

export function fairnessPassParts({ machine, scenes }: FairnessPassResult): Map<string, string> {
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
  return new Map([['fairness-pass', [facts, table, verdict].join('\n\n')]]);
}
