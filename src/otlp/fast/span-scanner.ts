/** Owns the scanning of one span, its events and its links; the rules are those of `../traces.ts`. */

import { Fault } from '../fault.ts';
import { parseListText } from '../list-text.ts';
import { parseLink } from '../traces.ts';
import type { Arena } from './arena.ts';
import { copyAttributes } from './attribute-scanner.ts';
import { FieldTable } from './field-table.ts';
import { scanId, scanTraceId } from './id-scanner.ts';
import { scanTime, scanUint } from './number-scanner.ts';
import type { ScannedSpan, TextRange } from './scanned-rows.ts';
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COMMA,
  LEFT_TO_PLAIN,
  OPEN_LIST,
  QUOTE,
  type Scanner,
} from './scanner.ts';

const KIND_MAX = 5;
const STATUS_MAX = 2;
const UINT32_MAX = 0xffffffff;
/** The names and numbers of an event take less. */
const PARTS_BYTES = 256;

const SPAN = new FieldTable([
  'traceId',
  'spanId',
  'parentSpanId',
  'traceState',
  'flags',
  'name',
  'kind',
  'startTimeUnixNano',
  'endTimeUnixNano',
  'status',
  'droppedAttributesCount',
  'droppedEventsCount',
  'droppedLinksCount',
  'attributes',
  'events',
  'links',
]);
const STATUS = new FieldTable(['code', 'message']);
const EVENT = new FieldTable(['name', 'timeUnixNano', 'droppedAttributesCount', 'attributes']);

const EVENT_NAME = Buffer.from('{"name":"');
const EVENT_TIME = Buffer.from('","timeUnixNano":"');
const EVENT_ATTRIBUTES = Buffer.from('","attributes":');
const EVENT_DROPPED = Buffer.from(',"droppedAttributesCount":');
const EMPTY_OBJECT = Buffer.from('{}');

/** Notes a member of the object being read; the second of one name is left to the plain decoder. */
export function once(seen: number, field: number): number {
  if ((seen & (1 << field)) !== 0) throw LEFT_TO_PLAIN;
  return seen | (1 << field);
}

/** Begins a row: makes room for it in the arena. */
export function reserveRow(scanner: Scanner): void {
  scanner.arena.reserveRow(scanner.body.length - scanner.at);
}

/** Reads null or a string as a text of the row. */
export function scanText(scanner: Scanner, text: TextRange): void {
  text.start = scanner.arena.end;
  scanner.copyText();
  text.end = scanner.arena.end;
}

/** Reads null or a list of attributes as JSON of the row. */
export function scanAttributes(scanner: Scanner, text: TextRange): void {
  text.start = scanner.arena.end;
  copyAttributes(scanner);
  text.end = scanner.arena.end;
}

/** Reads one span into `span`. */
export function scanSpan(scanner: Scanner, span: ScannedSpan): void {
  span.reset();
  reserveRow(scanner);
  let seen = 0;
  let hasTraceId = false;
  let hasSpanId = false;
  for (let field = scanner.firstField(SPAN); field >= 0; field = scanner.nextField(SPAN)) {
    seen = once(seen, field);
    if (field === 0) hasTraceId = scanTraceId(scanner, span.ids);
    else if (field === 1) hasSpanId = scanId(scanner, span.ids, 16, 8);
    else scanSpanField(scanner, span, field);
  }
  if (!hasTraceId || !hasSpanId) throw LEFT_TO_PLAIN;
}

function scanSpanField(scanner: Scanner, span: ScannedSpan, field: number): void {
  switch (field) {
    case 2:
      scanParent(scanner, span);
      break;
    case 3:
      scanText(scanner, span.traceState);
      break;
    case 4:
      span.flags = scanUint(scanner, UINT32_MAX);
      break;
    case 5:
      scanText(scanner, span.name);
      break;
    case 6:
      span.kind = scanUint(scanner, KIND_MAX);
      break;
    case 7:
      scanTime(scanner);
      span.startSeconds = scanner.seconds;
      span.startNanos = scanner.nanos;
      break;
    case 8:
      scanTime(scanner);
      span.endSeconds = scanner.seconds;
      span.endNanos = scanner.nanos;
      break;
    case 9:
      scanStatus(scanner, span);
      break;
    case 10:
      span.droppedAttributes = scanUint(scanner, UINT32_MAX);
      break;
    case 11:
      span.droppedEvents = scanUint(scanner, UINT32_MAX);
      break;
    case 12:
      span.droppedLinks = scanUint(scanner, UINT32_MAX);
      break;
    case 13:
      scanAttributes(scanner, span.attributes);
      break;
    case 14:
      scanEvents(scanner, span);
      break;
    default:
      scanLinks(scanner, span);
  }
}

