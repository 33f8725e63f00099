/** Owns the reading of hexadecimal ids into bytes. */

import { HEX_VALUES } from './byte-tests.ts';
import { LEFT_TO_PLAIN, QUOTE, type Scanner } from './scanner.ts';

const BACKSLASH = 0x5c;

/**
 * Reads a string of hexadecimal digits, in any case.
 *
 * @param target takes `width` bytes at `offset`
 * @returns false when the string is none of an id: another length, other characters, all zero, or
 *   null; what is no string is left to the plain decoder
 */
export function scanId(scanner: Scanner, target: DataView, offset: number, width: number): boolean {
  if (scanner.isNull()) return false;
  if (scanner.peek() !== QUOTE) throw LEFT_TO_PLAIN;
  const { view } = scanner;
  const start = scanner.at + 1;
  const end = start + 2 * width;
  let any = 0;
  for (let at = start, to = offset; at < end; at += 2, to += 1) {
    const high = HEX_VALUES[view.getUint8(at)] ?? 255;
    const low = HEX_VALUES[view.getUint8(at + 1)] ?? 255;
    if ((high | low) > 15) return skipped(scanner);
    const byte = (high << 4) | low;
    any |= byte;
    target.setUint8(to, byte);
  }
  if (view.getUint8(end) !== QUOTE) return skipped(scanner);
  scanner.at = end + 1;
  return any !== 0;
}

const TRACE_ID_BYTES = 16;
const TRACE_ID_DIGITS = 32;

/** Where in the body the trace id stands that `ids` still holds; −1 when it holds none. */
let latestAt = -1;

/** Forgets the trace id of the body before. */
export function forgetTraceId(): void {
  latestAt = -1;
}

/**
 * Reads a trace id into the first 16 bytes of `ids`, which nobody else writes. Mostly it is that of
 * the record before.
 */
export function scanTraceId(scanner: Scanner, ids: DataView): boolean {
  const { view } = scanner;
  const at = scanner.peek() === QUOTE ? scanner.at + 1 : -1;
  if (latestAt >= 0 && at >= 0 && isSameText(view, at, latestAt)) {
    scanner.at = at + TRACE_ID_DIGITS + 1;
    return true;
  }
  const isId = scanId(scanner, ids, 0, TRACE_ID_BYTES);
  latestAt = isId ? at : -1;
  return isId;
}

function isSameText(view: DataView, a: number, b: number): boolean {
  for (let index = 0; index < TRACE_ID_DIGITS; index += 4) {
    if (view.getInt32(a + index) !== view.getInt32(b + index)) return false;
  }
  return view.getUint8(a + TRACE_ID_DIGITS) === QUOTE;
}

/** Goes past a string that is no id; with escapes it might be one after all. */
function skipped(scanner: Scanner): false {
  const start = scanner.at;
  scanner.skipValue();
  for (let at = start; at < scanner.at; at += 1) {
    if (scanner.view.getUint8(at) === BACKSLASH) throw LEFT_TO_PLAIN;
  }
  return false;
}
