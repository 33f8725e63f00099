/**
 * How many objects and lists a body holds, counted on its bytes, before anything is built from it.
 *
 * `JSON.parse` makes an object of every three bytes of `{},{},…`: 64 MiB of that, a few kilobytes
 * when compressed, took the process 50 seconds and 2.5 GB. Telemetry holds about one object or list
 * per 50 bytes.
 */

import { PIECE_BYTES, type Pieces } from './pieces.ts';

/** Most objects and lists of one request; an exporter's batch of 512 spans holds about 15,000. */
export const STRUCTURES_MAX = 1_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const OPEN_LIST = 0x5b;

/** The index behind the string that opens at `start`; the body's end when it does not close. */
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
 * Does the body hold more objects and lists than it may? Stops soon after the first one too many. What
 * is inside strings does not count; the body need not be valid JSON.
 */
export function* holdsTooManyStructures(
  body: Buffer,
  structuresMax = STRUCTURES_MAX,
): Pieces<boolean> {
  // Each takes a byte at least, so most bodies are decided by their length.
  if (body.length <= structuresMax) return false;
  const counted = { count: 0, at: 0 };
  while (counted.at < body.length) {
    if (counted.at > 0) yield;
    countUpTo(body, Math.min(body.length, counted.at + PIECE_BYTES), counted);
    if (counted.count > structuresMax) return true;
  }
  return false;
}

/** Counts on up to `end`, or to the end of the string at `end`. */
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
