/**
 * Bodies in which nothing is known, at each level: what the client reads, and that every way of decoding
 * says the same.
 */
import { describe, expect, test } from 'vitest';
import { decodePlainly } from '../../src/ingest/plain-decoder.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { encodeExportResponse } from '../../src/otlp/responses.ts';
import { freshContext, isTakenAlike } from './both-ways.ts';

const SPAN = {
  traceId: '5b8efff798038103d269b633813fc60c',
  spanId: 'eee19b7ec3c1b174',
  name: 'n',
  startTimeUnixNano: '1',
  endTimeUnixNano: '2',
};
const POINT = { timeUnixNano: '1', asInt: '1' };
const RESOURCE = { attributes: [{ key: 'service.name', value: { stringValue: 's' } }] };
const scope = (entry: object) => ({ resourceSpans: [{ resource: RESOURCE, scopeSpans: [entry] }] });
const metric = (entry: object) => ({
  resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'm', ...entry }] }] }],
});
const FIELD = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
};

/** The answer to a body, the same from every way. */
function answerTo(
  signal: Signal,
  body: unknown,
): { answer: unknown; records: number; isFast: boolean } {
  const bytes = Buffer.from(JSON.stringify(body));
  const isFast = isTakenAlike(signal, bytes);
  const result = decodePlainly(signal, bytes, freshContext());
  if (!result.ok) throw new Error(result.message);
  const { rejections, encoded } = result.request;
  const answer = JSON.parse(encodeExportResponse({ signal, rejections }).toString());
  return { answer, records: encoded.records, isFast };
}

const warning = (signal: Signal, errorMessage: string) => ({
  partialSuccess: { [FIELD[signal]]: '0', errorMessage },
});

