/**
 * Bodies that keep a decoder busy for as long as possible: one for each way in which the work of a
 * request grows with its size. A new slow case of a decoder gets a line here. Every body has one
 * run, because the number of runs affects storing, not decoding.
 */
import type { Signal } from '../../src/model/telemetry.ts';

export interface WorstBody {
  readonly name: string;
  readonly signal: Signal;
  readonly body: Buffer;
  readonly encoding?: 'gzip' | 'deflate';
  readonly status: 200 | 400 | 413;
}

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
/** A lone surrogate, which PostgreSQL cannot store: leaves a body to the plain decoder. */
const SURROGATE = '\\ud800';
/** A body has at most a million objects and lists: this many items of a few each. */
const ITEMS_MAX = 150_000;

function list(
  bytes: number,
  [before, after]: readonly [string, string],
  item: (index: number) => string,
  itemsMax = ITEMS_MAX,
): Buffer {
  const parts: string[] = [before];
  let length = before.length;
  for (let index = 0; index < itemsMax && length < bytes; index += 1) {
    const part = index === 0 ? item(index) : `,${item(index)}`;
    parts.push(part);
    length += part.length;
  }
  return Buffer.from(parts.join('') + after);
}

const hex = (index: number): string => (index + 1).toString(16).padStart(16, '0');
const span = (index: number, members = ''): string =>
  `{"traceId":"${TRACE_ID}","spanId":"${hex(index)}","name":"chat","kind":1,` +
  `"startTimeUnixNano":"1763640000000000001","endTimeUnixNano":"1763640000000000002"${members}}`;
const attribute = (key: string, text: string): string =>
  `{"key":"${key}","value":{"stringValue":"${text}"}}`;
const attributes = (...all: string[]): string => `,"attributes":[${all.join()}]`;

const SPANS = ['{"resourceSpans":[{"scopeSpans":[{"spans":[', ']}]}]}'] as const;
/** the text around the members of one span */
const inSpan = (before: string, after: string): [string, string] => [
  `${SPANS[0]}${span(0).slice(0, -1)},${before}`,
  `${after}}${SPANS[1]}`,
];
const records = (service: string): [string, string] => [
  `{"resourceLogs":[{"resource":{"attributes":[${attribute('service.name', service)}]},"scopeLogs":[{"logRecords":[`,
  ']}]}]}',
];
const METRICS = ['{"resourceMetrics":[{"scopeMetrics":[{"metrics":[', ']}]}]}'] as const;
const text = (bytes: number): string => 'hello world '.repeat(Math.ceil(bytes / 12));

/**
 * @param bytes size of the largest bodies; some are smaller because the number of objects is
 * limited
 */
