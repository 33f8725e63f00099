/** Decoded rows as the body of an export request, which decodes to the same rows. */
import type { JsonText } from '../../src/model/json.ts';
import { parseExactly } from './exact-json.ts';
import type { LogRow, ResourceRow, RowsRequest, SpanRow } from './rows.ts';

/** A stored value (`stored-form.ts`); numbers are those of `parseExactly`. */
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
