/**
 * Counts the objects and lists of a body in its bytes, before it is parsed.
 *
 * `JSON.parse` creates an object for every three bytes of `{},{},…`: 64 MiB of that, a few
 * kilobytes when compressed, took 50 seconds and 2.5 GB. Telemetry has about one object or list per
 * 50 bytes.
 */

import { PIECE_BYTES, type Pieces } from './pieces.ts';

/** Most objects and lists of one request; an exporter's batch of 512 spans has about 15,000. */
export const STRUCTURES_MAX = 1_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const OPEN_LIST = 0x5b;

/** The index after the string that starts at `start`; the body's end if it is not closed. */
function endOfString(body: Buffer, start: number): number {
  let at = start + 1;
  for (;;) {
    const quote = body.indexOf(QUOTE, at);
    if (quote === -1) return body.length;
    let slashes = 0;
    while (body[quote - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

/**
 * Checks whether the body has more than `structuresMax` objects and lists. Stops soon after the first one
 * too many. Ignores strings; the body need not be valid JSON.
 */
export function* holdsTooManyStructures(
  body: Buffer,
  structuresMax = STRUCTURES_MAX,
): Pieces<boolean> {
  // Each takes at least one byte, so the length decides for most bodies.
  if (body.length <= structuresMax) return false;
  const counted = { count: 0, at: 0 };
  while (counted.at < body.length) {
    if (counted.at > 0) yield;
    countUpTo(body, Math.min(body.length, counted.at + PIECE_BYTES), counted);
    if (counted.count > structuresMax) return true;
  }
  return false;
}

/** Continues counting up to `end`, or to the end of the string at `end`. */
function countUpTo(body: Buffer, end: number, counted: { count: number; at: number }): void {
  let { count, at } = counted;
  while (at < end) {
    const byte = body[at];
    if (byte === QUOTE) {
      at = endOfString(body, at);
      continue;
    }
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) count += 1;
    at += 1;
  }
  counted.count = count;
  counted.at = at;
}
