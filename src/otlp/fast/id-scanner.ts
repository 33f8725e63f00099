/** Reads hexadecimal ids into bytes. */

import { HEX_VALUES } from './byte-tests.ts';
import type { ScannedRow } from './scanned-row.ts';
import { FALLBACK, QUOTE, type Scanner } from './scanner.ts';

const BACKSLASH = 0x5c;

/**
 * Reads a string of hexadecimal digits, in any case.
 *
 * @param target takes `width` bytes at `offset`
 * @returns false for null and for a string that is not an id (another length, other characters, all
 *   zero); other values fall back to the plain decoder
 */
export function scanId(scanner: Scanner, target: DataView, offset: number, width: number): boolean {
  if (scanner.isNull()) return false;
  if (scanner.peek() !== QUOTE) throw FALLBACK;
  const { view } = scanner;
  const start = scanner.at + 1;
  const end = start + 2 * width;
  let any = 0;
  for (let at = start, to = offset; at < end; at += 2, to += 1) {
    const high = HEX_VALUES[view.getUint8(at)] ?? 255;
    const low = HEX_VALUES[view.getUint8(at + 1)] ?? 255;
    if ((high | low) > 15) return skipNonId(scanner);
    const byte = (high << 4) | low;
    any |= byte;
    target.setUint8(to, byte);
  }
  if (view.getUint8(end) !== QUOTE) return skipNonId(scanner);
  scanner.at = end + 1;
  return any !== 0;
}

const TRACE_ID_BYTES = 16;
const TRACE_ID_DIGITS = 32;

/**
 * Reads a trace id. Usually it is the previous record's, whose bytes `row.ids` still holds.
 *
 * @param offset where it begins in `row.ids`; nothing else writes these 16 bytes
 */
export function scanTraceId(scanner: Scanner, row: ScannedRow, offset: number): boolean {
  const { view } = scanner;
  const { traceIdAt } = row;
  const at = scanner.peek() === QUOTE ? scanner.at + 1 : -1;
  if (traceIdAt >= 0 && at >= 0 && isSameText(view, at, traceIdAt)) {
    scanner.at = at + TRACE_ID_DIGITS + 1;
    return true;
  }
  const isId = scanId(scanner, row.ids, offset, TRACE_ID_BYTES);
  row.traceIdAt = isId ? at : -1;
  return isId;
}

function isSameText(view: DataView, a: number, b: number): boolean {
  for (let index = 0; index < TRACE_ID_DIGITS; index += 4) {
    if (view.getInt32(a + index) !== view.getInt32(b + index)) return false;
  }
  return view.getUint8(a + TRACE_ID_DIGITS) === QUOTE;
}

/** Skips a string that is not an id; one with escapes falls back, since it may be an id. */
function skipNonId(scanner: Scanner): false {
  const start = scanner.at;
  scanner.skipValue();
  for (let at = start; at < scanner.at; at += 1) {
    if (scanner.view.getUint8(at) === BACKSLASH) throw FALLBACK;
  }
  return false;
}
