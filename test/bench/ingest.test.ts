/** What the benchmark of ingest computes and writes: percentiles, verdicts, tables, charts, requests. */

import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { RUN_DATA } from '../../bench/agent-runs/data.ts';
import { runBody, runLogBody } from '../../bench/agent-runs/runs.ts';
import { barChart } from '../../bench/charts/bar-chart.ts';
import { lineChart } from '../../bench/charts/line-chart.ts';
import { escapeXml, roundUp } from '../../bench/charts/svg.ts';
import { ingestCharts, memoryCharts } from '../../bench/ingest/figures.ts';
import { latencyOf, percentile } from '../../bench/ingest/latency.ts';
import { type Measured, medianOf, ratioOf, type Series } from '../../bench/ingest/measured.ts';
import { ingestParts, memoryParts } from '../../bench/ingest/page.ts';
import { bodyOf, prepareRequest, stamp } from '../../bench/ingest/requests.ts';
import {
  COPIED_DATA,
  type IngestResult,
  type MemoryResult,
  NAMES,
  nameOfData,
  nameOfRawData,
} from '../../bench/ingest/result.ts';
import { answerLength } from '../../bench/ingest/sender.ts';
import { memoryVerdict, verdictsOf } from '../../bench/ingest/targets.ts';
import { nameOfBody } from '../../bench/ingest/throughput.ts';
import { markdownTable, replaceMeasured } from '../../bench/markdown.ts';
import { documentsOf, RESULT_NAMES, type Results } from '../../bench/pages.ts';
import { someOf } from '../support/cases.ts';

const MACHINE = {
  cpu: 'a <fast> CPU',
  cores: 2,
  memoryGib: 8,
  kernel: '6.1',
  node: 'v20.0.0',
  loadBefore: 0.1,
  at: '2026-11-21T10:00:00.000Z',
  commit: '0123456789',
};

function measured(rowsPerSecond: number, other: Partial<Measured> = {}): Measured {
  return {
    rows: 1000,
    seconds: 1,
    rowsPerSecond,
    megabytesPerSecond: 1.5,
    cpu: { server: 10, postgres: 8, client: 2 },
    latency: { p50: 5, p95: 20, p99: 40, max: 50, count: 10 },
    residentMb: 200,
    stolenCores: 0.02,
    ...other,
  };
}

const series = (name: string, ...rates: number[]): Series => ({
  name,
  raw: rates.map((rate) => measured(rate)),
});

/** A run in which Sluice stores nine tenths of raw COPY and five times what the others do. */
function result(sluice = 90_000): IngestResult {
  const latency = { p50: 1, p95: 2, p99: 49.9, max: 60, count: 400 };
  const probe = { rowsPerSecond: 9, latency, raw: [latency], stolenCores: 0.01 };
  const paced = (name: string, offered: number) => ({
    name,
    offered,
    measured: measured(offered),
    raw: [measured(offered), measured(offered)],
    serverCores: 0.36,
    postgresCores: 0.2,
  });
  return {
    name: 'ingest',
    machine: MACHINE,
    rounds: 1,
    quick: false,
    spansPerBody: 100,
    bytesPerSpan: 1500,
    bytesPerLogRecord: 1100,
    throughput: [
      {
        name: NAMES.sluice,
        raw: [measured(sluice, { stored: { wal: 300, disk: 251 } })],
      },
      series(NAMES.rawOne, 80_000),
      series(NAMES.rawTwo, 100_000),
      series(NAMES.gzip, 80_000),
      series(NAMES.perRequest, 18_000),
      series(NAMES.batched, 16_000),
      series(NAMES.logs, 50_000),
      series(NAMES.rawLogs, 60_000),
      series(NAMES.points, 90_000),
      series(NAMES.rawPoints, 120_000),
    ],
    bodies: [
      { name: '1 span', raw: [measured(2000, { cpu: { server: 10, postgres: 46, client: 2 } })] },
    ],
    connections: [series('1 connection', 20_000)],
    sustained: {
      measured: measured(80_000, { residentMb: 290 }),
      raw: [
        measured(80_000, { cpu: { server: 4, postgres: 14, client: 1 } }),
        measured(80_000, { cpu: { server: 5, postgres: 10, client: 1 } }),
      ],
      copied: [
        measured(90_000, { cpu: { server: 0, postgres: 20, client: 1 } }),
        measured(90_000, { cpu: { server: 0, postgres: 16.6, client: 1 } }),
      ],
      seconds: 60,
      checkpoints: 2,
      autovacuums: 3,
      walMegabytes: 9_000,
    },
    paced: [
      paced('10,000 spans/s', 10_000),
      paced('50 % of the sustained rate', 40_000),
      paced('80 % of the sustained rate', 64_000),
    ],
    probes: [
      { name: 'nothing', bodyBytes: 0, ...probe },
      { name: '100 spans', bodyBytes: 150_000, ...probe },
    ],
  };
}

