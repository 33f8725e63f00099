/** Exact rows for spans, and every reason for which one is refused. */

import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import { decodeTraces } from '../../src/otlp/traces.ts';
import { accepted, attributes, SPAN_ID, span, TRACE_ID, toBody, tracesBody } from './bodies.ts';

/** The id as an independent reader of the format would compute it. */
function idOf(parts: JsonValue): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

const EMPTY_ORIGIN = idOf(['{}', '', 0, '', '', '{}', '', 0]);

const DEFAULT_ROW = {
  resourceId: EMPTY_ORIGIN,
  traceId: TRACE_ID,
  spanId: SPAN_ID,
  parentSpanId: null,
  traceState: '',
  flags: 0,
  name: '',
  kind: 0,
  startUnixNano: '0',
  endUnixNano: '0',
  statusCode: 0,
  statusMessage: '',
  attributes: '{}',
  events: null,
  links: null,
  droppedAttributes: 0,
  droppedEvents: 0,
  droppedLinks: 0,
  session: null,
};

test('every field of a span, its resource and its scope', () => {
  const body = toBody({
    resourceSpans: [
      {
        resource: {
          attributes: [{ key: 'service.name', value: { stringValue: 'agent' } }],
          droppedAttributesCount: 1,
        },
        schemaUrl: 'https://r',
        scopeSpans: [
          {
            scope: {
              name: 'scope',
              version: '1.2',
              attributes: attributes({ boolValue: true }),
              droppedAttributesCount: 2,
            },
            schemaUrl: 'https://s',
            spans: [
              {
                traceId: TRACE_ID.toUpperCase(),
                spanId: SPAN_ID.toUpperCase(),
                parentSpanId: 'EEE19B7EC3C1B173',
                traceState: 'a=b',
                flags: 257,
                name: 'chat "gpt"',
                kind: 3,
                startTimeUnixNano: '1544712660000000001',
                endTimeUnixNano: '1544712661000000002',
                status: { code: 2, message: 'boom' },
                attributes: attributes({ intValue: '7' }),
                droppedAttributesCount: 3,
                events: [
                  { name: 'e"1', timeUnixNano: '5', attributes: attributes({ doubleValue: 5 }) },
                  { droppedAttributesCount: 4 },
                ],
                droppedEventsCount: 5,
                links: [
                  { traceId: TRACE_ID.toUpperCase(), spanId: SPAN_ID },
                  {
                    traceId: TRACE_ID,
                    spanId: SPAN_ID,
                    traceState: 'c=d',
                    attributes: attributes({ stringValue: 'v' }),
                    flags: 768,
                    droppedAttributesCount: 6,
                  },
                ],
                droppedLinksCount: 7,
              },
            ],
          },
        ],
      },
    ],
  });
  const resourceId = idOf([
    '{"service.name":"agent"}',
    'https://r',
    1,
    'scope',
    '1.2',
    '{"k":true}',
    'https://s',
    2,
  ]);
  expect(decodeTraces(body)).toEqual({
    ok: true,
    accepted: null,
    request: {
      signal: 'traces',
      resources: [
        {
          id: resourceId,
          serviceName: 'agent',
          attributes: '{"service.name":"agent"}',
          schemaUrl: 'https://r',
          droppedAttributes: 1,
          scopeName: 'scope',
          scopeVersion: '1.2',
          scopeAttributes: '{"k":true}',
          scopeSchemaUrl: 'https://s',
          scopeDroppedAttributes: 2,
        },
      ],
      spans: [
        {
          resourceId,
          traceId: TRACE_ID,
          spanId: SPAN_ID,
          parentSpanId: 'eee19b7ec3c1b173',
          traceState: 'a=b',
          flags: 257,
          name: 'chat "gpt"',
          kind: 3,
          startUnixNano: '1544712660000000001',
          endUnixNano: '1544712661000000002',
          statusCode: 2,
          statusMessage: 'boom',
          attributes: '{"k":7}',
          events:
            '[{"name":"e\\"1","timeUnixNano":"5","attributes":{"k":5.0}},' +
            '{"name":"","timeUnixNano":"0","attributes":{},"droppedAttributesCount":4}]',
          links:
            `[{"traceId":"${TRACE_ID}","spanId":"${SPAN_ID}"},` +
            `{"traceId":"${TRACE_ID}","spanId":"${SPAN_ID}","traceState":"c=d",` +
            '"attributes":{"k":"v"},"flags":768,"droppedAttributesCount":6}]',
          droppedAttributes: 3,
          droppedEvents: 5,
          droppedLinks: 7,
          session: null,
        },
      ],
      logs: [],
      points: 0,
      rejections: [],
      replacedCharacters: 0,
    },
  });
});

