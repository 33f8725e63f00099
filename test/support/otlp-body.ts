/** Decoded rows as the body of an export request, which decodes to the same rows. */
import type { JsonText } from '../../src/model/json.ts';
import type { DecodedRequest, LogRow, ResourceRow, SpanRow } from '../../src/model/telemetry.ts';
import { attributesInPieces, rowsInPieces, valueInPieces } from '../../src/otlp/stored-text.ts';

type Convert = typeof valueInPieces;

/** Converts stored JSON to OTLP's; absent stays absent. */
function toOtlp(text: JsonText | null, convert: Convert): unknown {
  if (text === null) return undefined;
  const out: string[] = [];
  for (const _ of convert(text, out));
  return JSON.parse(out.join(''));
}

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
    attributes: toOtlp(row.attributes, attributesInPieces),
    events: toOtlp(row.events, rowsInPieces),
    links: toOtlp(row.links, rowsInPieces),
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
    body: toOtlp(row.body, valueInPieces),
    attributes: toOtlp(row.attributes, attributesInPieces),
    flags: row.flags,
    droppedAttributesCount: row.droppedAttributes,
  };
}

/** The enclosing objects of one resource's records. */
function resourceOf(row: ResourceRow, scopes: string, records: string, list: object[]): object {
  return {
    resource: {
      attributes: toOtlp(row.attributes, attributesInPieces),
      droppedAttributesCount: row.droppedAttributes,
    },
    schemaUrl: row.schemaUrl,
    [scopes]: [
      {
        scope: {
          name: row.scopeName,
          version: row.scopeVersion,
          attributes: toOtlp(row.scopeAttributes, attributesInPieces),
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
export function otlpBody({ spans, logs, resources }: DecodedRequest): Buffer {
  if (spans.length > 0 && logs.length > 0)
    throw new Error('spans and log records are two requests');
  const body =
    logs.length > 0
      ? { resourceLogs: [...elementsOf(logs, resources, ['scopeLogs', 'logRecords'], logOf)] }
      : { resourceSpans: [...elementsOf(spans, resources, ['scopeSpans', 'spans'], spanOf)] };
  return Buffer.from(JSON.stringify(body));
}
