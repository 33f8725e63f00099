/**
 * Reads the members of a span or a log record that the tree of its run needs: ids, times and status; and
 * the time of any record. Attributes, events and body are skipped, not parsed.
 */
import type { Hex8, Int64 } from '../../model/json.ts';
import type { Step } from '../../model/steps.ts';
import type { Signal } from '../../model/telemetry.ts';
import { type Raw, toInt64, toSpanId, toUint64 } from '../fields.ts';
import { PIECE_BYTES, type Pieces } from '../pieces.ts';
import type { JsonWalk } from './json-walk.ts';

export interface NarrowRecord {
  readonly spanId: Hex8 | null;
  readonly parentSpanId: Hex8 | null;
  readonly startUnixNano: Int64;
  readonly endUnixNano: Int64;
  readonly isError: boolean;
  /** equal for equal names */
  readonly nameKey: number;
}

/** OTLP's STATUS_CODE_ERROR. */
const STATUS_ERROR = '2';

const QUOTE = 0x22;
/** Bytes of a name that its key depends on. */
const KEYED_BYTES = 1024;
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * Reads a record.
 *
 * @param walk at the record, an object that was accepted; then after it
 * @param text that the walk is in
 */
export function* readNarrow(
  source: Step['source'],
  walk: JsonWalk,
  text: Buffer,
): Pieces<NarrowRecord> {
  const isSpan = source === 'span';
  let spanId: Hex8 | null = null;
  let parentSpanId: Hex8 | null = null;
  let start: Int64 = '0';
  let end: Int64 = '0';
  let isError = false;
  let nameKey = FNV_OFFSET;
  for (let key = walk.firstKey(); key !== null; key = walk.nextKey()) {
    const from = walk.at;
    if (isSpan && key === 'status' && walk.isObject) {
      isError = yield* readIsError(walk, text);
      continue;
    }
    if (!walk.skipUpTo(from + PIECE_BYTES)) yield* walk.skipInPieces();
    switch (key) {
      case 'spanId':
        spanId = toSpanId(scalarIn(text, from, walk.at));
        break;
      case 'parentSpanId':
        if (isSpan) parentSpanId = toSpanId(scalarIn(text, from, walk.at));
        break;
      case isSpan ? 'startTimeUnixNano' : 'timeUnixNano':
        start = timeIn(text, from, walk.at);
        break;
      case isSpan ? 'endTimeUnixNano' : 'observedTimeUnixNano':
        end = timeIn(text, from, walk.at);
        break;
      case isSpan ? 'name' : 'eventName':
        nameKey = keyOf(text, from, walk.at);
        break;
      default:
    }
  }
  if (!isSpan) end = start === '0' ? end : start;
  const startUnixNano = isSpan ? start : end;
  return { spanId, parentSpanId, startUnixNano, endUnixNano: end, isError, nameKey };
}

/** @param walk at the value of a span's `status`, which this reads */
function* readIsError(walk: JsonWalk, text: Buffer): Pieces<boolean> {
  let isError = false;
  for (let key = walk.firstKey(); key !== null; key = walk.nextKey()) {
    const from = walk.at;
    if (!walk.skipUpTo(from + PIECE_BYTES)) yield* walk.skipInPieces();
    if (key === 'code') isError = toInt64(scalarIn(text, from, walk.at) ?? null) === STATUS_ERROR;
  }
  return isError;
}

/**
 * Reads the time of a record: a span's start, a log record's time or else when it was observed, a data
 * point's time.
 *
 * @param walk at the record, an object that was accepted; then after it
 * @returns nanoseconds since 1970; 0 if the record has no time
 */
export function* readTime(signal: Signal, walk: JsonWalk, text: Buffer): Pieces<Int64> {
  const name = signal === 'traces' ? 'startTimeUnixNano' : 'timeUnixNano';
  let time: Int64 = '0';
  let observed: Int64 = '0';
  for (let key = walk.firstKey(); key !== null; key = walk.nextKey()) {
    const from = walk.at;
    if (!walk.skipUpTo(from + PIECE_BYTES)) yield* walk.skipInPieces();
    if (key === name) time = timeIn(text, from, walk.at);
    else if (signal === 'logs' && key === 'observedTimeUnixNano') {
      observed = timeIn(text, from, walk.at);
    }
  }
  return time === '0' ? observed : time;
}

function timeIn(text: Buffer, from: number, end: number): Int64 {
  return toUint64(scalarIn(text, from, end) ?? null) ?? '0';
}

/** Returns a string or a number as a string; null for any other value. */
function scalarIn(text: Buffer, from: number, end: number): Raw {
  const isString = text[from] === QUOTE;
  const value = text.toString('latin1', isString ? from + 1 : from, isString ? end - 1 : end);
  if (!isString) return value === 'null' ? null : value;
  return value.includes('\\') ? (JSON.parse(`"${value}"`) as string) : value;
}

/** Returns the FNV-1a hash of a name. */
function keyOf(text: Buffer, from: number, end: number): number {
  let key = FNV_OFFSET;
  if (text[from] !== QUOTE) return key;
  for (let at = from + 1; at < Math.min(end - 1, from + KEYED_BYTES); at += 1) {
    key = Math.imul(key ^ (text[at] as number), FNV_PRIME);
  }
  return key;
}