describe('nothing is known', () => {
  test.each<[string, Signal, unknown, string]>([
    [
      'traces sent to logs',
      'logs',
      scope({ spans: [SPAN] }),
      'logs were expected (resourceLogs); this body has resourceSpans',
    ],
    [
      'metrics sent to traces',
      'traces',
      metric({ gauge: { dataPoints: [POINT] } }),
      'traces were expected (resourceSpans); this body has resourceMetrics',
    ],
    [
      'snake_case',
      'metrics',
      { resource_metrics: [{ scope_metrics: [] }] },
      'metrics were expected (resourceMetrics); this body has resource_metrics',
    ],
    [
      'null in place of the list',
      'traces',
      { resourceSpans: null, resource_spans: [] },
      'traces were expected (resourceSpans); this body has resource_spans',
    ],
    [
      'an older version of OTLP',
      'traces',
      { resourceSpans: [{ resource: RESOURCE, instrumentationLibrarySpans: [{ spans: [SPAN] }] }] },
      'traces were expected (scopeSpans); resourceSpans[0] has instrumentationLibrarySpans',
    ],
    [
      'snake_case in a resource',
      'logs',
      { resourceLogs: [{}, { schemaUrl: 'u', scope_logs: [] }] },
      'logs were expected (scopeLogs); resourceLogs[1] has scope_logs',
    ],
    [
      'another list in a scope',
      'traces',
      scope({ scope: { name: 'x' }, schemaUrl: '', logRecords: [{}] }),
      'traces were expected (spans); resourceSpans[0].scopeSpans[0] has logRecords',
    ],
    [
      'snake_case in a scope',
      'logs',
      { resourceLogs: [{ scopeLogs: [{ log_records: [{}] }] }] },
      'logs were expected (logRecords); resourceLogs[0].scopeLogs[0] has log_records',
    ],
    [
      'snake_case in the data of a metric',
      'metrics',
      metric({ gauge: { data_points: [POINT] } }),
      'metrics were expected (dataPoints); ' +
        'resourceMetrics[0].scopeMetrics[0].metrics[0].gauge has data_points',
    ],
    [
      'the same beside what is known there',
      'metrics',
      metric({ sum: { aggregationTemporality: 2, isMonotonic: true, data_points: [] } }),
      'metrics were expected (dataPoints); ' +
        'resourceMetrics[0].scopeMetrics[0].metrics[0].sum has data_points',
    ],
    [
      'a value that is no list',
      'logs',
      { a: 1 },
      'logs were expected (resourceLogs); this body has a',
    ],
  ])('%s', (_what, signal, body, message) => {
    expect(answerTo(signal, body)).toEqual({
      answer: warning(signal, message),
      records: 0,
      isFast: false,
    });
  });

  test('of a log record, which is stored without anything', () => {
    const records = [{ body: null, x: 1 }, {}, { time_unix_nano: '1', severity_text: 'INFO' }];
    const body = { resourceLogs: [{ scopeLogs: [{ logRecords: records }] }] };
    const message =
      'logs were expected (timeUnixNano); ' +
      'resourceLogs[0].scopeLogs[0].logRecords[2] has time_unix_nano, severity_text';
    expect(answerTo('logs', body)).toEqual({
      answer: warning('logs', message),
      records: 3,
      isFast: false,
    });
  });

  test('in a part of the body: the rest is stored, and the first such object is named', () => {
    const body = {
      resourceSpans: [
        { scopeSpans: [{ spans: [SPAN] }] },
        { instrumentationLibrarySpans: [{ spans: [SPAN] }] },
        { scope_spans: [] },
      ],
    };
    const message =
      'traces were expected (scopeSpans); resourceSpans[1] has instrumentationLibrarySpans';
    expect(answerTo('traces', body)).toEqual({
      answer: warning('traces', message),
      records: 1,
      isFast: false,
    });
  });

  test('beside rejected records: both are said', () => {
    const body = {
      resourceSpans: [
        { scope_spans: [] },
        { scopeSpans: [{ spans: [{ ...SPAN, traceId: '' }, SPAN] }] },
      ],
    };
    const { answer, records } = answerTo('traces', body);
    expect(records).toBe(1);
    expect(answer).toMatchObject({
      partialSuccess: {
        rejectedSpans: '1',
        errorMessage: expect.stringMatching(
          /^traces were expected \(scopeSpans\); resourceSpans\[0\] has scope_spans; bad_trace_id \(1, first at /,
        ),
      },
    });
  });
});

test.each<[string, Signal, unknown]>([
  ['an empty body', 'logs', {}],
  ['an empty list', 'traces', { resourceSpans: [] }],
  ['null', 'traces', { resourceSpans: null }],
  ['an empty resource', 'traces', { resourceSpans: [{}] }],
  ['a resource alone', 'traces', { resourceSpans: [{ resource: RESOURCE, schemaUrl: 'u' }] }],
  ['empty lists of scopes', 'logs', { resourceLogs: [{ scopeLogs: [] }, { scopeLogs: null }] }],
  ['a scope alone', 'traces', scope({ scope: { name: 'x' }, schemaUrl: 'u' })],
  ['empty lists of records', 'traces', scope({ spans: [] })],
  [
    'a log record with a known member, and one without any',
    'logs',
    { resourceLogs: [{ scopeLogs: [{ logRecords: [{ severityText: 'x', y: 1 }, {}] }] }] },
  ],
  [
    'data without points',
    'metrics',
    metric({ sum: { aggregationTemporality: 2, isMonotonic: true } }),
  ],
  ['unknown keys beside the list', 'logs', { resourceLogs: [], resourceSpans: [{}] }],
  [
    'unknown keys beside scopes',
    'traces',
    { resourceSpans: [{ scopeSpans: [], scope_spans: [{}] }] },
  ],
  ['unknown keys beside records', 'traces', scope({ spans: [SPAN], logRecords: [{}] })],
  [
    'unknown keys beside points',
    'metrics',
    metric({ gauge: { dataPoints: [POINT], data_points: [] } }),
  ],
  [
    'unknown keys in a resource itself',
    'traces',
    { resourceSpans: [{ resource: { entityRefs: [] } }] },
  ],
])('%s: {}', (_what, signal, body) => {
  const { answer, isFast } = answerTo(signal, body);
  expect(answer).toEqual({});
  expect(isFast).toBe(true);
});

describe('keys in a message', () => {
  const said = (body: object): unknown =>
    (answerTo('logs', body).answer as { partialSuccess: { errorMessage: string } }).partialSuccess
      .errorMessage;
  const EXPECTED = 'logs were expected (resourceLogs); this body has ';

  test('are five at most, with the number of the others', () => {
    const keys = (count: number) =>
      Object.fromEntries(
        Array.from('abcdefgh')
          .slice(0, count)
          .map((key) => [key, 1]),
      );
    expect(said(keys(5))).toBe(`${EXPECTED}a, b, c, d, e`);
    expect(said(keys(6))).toBe(`${EXPECTED}a, b, c, d, e and 1 more`);
    expect(said(keys(8))).toBe(`${EXPECTED}a, b, c, d, e and 3 more`);
  });

  test('are cut at 40 characters, and quoted unless they are names', () => {
    expect(said({ ['k'.repeat(40)]: 1 })).toBe(EXPECTED + 'k'.repeat(40));
    expect(said({ ['k'.repeat(41)]: 1 })).toBe(`${EXPECTED}${'k'.repeat(40)}…`);
    expect(said({ ['😀'.repeat(41)]: 1 })).toBe(`${EXPECTED}"${'😀'.repeat(40)}…"`);
    expect(said({ 'a\n"b': 1, '': 1 })).toBe(`${EXPECTED}"a\\n\\"b", ""`);
    expect(said({ ['k'.repeat(1_000_000)]: 1 })).toBe(`${EXPECTED}${'k'.repeat(40)}…`);
    expect(said(JSON.parse('{"__proto__": 1, "constructor": 2}'))).toBe(
      `${EXPECTED}__proto__, constructor`,
    );
  });
});