function scanParent(scanner: Scanner, span: ScannedSpan): void {
  if (scanner.isNull()) return;
  if (scanner.peek() === QUOTE && scanner.view.getUint8(scanner.at + 1) === QUOTE) {
    scanner.at += 2;
    return;
  }
  if (!scanId(scanner, span.ids, 24, 8)) throw LEFT_TO_PLAIN;
  span.hasParent = true;
}

function scanStatus(scanner: Scanner, span: ScannedSpan): void {
  if (scanner.isNull()) return;
  let seen = 0;
  for (let field = scanner.firstField(STATUS); field >= 0; field = scanner.nextField(STATUS)) {
    seen = once(seen, field);
    if (field === 0) span.statusCode = scanUint(scanner, STATUS_MAX);
    else scanText(scanner, span.statusMessage);
  }
}

/** Writes events as `../traces.ts` does: fields in one order, a dropped count of 0 left out. */
function scanEvents(scanner: Scanner, span: ScannedSpan): void {
  if (scanner.isNull() || !scanner.openList()) return;
  const { lists, events } = span;
  events.start = lists.end;
  let opening = OPEN_LIST;
  do {
    lists.reserve(PARTS_BYTES);
    lists.byte(opening);
    const { end } = scanner.arena;
    scanEvent(scanner, lists);
    scanner.arena.end = end;
    opening = COMMA;
  } while (scanner.nextElement());
  lists.byte(CLOSE_LIST);
  events.end = lists.end;
}

/** Reads an event's parts into the scanner's arena, then puts them together in `lists`. */
function scanEvent(scanner: Scanner, lists: Arena): void {
  const { arena } = scanner;
  let seen = 0;
  let name = arena.end;
  let nameEnd = name;
  let attributes = name;
  let attributesEnd = name;
  let time = '0';
  let dropped = 0;
  for (let field = scanner.firstField(EVENT); field >= 0; field = scanner.nextField(EVENT)) {
    seen = once(seen, field);
    if (field === 0) {
      name = arena.end;
      if (!scanner.isNull()) scanner.copyJsonString();
      nameEnd = arena.end;
    } else if (field === 1) {
      scanTime(scanner);
      time = timeText(scanner);
    } else if (field === 2) {
      dropped = scanUint(scanner, UINT32_MAX);
    } else {
      attributes = arena.end;
      copyAttributes(scanner);
      attributesEnd = arena.end;
    }
  }
  lists.literal(EVENT_NAME);
  lists.copy(arena, name, nameEnd);
  lists.reserve(PARTS_BYTES);
  lists.literal(EVENT_TIME);
  lists.text(time);
  lists.reserve(PARTS_BYTES);
  lists.literal(EVENT_ATTRIBUTES);
  if (attributes === attributesEnd) lists.literal(EMPTY_OBJECT);
  else lists.copy(arena, attributes, attributesEnd);
  lists.reserve(PARTS_BYTES);
  if (dropped !== 0) {
    lists.literal(EVENT_DROPPED);
    lists.text(String(dropped));
  }
  lists.byte(CLOSE_OBJECT);
}

/** The scanner's last time as nanoseconds since 1970. */
function timeText({ seconds, nanos }: Scanner): string {
  return seconds === 0 ? String(nanos) : `${seconds}${String(nanos).padStart(9, '0')}`;
}

/** Links are rare: they go the plain decoder's way. */
function scanLinks(scanner: Scanner, span: ScannedSpan): void {
  if (scanner.isNull()) return;
  const start = scanner.at;
  if (!scanner.openList()) return;
  scanner.at = start;
  scanner.skipValue();
  const fault = new Fault();
  const text = parseListText(scanner.parse(start, scanner.at), 'links', parseLink, fault);
  if (fault.refused) throw LEFT_TO_PLAIN;
  const { lists, links } = span;
  links.start = lists.end;
  if (text !== null) lists.text(text);
  links.end = lists.end;
}
