/** JSON, where its strings end, and what it cannot hold: 64-bit integers, ids. */

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** Undefined for a text that is no JSON. */
export function parsedJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** JSON text, already serialised; what goes into a `json` column. */
export type JsonText = string;

/**
 * A 64-bit integer as canonical decimal text: no leading zeros, no plus sign. Text, because a
 * nanosecond time does not fit a double and a BigInt per value is the slowest way to carry one.
 */
export type Int64 = string;

/** 16 bytes as 32 lower-case hexadecimal digits: trace ids, run ids, content hashes. */
export type Hex16 = string;

/** 8 bytes as 16 lower-case hexadecimal digits: span ids. */
export type Hex8 = string;

/**
 * Compares two as numbers. A BigInt for each of the 20,000 steps of a run would take longer than sorting
 * them.
 * @returns below 0 when `one` is smaller, 0 when they are equal
 */
export function compareInt64(one: Int64, other: Int64): number {
  if (one === other) return 0;
  if (one.startsWith('-') || other.startsWith('-')) return BigInt(one) < BigInt(other) ? -1 : 1;
  if (one.length !== other.length) return one.length - other.length;
  return one < other ? -1 : 1;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The index of the quote that ends a string of JSON, searched from a place in the string on; -1 without one. */
export function quoteFrom(json: string, from: number): number {
  for (let quote = json.indexOf('"', from); quote !== -1; quote = json.indexOf('"', quote + 1)) {
    let slash = quote;
    while (json.charCodeAt(slash - 1) === BACKSLASH) slash -= 1;
    if ((quote - slash) % 2 === 0) return quote;
  }
  return -1;
}

/** The same in bytes. */
export function quoteByteFrom(json: Buffer, from: number): number {
  for (
    let quote = json.indexOf(QUOTE, from);
    quote !== -1;
    quote = json.indexOf(QUOTE, quote + 1)
  ) {
    let slash = quote;
    while (json[slash - 1] === BACKSLASH) slash -= 1;
    if ((quote - slash) % 2 === 0) return quote;
  }
  return -1;
}
