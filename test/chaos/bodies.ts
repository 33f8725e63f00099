/**
 * Export requests whose records the database can distinguish: row `i` of body `b` has the time
 * `TIME_BASE + b × ROW_NUMBERS + i` (nanoseconds) and texts with both numbers, in all three signals.
 * A number decides everything in its body, so that a check can make the body again.
 */
import type { Signal } from '../../src/model/telemetry.ts';
import { ATTACK } from '../support/rows.ts';

export const ROWS_PER_BODY = 200;
/** Numbers of rows that each body has to itself. */
export const ROW_NUMBERS = 1_000;
export const TIME_BASE = 1_790_000_000_000_000_000n;

/** Of ten bodies. */
const LOGS = [4];
const METRICS = [7];
const ATTACKS = [1, 6];
/** Every so many bodies, one has its characters beyond ASCII as escapes. */
const ESCAPED_EVERY = 3;
/** Different resources and scopes: each is a row that stays. */
const RESOURCES = 16;
/** Every so many rows, a span has an event and a link. */
const EVENTS_EVERY = 20;
/** Rows of a body of metrics by kind: the others are points of a gauge. */
const SUM_FROM = 100;
const HISTOGRAM_FROM = 150;
/** Texts in which a wrong encoder or a cut between bytes shows. */
const WORDS = [
  'plain words',
  'Zürich, São Paulo, Łódź',
  '日本語 and 🚀🏽',
  'a "quoted" \\ backslash and \\n',
  'lines\nand\ttabs\r\n',
  'controls \u0001\u001f\u007f\u2028',
  "<b> & 'c' {} [] $1 \ufeff",
  '\u{10ffff}\ue000e\u0301',
];
/** Literals of doubles, which a decoder would write in another way. */
const DOUBLES = ['1.50', '1e3', '-0.0', '0.1', '12345678901234567.0', '2E-7', '5'];

export interface Body {
  readonly number: number;
  readonly signal: Signal;
  readonly bytes: Buffer;
  /** the run that its spans make, in hexadecimal digits; null for other signals */
  readonly runId: string | null;
  readonly isAttack: boolean;
}

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
/** A text that no other row of any body has. */
const wordsOf = (body: number, row: number): string =>
  `${WORDS[(body + row) % WORDS.length]} ${body}/${row}`;
/** A number that is sent as it is written here (`made`). */
const literal = (digits: string): string => `#${digits}#`;
const timeOf = (body: number, row: number): string =>
  String(TIME_BASE + BigInt(body) * BigInt(ROW_NUMBERS) + BigInt(row));
const rowsFrom = <Row>(from: number, to: number, make: (row: number) => Row): Row[] =>
  Array.from({ length: to - from }, (_, index) => make(from + index));
const runIdOf = (body: number): string => `c${(body + 1).toString(16).padStart(31, '0')}`;

/** A text, and a value of another kind for every third row. */
const attributesOf = (body: number, row: number): object[] => [
  text('server.address', wordsOf(body, row)),
  [
    { key: 'http.response.body.size', value: { intValue: String(body * ROW_NUMBERS + row) } },
    { key: 'chaos.share', value: { doubleValue: row + 0.25 } },
    { key: 'chaos.even', value: { boolValue: row % 2 === 0 } },
  ][row % 3] as object,
];

function spansOf(number: number, isAttack: boolean): object[] {
  const runId = runIdOf(number);
  const spanId = (row: number): string =>
    (number * ROW_NUMBERS + row + 1).toString(16).padStart(16, '0');
  const toolCall = (row: number): object => ({
    name: 'execute_tool fetch',
    attributes: [
      text('gen_ai.operation.name', 'execute_tool'),
      text('gen_ai.tool.name', 'fetch'),
      text(
        'gen_ai.tool.call.result',
        `${isAttack ? ATTACK : 'The flight leaves at ten.'} ${wordsOf(number, row)}`,
      ),
    ],
  });
  const other = (row: number): object => ({
    name: row === 0 ? 'invoke_agent chaos' : wordsOf(number, row),
    traceState: `chaos=${number}-${row}`,
    flags: row,
    attributes: attributesOf(number, row),
    droppedAttributesCount: row % 4,
    ...(row % EVENTS_EVERY === 2 ? eventsOf(number, row) : {}),
  });
  const eventsOf = (body: number, row: number): object => ({
    status: { code: 1, message: wordsOf(body, row) },
    events: [{ name: 'e', timeUnixNano: timeOf(body, row), attributes: attributesOf(body, row) }],
    droppedEventsCount: row,
    links: [{ traceId: runId, spanId: spanId(row), attributes: attributesOf(body, row) }],
    droppedLinksCount: row + 1,
  });
  return rowsFrom(0, ROWS_PER_BODY, (row) => ({
    traceId: runId,
    spanId: spanId(row),
    ...(row === 0 ? {} : { parentSpanId: spanId(0) }),
    kind: 1 + (row % 5),
    startTimeUnixNano: timeOf(number, row),
    endTimeUnixNano: timeOf(number, row + 1),
    ...(row === 1 ? toolCall(row) : other(row)),
  }));
}

