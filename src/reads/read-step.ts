/**
 * Converts records of blocks to steps. The records were accepted when they arrived: a member that is not
 * valid has its default, and nothing here throws.
 */
import { hash } from 'node:crypto';

import type { Hex16, JsonObject } from '../model/json.ts';
import type { SpanEvent, Step } from '../model/steps.ts';
import {
  isNoParentId,
  isObject,
  isUnset,
  type Raw,
  toInt64,
  toSpanId,
  toTraceId,
  toUint64,
} from '../otlp/fields.ts';
import { parseJson, parseLongIntegers } from '../otlp/json.ts';
import type { BlockRecord, RecordOrigin } from '../otlp/lines/block-records.ts';
import { serviceNameIn } from '../otlp/origin.ts';
import { storedAttributes, storedValue } from '../otlp/stored-values.ts';

/** Signals with records that are steps. */
export type StepSignal = 'traces' | 'logs';

/** The parts of a step that are read without its attributes, events and body. */
export type StepHead = Pick<
  Step,
  | 'source'
  | 'spanId'
  | 'parentSpanId'
  | 'name'
  | 'startUnixNano'
  | 'endUnixNano'
  | 'statusCode'
  | 'statusMessage'
> & { readonly traceId: Hex16 | null };

/**
 * Maximum characters of a service's or scope's name. They are sent once and read with every step: a
 * name of a megabyte would be read twenty thousand times. Conventions are recognized by prefixes.
 */
const ORIGIN_CHARS_MAX = 256;

/** OTLP `SpanFlags`: CONTEXT_HAS_IS_REMOTE and CONTEXT_IS_REMOTE. */
const REMOTE_PARENT = 0x300;

export function readStep(signal: StepSignal, { bytes, origin }: BlockRecord): Step {
  return toStep(signal, parseRecord(bytes), origin);
}

/** Converts a parsed record to a step without number and day of arrival. */
export function toStep(signal: StepSignal, record: JsonObject, origin: RecordOrigin): Step {
  const head = stepHead(signal, record);
  const { scopeName, serviceName } = namesOf(origin);
  const isSpan = signal === 'traces';
  const dropped = toCount(record.droppedAttributesCount);
  // Spreading the head takes as long as all the rest.
  return {
    source: head.source,
    spanId: head.spanId,
    parentSpanId: head.parentSpanId,
    name: head.name,
    startUnixNano: head.startUnixNano,
    endUnixNano: head.endUnixNano,
    statusCode: head.statusCode,
    statusMessage: head.statusMessage,
    scopeName,
    serviceName,
    attributes: storedAttributes(record.attributes),
    events: isSpan ? eventsOf(record.events) : [],
    body: isSpan ? null : storedValue(record.body),
    dropped: dropped + (isSpan ? toCount(record.droppedEventsCount) : 0),
    hasRemoteParent: isSpan && (toCount(record.flags) & REMOTE_PARENT) === REMOTE_PARENT,
  };
}

/** Reads the head of a step: its attributes, events and body are parsed, but not converted. */
export function readHead(signal: StepSignal, { bytes }: BlockRecord): StepHead {
  return stepHead(signal, parseRecord(bytes));
}

/**
 * Returns a digest of a record, its resource and its scope: equal spans have equal digests. It is
 * cryptographic, so that no sender can hide a span behind another one.
 */
export function digestOf({ bytes, origin }: BlockRecord): string {
  return hash('sha256', bytes, 'base64') + namesAndDigestOf(origin).digest;
}

export function stepHead(signal: StepSignal, record: JsonObject): StepHead {
  return signal === 'traces' ? spanHead(record) : logHead(record);
}