test('absent fields, nulls and unknown keys give the defaults', () => {
  const nulls: JsonObject = {};
  for (const key of ['parentSpanId', 'traceState', 'flags', 'name', 'kind', 'status', 'events'])
    nulls[key] = null;
  for (const key of ['startTimeUnixNano', 'endTimeUnixNano', 'attributes', 'links'])
    nulls[key] = null;
  const request = accepted(
    decodeTraces(tracesBody([span(), span(nulls), span({ parentSpanId: '', later: [1] })])),
  );
  expect(request.spans).toEqual([DEFAULT_ROW, DEFAULT_ROW, DEFAULT_ROW]);
  expect(request.resources).toHaveLength(1);
});

describe('an empty request is a success', () => {
  test.each<JsonValue>([
    {},
    { resourceSpans: null },
    { resourceSpans: [] },
    { resourceSpans: [{}] },
    { resourceSpans: [{ resource: null, scopeSpans: null }] },
    { resourceSpans: [{ scopeSpans: [{ scope: null, spans: null }] }] },
    { resourceSpans: [{ scopeSpans: [{ spans: [] }] }], extra: 1 },
  ])('%j', (body) => {
    const request = accepted(decodeTraces(toBody(body)));
    expect([request.spans, request.resources, request.rejections]).toEqual([[], [], []]);
  });
});

describe('undecodable bodies', () => {
  test.each<[JsonValue, string, string]>([
    [[], '', 'the body must be a JSON object'],
    [null, '', 'the body must be a JSON object'],
    ['x', '', 'the body must be a JSON object'],
    [{ resourceSpans: {} }, 'resourceSpans', 'resourceSpans must be a JSON array'],
    [{ resourceSpans: [1] }, 'resourceSpans[0]', 'resourceSpans[0] must be a JSON object'],
    [
      { resourceSpans: [{}, { scopeSpans: 'x' }] },
      'resourceSpans[1].scopeSpans',
      'resourceSpans[1].scopeSpans must be a JSON array',
    ],
    [
      { resourceSpans: [{ scopeSpans: [{ spans: [span()] }, { spans: {} }] }] },
      'resourceSpans[0].scopeSpans[1].spans',
      'resourceSpans[0].scopeSpans[1].spans must be a JSON array',
    ],
  ])('%j', (body, path, message) => {
    expect(decodeTraces(toBody(body))).toEqual({ ok: false, path, message });
  });

  test('text that is not JSON is reported by position, never by content', () => {
    expect(decodeTraces(Buffer.from('{"secret": sk-123}'))).toEqual({
      ok: false,
      path: '',
      message: 'the body is not valid JSON',
    });
    expect(decodeTraces(Buffer.from('{"a":1,}'))).toEqual({
      ok: false,
      path: '',
      message: 'the body is not valid JSON: unexpected text at character 7',
    });
  });
});