export function* worstBodies(bytes: number): Generator<WorstBody> {
  const traces = (name: string, body: Buffer, status: WorstBody['status'] = 200): WorstBody => ({
    name,
    signal: 'traces',
    body,
    status,
  });
  const plain = attributes(attribute('a', SURROGATE), attribute('b', text(500)));
  const ordinary = attributes(attribute('a', 'b'), attribute('b', text(500)));
  yield traces(
    'spans with a lone surrogate each',
    list(bytes, SPANS, (at) => span(at, plain), 40_000),
  );
  yield traces(
    'ordinary spans, a lone surrogate in the last',
    Buffer.concat([
      list(bytes, SPANS, (at) => span(at, ordinary), 40_000).subarray(0, -SPANS[1].length),
      Buffer.from(`,${span(0, plain)}${SPANS[1]}`),
    ]),
  );
  const long = text(bytes);
  yield traces(
    'a span of one text',
    Buffer.from(SPANS.join(span(0, attributes(attribute('a', long))))),
  );
  yield traces(
    'a span of one text with a lone surrogate',
    Buffer.from(SPANS.join(span(0, attributes(attribute('a', `${long}é${SURROGATE}`))))),
  );
  yield traces(
    'a span of escaped zeros',
    Buffer.from(SPANS.join(span(0, attributes(attribute('a', '\\u0000'.repeat(bytes / 6)))))),
  );
  yield traces(
    'a span of escaped quotes and a lone surrogate',
    Buffer.from(
      SPANS.join(span(0, attributes(attribute('a', SURROGATE + '\\"'.repeat(bytes / 2))))),
    ),
  );
  yield traces(
    'a span with many attributes',
    list(bytes, inSpan('"attributes":[', ']'), (at) => attribute(`${at}`, 'b')),
  );
  yield traces(
    'a span with many events',
    list(bytes, inSpan('"events":[', ']'), () => '{"name":"e"}'),
  );
  yield traces(
    'a span with many links',
    list(bytes, inSpan('"links":[', ']'), (at) => span(at)),
  );
  yield traces(
    'a span with an unknown list',
    list(bytes, inSpan('"unknown":[', ']'), () => '1.5', bytes),
  );
  yield traces(
    'a span with an unknown object of many keys',
    list(bytes, inSpan('"unknown":{', '}'), (at) => `"${at.toString(36)}":1`, bytes / 16),
  );
  yield traces(
    'many resources',
    list(
      bytes,
      ['{"resourceSpans":[', ']}'],
      (at) =>
        `{"resource":{"attributes":[${attribute(`${at}`, 'b')}]},"scopeSpans":[{"spans":[${span(at)}]}]}`,
      15_000,
    ),
  );
  yield traces(
    'a resource with many scopes',
    list(
      bytes,
      ['{"resourceSpans":[{"scopeSpans":[', ']}]}'],
      (at) => `{"scope":{"name":"${at}"},"spans":[${span(at)}]}`,
      15_000,
    ),
  );
  yield traces(
    'a giant resource',
    Buffer.from(
      `{"resourceSpans":[{"resource":{"attributes":[${attribute('a', long)}]},"scopeSpans":[{"spans":[${span(0)}]}]}]}`,
    ),
    413,
  );
  yield traces(
    'spans that are rejected',
    list(bytes, SPANS, () => '{}', 900_000),
  );
  yield traces(
    'too many objects',
    list(bytes, SPANS, () => '{}', 1_100_000),
    413,
  );
  yield traces(
    'long integers, and a span that is rejected',
    list(
      bytes,
      SPANS,
      (at) =>
        `{"spanId":"${hex(at)}","startTimeUnixNano":1763640000000000001,"name":"${text(100)}"}`,
    ),
  );
  yield traces(
    'no JSON',
    Buffer.concat([list(bytes, SPANS, (at) => span(at, ordinary), 40_000), Buffer.from('}')]),
    400,
  );
  yield traces('lists in lists', Buffer.from('['.repeat(900_000) + ']'.repeat(900_000)), 400);
  yield traces('white space', Buffer.from(`${SPANS.join(span(0))}${' '.repeat(bytes)}`));
  const logs = (name: string, body: Buffer): WorstBody => ({
    name,
    signal: 'logs',
    body,
    status: 200,
  });
  yield logs(
    'empty log records and a lone surrogate',
    list(bytes, records(SURROGATE), () => '{}', 100_000),
  );
  yield logs(
    'log records that name sessions and prompts',
    list(
      bytes,
      records('claude-code'),
      (at) =>
        `{"timeUnixNano":"${at + 1}","eventName":"user_prompt","attributes":[${attribute('session.id', 'one')},` +
        `${attribute('prompt.id', `${at % 50}`)},${attribute('prompt', text(100))}]}`,
      40_000,
    ),
  );
  yield logs(
    'log records that name sessions',
    list(
      bytes,
      records('codex'),
      (at) =>
        `{"timeUnixNano":"${at + 1}","eventName":"codex.tool_result","attributes":[${attribute('conversation.id', 'one')},` +
        `${attribute('output', text(100))}]}`,
      40_000,
    ),
  );
  const metrics = (name: string, body: Buffer): WorstBody => ({
    name,
    signal: 'metrics',
    body,
    status: 200,
  });
  const point = '{"timeUnixNano":"1","asInt":"1"}';
  yield metrics(
    'many metrics',
    list(bytes, METRICS, (at) => `{"name":"${at}","gauge":{"dataPoints":[${point}]}}`, 15_000),
  );
  yield metrics(
    'a metric with many points',
    list(
      bytes,
      [`${METRICS[0]}{"name":"a","gauge":{"dataPoints":[`, `]}}${METRICS[1]}`],
      () => point,
      100_000,
    ),
  );
  yield metrics(
    'a point with many buckets',
    list(
      bytes / 2,
      [
        `${METRICS[0]}{"name":"a","histogram":{"aggregationTemporality":1,"dataPoints":[{"timeUnixNano":"1","count":"0","bucketCounts":[`,
        `]}]}}${METRICS[1]}`,
      ],
      () => '0',
      4_000_000,
    ),
  );
}
