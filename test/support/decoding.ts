/** Rows as bodies of export requests, and bodies decoded and encoded as an ingest thread does. */
import type { EncodedRequest } from '../../src/db/telemetry/encoded-request.ts';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import * as ingest from '../../src/ingest/ingest.ts';
import type { LargeBodyResult } from '../../src/ingest/large-bodies.ts';
import {
  encodePlainly,
  parsePlainly,
  type ReadyResult,
  type RequestContext,
} from '../../src/ingest/plain-decoder.ts';
import { RequestChecker } from '../../src/ingest/request-checker.ts';
import type { JsonText } from '../../src/model/json.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import type { Line } from '../../src/otlp/lines/lines.ts';
import { type Pieces, toEnd } from '../../src/otlp/pieces.ts';
import { parseExactly } from './exact-records.ts';
import { factsOf, type LogRow, type ResourceRow, type RowsRequest, type SpanRow } from './rows.ts';

/** A stored value (test/reads/read-step.test.ts); numbers are those of `parseExactly`. */
type Stored = null | boolean | string | readonly Stored[] | { readonly [key: string]: Stored };

function anyValue(stored: Stored): object {
  if (stored === null) return {};
  if (typeof stored === 'string') return { stringValue: stored };
  if (typeof stored === 'boolean') return { boolValue: stored };
  if (Array.isArray(stored)) return { arrayValue: { values: stored.map(anyValue) } };
  const { number, $bytes, $double } = stored as Readonly<Record<string, Stored | undefined>>;
  if (typeof number === 'string') {
    return /[.eE]/.test(number) ? { doubleValue: Number(number) } : { intValue: number };
  }
  if ($bytes !== undefined) return { bytesValue: $bytes };
  if ($double !== undefined) return { doubleValue: $double };
  const values = Object.entries(stored).map(([key, value]) => ({
    key: key.startsWith('$$') ? key.slice(1) : key,
    value: anyValue(value),
  }));
  return { kvlistValue: { values } };
}

const attributesOf = (stored: Readonly<Record<string, Stored>>): object[] =>
  Object.entries(stored).map(([key, value]) => ({ key, value: anyValue(value) }));

/** Attributes, events or links of a row. */
const attributesIn = (text: JsonText): object[] =>
  attributesOf(parseExactly(text) as Record<string, Stored>);
const rowsIn = (text: JsonText | null): object[] | undefined => {
  if (text === null) return undefined;
  const exact = parseExactly(text) as { attributes?: Record<string, Stored> }[];
  return (JSON.parse(text) as object[]).map((row, at) => {
    const { attributes } = exact[at] ?? {};
    return attributes === undefined ? row : { ...row, attributes: attributesOf(attributes) };
  });
};
const bodyIn = (text: JsonText | null): object | undefined =>
  text === null ? undefined : anyValue(parseExactly(text) as Stored);

function spanOf(row: SpanRow): object {
  return {
    traceId: row.traceId,
    spanId: row.spanId,
    parentSpanId: row.parentSpanId ?? undefined,
    traceState: row.traceState,
    flags: row.flags,
    name: row.name,
    kind: row.kind,
    startTimeUnixNano: row.startUnixNano,
    endTimeUnixNano: row.endUnixNano,
    status: { code: row.statusCode, message: row.statusMessage },
    attributes: attributesIn(row.attributes),
    events: rowsIn(row.events),
    links: rowsIn(row.links),
    droppedAttributesCount: row.droppedAttributes,
    droppedEventsCount: row.droppedEvents,
    droppedLinksCount: row.droppedLinks,
  };
}

function logOf(row: LogRow): object {
  return {
    traceId: row.traceId ?? undefined,
    spanId: row.spanId ?? undefined,
    timeUnixNano: row.timeUnixNano,
    observedTimeUnixNano: row.observedUnixNano,
    severityNumber: row.severityNumber,
    severityText: row.severityText,
    eventName: row.eventName,
    body: bodyIn(row.body),
    attributes: attributesIn(row.attributes),
    flags: row.flags,
    droppedAttributesCount: row.droppedAttributes,
  };
}