describe('refused spans', () => {
  test.each<[JsonValue, string, string]>([
    [null, 'not_an_object', ''],
    [[], 'not_an_object', ''],
    [{ spanId: SPAN_ID }, 'bad_trace_id', 'traceId'],
    [span({ traceId: '0'.repeat(32) }), 'bad_trace_id', 'traceId'],
    [span({ traceId: TRACE_ID.slice(1) }), 'bad_trace_id', 'traceId'],
    [span({ traceId: `${TRACE_ID.slice(1)}g` }), 'bad_trace_id', 'traceId'],
    [span({ traceId: 'W47/95gDgQPSabYzgT/GDA==' }), 'bad_trace_id', 'traceId'],
    [span({ traceId: 1 }), 'bad_trace_id', 'traceId'],
    [{ traceId: TRACE_ID }, 'bad_span_id', 'spanId'],
    [span({ spanId: '0'.repeat(16) }), 'bad_span_id', 'spanId'],
    [span({ spanId: `${SPAN_ID}0` }), 'bad_span_id', 'spanId'],
    [span({ parentSpanId: 'x' }), 'bad_parent_span_id', 'parentSpanId'],
    [span({ parentSpanId: '0'.repeat(15) }), 'bad_parent_span_id', 'parentSpanId'],
    [span({ parentSpanId: 5 }), 'bad_parent_span_id', 'parentSpanId'],
    [span({ traceState: 1 }), 'bad_text', 'traceState'],
    [span({ name: {} }), 'bad_text', 'name'],
    [span({ status: { message: [] } }), 'bad_text', 'status.message'],
    [span({ flags: -1 }), 'bad_flags', 'flags'],
    [span({ flags: 4294967296 }), 'bad_flags', 'flags'],
    [span({ kind: 32768 }), 'bad_kind', 'kind'],
    [span({ kind: '-32769' }), 'bad_kind', 'kind'],
    [span({ kind: 'SPAN_KIND_CLIENT' }), 'bad_kind', 'kind'],
    [span({ kind: 1.5 }), 'bad_kind', 'kind'],
    [span({ startTimeUnixNano: '-1' }), 'bad_time', 'startTimeUnixNano'],
    [span({ startTimeUnixNano: 1.5 }), 'bad_time', 'startTimeUnixNano'],
    [span({ endTimeUnixNano: '9223372036854775808' }), 'bad_time', 'endTimeUnixNano'],
    [span({ endTimeUnixNano: { low: 1, high: 2 } }), 'bad_time', 'endTimeUnixNano'],
    [span({ status: 2 }), 'not_an_object', 'status'],
    [span({ status: { code: 32768 } }), 'bad_status', 'status.code'],
    [span({ status: { code: 'STATUS_CODE_OK' } }), 'bad_status', 'status.code'],
    [span({ droppedAttributesCount: 'x' }), 'bad_dropped_count', 'droppedAttributesCount'],
    [span({ droppedEventsCount: -1 }), 'bad_dropped_count', 'droppedEventsCount'],
    [span({ droppedLinksCount: 0.5 }), 'bad_dropped_count', 'droppedLinksCount'],
    [span({ attributes: { a: 1 } }), 'attributes_not_a_list', 'attributes'],
    [span({ attributes: [{ key: 'a' }, 5] }), 'bad_attribute', 'attributes[1]'],
    [span({ attributes: [{ key: 5 }] }), 'bad_attribute', 'attributes[0]'],
    [
      span({ attributes: attributes({ stringValue: 5 }) }),
      'bad_any_value',
      'attributes[0].value.stringValue',
    ],
    [span({ events: {} }), 'not_a_list', 'events'],
    [span({ events: [null] }), 'not_an_object', 'events[0]'],
    [span({ events: [{}, { timeUnixNano: 'x' }] }), 'bad_time', 'events[1].timeUnixNano'],
    [span({ events: [{ attributes: {} }] }), 'attributes_not_a_list', 'events[0].attributes'],
    [span({ links: 'x' }), 'not_a_list', 'links'],
    [span({ links: [1] }), 'not_an_object', 'links[0]'],
    [span({ links: [{ traceId: 5, spanId: SPAN_ID }] }), 'bad_link', 'links[0].traceId'],
    [span({ links: [{ traceId: TRACE_ID, spanId: [] }] }), 'bad_link', 'links[0].spanId'],
    [
      span({ links: [{ traceId: TRACE_ID, spanId: SPAN_ID, flags: 'x' }] }),
      'bad_flags',
      'links[0].flags',
    ],
  ])('%j', (bad, reason, field) => {
    const request = accepted(decodeTraces(tracesBody([span(), bad, span({ name: 'after' })])));
    expect(request.spans).toEqual([DEFAULT_ROW, { ...DEFAULT_ROW, name: 'after' }]);
    const path = `resourceSpans[0].scopeSpans[0].spans[1]${field === '' ? '' : `.${field}`}`;
    expect(request.rejections).toEqual([{ reason, count: 1, firstPath: path }]);
  });

  test('are counted by reason, with the path of the first, under their first fault', () => {
    const spans = [span({ kind: 'x', traceId: '' }), span({ kind: 'x' }), span({ kind: 0.5 })];
    expect(accepted(decodeTraces(tracesBody(spans))).rejections).toEqual([
      {
        reason: 'bad_trace_id',
        count: 1,
        firstPath: 'resourceSpans[0].scopeSpans[0].spans[0].traceId',
      },
      {
        reason: 'bad_kind',
        count: 2,
        firstPath: 'resourceSpans[0].scopeSpans[0].spans[1].kind',
      },
    ]);
  });
});

