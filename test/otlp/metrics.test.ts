/** Points of all five kinds that are accepted, and every reason for which points are refused. */

import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import { decodeMetrics } from '../../src/otlp/metrics.ts';
import { accepted, attributes, metric, metricsBody, SPAN_ID, TRACE_ID, toBody } from './bodies.ts';

const TIME = { timeUnixNano: '1544712660300000000' };
const DELTA = { aggregationTemporality: 1 };
const LIST = 'resourceMetrics[0].scopeMetrics[0].metrics';

/** Checks that the only point of a metric is accepted. */
function expectAccepted(item: JsonValue): void {
  const { points, rejections } = accepted(decodeMetrics(metricsBody([item])));
  expect({ points, rejections }).toEqual({ points: 1, rejections: [] });
}

test('every field of a sum, its point and its exemplars', () => {
  const point = {
    ...TIME,
    startTimeUnixNano: '1544712660300000001',
    attributes: attributes({ stringValue: 'v' }),
    asInt: '9223372036854775807',
    flags: 2,
    exemplars: [
      {
        timeUnixNano: '3',
        asInt: '-9223372036854775808',
        traceId: TRACE_ID.toUpperCase(),
        spanId: SPAN_ID,
        filteredAttributes: attributes({ intValue: 1 }),
      },
      { timeUnixNano: 4, asDouble: 5, traceId: 'x', spanId: '' },
      { asDouble: 'NaN', filteredAttributes: [] },
      {},
    ],
  };
  const item = {
    name: 'tokens',
    description: 'd',
    unit: '{token}',
    metadata: attributes({ boolValue: true }),
    sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [point] },
  };
  const request = accepted(decodeMetrics(metricsBody([item])));
  expect(request).toEqual({
    signal: 'metrics',
    points: 1,
    spans: [],
    logs: [],
    rejections: [],
  });
});

describe('accepted values by kind', () => {
  const exponential = {
    ...TIME,
    count: '10',
    sum: -0.5,
    scale: -3,
    zeroCount: '1',
    zeroThreshold: 0.25,
    positive: { offset: -2, bucketCounts: ['2', '3'] },
    negative: { offset: 4, bucketCounts: [4] },
    min: -3,
    max: 4,
  };
  const quantileValues = [{ quantile: 0.5, value: 2 }, { quantile: 1, value: 'NaN' }, {}];
  const buckets = { count: '6', bucketCounts: ['1', 2, '3'], explicitBounds: [0, 5.5] };
  const beyondDoubles = { bucketCounts: ['9007199254740993', '1'], explicitBounds: [0] };

  test.each<[string, JsonObject, JsonObject?]>([
    ['gauge', { ...TIME, asDouble: 1.5 }],
    ['gauge', { ...TIME, asDouble: '-Infinity' }],
    ['gauge', { ...TIME, asInt: 0, asDouble: null }],
    ['gauge', { ...TIME, flags: 1 }],
    ['sum', { ...TIME, asInt: 1 }, DELTA],
    ['histogram', { ...TIME, ...buckets, sum: 10, min: -1, max: '7.5' }, DELTA],
    ['histogram', { ...TIME, count: 9 }, { aggregationTemporality: 2 }],
    ['histogram', { ...TIME, count: 9, bucketCounts: [9] }, DELTA],
    ['histogram', { ...TIME, flags: 1, explicitBounds: [1] }, DELTA],
    ['histogram', { ...TIME, ...beyondDoubles, count: '9007199254740994' }, DELTA],
    [
      'histogram',
      { ...TIME, bucketCounts: [0, 0, 0], explicitBounds: ['-Infinity', 'Infinity'] },
      DELTA,
    ],
    ['exponentialHistogram', exponential, DELTA],
    ['exponentialHistogram', TIME, DELTA],
    ['summary', { ...TIME, count: 4, sum: 9, quantileValues }],
    ['summary', TIME],
    ['summary', { ...TIME, flags: 1 }],
  ])('%s %j', (kind, point, data) => {
    expectAccepted(metric(kind, point, data));
  });

  test('histogram counts beyond 2^53 add up exactly', () => {
    const off = metric(
      'histogram',
      { ...TIME, ...beyondDoubles, count: '9007199254740992' },
      DELTA,
    );
    expect(accepted(decodeMetrics(metricsBody([off]))).rejections).toMatchObject([
      { reason: 'bad_buckets' },
    ]);
  });
});

