/** JSON, and what it cannot hold: 64-bit integers, ids. Types only. */

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
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
