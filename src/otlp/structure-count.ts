/**
 * Counts the objects and lists of a body in its bytes, before it is parsed.
 *
 * `JSON.parse` creates an object for every three bytes of `{},{},…`: 64 MiB of that, a few
 * kilobytes when compressed, took 50 seconds and 2.5 GB. Telemetry has about one object or list per
 * 50 bytes.
 */

import { quoteByteFrom } from '../model/json.ts';
import { PIECE_BYTES, type Pieces } from './pieces.ts';

/** Most objects and lists of one request; an exporter's batch of 512 spans has about 15,000. */
export const STRUCTURES_MAX = 1_000_000;

const QUOTE = 0x22;
const OPEN_OBJECT = 0x7b;
const OPEN_LIST = 0x5b;

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
      const quote = quoteByteFrom(body, at + 1);
      at = quote === -1 ? body.length : quote + 1;
      continue;
    }
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) count += 1;
    at += 1;
  }
  counted.count = count;
  counted.at = at;
}