describe('legal spans that are seldom sent', () => {
  const ZERO_TRACE = '0'.repeat(32);
  const ZERO_SPAN = '0'.repeat(16);
  const rowOf = (members: JsonObject) => {
    const { spans, rejections } = accepted(decodeTraces(tracesBody([span(members)])));
    expect(rejections).toEqual([]);
    return spans[0];
  };

  test.each<[string, string | null]>([
    ['', null],
    [ZERO_SPAN, null],
    [SPAN_ID.toUpperCase(), SPAN_ID],
  ])('the parent "%s" is stored as %s', (parentSpanId, stored) => {
    expect(rowOf({ parentSpanId })).toEqual({ ...DEFAULT_ROW, parentSpanId: stored });
  });

  test.each<[JsonObject, JsonObject]>([
    [
      { traceId: ZERO_TRACE, spanId: ZERO_SPAN },
      { traceId: ZERO_TRACE, spanId: ZERO_SPAN },
    ],
    [
      { traceId: '', spanId: '' },
      { traceId: '', spanId: '' },
    ],
    [{}, {}],
    [{ traceId: null, spanId: null }, {}],
    [{ traceId: TRACE_ID }, { traceId: TRACE_ID }],
    [{ spanId: SPAN_ID.toUpperCase() }, { spanId: SPAN_ID }],
    [
      { traceId: 'ABC', spanId: `${SPAN_ID}F"` },
      { traceId: 'ABC', spanId: `${SPAN_ID}F"` },
    ],
  ])('a link with the ids %j is stored with %j', (ids, stored) => {
    const rest = { traceState: 'v=1', attributes: attributes({ stringValue: 'm' }), flags: 1 };
    const links = [ids, { ...ids, ...rest }];
    const storedRest = { traceState: 'v=1', attributes: { k: 'm' }, flags: 1 };
    expect(rowOf({ links })).toEqual({
      ...DEFAULT_ROW,
      links: JSON.stringify([stored, { ...stored, ...storedRest }]),
    });
  });

  test.each([3, '3', '3.0', '30e-1', '0.3E+1', '003'])('%j is 3 in every integer', (three) => {
    const row = rowOf({
      kind: three,
      flags: three,
      startTimeUnixNano: three,
      endTimeUnixNano: three,
      status: { code: three },
      attributes: attributes({ intValue: three }),
      droppedAttributesCount: three,
      droppedEventsCount: three,
      droppedLinksCount: three,
      events: [{ timeUnixNano: three, droppedAttributesCount: three }],
      links: [{ flags: three, droppedAttributesCount: three }],
    });
    expect(row).toEqual({
      ...DEFAULT_ROW,
      kind: 3,
      flags: 3,
      startUnixNano: '3',
      endUnixNano: '3',
      statusCode: 3,
      attributes: '{"k":3}',
      droppedAttributes: 3,
      droppedEvents: 3,
      droppedLinks: 3,
      events: '[{"name":"","timeUnixNano":"3","attributes":{},"droppedAttributesCount":3}]',
      links: '[{"flags":3,"droppedAttributesCount":3}]',
    });
  });

  test.each([32767, -32768, 6])('an enum of %i is kept', (value) => {
    expect(rowOf({ kind: value, status: { code: String(value) } })).toEqual({
      ...DEFAULT_ROW,
      kind: value,
      statusCode: value,
    });
  });
});

