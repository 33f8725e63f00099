/**
 * Reads a record's members into a `ScannedRow`, by the encodings of their columns
 * (`src/model/columns.ts`). Special members are read by the scanner of the record.
 */
import type { AttributeScanner } from './attribute-scanner.ts';
import { scanId, scanTraceId } from './id-scanner.ts';
import { scanTime, scanUint } from './number-scanner.ts';
import { codeOf, type RowMembers } from './row-layout.ts';
import type { ScannedRow } from './scanned-row.ts';
import { FALLBACK, type Scanner } from './scanner.ts';

// Local constants: V8 inlines them, but loads imported ones (Node 20.20).
const TIME = codeOf('time');
const INT16 = codeOf('int16');
const COUNTER = codeOf('counter');
const TRACE_ID = codeOf('traceId');
const OPTIONAL_TRACE_ID = codeOf('optionalTraceId');
const SPAN_ID = codeOf('spanId');
const OPTIONAL_SPAN_ID = codeOf('optionalSpanId');
const TEXT = codeOf('text');
const OPTIONAL_TEXT = codeOf('optionalText');
const ATTRIBUTES = codeOf('attributes');

/** Adds a member to the set `seen` of an object's members; a repeated one falls back. */
export function markSeen(seen: number, field: number): number {
  if ((seen & (1 << field)) !== 0) throw FALLBACK;
  return seen | (1 << field);
}

/** Starts a row and reserves room for it in the arena. */
export function startRow(scanner: Scanner, row: ScannedRow): void {
  row.reset();
  scanner.arena.reserveRow(scanner.body.length - scanner.at);
}

/** Reads null or a string into the row's text at `slot`. */
export function scanText(scanner: Scanner, { ranges }: ScannedRow, slot: number): void {
  ranges[slot] = scanner.arena.end;
  scanner.copyText();
  ranges[slot + 1] = scanner.arena.end;
}

/** Reads a member by its column's encoding; returns false and reads nothing if it is special. */
export function scanMember(
  scanner: AttributeScanner,
  row: ScannedRow,
  members: RowMembers,
  member: number,
): boolean {
  const { numbers } = row;
  const slot = members.slots[member] as number;
  switch (members.codes[member]) {
    case TIME:
      scanTime(scanner);
      numbers[slot] = scanner.seconds;
      numbers[slot + 1] = scanner.nanos;
      return true;
    case TEXT:
    case OPTIONAL_TEXT:
      scanText(scanner, row, slot);
      return true;
    case COUNTER:
    case INT16:
      numbers[slot] = scanUint(scanner, members.maxima[member] as number);
      return true;
    case TRACE_ID:
    case OPTIONAL_TRACE_ID:
      numbers[slot] = scanTraceId(scanner, row, members.idOffsets[member] as number) ? 1 : 0;
      return true;
    case SPAN_ID:
    case OPTIONAL_SPAN_ID:
      numbers[slot] = scanId(scanner, row.ids, members.idOffsets[member] as number, 8) ? 1 : 0;
      return true;
    case ATTRIBUTES:
      row.ranges[slot] = scanner.arena.end;
      scanner.copyAttributes();
      row.ranges[slot + 1] = scanner.arena.end;
      return true;
    default:
      return false;
  }
}