function memory(after: number): MemoryResult {
  return {
    name: 'ingest-memory',
    machine: MACHINE,
    minutes: 10,
    peakRowsPerSecond: 90_000,
    offered: 72_000,
    rows: 1_000_000,
    samples: Array.from({ length: 100 }, (_, index) => ({
      minutes: index / 10,
      residentMb: index < 80 ? 200 : after,
    })),
  };
}

describe('percentiles', () => {
  test.each([
    [[1], 0.5, 1],
    [[1, 2], 0.5, 1],
    [[1, 2, 3, 4], 0.5, 2],
    [[1, 2, 3, 4], 0.99, 4],
    [Array.from({ length: 100 }, (_, index) => index + 1), 0.99, 99],
    [Array.from({ length: 101 }, (_, index) => index + 1), 0.99, 100],
  ])('of %j at %d', (values, share, expected) => {
    expect(percentile(values, share)).toBe(expected);
  });

  test('of nothing are no numbers', () => {
    expect(percentile([], 0.5)).toBeNaN();
  });

  test('are taken of times in any order', () => {
    expect(latencyOf([30, 10, 20])).toEqual({ p50: 20, p95: 30, p99: 30, max: 30, count: 3 });
  });
});

describe('medians and ratios', () => {
  test('every figure has a median of its own, raw COPY has no latency', () => {
    const all = { name: 'x', raw: [measured(1), measured(9), measured(5, { latency: null })] };
    expect(medianOf(all)).toMatchObject({ rowsPerSecond: 5, latency: { p50: 5, p99: 40 } });
    expect(medianOf({ raw: [measured(1, { latency: null })] }).latency).toBeNull();
  });

  test('a ratio is taken within each round', () => {
    expect(ratioOf(series('a', 10, 1, 30), series('b', 100, 2, 100))).toBe(0.3);
  });
});

describe('verdicts', () => {
  test('say for every target whether it was reached, also exactly at its limit', () => {
    expect(verdictsOf(result()).map(({ reached, measured: said }) => [reached, said])).toEqual([
      [true, '0.90 (90,000 beside 100,000 rows/s)'],
      [true, '5.00 times'],
      [false, '2.25 times'],
      [false, '2.25 times'],
      [false, '2.25 times'],
      [false, '0.90 times'],
      [false, '12.0 µs'],
      [true, '300 bytes'],
      [false, '251 bytes'],
      [false, '10 + 46 µs'],
      [true, '290 MB at most'],
      [false, '40 ms (40, 40)'],
      [true, '40 ms (40, 40)'],
      [false, '36 %'],
      [true, '49.9 ms'],
    ]);
    expect(
      verdictsOf(result(70_000))
        .map(({ reached }) => reached)
        .slice(0, 2),
    ).toEqual([false, false]);
  });

  test('CPU time is compared with that of PostgreSQL alone, round by round', () => {
    const cheap = measured(90_000, { cpu: { server: 1.5, postgres: 5, client: 1 } });
    const copy = measured(100_000, { cpu: { server: 0, postgres: 5, client: 3 } });
    const named = (name: string, one: Measured): Series => ({ name, raw: [one] });
    const run = result();
    const throughput = run.throughput.map((one) =>
      ([NAMES.sluice, NAMES.logs, NAMES.points] as string[]).includes(one.name)
        ? named(one.name, cheap)
        : named(one.name, copy),
    );
    const verdicts = verdictsOf({ ...run, throughput }).filter(({ target }) =>
      /^CPU time .* raw COPY/.test(target),
    );
    expect(verdicts.map(({ reached, measured: said }) => [reached, said])).toEqual([
      [true, '1.30 times'],
      [true, '1.30 times'],
      [true, '1.30 times'],
    ]);
  });

  test('memory is that of the measurement with the most of it', () => {
    const run = result();
    const bodies = [{ name: '1,000 spans', raw: [measured(1, { residentMb: 366 })] }];
    const [memoryOf] = verdictsOf({ ...run, bodies }).filter(({ target }) => /memory/.test(target));
    expect(memoryOf).toMatchObject({ reached: false, measured: '366 MB at most' });
    const probes = run.probes.map((probe) => ({ ...probe, residentMb: 380 }));
    const [beside] = verdictsOf({ ...run, bodies, probes }).filter(({ target }) =>
      /memory/.test(target),
    );
    expect(beside).toMatchObject({ reached: false, measured: '380 MB at most' });
  });

  test('memory is flat when the last fifth is about as high as the second', () => {
    expect(memoryVerdict(memory(219))).toMatchObject({ reached: true });
    expect(memoryVerdict(memory(221))).toMatchObject({
      reached: false,
      measured: '1.10 times (200 MB, then 221 MB)',
    });
  });
});

