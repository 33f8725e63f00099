/** Exact facts of log records, and every reason for which one is refused. */

import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import { decodeLogs } from '../../src/otlp/logs.ts';
import { accepted, attributes, logsBody, SPAN_ID, TRACE_ID, toBody } from './bodies.ts';

const DEFAULT_FACTS = {
  traceId: null,
  timeUnixNano: '0',
  observedUnixNano: '0',
  serviceName: null,
  session: null,
};

test('every field of a log record', () => {
  const record = {
    timeUnixNano: '1544712660300000000',
    observedTimeUnixNano: '1544712660300000001',
    severityNumber: 24,
    severityText: 'FATAL4',
    eventName: 'gen_ai.client.inference.operation.details',
    body: { kvlistValue: { values: [{ key: '$x', value: { stringValue: 'y' } }] } },
    attributes: attributes({ bytesValue: '-_8' }),
    droppedAttributesCount: 4,
    flags: 1,
    traceId: TRACE_ID.toUpperCase(),
    spanId: SPAN_ID,
  };
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'r' } }] };
  const result = decodeLogs(
    toBody({ resourceLogs: [{ resource, scopeLogs: [{ logRecords: [record] }] }] }),
  );
  expect(accepted(result)).toEqual({
    signal: 'logs',
    spans: [],
    points: 0,
    logs: [
      {
        traceId: TRACE_ID,
        timeUnixNano: '1544712660300000000',
        observedUnixNano: '1544712660300000001',
        serviceName: 'r',
        session: null,
      },
    ],
    rejections: [],
  });
});

describe('ids that are no ids mean that the record is not linked', () => {
  test.each<JsonObject>([
    {},
    { traceId: '', spanId: '' },
    { traceId: null, spanId: null },
    { traceId: '0'.repeat(32), spanId: '0'.repeat(16) },
    { traceId: 'x', spanId: 5 },
    { traceId: [], spanId: {} },
    { traceId: TRACE_ID.slice(1), spanId: TRACE_ID.slice(17) },
  ])('%j', (ids) => {
    const { logs, rejections } = accepted(decodeLogs(logsBody([ids])));
    expect(logs).toEqual([DEFAULT_FACTS]);
    expect(rejections).toEqual([]);
  });

  test('each by itself', () => {
    const { logs } = accepted(decodeLogs(logsBody([{ traceId: TRACE_ID, spanId: 'x' }])));
    expect(logs).toMatchObject([{ traceId: TRACE_ID }]);
  });
});

test.each<JsonValue>([
  null,
  {},
  { stringValue: '' },
  { arrayValue: { values: [{}, { boolValue: false }] } },
])('a body of %j is accepted', (body) => {
  expect(accepted(decodeLogs(logsBody([{ body }]))).logs).toEqual([DEFAULT_FACTS]);
});

describe('refused log records', () => {
  test.each<[JsonValue, string, string]>([
    [null, 'not_an_object', ''],
    ['x', 'not_an_object', ''],
    [{ timeUnixNano: 'x' }, 'bad_time', 'timeUnixNano'],
    [{ observedTimeUnixNano: -1 }, 'bad_time', 'observedTimeUnixNano'],
    [{ severityNumber: 32768 }, 'bad_severity', 'severityNumber'],
    [{ severityNumber: 'INFO' }, 'bad_severity', 'severityNumber'],
    [{ severityText: 9 }, 'bad_text', 'severityText'],
    [{ eventName: {} }, 'bad_text', 'eventName'],
    [{ flags: 1.5 }, 'bad_flags', 'flags'],
    [{ droppedAttributesCount: [] }, 'bad_dropped_count', 'droppedAttributesCount'],
    [{ attributes: {} }, 'attributes_not_a_list', 'attributes'],
    [{ body: 'plain' }, 'bad_any_value', 'body'],
    [{ body: { intValue: 'x' } }, 'bad_any_value', 'body.intValue'],
    [
      { body: { arrayValue: { values: [{}, { boolValue: 1 }] } } },
      'bad_any_value',
      'body.arrayValue.values[1].boolValue',
    ],
  ])('%j', (bad, reason, field) => {
    const { logs, rejections } = accepted(decodeLogs(logsBody([{}, bad, { timeUnixNano: 1 }])));
    expect(logs).toEqual([DEFAULT_FACTS, { ...DEFAULT_FACTS, timeUnixNano: '1' }]);
    const path = `resourceLogs[0].scopeLogs[0].logRecords[1]${field === '' ? '' : `.${field}`}`;
    expect(rejections).toEqual([{ reason, count: 1, firstPath: path }]);
  });
});

test('a body of another signal holds nothing for this one, and that is said', () => {
  const result = decodeLogs(toBody({ resourceSpans: [{ scopeSpans: [{ spans: [{}] }] }] }));
  expect(accepted(result)).toMatchObject({
    logs: [],
    spans: [],
    rejections: [{ reason: 'nothing_known', count: 0, firstPath: '' }],
  });
});
