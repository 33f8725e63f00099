/** Pages of log records and metrics: what they show, and hostile text in every value. */
import { describe, expect, test } from 'vitest';
import type { LogLine } from '../../../../src/model/shown/logs.ts';
import type { MetricChart, MetricSummary } from '../../../../src/model/shown/metrics.ts';
import { type LogsPage, logsPage } from '../../../../src/web/app/telemetry/logs.ts';
import { metricPage, metricsPage } from '../../../../src/web/app/telemetry/metrics.ts';
import { hex16 } from '../../../support/rows.ts';
import { HOSTILE, holdsAsText, LOOK, MEMBER, NOW_MS } from '../fixtures.ts';

const line = (fields: Partial<LogLine> = {}): LogLine => ({
  timeUnixNano: '1763640000000000000',
  level: 'error',
  service: 'shop',
  eventName: 'order.failed',
  text: 'order 1017',
  attributes: 'order=1017',
  isCut: false,
  runId: hex16(7),
  ...fields,
});
const logs = (fields: Partial<LogsPage> = {}): string =>
  logsPage(LOOK, MEMBER, {
    records: [line()],
    next: null,
    blocksRead: 1,
    unreadable: [],
    query: '',
    isRedacted: false,
    ...fields,
  }).text;

describe('logs', () => {
  test('a record has its time, level, service, text and run', () => {
    const page = logs();
    expect(page).toContain('2025-11-20 12:00:00.000 UTC');
    expect(page).toContain('<span class="badge high">error</span>');
    expect(page).toContain('href="/app/entities?kind=service&amp;name=shop"');
    expect(page).toContain(`href="/app/runs/${hex16(7)}"`);
    expect(page).toContain('order.failed');
    expect(
      logs({ records: [line({ runId: null, timeUnixNano: '0', level: null })] }),
    ).not.toContain('/app/runs/0');
  });

  test('hostile values are text', () => {
    const records = [
      line({ service: HOSTILE, eventName: HOSTILE, text: HOSTILE, attributes: HOSTILE }),
    ];
    const query = `service=${encodeURIComponent(HOSTILE)}`;
    expect(holdsAsText(logs({ records, query }))).toBe(true);
  });

  test('an unreadable block is named, and an older page is linked', () => {
    const unreadable = [{ day: '2026-11-20', records: 12 }];
    expect(logs({ unreadable })).toContain('1 block with 12 log records could not be read');
    expect(logs({ next: 'c' })).toMatch(/cursor=c" rel="next">Older</);
    const none = logs({ records: [], next: 'c', query: 'level=warn' });
    expect(none).toContain('No matching records so far');
    expect(none).toContain('Search further');
    expect(logs({ records: [], query: 'level=warn' })).toContain('Show all log records');
  });

  test('a workspace that redacts has no field for a text', () => {
    const page = logs({ isRedacted: true, records: [line({ text: null, attributes: null })] });
    expect(page).not.toContain('name="text"');
    expect(page).toContain('the texts of log records are not shown');
  });
});

const metric = (fields: Partial<MetricSummary> = {}): MetricSummary => ({
  name: 'gen_ai.client.tokens',
  unit: '{token}',
  description: 'Used',
  kind: 'sum',
  isCumulative: false,
  isMonotonic: true,
  services: ['shop'],
  attributes: ['model'],
  lastValue: 1412,
  lastSeen: new Date(NOW_MS - 60_000),
  points: 3,
  ...fields,
});
const RANGE = { hours: 24, nowMs: NOW_MS };
const READ = { readTo: null, unreadable: [] };
const chart = (fields: Partial<MetricChart> = {}): MetricChart => ({
  metric: metric(),
  statistic: 'sum',
  by: 'model',
  hours: [new Date(NOW_MS - 3_600_000), new Date(NOW_MS)],
  series: [
    { value: 'm-1', values: [null, 1412] },
    { value: null, values: [0.25, null] },
  ],
  leftOut: 0,
  ...READ,
  ...fields,
});

describe('metrics', () => {
  test('a metric leads to its hours', () => {
    const list = { metrics: [metric()], leftOut: 2, ...READ };
    const page = metricsPage(LOOK, MEMBER, { list, ...RANGE }).text;
    expect(page).toContain('href="/app/metrics?name=gen_ai.client.tokens&amp;hours=24"');
    expect(page).toContain('>1,412<');
    expect(page).toContain('>token<');
    expect(page).toContain('2 further metrics not listed');
    expect(page).not.toContain('The range was cut');
  });

  test('each value of the attribute has its hours, with numbers in a table', () => {
    const page = metricPage(LOOK, MEMBER, {
      name: 'gen_ai.client.tokens',
      chart: chart(),
      ...RANGE,
    }).text;
    expect(page).toContain('model: m-1');
    expect(page).toContain('model: not set');
    expect(page).toContain('Sum of each hour');
    expect(page).toContain('<td class="number">0.25</td>');
    expect(page).toMatch(/<option value="model" selected>/);
  });

  test('a cut range and damaged blocks are named; a metric without points has a way on', () => {
    const readTo = new Date(NOW_MS - 7_200_000);
    const unreadable = [{ day: '2026-11-20', records: 1 }];
    const cut = { name: 'x', chart: chart({ readTo, unreadable, leftOut: 3 }), ...RANGE };
    const page = metricPage(LOOK, MEMBER, cut).text;
    expect(page).toContain('The range was cut: only points that arrived since');
    expect(page).toContain('1 block with 1 data point could not be read');
    expect(page).toContain('3 further values of model not shown');
    const none = chart({ metric: null, statistic: null, series: [] });
    expect(metricPage(LOOK, MEMBER, { name: 'x', chart: none, ...RANGE }).text).toContain(
      'No points in this range',
    );
  });

  test('hostile values are text', () => {
    const own = metric({
      name: HOSTILE,
      unit: HOSTILE,
      description: HOSTILE,
      services: [HOSTILE],
      attributes: [HOSTILE],
    });
    const list = { metrics: [own], leftOut: 0, ...READ };
    expect(holdsAsText(metricsPage(LOOK, MEMBER, { list, ...RANGE }).text)).toBe(true);
    const series = [{ value: HOSTILE, values: [1, 2] }];
    const shown = chart({ metric: own, by: HOSTILE, series });
    expect(
      holdsAsText(metricPage(LOOK, MEMBER, { name: HOSTILE, chart: shown, ...RANGE }).text),
    ).toBe(true);
  });
});
