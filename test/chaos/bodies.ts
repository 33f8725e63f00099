/**
 * Export requests whose rows the database can distinguish: row `i` of body `b` has the time
 * `TIME_BASE + b × ROW_NUMBERS + i` (nanoseconds), in all three tables.
 */
import { ATTACK } from '../support/attack-text.ts';
export const ROWS_PER_BODY = 200;
/** Numbers of rows that each body has to itself. */
export const ROW_NUMBERS = 1_000;
export const TIME_BASE = 1_790_000_000_000_000_000n;

/** Of ten bodies. */
const LOGS = [4];
const METRICS = [7];
const ATTACKS = [1, 6];
const SCOPE = { name: 'chaos', version: '1' };

export type Signal = 'traces' | 'logs' | 'metrics';

export interface Body {
  readonly number: number;
  readonly signal: Signal;
  readonly bytes: Buffer;
  /** the run that its spans make, in hexadecimal digits; null for other signals */
  readonly runId: string | null;
  readonly isAttack: boolean;
}

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
const timeOf = (body: number, row: number): string =>
  String(TIME_BASE + BigInt(body) * BigInt(ROW_NUMBERS) + BigInt(row));
const rowsOf = <Row>(make: (row: number) => Row): Row[] =>
  Array.from({ length: ROWS_PER_BODY }, (_, row) => make(row));

function spansOf(number: number, runId: string, isAttack: boolean): object[] {
  const spanId = (row: number): string =>
    (number * ROW_NUMBERS + row + 1).toString(16).padStart(16, '0');
  return rowsOf((row) => ({
    traceId: runId,
    spanId: spanId(row),
    ...(row === 0 ? {} : { parentSpanId: spanId(0) }),
    name: row === 0 ? 'invoke_agent chaos' : 'execute_tool fetch',
    kind: 1,
    startTimeUnixNano: timeOf(number, row),
    endTimeUnixNano: timeOf(number, row + 1),
    attributes:
      row === 1
        ? [
            text('gen_ai.operation.name', 'execute_tool'),
            text('gen_ai.tool.name', 'fetch'),
            text('gen_ai.tool.call.result', isAttack ? ATTACK : 'The flight leaves at ten.'),
          ]
        : [text('http.request.method', 'GET'), text('server.address', 'travel.example')],
  }));
}

/** The body of a number: every tenth holds log records, every tenth metric points, the others one run. */
export function bodyOf(number: number): Body {
  const kind = number % 10;
  const resource = { attributes: [text('service.name', 'chaos')] };
  if (LOGS.includes(kind)) {
    const logRecords = rowsOf((row) => ({
      timeUnixNano: timeOf(number, row),
      severityNumber: 9,
      body: { stringValue: 'A line of a log.' },
    }));
    return made(number, 'logs', {
      resourceLogs: [{ resource, scopeLogs: [{ scope: SCOPE, logRecords }] }],
    });
  }
  if (METRICS.includes(kind)) {
    const dataPoints = rowsOf((row) => ({ timeUnixNano: timeOf(number, row), asInt: String(row) }));
    const metrics = [{ name: 'chaos.points', gauge: { dataPoints } }];
    return made(number, 'metrics', {
      resourceMetrics: [{ resource, scopeMetrics: [{ scope: SCOPE, metrics }] }],
    });
  }
  const runId = `c${(number + 1).toString(16).padStart(31, '0')}`;
  const isAttack = ATTACKS.includes(kind);
  const spans = spansOf(number, runId, isAttack);
  return made(
    number,
    'traces',
    { resourceSpans: [{ resource, scopeSpans: [{ scope: SCOPE, spans }] }] },
    { runId, isAttack },
  );
}

function made(
  number: number,
  signal: Signal,
  request: object,
  run: { runId: string | null; isAttack: boolean } = { runId: null, isAttack: false },
): Body {
  return { number, signal, bytes: Buffer.from(JSON.stringify(request)), ...run };
}