test('data points are compared with raw COPY of data points', () => {
  const table = ingestParts(result()).get('throughput');
  expect(table).toContain('| Sluice, data points | 90,000 | 0.75 |');
  expect(table).toContain('| raw COPY of data points, 1 connection | 120,000 | 1.00 |');
});

describe('agent runs', () => {
  const copied = COPIED_DATA.flatMap((data) => [
    series(nameOfData(data), 3000),
    series(nameOfRawData(data), 4000),
  ]);
  const named = RUN_DATA.map((data) =>
    nameOfBody({ signal: 'traces', rows: 50, gzip: false, data }),
  );

  test('are compared with raw COPY of the same rows', () => {
    const run = result();
    const parts = ingestParts({ ...run, throughput: [...run.throughput, ...copied] });
    for (const data of COPIED_DATA) {
      expect(parts.get('throughput')).toContain(`| Sluice, ${data} | 3,000 | 0.75 |`);
      expect(parts.get('throughput')).toContain(
        `| raw COPY of ${data}, 1 connection | 4,000 | 1.00 |`,
      );
    }
    expect(parts.get('throughput')).not.toContain('Not measured yet');
  });

  test('have a row for each kind of body', () => {
    expect(named).toEqual(RUN_DATA.map((data) => `${data}, 50 spans`));
    const bodies = named.map((name) => series(name, 3000));
    expect(ingestParts({ ...result(), bodies }).get('bodies')).not.toContain('Not measured yet');
  });

  test('are shown as missing in results from before they were measured', () => {
    const parts = ingestParts(result());
    expect(parts.get('throughput')).toMatch(/\n\nNot measured yet: plain, conv10, conv30\.$/);
    expect(parts.get('bodies')).toMatch(/\n\nNot measured yet: plain, conv3, conv10, conv30\.$/);
  });
});

test('bytes of a row are medians, and a dash where they were not measured', () => {
  const raw = [1280, 1300, 1270].map((wal) => measured(1000, { stored: { wal, disk: wal + 10 } }));
  expect(medianOf({ raw }).stored).toEqual({ wal: 1280, disk: 1290 });
  expect(medianOf({ raw: [measured(1)] })).not.toHaveProperty('stored');
  const bodies = [{ name: '100 spans', raw }, series('1 span', 1)];
  const part = ingestParts({ ...result(), bodies }).get('bodies');
  expect(part).toContain('| 10.0 | 8.0 | 1,280 | 1,290 |');
  expect(part).toContain('| 10.0 | 8.0 | – | – |');
});

describe('the page', () => {
  const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8');

  test('has a place for everything that is measured, and nothing else is touched', () => {
    const places = [...ingestParts(result()), ...memoryParts(memory(200))];
    let written = page;
    for (const [name] of places) written = replaceMeasured(written, name, `figures of ${name}`);
    for (const [name] of places) expect(written).toContain(`\nfigures of ${name}\n`);
    const prose = (text: string) => text.replace(/(<!-- m[^>]*-->)[\s\S]*?(<!-- \/)/g, '$1$2');
    expect(prose(written)).toBe(prose(page));
  });

  const measuredSoFar = RESULT_NAMES.filter((name) =>
    existsSync(new URL(`../../bench/results/${name}.json`, import.meta.url)),
  );
  test.each(measuredSoFar)('shows what bench/results has of %s', (name) => {
    const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
    const stored = JSON.parse(read(`bench/results/${name}.json`)) as Results[typeof name];
    const documents = someOf(documentsOf(name, stored, read));
    for (const [path, text] of documents) expect(read(path), path).toBe(text);
  });

  test('shows every chart that is written', () => {
    const charts = [...ingestCharts(result()).keys(), ...memoryCharts(memory(200)).keys()];
    const shown = [...page.matchAll(/\]\(images\/([\w.-]+)\)/g)].map(([, name]) => name);
    expect(shown.sort()).toEqual(charts.sort());
  });

  test('is not written where a place is missing or occurs twice', () => {
    expect(() => replaceMeasured('# Page\n', 'facts', 'x')).toThrow('0 places');
    const place = '<!-- measured: facts -->\n<!-- /measured: facts -->\n';
    expect(() => replaceMeasured(place + place, 'facts', 'x')).toThrow('2 places');
  });

  test('a table keeps its columns whatever a cell holds', () => {
    expect(markdownTable(['a', 'b'], [['x|y', '1']])).toBe('| a | b |\n|---|---:|\n| x\\|y | 1 |');
  });
});

