/** The part of docs/performance.md about one workspace's requests beside another's. Pure. */
import { median } from '../harness.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import type { FairnessResult, FairnessRound } from './ingest.ts';
import type { FairnessLoad } from './load-plan.ts';

/** Target: the quiet tenant's p99 beside the flood is at most this many times its p99 alone. */
const TARGET_TIMES = 5;

const NAMES: Readonly<Record<string, string>> = { this: 'this version', before: 'before' };
const ms = (value: number): string =>
  Number.isNaN(value) ? '–' : value.toFixed(value < 10 ? 1 : 0);
const times = ({ alone, beside }: FairnessRound): number =>
  beside.storedLatency.p99 / alone.storedLatency.p99;

function share({ stored, refused, lost }: FairnessLoad, which: 'refused' | 'lost'): string {
  const part = { refused, lost }[which];
  return `${((part / (stored + refused + lost)) * 100).toFixed(0)} %`;
}

function sumOf(loads: readonly FairnessLoad[]): FairnessLoad {
  const [first] = loads;
  if (first === undefined) throw new Error('no round');
  const sum = (pick: (load: FairnessLoad) => number): number =>
    loads.reduce((total, load) => total + pick(load), 0);
  return {
    ...first,
    stored: sum(({ stored }) => stored),
    refused: sum(({ refused }) => refused),
    lost: sum(({ lost }) => lost),
  };
}

function quietTable({ servers }: FairnessResult): string {
  const rows = servers.flatMap(({ name, rounds }) =>
    (['alone', 'beside'] as const).map((which) => {
      const loads = rounds.map((round) => round[which]);
      const all = sumOf(loads);
      const of = (pick: (load: FairnessLoad) => number): string => ms(median(loads.map(pick)));
      return [
        `${NAMES[name] ?? name}, ${which === 'alone' ? 'alone' : 'beside the flood'}`,
        of(({ storedLatency }) => storedLatency.p50),
        of(({ storedLatency }) => storedLatency.p99),
        of(({ storedLatency }) => storedLatency.max),
        which === 'alone' ? '' : median(rounds.map(times)).toFixed(1),
        share(all, 'refused'),
        share(all, 'lost'),
        loads.map(({ storedLatency }) => ms(storedLatency.p99)).join(' '),
      ];
    }),
  );
  const titles = ['the quiet one', 'p50 ms', 'p99 ms', 'max ms', 'p99, times alone'];
  return markdownTable([...titles, 'refused', 'no status', 'every p99'], rows);
}

function floodTable({ servers }: FairnessResult): string {
  const rows = servers.map(({ name, rounds }) => {
    const loads = rounds.map(({ flood }) => flood);
    const all = sumOf(loads);
    const of = (pick: (load: FairnessLoad) => number): string => ms(median(loads.map(pick)));
    return [
      NAMES[name] ?? name,
      of(({ stored, seconds }) => stored / seconds),
      of(({ storedLatency }) => storedLatency.p99),
      share(all, 'refused'),
      of(({ refusedLatency }) => refusedLatency.p50),
      of(({ refusedLatency }) => refusedLatency.p99),
      share(all, 'lost'),
    ];
  });
  const titles = ['the flood', 'stored/s', 'stored, p99 ms', 'refused'];
  return markdownTable([...titles, 'refusal, p50 ms', 'refusal, p99 ms', 'no status'], rows);
}

export function fairnessParts(result: FairnessResult): Map<string, string> {
  const { machine, rounds, seconds, servers } = result;
  const facts =
    `${machineLine(machine)}; ` +
    `${rounds} ${rounds === 1 ? 'round' : 'rounds'} of ${seconds} s alone and beside the flood; medians.`;
  const [own] = servers;
  const ratio = median(own?.rounds.map(times) ?? []);
  const reached = ratio <= TARGET_TIMES ? 'reached' : '**missed**';
  const verdict = `Target: p99 beside the flood at most ${TARGET_TIMES} times alone: ${ratio.toFixed(1)} times, ${reached}.`;
  const page = [facts, quietTable(result), floodTable(result), verdict];
  return new Map([['fairness', page.join('\n\n')]]);
}