/** The enclosing objects of one resource's records. */
function resourceOf(row: ResourceRow, scopes: string, records: string, list: object[]): object {
  return {
    resource: {
      attributes: attributesIn(row.attributes),
      droppedAttributesCount: row.droppedAttributes,
    },
    schemaUrl: row.schemaUrl,
    [scopes]: [
      {
        scope: {
          name: row.scopeName,
          version: row.scopeVersion,
          attributes: attributesIn(row.scopeAttributes),
          droppedAttributesCount: row.scopeDroppedAttributes,
        },
        schemaUrl: row.scopeSchemaUrl,
        [records]: list,
      },
    ],
  };
}

/** Elements for runs of rows of one resource, in the order of the rows. */
function* elementsOf<Row extends SpanRow | LogRow>(
  rows: readonly Row[],
  resources: readonly ResourceRow[],
  [scopes, records]: readonly [string, string],
  recordOf: (row: Row) => object,
): Generator<object> {
  for (let from = 0; from < rows.length; ) {
    const id = rows[from]?.resourceId;
    const resource = resources.find((row) => row.id === id);
    if (resource === undefined) throw new Error(`no resource ${id}`);
    let to = from;
    while (rows[to]?.resourceId === id) to += 1;
    yield resourceOf(resource, scopes, records, rows.slice(from, to).map(recordOf));
    from = to;
  }
}

/** The body of a request with spans, or with log records. */
export function otlpBody({ spans, logs, resources }: RowsRequest): Buffer {
  if (spans.length > 0 && logs.length > 0)
    throw new Error('spans and log records are two requests');
  const body =
    logs.length > 0
      ? { resourceLogs: [...elementsOf(logs, resources, ['scopeLogs', 'logRecords'], logOf)] }
      : { resourceSpans: [...elementsOf(spans, resources, ['scopeSpans', 'spans'], spanOf)] };
  return Buffer.from(JSON.stringify(body));
}

const checker = new RequestChecker();

/** Encodes rows as a request that has them. @param rows spans or log records, not both */
export function encodeRequest(
  rows: RowsRequest,
  workspaceId: number,
  arrivedAtMs: number,
  logRuns: LogRuns = new LogRuns(),
): EncodedRequest {
  const request = factsOf(rows);
  const runs = logRuns.assign(request, workspaceId);
  const decoded = { ok: true, request, accepted: null } as const;
  return encodePlainly(otlpBody(rows), decoded, workspaceId, arrivedAtMs, runs).encoded;
}

export function decodeInPieces(
  signal: Signal,
  body: Buffer,
  context: RequestContext,
  elsewhere: () => Promise<ReadyResult>,
): Pieces<ReadyResult | Promise<LargeBodyResult>> {
  return ingest.decodeInPieces(signal, body, context, { checker, elsewhere });
}

/** The fast way alone; null when the body is left to the plain one. */
export function scanOrNull(
  signal: Signal,
  body: Buffer,
  { workspaceId, arrivedAtMs }: Pick<RequestContext, 'workspaceId' | 'arrivedAtMs'>,
): ReadyResult | null {
  const request = toEnd(checker.scan(signal, body, workspaceId, arrivedAtMs));
  return request === null ? null : { ok: true, request };
}

/** Decodes at once, however long it takes, with the limits of the decode process. */
export function decodeRequest(signal: Signal, body: Buffer, context: RequestContext): ReadyResult {
  const scanned = scanOrNull(signal, body, context);
  if (scanned !== null) return scanned;
  const parsed = parsePlainly(signal, body);
  if (!parsed.ok) return parsed;
  const { workspaceId, arrivedAtMs, logRuns } = context;
  const runs = logRuns.assign(parsed.request, workspaceId);
  return { ok: true, request: encodePlainly(body, parsed, workspaceId, arrivedAtMs, runs) };
}

/** @throws when the line's length is not that of its parts */
export function lineBytes({ parts, bytes }: Line): Buffer {
  const whole = Buffer.concat(parts);
  if (whole.length !== bytes) throw new Error(`a line of ${whole.length} bytes says ${bytes}`);
  return whole;
}
