/** The part of docs/performance.md about the pages of the dashboard. Pure. */
import type { DashboardResult } from '../dashboard.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';

export function dashboardParts(result: DashboardResult): Map<string, string> {
  const { machine, runs, findings, times, pages } = result;
  const rows = pages.map(({ path, medianMs, worstMs, bytes, turnMs }) => [
    `\`${path}\``,
    medianMs.toFixed(0),
    worstMs.toFixed(0),
    (bytes / 1000).toFixed(0),
    turnMs === 0 ? 'below 10' : turnMs.toFixed(0),
  ]);
  const facts =
    `${machineLine(machine)}; ${runs.toLocaleString('en')} runs and ${findings.toLocaleString('en')} findings ` +
    `of one workspace over 90 days; each page ${times} times, one request at a time, to its last byte.`;
  const titles = ['page', 'median ms', 'longest ms', 'kB', 'longest turn, ms'];
  return new Map([['dashboard', `${facts}\n\n${markdownTable(titles, rows)}`]]);
}
