/** Scans one span with its events and links, by the rules of `../traces.ts`. */

import { ENUM_MAX, SPAN_COLUMNS } from '../../model/columns.ts';
import { Fault } from '../fault.ts';
import { isNoParentId } from '../fields.ts';
import { parseListText } from '../list-text.ts';
import { parseLink } from '../traces.ts';
import type { Arena } from './arena.ts';
import type { AttributeScanner } from './attribute-scanner.ts';
import { FieldTable } from './field-table.ts';
import { scanId } from './id-scanner.ts';
import { scanTime, scanUint } from './number-scanner.ts';
import { RowLayout, RowMembers } from './row-layout.ts';
import { markSeen, scanMember, scanText, startRow } from './row-scanner.ts';
import { ScannedRow } from './scanned-row.ts';
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COMMA,
  FALLBACK,
  OPEN_LIST,
  QUOTE,
  type Scanner,
} from './scanner.ts';

const UINT32_MAX = 0xffffffff;
/** Room for an event's member names and numbers. */
const PARTS_BYTES = 256;

export const SPAN_LAYOUT = new RowLayout(SPAN_COLUMNS);
const TRACE_ID = SPAN_LAYOUT.slot('trace_id');
const SPAN_ID = SPAN_LAYOUT.slot('span_id');
const PARENT_SPAN_ID = SPAN_LAYOUT.slot('parent_span_id');
const PARENT_SPAN_ID_OFFSET = SPAN_LAYOUT.idOffset('parent_span_id');
const STATUS_CODE = SPAN_LAYOUT.slot('status_code');
const STATUS_MESSAGE = SPAN_LAYOUT.slot('status_message');
const EVENTS = SPAN_LAYOUT.slot('events');
const LINKS = SPAN_LAYOUT.slot('links');

const SPECIAL_MEMBERS = ['parentSpanId', 'status', 'events', 'links'] as const;
const STATUS_MEMBERS = ['code', 'message'];
const EVENT_MEMBERS = ['name', 'timeUnixNano', 'droppedAttributesCount', 'attributes'];

const EVENT_NAME = Buffer.from('{"name":"');
const EVENT_TIME = Buffer.from('","timeUnixNano":"');
const EVENT_ATTRIBUTES = Buffer.from('","attributes":');
const EVENT_DROPPED = Buffer.from(',"droppedAttributesCount":');
const EMPTY_OBJECT = Buffer.from('{}');

export class SpanScanner {
  readonly row: ScannedRow;
  readonly #scanner: AttributeScanner;
  readonly #members = new RowMembers(SPAN_LAYOUT, SPECIAL_MEMBERS);
  readonly #parentSpanId = this.#members.number('parentSpanId');
  readonly #status = this.#members.number('status');
  readonly #events = this.#members.number('events');
  readonly #statusMembers = new FieldTable(STATUS_MEMBERS);
  readonly #eventMembers = new FieldTable(EVENT_MEMBERS);

  constructor(scanner: AttributeScanner) {
    this.#scanner = scanner;
    this.row = new ScannedRow(SPAN_LAYOUT, scanner.arena);
  }

  /** Reads one span into `row`. */
  scan(): void {
    const scanner = this.#scanner;
    const members = this.#members;
    const { table } = members;
    const { row } = this;
    startRow(scanner, row);
    let seen = 0;
    for (let member = scanner.firstField(table); member >= 0; member = scanner.nextField(table)) {
      seen = markSeen(seen, member);
      if (!scanMember(scanner, row, members, member)) this.#scanSpecial(member);
    }
    if (row.numbers[TRACE_ID] === 0 || row.numbers[SPAN_ID] === 0) throw FALLBACK;
  }

  #scanSpecial(member: number): void {
    if (member === this.#parentSpanId) this.#scanParent();
    else if (member === this.#status) this.#scanStatus();
    else if (member === this.#events) this.#scanEvents();
    else this.#scanLinks();
  }

  #scanParent(): void {
    const scanner = this.#scanner;
    if (scanner.isNull()) return;
    if (scanner.peek() === QUOTE && scanner.view.getUint8(scanner.at + 1) === QUOTE) {
      scanner.at += 2;
      return;
    }
    const { ids, numbers } = this.row;
    const text = scanner.at + 1;
    if (scanId(scanner, ids, PARENT_SPAN_ID_OFFSET, 8)) numbers[PARENT_SPAN_ID] = 1;
    else if (!isNoParentId(scanner.slice(text, scanner.at - 1))) throw FALLBACK;
  }

  #scanStatus(): void {
    const scanner = this.#scanner;
    if (scanner.isNull()) return;
    const table = this.#statusMembers;
    const { row } = this;
    let seen = 0;
    for (let member = scanner.firstField(table); member >= 0; member = scanner.nextField(table)) {
      seen = markSeen(seen, member);
      if (member === 0) row.numbers[STATUS_CODE] = scanUint(scanner, ENUM_MAX);
      else scanText(scanner, row, STATUS_MESSAGE);
    }
  }

  /** Writes events as `../traces.ts` does: fields in one order, a dropped count of 0 left out. */
  #scanEvents(): void {
    const scanner = this.#scanner;
    if (scanner.isNull() || !scanner.openList()) return;
    const { lists, ranges } = this.row;
    ranges[EVENTS] = lists.end;
    let opening = OPEN_LIST;
    do {
      lists.reserve(PARTS_BYTES);
      lists.byte(opening);
      const { end } = scanner.arena;
      this.#scanEvent(lists);
      scanner.arena.end = end;
      opening = COMMA;
    } while (scanner.nextElement());
    lists.byte(CLOSE_LIST);
    ranges[EVENTS + 1] = lists.end;
  }

  /** Reads an event's parts into the scanner's arena, then joins them in `lists`. */
  #scanEvent(lists: Arena): void {
    const scanner = this.#scanner;
    const { arena } = scanner;
    const table = this.#eventMembers;
    let seen = 0;
    let name = arena.end;
    let nameEnd = name;
    let attributes = name;
    let attributesEnd = name;
    let time = '0';
    let dropped = 0;
    for (let member = scanner.firstField(table); member >= 0; member = scanner.nextField(table)) {
      seen = markSeen(seen, member);
      if (member === 0) {
        name = arena.end;
        if (!scanner.isNull()) scanner.copyJsonString();
        nameEnd = arena.end;
      } else if (member === 1) {
        scanTime(scanner);
        time = timeText(scanner);
      } else if (member === 2) {
        dropped = scanUint(scanner, UINT32_MAX);
      } else {
        attributes = arena.end;
        this.#scanner.copyAttributes();
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

  /** Links are rare: the plain decoder parses them. */
  #scanLinks(): void {
    const scanner = this.#scanner;
    if (scanner.isNull()) return;
    const start = scanner.at;
    if (!scanner.openList()) return;
    scanner.at = start;
    scanner.skipValue();
    const fault = new Fault();
    const text = parseListText(scanner.parse(start, scanner.at), 'links', parseLink, fault);
    if (fault.refused) throw FALLBACK;
    if (text !== null) this.row.writeList(LINKS, text);
  }
}

/** The scanner's last time as nanoseconds since 1970. */
function timeText({ seconds, nanos }: Scanner): string {
  return seconds === 0 ? String(nanos) : `${seconds}${String(nanos).padStart(9, '0')}`;
}
