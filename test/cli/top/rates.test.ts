/** Rates from two answers of `/metrics`, and how they are shown. */
import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { parseMetrics, sumOf } from '../../../src/cli/top/metrics-text.ts';
import { ratesBetween, totalOf } from '../../../src/cli/top/rates.ts';
import { metricsUrl } from '../../../src/cli/top/run-top.ts';
import { durationText, rateText, renderLine, renderScreen } from '../../../src/cli/top/screen.ts';
import { createMetrics, type Metrics } from '../../../src/observe/metrics.ts';

const textOf = (fill: (metrics: Metrics) => void): Promise<string> => {
  const metrics = createMetrics();
  fill(metrics);
  return metrics.registry.metrics();
};

/** Two readings, two seconds apart, as the server writes them. */
async function rates(before: (m: Metrics) => void, after: (m: Metrics) => void) {
  const [first, second] = await Promise.all([textOf(before), textOf(after)]);
  return ratesBetween(
    { atMs: 1000, metrics: parseMetrics(first) },
    { atMs: 3000, metrics: parseMetrics(second) },
  );
}

test('every rate is of what grew, each second', async () => {
  const result = await rates(
    (metrics) => {
      metrics.rows.inc(100);
      metrics.requests.inc({ signal: 'traces', status: '200' }, 5);
    },
    (metrics) => {
      metrics.rows.inc(300);
      metrics.bytes.inc(4096);
      metrics.requests.inc({ signal: 'traces', status: '200' }, 9);
      metrics.requests.inc({ signal: 'logs', status: '200' }, 2);
      metrics.requests.inc({ signal: 'logs', status: '400' }, 50);
      metrics.refused.inc({ reason: 'bad_request' }, 50);
      metrics.unavailable.inc({ place: 'ingest', reason: 'inflight_rows' }, 4);
      metrics.unavailable.inc({ place: 'ready', reason: 'database' }, 100);
      metrics.inflight.set(7);
      metrics.batchSeconds.observe(0.01);
      metrics.batchSeconds.observe(0.03);
      metrics.runs.inc({ outcome: 'evaluated' }, 8);
      metrics.runs.inc({ outcome: 'undecided' }, 2);
      metrics.findings.inc({ severity: 'high' }, 3);
      metrics.findings.inc({ severity: 'low' }, 1);
      metrics.waitingRuns.set(12);
      metrics.oldestWait.set(90);
      metrics.alertsPending.set(1);
    },
  );
  expect(result).toEqual({
    rows: 100,
    bytes: 2048,
    traces: 2,
    metrics: 0,
    logs: 1,
    refused: 25,
    unavailable: 2,
    inflightBytes: 7,
    commitMs: expect.closeTo(20),
    evaluated: 4,
    failed: 1,
    findings: 2,
    waitingRuns: 12,
    oldestWaitSeconds: 90,
    alertsPending: 1,
  });
});

test('a process that was started again counts from 0', async () => {
  const result = await rates(
    (metrics) => metrics.rows.inc(1_000_000),
    (metrics) => metrics.rows.inc(50),
  );
  expect(result.rows).toBe(25);
  expect(result.commitMs).toBeNull();
});

test('of all servers: sums, but the largest of what is the same everywhere', async () => {
  const one = await rates(
    () => {},
    (metrics) => {
      metrics.rows.inc(10);
      metrics.waitingRuns.set(5);
      metrics.batchSeconds.observe(0.02);
    },
  );
  const other = { ...one, waitingRuns: 6, commitMs: null };
  expect(totalOf([one, other])).toMatchObject({ rows: 10, waitingRuns: 6 });
  expect(totalOf([one, other]).commitMs).toBeCloseTo(20);
  expect(totalOf([])).toMatchObject({ rows: 0, commitMs: null, waitingRuns: 0 });
});

describe('the text of metrics', () => {
  test('labels with quotes, line breaks and braces; infinities; no other lines', () => {
    const text = [
      '# HELP a help',
      'a{x="1}\\"\\n\\\\",y="2"} 3 1700000000000',
      'a 4',
      'b +Inf',
      'not a metric at all',
      '',
    ].join('\n');
    const metrics = parseMetrics(text);
    expect([...metrics.keys()]).toEqual(['a', 'b']);
    expect(metrics.get('a')).toEqual([
      { labels: { x: '1}"\n\\', y: '2' }, value: 3 },
      { labels: {}, value: 4 },
    ]);
    expect(sumOf(metrics, 'a')).toBe(7);
    expect(sumOf(metrics, 'a', { y: /^2$/ })).toBe(3);
    expect(sumOf(metrics, 'b')).toBe(Number.POSITIVE_INFINITY);
    expect(sumOf(metrics, 'none')).toBe(0);
  });

  test('no text is an error', () => {
    fc.assert(fc.property(fc.string(), (text) => void parseMetrics(text)));
  });
});

test.each([
  [0, '0'],
  [0.44, '0.4'],
  [12.4, '12'],
  [1234, '1,234'],
  [12_345, '12.3k'],
])('a rate of %d is %s', (rate, text) => {
  expect(rateText(rate)).toBe(text);
});

test.each([
  [0, '0 s'],
  [59.4, '59 s'],
  [180, '3 min'],
  [9000, '2.5 h'],
])('%d seconds are %s', (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});

test('the screen has a line for each server, and one for all; the line counts those that are away', () => {
  const total = totalOf([]);
  const servers = [
    { name: 'one:9464', rates: { ...total, rows: 1234, oldestWaitSeconds: 61 }, error: null },
    { name: 'two:9464', rates: null, error: 'ECONNREFUSED' },
  ];
  const screen = renderScreen(servers, total, 2);
  expect(screen).toMatch(/^one:9464 +1,234 /m);
  expect(screen).toMatch(/^two:9464 +away$/m);
  expect(screen).toMatch(/^all +0 /m);
  expect(screen).toContain('two:9464: ECONNREFUSED');
  expect(renderLine(servers, total)).toMatch(/^servers 1\/2 {2}rows\/s 0 /);
  expect(renderLine(servers, total)).toContain('  stored 0 bytes/s  ');
  expect(screen).toMatch(/^one:9464 +1,234 +0 bytes\/s +0 bytes +–$/m);
  const [alone] = servers;
  const single = renderScreen(alone === undefined ? [] : [alone], total, 2);
  expect(single).not.toMatch(/^all/m);
});

test('80 columns are enough for large numbers and the whole address of a server', () => {
  const large = Object.fromEntries(Object.keys(totalOf([])).map((name) => [name, 1_234_567]));
  const servers = [{ name: '10.10.0.15:9464', rates: { ...totalOf([]), ...large }, error: null }];
  const lines = stripVTControlCharacters(renderScreen(servers, totalOf([]), 2, 80)).split('\n');
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(lines.filter((line) => line.startsWith('10.10.0.15:9464 '))).toHaveLength(3);
});

test.each([
  ['10.0.0.5:9464', 'http://10.0.0.5:9464/metrics'],
  ['http://sluice:9464', 'http://sluice:9464/metrics'],
  ['https://sluice/own/metrics', 'https://sluice/own/metrics'],
])('%s is read at %s', (text, url) => {
  expect(metricsUrl(text).href).toBe(url);
});
