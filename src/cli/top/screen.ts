/** The output of `sluice top`: tables for a terminal, one line elsewhere. Pure. */
import { paint } from '../../terminal/paint.ts';
import { renderTable, terminalWidth } from '../table.ts';
import { bytesText } from '../values/bytes-text.ts';
import type { Rates } from './rates.ts';

/** The readings of one server. */
export interface ServerRates {
  /** its host and port */
  readonly name: string;
  /** null: not read twice yet, or not reachable */
  readonly rates: Rates | null;
  /** why it could not be read */
  readonly error: string | null;
}

const THOUSAND = 1000;
const SECONDS_PER_MINUTE = 60;

/** `0.4`, `12`, `1,234`, `12.3k`. */
export function rateText(rate: number): string {
  if (rate === 0) return '0';
  if (rate < 10) return rate.toFixed(1);
  if (rate < 10 * THOUSAND) return Math.round(rate).toLocaleString('en-US');
  return `${(rate / THOUSAND).toFixed(1)}k`;
}

/** `0 s`, `59 s`, `3 min`, `2.5 h`. */
export function durationText(seconds: number): string {
  if (seconds < SECONDS_PER_MINUTE) return `${Math.round(seconds)} s`;
  const minutes = seconds / SECONDS_PER_MINUTE;
  if (minutes < SECONDS_PER_MINUTE) return `${Math.round(minutes)} min`;
  return `${(minutes / SECONDS_PER_MINUTE).toFixed(1)} h`;
}

const millis = (ms: number | null): string => (ms === null ? '–' : `${ms.toFixed(0)} ms`);
const byteRate = (rate: number): string => `${bytesText(Math.round(rate))}/s`;
const marked = (rate: number): string => (rate > 0 ? paint.red(rateText(rate)) : rateText(rate));

/** A column of rates: its title, and the cell of a server. */
type RateColumn = readonly [title: string, cell: (rates: Rates) => string];

// Each group fits beside the name of a server into a terminal of 80 columns.
const REQUESTS: readonly RateColumn[] = [
  ['TRACES/S', ({ traces }) => rateText(traces)],
  ['METRICS/S', ({ metrics }) => rateText(metrics)],
  ['LOGS/S', ({ logs }) => rateText(logs)],
  ['REFUSED/S', ({ refused }) => marked(refused)],
  ['503/S', ({ unavailable }) => marked(unavailable)],
];

const STORING: readonly RateColumn[] = [
  ['ROWS/S', ({ rows }) => rateText(rows)],
  ['STORED', ({ bytes }) => byteRate(bytes)],
  ['IN MEMORY', ({ inflightBytes }) => bytesText(inflightBytes)],
  ['COMMIT', ({ commitMs }) => millis(commitMs)],
];

const EVALUATION: readonly RateColumn[] = [
  ['RUNS/S', ({ evaluated }) => rateText(evaluated)],
  ['FAILED/S', ({ failed }) => marked(failed)],
  ['FINDINGS/S', ({ findings }) => rateText(findings)],
  ['WAITING', ({ waitingRuns }) => rateText(waitingRuns)],
  ['OLDEST WAIT', ({ oldestWaitSeconds }) => durationText(oldestWaitSeconds)],
  ['ALERTS DUE', ({ alertsPending }) => rateText(alertsPending)],
];

function table(
  columns: readonly RateColumn[],
  servers: readonly ServerRates[],
  total: Rates,
  width: number,
): string {
  const sum = servers.length > 1 ? [{ name: 'all', rates: total, error: null }] : [];
  return renderTable<ServerRates>(
    [...servers, ...sum],
    [
      { title: 'SERVER', shrinks: true, cell: ({ name }) => name },
      ...columns.map(([title, cell], index) => ({
        title,
        align: 'right' as const,
        cell: ({ rates, error }: ServerRates) => {
          if (rates !== null) return cell(rates);
          if (index > 0) return '';
          return error === null ? '…' : paint.red('away');
        },
      })),
    ],
    width,
  );
}

/** The whole screen. */
export function renderScreen(
  servers: readonly ServerRates[],
  total: Rates,
  intervalSeconds: number,
  width: number = terminalWidth(),
): string {
  const errors = servers.flatMap(({ name, error }) =>
    error === null ? [] : [paint.red(`${name}: ${error}`)],
  );
  return [
    `${paint.bold('sluice top')}  every ${intervalSeconds} s · Ctrl-C ends it`,
    '',
    paint.bold('Requests'),
    table(REQUESTS, servers, total, width),
    '',
    paint.bold('Storing'),
    table(STORING, servers, total, width),
    '',
    paint.bold('Evaluation'),
    table(EVALUATION, servers, total, width),
    ...(errors.length > 0 ? ['', ...errors] : []),
  ].join('\n');
}

/** All servers in one line, for files and pipes. */
export function renderLine(servers: readonly ServerRates[], total: Rates): string {
  const away = servers.filter(({ error }) => error !== null).length;
  const parts = [
    ...(servers.length > 1 || away > 0
      ? [`servers ${servers.length - away}/${servers.length}`]
      : []),
    `rows/s ${rateText(total.rows)}`,
    `stored ${byteRate(total.bytes)}`,
    `traces/s ${rateText(total.traces)}`,
    `metrics/s ${rateText(total.metrics)}`,
    `logs/s ${rateText(total.logs)}`,
    `refused/s ${rateText(total.refused)}`,
    `503/s ${rateText(total.unavailable)}`,
    `in memory ${bytesText(total.inflightBytes)}`,
    `commit ${millis(total.commitMs)}`,
    `runs/s ${rateText(total.evaluated)}`,
    `findings/s ${rateText(total.findings)}`,
    `waiting ${rateText(total.waitingRuns)}`,
    `oldest wait ${durationText(total.oldestWaitSeconds)}`,
  ];
  return parts.join('  ');
}