function logRecordsOf(number: number): object[] {
  return rowsFrom(0, ROWS_PER_BODY, (row) => ({
    timeUnixNano: timeOf(number, row),
    observedTimeUnixNano: timeOf(number, row + 1),
    severityNumber: 1 + (row % 24),
    severityText: `S${row}`,
    eventName: `chaos.${number}`,
    body: { stringValue: wordsOf(number, row) },
    attributes: attributesOf(number, row),
    droppedAttributesCount: row % 4,
    flags: row % 2,
  }));
}

function metricsOf(number: number): object[] {
  const pointOf = (row: number): object => ({
    timeUnixNano: timeOf(number, row),
    attributes: attributesOf(number, row),
  });
  const double = (row: number): string => literal(DOUBLES[row % DOUBLES.length] as string);
  const gauge = rowsFrom(0, SUM_FROM, (row) => ({ ...pointOf(row), asInt: String(row) }));
  const sum = rowsFrom(SUM_FROM, HISTOGRAM_FROM, (row) => ({
    ...pointOf(row),
    startTimeUnixNano: timeOf(number, 0),
    asDouble: double(row),
  }));
  const histogram = rowsFrom(HISTOGRAM_FROM, ROWS_PER_BODY, (row) => ({
    ...pointOf(row),
    count: String(row + 3),
    sum: double(row),
    bucketCounts: [String(row), '3'],
    explicitBounds: [literal('1.0')],
    exemplars: [{ timeUnixNano: timeOf(number, row), asInt: literal(String(row)) }],
  }));
  return [
    { name: 'chaos.points', description: wordsOf(number, 0), gauge: { dataPoints: gauge } },
    {
      name: `chaos.sum.${number}`,
      unit: '{request}',
      sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: sum },
    },
    { name: 'chaos.times', histogram: { aggregationTemporality: 1, dataPoints: histogram } },
  ];
}

/** The body of a number: every tenth holds log records, every tenth metric points, the others one run. */
export function bodyOf(number: number): Body {
  const kind = number % 10;
  const origin = String(number % RESOURCES);
  const resource = {
    attributes: [text('service.name', 'chaos'), text('service.instance.id', origin)],
  };
  const scope = { name: 'chaos', version: origin, attributes: [text('chaos.scope', origin)] };
  if (LOGS.includes(kind)) {
    const scopeLogs = [{ scope, logRecords: logRecordsOf(number) }];
    return made(number, 'logs', { resourceLogs: [{ resource, scopeLogs }] });
  }
  if (METRICS.includes(kind)) {
    const scopeMetrics = [{ scope, metrics: metricsOf(number) }];
    return made(number, 'metrics', { resourceMetrics: [{ resource, scopeMetrics }] });
  }
  const isAttack = ATTACKS.includes(kind);
  const scopeSpans = [{ scope, spans: spansOf(number, isAttack) }];
  return made(
    number,
    'traces',
    { resourceSpans: [{ resource, scopeSpans }] },
    { runId: runIdOf(number), isAttack },
  );
}

function made(
  number: number,
  signal: Signal,
  request: object,
  run: { runId: string | null; isAttack: boolean } = { runId: null, isAttack: false },
): Body {
  const plain = JSON.stringify(request).replace(/"#([^"#]+)#"/g, '$1');
  const sent = number % ESCAPED_EVERY === 1 ? escaped(plain) : plain;
  return { number, signal, bytes: Buffer.from(sent), ...run };
}

/** JSON in ASCII. */
const escaped = (json: string): string =>
  json.replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
