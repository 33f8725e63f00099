/**
 * The memory of the record scanner: fixed regions, which `src/ingest/ordinary-rows.ts` fills and
 * reads, and what its files share. Nothing is allocated while it runs.
 *
 * This folder is AssemblyScript, a dialect of TypeScript that `bin/build.js` compiles to
 * WebAssembly. Positions are addresses, and 0 says that what was to be read is not ordinary: no
 * region begins there. `state.text` and the numbers after it may then have any value.
 */

import { RECORDS_MAX } from './codes.ts';

/** Most bytes of a body that are scanned at a time: a piece, and a record that begins in it. */
export const WINDOW_BYTES: i32 = 192 * 1024;
/**
 * Bytes past a body's last one that may be read. The first ones are zeros, which no JSON has: they
 * end every loop, so that none compares with an end.
 */
const OVERREAD_BYTES: i32 = 128;
/**
 * For the texts of a record. They are at most twice as long as the record, events excepted, which
 * look for room themselves.
 */
export const TEXT_BYTES: i32 = 4 * WINDOW_BYTES + 4096;
/** For the rows of a window, as COPY bytes. */
export const ROWS_BYTES: i32 = 512 * 1024;
/** What a string or a row may write past its end. */
const OVERRUN_BYTES: i32 = 64;
/** Keys of the attribute lists that enclose each other; more are not ordinary. */
export const KEYS_MAX: i32 = 4096;
export const COLUMNS_MAX: i32 = 32;
/** A column's value: up to 16 bytes of an id, a number, or where a text begins and ends. */
export const CELL_BYTES: i32 = 16;
export const MEMBERS_MAX: i32 = 32;

export const WINDOW = <i32>memory.data(WINDOW_BYTES + OVERREAD_BYTES, 16);
export const TEXT = <i32>memory.data(TEXT_BYTES + OVERRUN_BYTES, 16);
export const ROWS = <i32>memory.data(ROWS_BYTES + OVERRUN_BYTES, 16);
/** By record: where its resource's id is to be written, counted from `ROWS`. */
export const PLACES = <i32>memory.data(RECORDS_MAX * 4, 16);
/** Where each key is. */
export const KEYS = <i32>memory.data(KEYS_MAX * 4, 16);
/** The fingerprint of each key; some after the last are read. */
export const FINGERPRINTS = <i32>memory.data(KEYS_MAX * 4 + 16, 16);
export const CELLS = <i32>memory.data(COLUMNS_MAX * CELL_BYTES, 16);

/** What the files of this folder share. */
export class state {
  /** where the next byte of the current record's texts goes */
  static text: i32 = 0;
  /** the number that was read last */
  static value: u64 = 0;
  /** the double that was read last */
  static real: f64 = 0;
  /** objects and lists opened */
  static structures: i32 = 0;
  /** keys in `KEYS` */
  static keys: i32 = 0;
  /** the end of the window's bytes */
  static limit: i32 = 0;
  /** where something was found that is not ordinary, or shortly before */
  static failedAt: i32 = 0;
}

/** Says that what is at `at` is not ordinary. */
export function unusual(at: i32): i32 {
  state.failedAt = at;
  return 0;
}

/** Past white space. */
export function skipSpace(at: i32): i32 {
  let byte = <i32>load<u8>(at);
  while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) {
    at += 1;
    byte = <i32>load<u8>(at);
  }
  return at;
}

/** Past a colon and the white space around it. */
export function skipColon(at: i32): i32 {
  at = skipSpace(at);
  if (load<u8>(at) !== 0x3a) return unusual(at);
  return skipSpace(at + 1);
}

/** Past `null`. */
export function skipNull(at: i32): i32 {
  return load<u32>(at) === 0x6c6c756e ? at + 4 : unusual(at);
}

/** Whether so many bytes are the same: the first ones, then from the end. Reads up to 15 more. */
export function isSame(one: i32, other: i32, length: i32): bool {
  if (length >= 8 && load<u64>(one) !== load<u64>(other)) return false;
  let at = length & ~15;
  let compared = (1 << (length & 15)) - 1;
  while (at >= 0) {
    const equal = i8x16.bitmask(i8x16.eq(v128.load(one + at), v128.load(other + at)));
    if ((~equal & compared) !== 0) return false;
    compared = 0xffff;
    at -= 16;
  }
  return true;
}

/** Writes a byte of a text. */
export function put(byte: i32): void {
  store<u8>(state.text, <u8>byte);
  state.text += 1;
}

/** Writes two bytes, the first in the lowest eight bits. */
export function put2(bytes: i32): void {
  store<u16>(state.text, <u16>bytes);
  state.text += 2;
}

/** Writes `null`. */
export function putNull(): void {
  store<u32>(state.text, 0x6c6c756e);
  state.text += 4;
}

/**
 * After an element of a list: past the comma, which is copied, to the next element; or to the bracket
 * that ends the list.
 */
export function nextElement(at: i32): i32 {
  at = skipSpace(at);
  const byte = load<u8>(at);
  if (byte === 0x5d) return at;
  if (byte !== 0x2c) return unusual(at);
  put(0x2c);
  at = skipSpace(at + 1);
  return load<u8>(at) === 0x5d ? unusual(at) : at;
}
