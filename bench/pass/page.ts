/** The measured part of docs/matching.md about the pass. Pure. */
import { notMeasured } from '../agent-runs/data.ts';
import { median } from '../harness.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import type { AgentRunsPass, PassResult } from '../pass.ts';

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

const oneDecimal = (value: number): string => value.toFixed(1);

function agentRunsTable(all: readonly AgentRunsPass[]): string {
  const rows = all.map(({ name, runs, spans, bodyMegabytes, textMegabytes, findings, seconds }) => {
    const rates = seconds.map((one) => runs / one);
    const rate = median(rates);
    return [
      name,
      whole(runs),
      whole(spans / runs),
      ...[bodyMegabytes, textMegabytes].map((one) => oneDecimal((one * 1000) / runs)),
      whole(findings),
      whole(rate),
      ...[bodyMegabytes, textMegabytes].map((one) => oneDecimal((one * rate) / runs)),
      rates.map(whole).join(' '),
    ];
  });
  const titles = [
    '',
    'runs',
    'spans a run',
    'KB of JSON a run',
    'KB of distinct text a run',
    'findings',
    'runs/s',
    'MB of JSON/s',
    'MB of distinct text/s',
    'all runs/s',
  ];
  return markdownTable(titles, rows);
}

/** Nothing but a sentence for results from before agent runs were measured. */
function agentRunsPart({ agentRuns = [] }: PassResult): string[] {
  const missing = notMeasured(agentRuns.map(({ name }) => name));
  return [
    'Passes over [agent runs](performance.md#agent-runs):',
    ...(agentRuns.length === 0 ? [] : [agentRunsTable(agentRuns)]),
    ...(missing === '' ? [] : [missing]),
  ];
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
    ...agentRunsPart(result),
  ];
  return new Map([['pass', page.join('\n\n')]]);
}