describe('refused points', () => {
  const hist = (point: JsonObject): JsonObject => metric('histogram', { ...TIME, ...point }, DELTA);
  const exp = (point: JsonObject): JsonObject =>
    metric('exponentialHistogram', { ...TIME, ...point }, DELTA);
  const summary = (quantile: JsonValue): JsonObject =>
    metric('summary', { ...TIME, quantileValues: [quantile] });
  const gauge = (point: JsonObject): JsonObject => metric('gauge', { ...TIME, asInt: 1, ...point });

  test.each<[JsonObject, string, string]>([
    [metric('gauge', null), 'not_an_object', ''],
    [metric('gauge', { asInt: 1 }), 'bad_time', 'timeUnixNano'],
    [gauge({ timeUnixNano: 0 }), 'bad_time', 'timeUnixNano'],
    [gauge({ startTimeUnixNano: 'x' }), 'bad_time', 'startTimeUnixNano'],
    [gauge({ flags: 'x' }), 'bad_flags', 'flags'],
    [gauge({ attributes: {} }), 'attributes_not_a_list', 'attributes'],
    [gauge({ asInt: 1.5 }), 'bad_value', 'asInt'],
    [gauge({ asInt: '9223372036854775808' }), 'bad_value', 'asInt'],
    [gauge({ asDouble: 1 }), 'bad_value', 'asInt'],
    [gauge({ asInt: null, asDouble: 'x' }), 'bad_value', 'asDouble'],
    [gauge({ asInt: null, asDouble: null }), 'no_value', ''],
    [gauge({ exemplars: {} }), 'not_a_list', 'exemplars'],
    [gauge({ exemplars: [{}, 1] }), 'not_an_object', 'exemplars[1]'],
    [gauge({ exemplars: [{ asInt: 'x' }] }), 'bad_value', 'exemplars[0].asInt'],
    [gauge({ exemplars: [{ asDouble: [] }] }), 'bad_value', 'exemplars[0].asDouble'],
    [gauge({ exemplars: [{ timeUnixNano: 'x' }] }), 'bad_time', 'exemplars[0].timeUnixNano'],
    [
      gauge({ exemplars: [{ filteredAttributes: {} }] }),
      'attributes_not_a_list',
      'exemplars[0].filteredAttributes',
    ],
    [hist({ count: -1 }), 'bad_count', 'count'],
    [hist({ sum: 'x' }), 'bad_number', 'sum'],
    [hist({ min: {} }), 'bad_number', 'min'],
    [hist({ max: true }), 'bad_number', 'max'],
    [hist({ bucketCounts: 'x' }), 'not_a_list', 'bucketCounts'],
    [hist({ bucketCounts: [null] }), 'bad_count', 'bucketCounts[0]'],
    [hist({ bucketCounts: [1, -1], count: 0 }), 'bad_count', 'bucketCounts[1]'],
    [hist({ bucketCounts: [1, 1], count: 2 }), 'bad_buckets', 'bucketCounts'],
    [hist({ explicitBounds: [1] }), 'bad_buckets', 'bucketCounts'],
    [hist({ bucketCounts: [1], count: 2 }), 'bad_buckets', 'count'],
    [hist({ bucketCounts: [1, 0, 0], explicitBounds: [1, 1] }), 'bad_buckets', 'explicitBounds[1]'],
    [hist({ bucketCounts: [0, 0], explicitBounds: ['NaN'] }), 'bad_buckets', 'explicitBounds[0]'],
    [hist({ bucketCounts: [0, 0], explicitBounds: [null] }), 'bad_buckets', 'explicitBounds[0]'],
    [exp({ count: 1 }), 'bad_buckets', 'count'],
    [exp({ scale: 2147483648 }), 'bad_buckets', 'scale'],
    [exp({ zeroCount: 'x' }), 'bad_count', 'zeroCount'],
    [exp({ zeroThreshold: 'x' }), 'bad_number', 'zeroThreshold'],
    [exp({ positive: 5 }), 'not_an_object', 'positive'],
    [exp({ negative: { offset: 'x' } }), 'bad_buckets', 'negative.offset'],
    [exp({ positive: { bucketCounts: [0, 'x'] } }), 'bad_count', 'positive.bucketCounts[1]'],
    [summary(5), 'not_an_object', 'quantileValues[0]'],
    [summary({ quantile: 1.5 }), 'bad_quantile', 'quantileValues[0].quantile'],
    [summary({ quantile: -0.5 }), 'bad_quantile', 'quantileValues[0].quantile'],
    [summary({ quantile: 'NaN' }), 'bad_quantile', 'quantileValues[0].quantile'],
    [summary({ value: 'x' }), 'bad_number', 'quantileValues[0].value'],
  ])('%j', (bad, reason, field) => {
    const [kind = ''] = Object.keys(bad).filter((key) => key !== 'name');
    const good = metric('gauge', { ...TIME, asInt: 1 });
    const request = accepted(decodeMetrics(metricsBody([good, bad, good])));
    expect(request.points).toBe(2);
    const path = `${LIST}[1].${kind}.dataPoints[0]${field === '' ? '' : `.${field}`}`;
    expect(request.rejections).toEqual([{ reason, count: 1, firstPath: path }]);
  });
});