describe('resources and scopes', () => {
  test('only those with an accepted record are kept, each once', () => {
    const named = (name: string): JsonObject => ({
      attributes: [{ key: 'service.name', value: { stringValue: name } }],
    });
    const request = accepted(
      decodeTraces(
        toBody({
          resourceSpans: [
            { resource: named('a'), scopeSpans: [{ spans: [span()] }, { spans: [span()] }] },
            { resource: named('b'), scopeSpans: [{ spans: [span({ spanId: 'x' })] }] },
            { resource: named('a'), scopeSpans: [{ spans: [span()] }] },
          ],
        }),
      ),
    );
    expect(request.resources.map(({ serviceName }) => serviceName)).toEqual(['a']);
    expect(new Set(request.spans.map(({ resourceId }) => resourceId)).size).toBe(1);
    expect(request.spans).toHaveLength(3);
  });

  test.each<[JsonObject, JsonObject, string, string]>([
    [{ resource: 5 }, {}, 'not_an_object', 'resource'],
    [
      { resource: { attributes: {} } },
      { scope: 7 },
      'attributes_not_a_list',
      'resource.attributes',
    ],
    [{ schemaUrl: 1 }, {}, 'bad_text', 'schemaUrl'],
    [{}, { scope: [] }, 'not_an_object', 'scopeSpans[0].scope'],
    [{}, { scope: { name: 1 } }, 'bad_text', 'scopeSpans[0].scope.name'],
    [
      {},
      { scope: { droppedAttributesCount: 'x' } },
      'bad_dropped_count',
      'scopeSpans[0].scope.droppedAttributesCount',
    ],
  ])('a bad one costs its own records only: %j %j', (resource, scope, reason, path) => {
    const spans = [span(), span()];
    const body = {
      resourceSpans: [
        { ...resource, scopeSpans: [{ ...scope, spans }] },
        { scopeSpans: [{ spans }] },
      ],
    };
    const request = accepted(decodeTraces(toBody(body)));
    expect(request.spans).toEqual([DEFAULT_ROW, DEFAULT_ROW]);
    expect(request.rejections).toEqual([
      { reason, count: 2, firstPath: `resourceSpans[0].${path}` },
    ]);
  });

  test('service.name is the last of that name, if it is a string', () => {
    const entry = (value: JsonValue): JsonValue => ({ key: 'service.name', value });
    const nameOf = (...list: JsonValue[]): string | null | undefined =>
      accepted(
        decodeTraces(
          toBody({
            resourceSpans: [{ resource: { attributes: list }, scopeSpans: [{ spans: [span()] }] }],
          }),
        ),
      ).resources[0]?.serviceName;
    expect(nameOf(entry({ stringValue: 'a' }), entry({ stringValue: 'b' }))).toBe('b');
    expect(nameOf(entry({ stringValue: 'a' }), entry({ intValue: 1 }))).toBe(null);
    expect(nameOf()).toBe(null);
  });
});
