/**
 * Decodes ExportTraceServiceRequest: spans with their events and links. The OTLP specification and
 * trace.proto define which are valid; `REASONS` lists the reasons for rejections.
 */

import type { JsonObject, JsonText, JsonValue } from '../model/json.ts';
import type { SpanRow } from '../model/telemetry.ts';
import { parseAttributes } from './any-value.ts';
import { type DecodeResult, decodeEnvelope, type Envelope, type RequestDraft } from './envelope.ts';
import type { Fault } from './fault.ts';
import {
  isNoParentId,
  isObject,
  isUnset,
  parseDropped,
  parseEnum,
  parseObject,
  parseText,
  parseTime,
  parseUint32,
  type Raw,
  toSpanId,
  toTraceId,
} from './fields.ts';
import { quote } from './json-text.ts';
import { parseListText } from './list-text.ts';
import { sessionOfSpan } from './log-session.ts';

const TRACES: Envelope = {
  signal: 'traces',
  resourceList: 'resourceSpans',
  scopeList: 'scopeSpans',
  itemList: 'spans',
  countRecords: () => 1,
  parseItem: addSpan,
};

/**
 * Decodes the body of one trace export.
 *
 * @param body JSON bytes, decompressed; only read during the call
 * @returns `spans` and the `resources` they name, or why the body is undecodable; never throws
 */
export function decodeTraces(body: Buffer): DecodeResult {
  return decodeEnvelope(body, TRACES);
}

function addSpan(item: JsonValue, draft: RequestDraft): void {
  const row = parseSpan(item, draft, draft.fault);
  if (row === null) {
    draft.rejectItem(1);
    return;
  }
  draft.accept();
  draft.spans.push(row);
}

function parseSpan(span: JsonValue, draft: RequestDraft, fault: Fault): SpanRow | null {
  if (!isObject(span)) {
    fault.refuse('not_an_object', '');
    return null;
  }
  const traceId = toTraceId(span.traceId);
  if (traceId === null) fault.refuse('bad_trace_id', 'traceId');
  const spanId = toSpanId(span.spanId);
  if (spanId === null) fault.refuse('bad_span_id', 'spanId');
  const parentSpanId = parseParentSpanId(span.parentSpanId, fault);
  const traceState = parseText(span.traceState, 'traceState', fault);
  const flags = parseUint32(span.flags, 'bad_flags', 'flags', fault);
  const name = parseText(span.name, 'name', fault);
  const kind = parseEnum(span.kind, 'bad_kind', 'kind', fault);
  const startUnixNano = parseTime(span.startTimeUnixNano, 'startTimeUnixNano', fault);
  const endUnixNano = parseTime(span.endTimeUnixNano, 'endTimeUnixNano', fault);
  const status = parseObject(span.status, 'status', fault);
  const statusCode = parseEnum(status.code, 'bad_status', 'status.code', fault);
  const statusMessage = parseText(status.message, 'status.message', fault);
  const droppedAttributes = parseDropped(
    span.droppedAttributesCount,
    'droppedAttributesCount',
    fault,
  );
  const droppedEvents = parseDropped(span.droppedEventsCount, 'droppedEventsCount', fault);
  const droppedLinks = parseDropped(span.droppedLinksCount, 'droppedLinksCount', fault);
  const attributes = parseAttributes(span.attributes, 'attributes', fault);
  const events = parseListText(span.events, 'events', parseEvent, fault);
  const links = parseListText(span.links, 'links', parseLink, fault);
  if (fault.refused || traceId === null || spanId === null) return null;
  const origin = draft.origin();
  return {
    resourceId: origin.id,
    traceId,
    spanId,
    parentSpanId,
    traceState,
    flags,
    name,
    kind,
    startUnixNano,
    endUnixNano,
    statusCode,
    statusMessage,
    attributes,
    events,
    links,
    droppedAttributes,
    droppedEvents,
    droppedLinks,
    session: sessionOfSpan(origin, span),
  };
}

function parseParentSpanId(raw: Raw, fault: Fault): string | null {
  if (isUnset(raw) || (typeof raw === 'string' && isNoParentId(raw))) return null;
  const id = toSpanId(raw);
  if (id === null) fault.refuse('bad_parent_span_id', 'parentSpanId');
  return id;
}

/** Writes one event; a dropped count of 0 is left out. */
function parseEvent(event: Raw, fault: Fault): JsonText {
  if (!isObject(event)) {
    fault.refuse('not_an_object', '');
    return '';
  }
  const name = parseText(event.name, 'name', fault);
  const time = parseTime(event.timeUnixNano, 'timeUnixNano', fault);
  const dropped = parseDropped(event.droppedAttributesCount, 'droppedAttributesCount', fault);
  const attributes = parseAttributes(event.attributes, 'attributes', fault);
  const text = `{"name":${quote(name)},"timeUnixNano":"${time}","attributes":${attributes}`;
  return dropped === 0 ? `${text}}` : `${text},"droppedAttributesCount":${dropped}}`;
}

/** Writes one link without fields at their default; must not be used if `fault` is set. */
export function parseLink(link: Raw, fault: Fault): JsonText {
  if (!isObject(link)) {
    fault.refuse('not_an_object', '');
    return '';
  }
  const ids =
    linkedId(link, 'traceId', toTraceId, fault) + linkedId(link, 'spanId', toSpanId, fault);
  const traceState = parseText(link.traceState, 'traceState', fault);
  const flags = parseUint32(link.flags, 'bad_flags', 'flags', fault);
  const dropped = parseDropped(link.droppedAttributesCount, 'droppedAttributesCount', fault);
  const attributes = parseAttributes(link.attributes, 'attributes', fault);
  let text = ids;
  if (traceState !== '') text += `,"traceState":${quote(traceState)}`;
  if (attributes !== '{}') text += `,"attributes":${attributes}`;
  if (flags !== 0) text += `,"flags":${flags}`;
  if (dropped !== 0) text += `,"droppedAttributesCount":${dropped}`;
  return `{${text.slice(1)}}`;
}

/**
 * Writes one of a link's ids, with a comma before it. A link may have zeros or nothing as its ids
 * (OpenTelemetry's trace API, "Add Link"): an id that is none is written as it was sent.
 */
function linkedId(
  link: JsonObject,
  field: 'traceId' | 'spanId',
  toId: (raw: Raw) => string | null,
  fault: Fault,
): JsonText {
  const raw = link[field];
  if (isUnset(raw)) return '';
  if (typeof raw !== 'string') fault.refuse('bad_link', field);
  return `,"${field}":${quote(toId(raw) ?? String(raw))}`;
}
