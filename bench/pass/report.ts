/** What the benchmark of the pass prints and writes: a table, JSON, and docs/matching.md. */
import { renderTable } from '../../src/cli/table.ts';
import { median } from '../harness.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import type { PassResult } from '../pass.ts';
import { writeMeasured, writeResult } from '../publish.ts';

const whole = (value: number): string => Math.round(value).toLocaleString('en');

/** One row per figure: its name, its median, every value. */
function figures({ pass, ingestAlone, ingestBeside, passBeside }: PassResult): string[][] {
  const oldest = pass.map(({ samples }) => Math.max(...samples.map((one) => one.oldestSeconds)));
  const row = (name: string, values: readonly number[], show = whole): string[] => [
    name,
    show(median(values)),
    values.map(show).join(' '),
  ];
  return [
    row(
      'pass alone, runs/s',
      pass.map((one) => one.runsPerSecond),
    ),
    row(
      'pass alone, MB of text/s',
      pass.map((one) => one.megabytesPerSecond),
      (value) => value.toFixed(1),
    ),
    row('oldest due run, s', oldest, (value) => value.toFixed(1)),
    row('ingest alone, spans/s', ingestAlone),
    row('ingest beside a pass, spans/s', ingestBeside),
    row('pass beside ingest, runs/s', passBeside),
  ];
}

/** The backlog of one pass at every tenth of its time. */
function backlogOf({ pass }: PassResult): string[][] {
  const [first] = pass;
  if (first === undefined) return [];
  const last = first.samples.at(-1)?.seconds ?? 0;
  const shown = Array.from({ length: 11 }, (_, tenth) =>
    first.samples.find(({ seconds }) => seconds >= (last * tenth) / 10),
  );
  return [...new Set(shown)].flatMap((one) =>
    one === undefined
      ? []
      : [[one.seconds.toFixed(1), whole(one.due), one.oldestSeconds.toFixed(1)]],
  );
}

/** The measured part of docs/matching.md. */
function pageOf(result: PassResult): string {
  const { machine, runs, planted, hit, findings, textMegabytes, ingestRatio } = result;
  const ratio = ['ingest beside a pass, share of alone', ingestRatio.toFixed(2), ''];
  return [
    `${machineLine(machine)}; ${whole(runs)} runs of 4 spans, ${textMegabytes} MB of text, ` +
      `${planted} with an attack, ${findings} findings in ${hit} runs, as expected; ` +
      `match threads: ${result.matchThreads}.`,
    markdownTable(['', 'median', 'all values'], [...figures(result), ratio]),
    'The backlog of the first of these passes:',
    markdownTable(['second', 'runs due', 'oldest due for, s'], backlogOf(result)),
  ].join('\n\n');
}

/** Prints a result and writes it as JSON and into docs/matching.md. */
export function reportPass(result: PassResult): void {
  const columns = [
    { title: 'FIGURE' },
    { title: 'MEDIAN', align: 'right' as const },
    { title: 'ALL VALUES' },
  ];
  const ratio = ['ingest beside a pass / alone', result.ingestRatio.toFixed(2), ''];
  process.stdout.write(`${renderTable(columns, [...figures(result), ratio])}\n`);
  writeResult(result);
  writeMeasured('docs/matching.md', [['pass', pageOf(result)]]);
}
