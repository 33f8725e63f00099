/** The part of docs/performance.md about the event loop. Pure. */
import { median } from '../harness.ts';
import type { LoopDelayResult } from '../loop-delay.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';

const MIB = 1024 * 1024;
const TARGET_MS = 50;

export function loopDelayParts({
  machine,
  rounds,
  measured,
}: LoopDelayResult): Map<string, string> {
  const rows = measured.map(({ name, bytes, status, longestMs, answeredMs }) => [
    name,
    (bytes / MIB).toFixed(1),
    String(status),
    Math.max(...longestMs).toFixed(0),
    (median(answeredMs) / 1000).toFixed(1),
  ]);
  const longest = Math.max(...measured.flatMap(({ longestMs }) => longestMs));
  const verdict = longest <= TARGET_MS ? 'reached' : '**missed**';
  const page = [
    `${machineLine(machine)}; ${rounds === 1 ? 'one round' : `the longest of ${rounds} rounds`}. Target: at most ${TARGET_MS} ms; ` +
      `measured ${longest.toFixed(0)} ms: ${verdict}.`,
    '',
    markdownTable(['body', 'MiB', 'answer', 'longest turn, ms', 'answered after, s'], rows),
  ].join('\n');
  return new Map([['loop-delay', page]]);
}
