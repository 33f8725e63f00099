/** The measured part of docs/matching.md about the pass. Pure. */
import { median } from '../harness.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import type { PassResult } from '../pass.ts';

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

export function passParts(result: PassResult): Map<string, string> {
  const { machine, runs, planted, hit, findings, textMegabytes, ingestRatio } = result;
  const ratio = ['ingest beside a pass, share of alone', ingestRatio.toFixed(2), ''];
  const page = [
    `${machineLine(machine)}; ${whole(runs)} runs of 4 spans, ${textMegabytes} MB of text, ` +
      `${planted} with an attack, ${findings} findings in ${hit} runs, as expected; ` +
      `match threads: ${result.matchThreads}.`,
    markdownTable(['', 'median', 'all values'], [...figures(result), ratio]),
    'The backlog of the first of these passes:',
    markdownTable(['second', 'runs due', 'oldest due for, s'], backlogOf(result)),
  ];
  return new Map([['pass', page.join('\n\n')]]);
}