function spanHead(span: JsonObject): StepHead {
  const { parentSpanId: parent, status } = span;
  const { code, message } = isObject(status) ? status : {};
  return {
    source: 'span',
    traceId: toTraceId(span.traceId),
    spanId: toSpanId(span.spanId),
    parentSpanId: typeof parent === 'string' && !isNoParentId(parent) ? toSpanId(parent) : null,
    name: toText(span.name),
    startUnixNano: toUint64(span.startTimeUnixNano ?? null) ?? '0',
    endUnixNano: toUint64(span.endTimeUnixNano ?? null) ?? '0',
    statusCode: toCount(code),
    statusMessage: toText(message),
  };
}

function logHead(log: JsonObject): StepHead {
  const sent = toUint64(log.timeUnixNano ?? null) ?? '0';
  const time = sent === '0' ? (toUint64(log.observedTimeUnixNano ?? null) ?? '0') : sent;
  return {
    source: 'log',
    traceId: toTraceId(log.traceId),
    spanId: toSpanId(log.spanId),
    parentSpanId: null,
    name: toText(log.eventName),
    startUnixNano: time,
    endUnixNano: time,
    statusCode: 0,
    statusMessage: '',
  };
}

function eventsOf(raw: Raw): SpanEvent[] {
  if (!Array.isArray(raw)) return [];
  return raw.filter(isObject).map((event) => ({
    name: toText(event.name),
    attributes: storedAttributes(event.attributes),
    timeUnixNano: toUint64(event.timeUnixNano ?? null) ?? '0',
  }));
}

/** The members that are times: they need all of their digits. */
const TIMES = ['startTimeUnixNano', 'endTimeUnixNano', 'timeUnixNano', 'observedTimeUnixNano'];

/**
 * Parses a record. U+0000 and lone surrogates become U+FFFD, because findings are stored as text in
 * PostgreSQL, which has neither.
 */
export function parseRecord(bytes: Buffer): JsonObject {
  const parsed = parseJson(bytes);
  if (!parsed.ok || !isObject(parsed.value)) return {};
  if (!hasRoundedTime(parsed.value)) return parsed.value;
  const exact = parseLongIntegers(parsed.text) ?? parsed.value;
  return isObject(exact) ? exact : parsed.value;
}

/** Checks whether a time was sent as a number, which has fewer digits than nanoseconds need. */
function hasRoundedTime(record: JsonObject): boolean {
  if (TIMES.some((name) => isRounded(record[name]))) return true;
  const { events } = record;
  if (!Array.isArray(events)) return false;
  return events.some((event) => isObject(event) && isRounded(event.timeUnixNano));
}

const isRounded = (raw: Raw): boolean => typeof raw === 'number' && !Number.isSafeInteger(raw);

const toText = (raw: Raw): string => (typeof raw === 'string' ? raw : '');

function toCount(raw: Raw): number {
  return isUnset(raw) ? 0 : Number(toInt64(raw) ?? '0');
}

interface NamesAndDigest {
  readonly names: Pick<Step, 'scopeName' | 'serviceName'>;
  readonly digest: string;
}

/** Of the origins in use: most steps share theirs. */
const known = new WeakMap<RecordOrigin, NamesAndDigest>();

function namesOf(origin: RecordOrigin): NamesAndDigest['names'] {
  return namesAndDigestOf(origin).names;
}

function namesAndDigestOf(origin: RecordOrigin): NamesAndDigest {
  const before = known.get(origin);
  if (before !== undefined) return before;
  const { scope, resource, head } = origin;
  const service = isObject(resource.resource) ? serviceNameIn(resource.resource.attributes) : null;
  const scopeName = isObject(scope.scope) ? toText(scope.scope.name) : '';
  const read: NamesAndDigest = {
    names: {
      scopeName: cutName(scopeName),
      serviceName: service === null ? null : cutName(service),
    },
    digest: hash('sha256', head, 'base64'),
  };
  known.set(origin, read);
  return read;
}

/** Cuts a name without parting a surrogate pair. */
function cutName(name: string): string {
  if (name.length <= ORIGIN_CHARS_MAX) return name;
  return Array.from(name.slice(0, 2 * ORIGIN_CHARS_MAX))
    .slice(0, ORIGIN_CHARS_MAX)
    .join('');
}