describe('charts', () => {
  const bars = {
    title: 'Rows & more',
    unit: 'rows per second',
    series: ['rows'],
    arrangement: 'grouped',
    show: String,
    groups: [
      { name: 'a "first"', values: [200] },
      { name: 'second', values: [50] },
    ],
  } as const;

  test('bars are as long as their values, and described in words too', () => {
    const svg = barChart(bars);
    const widths = [...svg.matchAll(/<rect class="s0"[^>]* width="([\d.]+)"/g)].map(([, w]) => w);
    expect(widths).toEqual(['400', '100']);
    expect(svg).toContain('<title id="title">Rows &amp; more</title>');
    expect(svg).toContain('a &quot;first&quot;: 200 rows per second; second: 50 rows per second');
    expect(svg).toContain('prefers-color-scheme: dark');
  });

  test('stacked bars stand end to end and show their sum', () => {
    const groups = [{ name: 'a', values: [30, 10] }];
    const svg = barChart({ ...bars, series: ['x', 'y'], arrangement: 'stacked', groups });
    expect(svg).toMatch(/class="s0" x="250" [^>]*width="300"/);
    expect(svg).toMatch(/class="s1" x="550" [^>]*width="100"/);
    expect(svg).toContain('>40</text>');
  });

  test('a line goes from the beginning of the axis to its end', () => {
    const points = [
      [0, 100],
      [5, 50],
      [10, 100],
    ] as const;
    const series = [{ name: 'memory', points }];
    const svg = lineChart({ title: 't', xUnit: 'minutes', yUnit: 'MB', series, show: String });
    expect(svg).toContain('d="M70 66L403 161L736 66"');
    expect(svg).toContain('memory: 100 MB at the beginning, 100 after 10 minutes');
  });

  test('more series than colours are refused', () => {
    expect(() => barChart({ ...bars, series: ['1', '2', '3', '4', '5'] })).toThrow(RangeError);
  });

  test.each([
    [0, 1],
    [1, 1],
    [1.01, 2],
    [21, 25],
    [260, 500],
    [510, 1000],
  ])('an axis for %d ends at %d', (value, end) => {
    expect(roundUp(value)).toBe(end);
  });

  test('text is escaped', () => {
    expect(escapeXml('<a b="&">')).toBe('&lt;a b=&quot;&amp;&quot;&gt;');
  });
});

describe('requests', () => {
  const url = new URL('http://127.0.0.1:4318/v1/traces');
  const kind = { signal: 'traces', rows: 12, gzip: false } as const;

  test('are whole HTTP requests, compressed ones too', () => {
    for (const gzip of [false, true]) {
      const { bytes, bodyBytes } = prepareRequest({ ...kind, gzip }, 7, url, 'key');
      const [head = ''] = bytes.toString('latin1').split('\r\n\r\n', 1);
      const body = bytes.subarray(head.length + 4);
      expect(head.startsWith('POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1:4318\r\n')).toBe(true);
      expect(head).toContain(`\r\nContent-Length: ${body.length}`);
      expect(head.includes('Content-Encoding: gzip')).toBe(gzip);
      expect(bodyBytes).toBe(body.length);
      expect((gzip ? gunzipSync(body) : body).equals(bodyOf(kind, 7))).toBe(true);
    }
  });

  test('hold agent runs where their kind says so', () => {
    const runs = { ...kind, data: 'conv3' } as const;
    expect(bodyOf(runs, 7).equals(runBody('conv3', 7, kind.rows))).toBe(true);
    const logs = { ...runs, signal: 'logs' } as const;
    expect(bodyOf(logs, 7).equals(runLogBody('conv3', 7, kind.rows))).toBe(true);
    expect(() => bodyOf({ ...logs, data: 'plain' }, 7)).toThrow('no logs of plain');
    expect(() => bodyOf({ ...runs, signal: 'metrics' }, 7)).toThrow('no metrics of conv3');
  });

  test('get other trace ids when they are stamped, the same where they were the same', () => {
    const request = prepareRequest(kind, 7, url, 'key');
    const ids = () =>
      [...request.bytes.toString('latin1').matchAll(/"traceId":"(\w+)"/g)].map(
        ([, id]) => id ?? '',
      );
    const before = ids();
    const length = request.bytes.length;
    stamp(request, 255);
    expect(ids()).toEqual(before.map((id) => `000000ff${id.slice(8)}`));
    expect(ids().length).toBe(12);
    expect(new Set(ids()).size).toBe(2);
    expect(request.bytes.length).toBe(length);
  });

  test('an answer ends where its length says, and is not taken for whole before', () => {
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
    expect(answerLength(answer)).toBe(answer.length);
    expect(answerLength(answer.slice(0, 20))).toBeNull();
    expect(() => answerLength('HTTP/1.1 200 OK\r\n\r\n')).toThrow('without length');
  });
});
