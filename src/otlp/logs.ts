/**
 * Decodes ExportLogsServiceRequest: log records. An invalid trace or span id means that the record
 * is not linked to a span; it never rejects the record.
 */

import type { JsonObject, JsonValue } from '../model/json.ts';
import type { LogRow, LogSession, ResourceRow } from '../model/telemetry.ts';
import { parseAnyValue, parseAttributes } from './any-value.ts';
import { type DecodeResult, decodeEnvelope, type Envelope, type RequestDraft } from './envelope.ts';
import type { Fault } from './fault.ts';
import {
  isObject,
  isUnset,
  parseDropped,
  parseEnum,
  parseText,
  parseTime,
  parseUint32,
  type Raw,
  toSpanId,
  toTraceId,
} from './fields.ts';
import { sessionOf } from './log-session.ts';

/** The members of a log record, the most frequent first. */
const RECORD_KEYS = [
  'timeUnixNano',
  'body',
  'attributes',
  'observedTimeUnixNano',
  'severityNumber',
  'severityText',
  'eventName',
  'traceId',
  'spanId',
  'flags',
  'droppedAttributesCount',
];

const LOGS: Envelope = {
  signal: 'logs',
  resourceList: 'resourceLogs',
  scopeList: 'scopeLogs',
  itemList: 'logRecords',
  countRecords: () => 1,
  parseItem: addLogRecord,
  finish: ({ sessionEnds, logs }) => sessionEnds.applyTo(logs),
};

/**
 * Decodes the body of one log export.
 *
 * @param body JSON bytes, decompressed; only read during the call
 * @returns `logs` and the `resources` they name, or why the body is undecodable; never throws
 */
export function decodeLogs(body: Buffer): DecodeResult {
  return decodeEnvelope(body, LOGS);
}

function addLogRecord(item: JsonValue, draft: RequestDraft): void {
  const row = parseLogRecord(item, draft, draft.fault);
  if (row === null) {
    draft.rejectItem(1);
    return;
  }
  draft.accept();
  draft.logs.push(row);
  if (!isObject(item) || RECORD_KEYS.some((key) => Object.hasOwn(item, key))) return;
  // Stored, because every member is optional, but without anything that was sent.
  draft.noteUnknown(item, 'timeUnixNano', [], `${draft.itemsPath}[${draft.itemIndex}]`);
}

function parseLogRecord(record: JsonValue, draft: RequestDraft, fault: Fault): LogRow | null {
  if (!isObject(record)) {
    fault.refuse('not_an_object', '');
    return null;
  }
  const timeUnixNano = parseTime(record.timeUnixNano, 'timeUnixNano', fault);
  const observedUnixNano = parseTime(record.observedTimeUnixNano, 'observedTimeUnixNano', fault);
  const { severityNumber: severity } = record;
  const severityNumber = parseEnum(severity, 'bad_severity', 'severityNumber', fault);
  const severityText = parseText(record.severityText, 'severityText', fault);
  const eventName = parseText(record.eventName, 'eventName', fault);
  const flags = parseUint32(record.flags, 'bad_flags', 'flags', fault);
  const droppedAttributes = parseDropped(
    record.droppedAttributesCount,
    'droppedAttributesCount',
    fault,
  );
  const attributes = parseAttributes(record.attributes, 'attributes', fault);
  const body = parseBody(record.body, fault);
  if (fault.refused) return null;
  const origin = draft.origin();
  const traceId = toTraceId(record.traceId);
  return {
    resourceId: origin.id,
    traceId,
    spanId: toSpanId(record.spanId),
    timeUnixNano,
    observedUnixNano,
    severityNumber,
    severityText,
    eventName,
    body,
    attributes,
    flags,
    droppedAttributes,
    session: readSession(origin, record, traceId !== null, draft),
  };
}

/** The record's session; its part in the session's end is noted. */
function readSession(
  origin: ResourceRow,
  record: JsonObject,
  hasTrace: boolean,
  { logs, resourceIndex, sessionEnds }: RequestDraft,
): LogSession | null {
  const named = sessionOf(origin, record, hasTrace);
  if (named === null) return null;
  const { session, farewell } = named;
  if (session === null) sessionEnds.endProcess(resourceIndex);
  else sessionEnds.add(session.key, logs.length, resourceIndex, farewell);
  return session;
}

/** An empty body is stored as JSON's null, an absent one as SQL's NULL. */
function parseBody(raw: Raw, fault: Fault): string | null {
  if (isUnset(raw) || fault.refused) return null;
  const text = parseAnyValue(raw, 1, fault);
  if (fault.refused) fault.within('body');
  return text;
}
