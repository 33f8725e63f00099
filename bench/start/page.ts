/** The part of docs/performance.md about starting. Pure. */
import { median } from '../harness.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import type { StartResult } from '../start.ts';

const TARGET_MS = 2000;
const seconds = (ms: number): string => (ms / 1000).toFixed(2);

export function startParts({ machine, firstMs, laterMs }: StartResult): Map<string, string> {
  const later = median(laterMs);
  const rows = [
    ['the first start, which creates the database', seconds(firstMs), ''],
    [`a later start, median of ${laterMs.length}`, seconds(later), laterMs.map(seconds).join(' ')],
  ];
  const target =
    `Target: a later start within ${seconds(TARGET_MS)} s: ` +
    `${seconds(later)} s, ${later <= TARGET_MS ? 'reached' : '**missed**'}.`;
  const table = markdownTable(['from the command to ready', 's', 'each'], rows);
  return new Map([['start', `${machineLine(machine)}.\n\n${table}\n\n${target}`]]);
}
