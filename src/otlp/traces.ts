/**
 * Decodes ExportTraceServiceRequest: which spans are accepted, with their events and links, and their
 * facts. The OTLP specification and trace.proto define which are valid; `REASONS` lists the reasons for
 * rejections.
 */
import type { JsonValue } from '../model/json.ts';
import type { SpanFacts } from '../model/telemetry.ts';
import { checkAttributes } from './any-value.ts';
import { type DecodeResult, decodeEnvelope, type Envelope, type RequestDraft } from './envelope.ts';
import type { Fault } from './fault.ts';
import {
  checkElements,
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
import { sessionOfSpan } from './log-session.ts';

const STATUS_ERROR = 2;

export const TRACES: Envelope = {
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
 * @returns `spans`, or why the body is undecodable; never throws
 */
export function decodeTraces(body: Buffer): DecodeResult {
  return decodeEnvelope(body, TRACES);
}

function addSpan(item: JsonValue, draft: RequestDraft): void {
  const span = readSpan(item, draft, draft.fault);
  if (span === null) {
    draft.rejectItem(1);
    return;
  }
  draft.accept();
  draft.spans.push(span);
}

function readSpan(span: JsonValue, draft: RequestDraft, fault: Fault): SpanFacts | null {
  if (!isObject(span)) {
    fault.refuse('not_an_object', '');
    return null;
  }
  const traceId = toTraceId(span.traceId);
  if (traceId === null) fault.refuse('bad_trace_id', 'traceId');
  if (toSpanId(span.spanId) === null) fault.refuse('bad_span_id', 'spanId');
  const isRoot = hasNoParent(span.parentSpanId, fault);
  parseText(span.traceState, 'traceState', fault);
  parseUint32(span.flags, 'bad_flags', 'flags', fault);
  const name = parseText(span.name, 'name', fault);
  parseEnum(span.kind, 'bad_kind', 'kind', fault);
  const startUnixNano = parseTime(span.startTimeUnixNano, 'startTimeUnixNano', fault);
  const endUnixNano = parseTime(span.endTimeUnixNano, 'endTimeUnixNano', fault);
  const status = parseObject(span.status, 'status', fault);
  const statusCode = parseEnum(status.code, 'bad_status', 'status.code', fault);
  parseText(status.message, 'status.message', fault);
  parseDropped(span.droppedAttributesCount, 'droppedAttributesCount', fault);
  parseDropped(span.droppedEventsCount, 'droppedEventsCount', fault);
  parseDropped(span.droppedLinksCount, 'droppedLinksCount', fault);
  checkAttributes(span.attributes, 'attributes', fault);
  checkElements(span.events, 'events', checkEvent, fault);
  checkElements(span.links, 'links', checkLink, fault);
  if (fault.refused || traceId === null) return null;
  return {
    traceId,
    startUnixNano,
    endUnixNano,
    root: isRoot ? { name, isFailed: statusCode === STATUS_ERROR } : null,
    serviceName: draft.origin.serviceName,
    session: sessionOfSpan(draft.origin, span),
  };
}

function hasNoParent(raw: Raw, fault: Fault): boolean {
  if (isUnset(raw) || (typeof raw === 'string' && isNoParentId(raw))) return true;
  if (toSpanId(raw) === null) fault.refuse('bad_parent_span_id', 'parentSpanId');
  return false;
}

function checkEvent(event: Raw, fault: Fault): void {
  if (!isObject(event)) {
    fault.refuse('not_an_object', '');
    return;
  }
  parseText(event.name, 'name', fault);
  parseTime(event.timeUnixNano, 'timeUnixNano', fault);
  parseDropped(event.droppedAttributesCount, 'droppedAttributesCount', fault);
  checkAttributes(event.attributes, 'attributes', fault);
}

/** A link may have zeros or any text as its ids (OpenTelemetry's trace API, "Add Link"). */
function checkLink(link: Raw, fault: Fault): void {
  if (!isObject(link)) {
    fault.refuse('not_an_object', '');
    return;
  }
  for (const field of ['traceId', 'spanId'] as const) {
    const id = link[field];
    if (!isUnset(id) && typeof id !== 'string') fault.refuse('bad_link', field);
  }
  parseText(link.traceState, 'traceState', fault);
  parseUint32(link.flags, 'bad_flags', 'flags', fault);
  parseDropped(link.droppedAttributesCount, 'droppedAttributesCount', fault);
  checkAttributes(link.attributes, 'attributes', fault);
}
