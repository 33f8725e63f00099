/** The measured parts of docs/limits.md. Pure. */
import type { LimitsResult } from '../limits.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';

export function limitsParts(result: LimitsResult): Map<string, string> {
  const { name, question, machine, rounds, exportsPerSecond, workMs } = result;
  const rows = exportsPerSecond.map((exports, index) => {
    const work = workMs[index];
    return [
      exports.name,
      String(exports.median),
      exports.ratio.toFixed(2),
      work?.median.toFixed(3) ?? '',
      work?.ratio.toFixed(2) ?? '',
    ];
  });
  const titles = ['', 'exports/s', 'ratio', 'ms of the main thread per export', 'ratio'];
  const facts = `${question}. ${machineLine(machine)}; medians of ${rounds} rounds.`;
  return new Map([[name, `${facts}\n\n${markdownTable(titles, rows)}`]]);
}