describe('a bad metric costs its own points', () => {
  const points = [{ ...TIME, asInt: 1 }, { ...TIME, asInt: 2 }, {}];

  test.each<[JsonValue, string, number, string]>([
    [5, 'not_an_object', 1, ''],
    [{ name: 'm' }, 'bad_metric_kind', 0, ''],
    [{ gauge: null, summary: null }, 'bad_metric_kind', 0, ''],
    [{ gauge: { dataPoints: points }, sum: { dataPoints: points } }, 'bad_metric_kind', 6, ''],
    [{ gauge: [1, 2] }, 'not_an_object', 2, 'gauge'],
    [{ gauge: 'x' }, 'not_an_object', 1, 'gauge'],
    [{ gauge: { dataPoints: {} } }, 'not_a_list', 1, 'gauge.dataPoints'],
    [{ name: 5, gauge: { dataPoints: points } }, 'bad_text', 3, 'name'],
    [{ metadata: {}, gauge: { dataPoints: points } }, 'attributes_not_a_list', 3, 'metadata'],
    [{ sum: { dataPoints: points } }, 'bad_temporality', 3, 'sum.aggregationTemporality'],
    [
      { histogram: { aggregationTemporality: 0, dataPoints: points } },
      'bad_temporality',
      3,
      'histogram.aggregationTemporality',
    ],
    [
      {
        exponentialHistogram: {
          aggregationTemporality: 'AGGREGATION_TEMPORALITY_DELTA',
          dataPoints: points,
        },
      },
      'bad_temporality',
      3,
      'exponentialHistogram.aggregationTemporality',
    ],
    [
      { sum: { aggregationTemporality: 1, isMonotonic: 1, dataPoints: points } },
      'bad_bool',
      3,
      'sum.isMonotonic',
    ],
  ])('%j', (bad, reason, count, field) => {
    const good = metric('gauge', { ...TIME, asInt: 1 });
    const request = accepted(decodeMetrics(metricsBody([bad, good])));
    expect(request.points).toBe(1);
    const firstPath = `${LIST}[0]${field === '' ? '' : `.${field}`}`;
    expect(request.rejections).toEqual([{ reason, count, firstPath }]);
  });

  test('and a bad resource those of all its metrics', () => {
    const metrics = [{ gauge: { dataPoints: points } }, { name: 'none' }, 5];
    const body = toBody({ resourceMetrics: [{ resource: 1, scopeMetrics: [{ metrics }] }] });
    expect(accepted(decodeMetrics(body)).rejections).toEqual([
      { reason: 'not_an_object', count: 4, firstPath: 'resourceMetrics[0].resource' },
    ]);
  });
});
