/** The part of docs/performance.md about one workspace's reads beside another's. Pure. */
import { median } from '../harness.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import type { FairnessReadsResult, FairnessReadsRound, ReadLoad } from './reads.ts';

/** Target: the quiet tenant's p99 is at most this many times its p99 alone, and no read is refused. */
const TARGET_TIMES = 5;

const ms = (value: number): string =>
  Number.isNaN(value) ? '–' : value.toFixed(value < 10 ? 1 : 0);
const times = ({ alone, beside }: FairnessReadsRound): number =>
  beside.latency.p99 / alone.latency.p99;
const refusedOf = (loads: readonly ReadLoad[]): number =>
  loads.reduce((sum, { refused }) => sum + refused, 0);

function row(name: string, loads: readonly ReadLoad[]): string[] {
  const of = (pick: (load: ReadLoad) => number): string => ms(median(loads.map(pick)));
  return [
    name,
    String(loads.reduce((sum, { latency }) => sum + latency.count, 0)),
    of(({ latency }) => latency.p50),
    of(({ latency }) => latency.p99),
    of(({ latency }) => latency.max),
    String(refusedOf(loads)),
    loads.map(({ latency }) => ms(latency.p99)).join(' '),
  ];
}

export function fairnessReadsParts(result: FairnessReadsResult): Map<string, string> {
  const { machine, rounds, seconds, measured, exportsAtOnce, searchesAtOnce } = result;
  const facts =
    `${machineLine(machine)}; ${rounds} ${rounds === 1 ? 'round' : 'rounds'} of ${seconds} s alone ` +
    `and beside; medians. The quiet workspace has ${result.quietFindings.toLocaleString('en')} ` +
    `findings, the other one ${result.findings.toLocaleString('en')}.`;
  const all = (which: keyof FairnessReadsRound): ReadLoad[] => measured.map((one) => one[which]);
  const table = markdownTable(
    ['reads', 'answered', 'p50 ms', 'p99 ms', 'max ms', 'refused', 'every p99'],
    [
      row('the quiet one, alone', all('alone')),
      row('the quiet one, beside the others', all('beside')),
      row(`${searchesAtOnce} parallel searches`, all('searches')),
      row(`${exportsAtOnce} exports that match nothing`, all('exports')),
    ],
  );
  const ratio = median(measured.map(times));
  const refused = refusedOf(all('beside'));
  const reached = ratio <= TARGET_TIMES && refused === 0 ? 'reached' : '**missed**';
  const verdict =
    `Target: p99 at most ${TARGET_TIMES} times alone, 0 refused: ` +
    `${ratio.toFixed(1)} times, ${refused} refused, ${reached}.`;
  return new Map([['fairness-reads', [facts, table, verdict].join('\n\n')]]);
}
