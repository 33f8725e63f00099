/** Exact facts of spans, and every reason for which one is refused. */
import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import { decodeTraces } from '../../src/otlp/traces.ts';
import { accepted, attributes, SPAN_ID, span, TRACE_ID, toBody, tracesBody } from './bodies.ts';

const DEFAULT_FACTS = {
  traceId: TRACE_ID,
  startUnixNano: '0',
  endUnixNano: '0',
  root: { name: '', isFailed: false },
  serviceName: null,
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
  expect(decodeTraces(body)).toEqual({
    ok: true,
    accepted: null,
    request: {
      signal: 'traces',
      spans: [
        {
          traceId: TRACE_ID,
          startUnixNano: '1544712660000000001',
          endUnixNano: '1544712661000000002',
          root: null,
          serviceName: 'agent',
          session: null,
        },
      ],
      logs: [],
      points: 0,
      rejections: [],
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
  expect(request.spans).toEqual([DEFAULT_FACTS, DEFAULT_FACTS, DEFAULT_FACTS]);
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
    expect([request.spans, request.rejections]).toEqual([[], []]);
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
    const after = { ...DEFAULT_FACTS, root: { name: 'after', isFailed: false } };
    expect(request.spans).toEqual([DEFAULT_FACTS, after]);
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
  const ZERO_SPAN = '0'.repeat(16);
  const factsOf = (members: JsonObject) => {
    const { spans, rejections } = accepted(decodeTraces(tracesBody([span(members)])));
    expect(rejections).toEqual([]);
    return spans[0];
  };

  test.each<[string, boolean]>([
    ['', true],
    [ZERO_SPAN, true],
    [SPAN_ID.toUpperCase(), false],
  ])('with the parent "%s" it is a root: %s', (parentSpanId, isRoot) => {
    const { root, ...others } = DEFAULT_FACTS;
    expect(factsOf({ parentSpanId })).toEqual({ ...others, root: isRoot ? root : null });
  });

  test.each<JsonObject>([
    { traceId: '0'.repeat(32), spanId: ZERO_SPAN },
    { traceId: '', spanId: '' },
    {},
    { traceId: null, spanId: null },
    { traceId: 'ABC', spanId: `${SPAN_ID}F"` },
  ])('a link with the ids %j', (ids) => {
    const rest = { traceState: 'v=1', attributes: attributes({ stringValue: 'm' }), flags: 1 };
    expect(factsOf({ links: [ids, { ...ids, ...rest }] })).toEqual(DEFAULT_FACTS);
  });

  test.each([2, '2', '2.0', '20e-1', '0.2E+1', '002'])('%j is 2 in every integer', (two) => {
    const facts = factsOf({
      kind: two,
      flags: two,
      startTimeUnixNano: two,
      endTimeUnixNano: two,
      status: { code: two },
      attributes: attributes({ intValue: two }),
      droppedAttributesCount: two,
      droppedEventsCount: two,
      droppedLinksCount: two,
      events: [{ timeUnixNano: two, droppedAttributesCount: two }],
      links: [{ flags: two, droppedAttributesCount: two }],
    });
    const root = { name: '', isFailed: true };
    expect(facts).toEqual({ ...DEFAULT_FACTS, startUnixNano: '2', endUnixNano: '2', root });
  });

  test('a time beyond 2^53 keeps its digits, as a string and as a number', () => {
    for (const text of ['"1795000000123456789"', '1795000000123456789']) {
      const members = `"traceId":"${TRACE_ID}","spanId":"${SPAN_ID}","endTimeUnixNano":${text}`;
      const body = `{"resourceSpans":[{"scopeSpans":[{"spans":[{${members}}]}]}]}`;
      const { spans } = accepted(decodeTraces(Buffer.from(body)));
      expect(spans).toEqual([{ ...DEFAULT_FACTS, endUnixNano: '1795000000123456789' }]);
    }
  });

  test.each([32767, -32768, 6])('an enum of %i is accepted', (value) => {
    expect(factsOf({ kind: value, status: { code: String(value) } })).toEqual(DEFAULT_FACTS);
  });
});

describe('resources and scopes', () => {
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
    expect(request.spans).toEqual([DEFAULT_FACTS, DEFAULT_FACTS]);
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
      ).spans[0]?.serviceName;
    expect(nameOf(entry({ stringValue: 'a' }), entry({ stringValue: 'b' }))).toBe('b');
    expect(nameOf(entry({ stringValue: 'a' }), entry({ intValue: 1 }))).toBe(null);
    expect(nameOf()).toBe(null);
  });
});
