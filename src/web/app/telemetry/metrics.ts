/** The list of metrics, and one of them by hour. */
import type {
  MetricChart,
  MetricList,
  MetricSummary,
  MetricsRead,
  Statistic,
} from '../../../model/shown/metrics.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { barChart } from '../charts.ts';
import { count, hourLabel, many, time } from '../format.ts';
import {
  appPage,
  crumb,
  empty,
  entityLink,
  facts,
  type Look,
  listTable,
  NUMBER,
  option,
  type Viewer,
} from '../shell.ts';
import { LOGS_PATH, telemetryTabs, unreadableNote } from './logs.ts';

const PATH = '/app/metrics';
const RANGES = [6, 24, 72, 168];

interface RangePage {
  readonly hours: number;
  readonly nowMs: number;
}
export interface MetricsPage extends RangePage {
  readonly list: MetricList;
}
export interface MetricPage extends RangePage {
  readonly name: string;
  readonly chart: MetricChart;
}

const chartHref = (name: string, hours: number): string =>
  `${PATH}?name=${encodeURIComponent(name)}&hours=${hours}`;

const DIGITS = 6;
/** `1,234`, `0.25`, `1.5e+21` */
function number(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < Number.MAX_SAFE_INTEGER) {
    return value < 0 ? `−${count(-value)}` : count(value);
  }
  return String(Number(value.toPrecision(DIGITS)));
}

/** `1` is no unit, and `{token}` names what is counted (UCUM). */
const unitOf = ({ unit }: MetricSummary): string =>
  unit === '1' ? '' : unit.replace(/^\{(.*)\}$/, '$1');

const KINDS = {
  gauge: 'gauge',
  sum: 'sum',
  histogram: 'histogram',
  exponentialHistogram: 'exponential histogram',
  summary: 'summary',
} as const;

function kindText({ kind, isMonotonic, isCumulative }: MetricSummary): string {
  if (kind === 'sum' && isMonotonic) return isCumulative ? 'counter, totals' : 'counter';
  return KINDS[kind];
}

function cutNote({ readTo }: MetricsRead, nowMs: number): HtmlValue {
  return (
    readTo !== null &&
    html`<p class="notice" role="status">The range was cut: only points that arrived since ${time(readTo, nowMs)} were read. Choose a shorter range to see all of it.</p>`
  );
}

function rangeField(hours: number): Html {
  const label = (range: number) => (range < 48 ? `${range} hours` : `${range / 24} days`);
  const known = RANGES.includes(hours) ? RANGES : [...RANGES, hours];
  return html`<label>Range<select name="hours">${known.map((range) => option(String(range), label(range), String(hours)))}</select></label>`;
}

function table(metrics: readonly MetricSummary[], { hours, nowMs }: RangePage): Html {
  const title = ({ name, description }: MetricSummary) =>
    html`<a href="${chartHref(name, hours)}">${name}</a> <span class="soft below">${description}</span>`;
  const links = ({ services }: MetricSummary) =>
    services.map((one, index) => html`${index > 0 && ', '}${entityLink('service', one)}`);
  return listTable('Metrics', metrics, [
    ['Metric', title],
    ['Unit', unitOf],
    ['Kind', kindText],
    ['Services', links],
    ['Points', ({ points }) => count(points), NUMBER],
    ['Last value', ({ lastValue }) => (lastValue === null ? '–' : number(lastValue)), NUMBER],
    ['Last seen', ({ lastSeen }) => time(lastSeen, nowMs)],
  ]);
}

export function metricsPage(look: Look, viewer: Viewer, data: MetricsPage): Html {
  const { list, hours, nowMs } = data;
  const { metrics, leftOut, unreadable } = list;
  return appPage(look, viewer, {
    title: 'Metrics',
    current: LOGS_PATH,
    isWide: true,
    main: html`<div class="head"><div class="title-line"><h1>Metrics</h1>
<p class="soft">Metrics as they were sent. The last value of a histogram is the average of its latest point.</p></div>${telemetryTabs(PATH)}</div>
<form class="filters" method="get" action="${PATH}" role="search" aria-label="Metrics">${rangeField(hours)}
<div class="buttons"><button>Show</button></div></form>
${cutNote(list, nowMs)}
${unreadableNote(unreadable, 'data point')}
${
  metrics.length === 0
    ? empty('No metrics in this range', html`<p><a href="/docs/ingest">How to send them</a></p>`)
    : table(metrics, data)
}
${leftOut > 0 && html`<p class="soft">${many(leftOut, 'further metric')} not listed.</p>`}`,
  });
}

const SAID: Readonly<Record<Statistic, string>> = {
  sum: 'Sum of each hour',
  last: 'Last value of each hour, added up over senders',
  average: 'Average of each hour',
};

function charts({ chart }: MetricPage): HtmlValue {
  const { metric, by, hours, series, statistic, leftOut } = chart;
  if (metric === null || statistic === null) return null;
  const times = hours.map((hour) => hour.toISOString());
  const unit = unitOf(metric);
  return html`<div class="grid wide">${series.map(({ value, values }) =>
    barChart({
      title: by === null ? SAID[statistic] : `${by}: ${value ?? 'not set'}`,
      slot: 'Hour (UTC)',
      labels: times.map(hourLabel),
      times,
      isStacked: false,
      series: [{ name: unit === '' ? 'value' : unit, look: 'bar-accent', values }],
      format: number,
      ...(by === null ? {} : { note: SAID[statistic] }),
    }),
  )}</div>${leftOut > 0 && html`<p class="soft">${many(leftOut, 'further value')} of ${by} not shown, those with the smallest values.</p>`}`;
}

export function metricPage(look: Look, viewer: Viewer, data: MetricPage): Html {
  const { name, chart, hours, nowMs } = data;
  const { metric, by } = chart;
  const keys = [
    ...new Set(['service.name', ...(metric?.attributes ?? []), ...(by === null ? [] : [by])]),
  ];
  return appPage(look, viewer, {
    title: name,
    current: LOGS_PATH,
    isWide: true,
    main: html`<div class="way">${crumb(PATH, 'Metrics')}</div>
<div class="title-line"><h1>${name}</h1><p class="soft always">${metric?.description}</p></div>
<form class="filters" method="get" action="${PATH}" role="search" aria-label="Metric"><input type="hidden" name="name" value="${name}">
<label>By<select name="by">${option('', 'nothing', by)}${keys.map((key) => option(key, key, by))}</select></label>
${rangeField(hours)}
<div class="buttons"><button>Show</button></div></form>
${cutNote(chart, nowMs)}
${unreadableNote(chart.unreadable, 'data point')}
${
  metric === null
    ? empty(
        'No points in this range',
        html`<p>Choose a longer range, or <a href="${PATH}">another metric</a>.</p>`,
      )
    : html`${facts([
        ['Kind', kindText(metric)],
        ['Unit', unitOf(metric)],
        ['Last value', metric.lastValue === null ? null : number(metric.lastValue)],
        ['Last seen', time(metric.lastSeen, nowMs)],
        ['Points', count(metric.points)],
      ])}
${charts(data)}`
}`,
  });
}
