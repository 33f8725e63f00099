/**
 * Decodes ExportLogsServiceRequest: log records. An invalid trace or span id means that the record
 * is not linked to a span; it never rejects the record.
 */

import type { JsonObject, JsonValue } from '../model/json.ts';
import type { LogFacts, LogSession } from '../model/telemetry.ts';
import { checkAnyValue, checkAttributes } from './any-value.ts';
import { type DecodeResult, decodeEnvelope, type Envelope, type RequestDraft } from './envelope.ts';
import type { Fault } from './fault.ts';
import {
  isObject,
  parseDropped,
  parseEnum,
  parseText,
  parseTime,
  parseUint32,
  type Raw,
  toTraceId,
} from './fields.ts';
import { sessionOf } from './log-session.ts';

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

export const LOGS: Envelope = {
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
 */
export function decodeLogs(body: Buffer): DecodeResult {
  return decodeEnvelope(body, LOGS);
}

function addLogRecord(item: JsonValue, draft: RequestDraft): void {
  const log = readLogRecord(item, draft, draft.fault);
  if (log === null) {
    draft.rejectItem(1);
    return;
  }
  draft.accept();
  draft.logs.push(log);
  if (!isObject(item) || RECORD_KEYS.some((key) => Object.hasOwn(item, key))) return;
  // Stored, because every member is optional, but without anything that was sent.
  draft.noteUnknown(item, 'timeUnixNano', [], `${draft.itemsPath}[${draft.itemIndex}]`);
}

function readLogRecord(record: JsonValue, draft: RequestDraft, fault: Fault): LogFacts | null {
  if (!isObject(record)) {
    fault.refuse('not_an_object', '');
    return null;
  }
  const timeUnixNano = parseTime(record.timeUnixNano, 'timeUnixNano', fault);
  const observedUnixNano = parseTime(record.observedTimeUnixNano, 'observedTimeUnixNano', fault);
  parseEnum(record.severityNumber, 'bad_severity', 'severityNumber', fault);
  parseText(record.severityText, 'severityText', fault);
  parseText(record.eventName, 'eventName', fault);
  parseUint32(record.flags, 'bad_flags', 'flags', fault);
  parseDropped(record.droppedAttributesCount, 'droppedAttributesCount', fault);
  checkAttributes(record.attributes, 'attributes', fault);
  checkBody(record.body, fault);
  if (fault.refused) return null;
  const traceId = toTraceId(record.traceId);
  const { serviceName } = draft.origin;
  const session = readSession(record, traceId !== null, draft);
  return { traceId, timeUnixNano, observedUnixNano, serviceName, session };
}

function readSession(
  record: JsonObject,
  hasTrace: boolean,
  { origin, logs, resourceIndex, sessionEnds }: RequestDraft,
): LogSession | null {
  const named = sessionOf(origin, record, hasTrace);
  if (named === null) return null;
  const { session, farewell } = named;
  if (session === null) sessionEnds.endProcess(resourceIndex);
  else sessionEnds.add(session.key, logs.length, resourceIndex, farewell);
  return session;
}

function checkBody(raw: Raw, fault: Fault): void {
  if (fault.refused) return;
  checkAnyValue(raw, 1, fault);
  if (fault.refused) fault.within('body');
}
