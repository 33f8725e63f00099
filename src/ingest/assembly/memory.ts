/**
 * The memory of the record scanner: fixed regions, which `src/ingest/ordinary-records.ts` fills and
 * reads, and what its files share. Nothing is allocated while it runs.
 *
 * This folder is AssemblyScript, a dialect of TypeScript that `bin/build.js` compiles to
 * WebAssembly. Positions are addresses, and 0 says that what was to be read is not ordinary: no
 * region begins there. Variables of `state` may then have any value.
 */
import { CELLS_MAX, MEMBER_BYTES, MEMBERS_MAX, OBJECTS_MAX } from './codes.ts';

/** Maximum bytes of a body that are scanned at a time: a piece, and a record that begins in it. */
export const WINDOW_BYTES: i32 = 384 * 1024;
/**
 * Bytes past a body's last one that may be read. The first ones are zeros, which no JSON has: they
 * end every loop, so that none compares with an end.
 */
export const OVERREAD_BYTES: i32 = 128;
/** Up to 16 bytes of an id, a number, or where a text begins and ends. */
export const CELL_BYTES: i32 = 16;

export const WINDOW = <i32>memory.data(WINDOW_BYTES + OVERREAD_BYTES, 16);
export const CELLS = <i32>memory.data(CELLS_MAX * CELL_BYTES, 16);
export const MEMBERS = <i32>memory.data(OBJECTS_MAX * MEMBERS_MAX * MEMBER_BYTES, 16);

export class state {
  /** the number that was read last */
  static value: u64 = 0;
  /** the double that was read last */
  static real: f64 = 0;
  /** of the number that was skipped last; 0 without an exponent */
  static exponentDigits: i32 = 0;
  /** objects and lists opened */
  static structures: i32 = 0;
  /** lists of AnyValues and entries that enclose each other */
  static depth: i32 = 0;
  /** members of the object that was read last, as bits */
  static seen: u32 = 0;
  /** the object that was read last has members that are not in its table */
  static hasUnknown: bool = false;
  /** cells of the current record that have a value, as bits */
  static present: u32 = 0;
  /** kind of the current record */
  static kind: i32 = 0;
  /** where something was found that is not ordinary, or shortly before */
  static failedAt: i32 = 0;
}

/** Says that what is at `at` is not ordinary. */
export function unusual(at: i32): i32 {
  state.failedAt = at;
  return 0;
}

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

export function skipNull(at: i32): i32 {
  return load<u32>(at) === 0x6c6c756e ? at + 4 : unusual(at);
}

/** After an element of a list: past the comma to the next element, or to the bracket that ends the list. */
export function nextElement(at: i32): i32 {
  at = skipSpace(at);
  const byte = load<u8>(at);
  if (byte === 0x5d) return at;
  if (byte !== 0x2c) return unusual(at);
  at = skipSpace(at + 1);
  return load<u8>(at) === 0x5d ? unusual(at) : at;
}

/** After a member of an object: past the comma to the next member, or to the brace that ends the object. */
export function nextMember(at: i32): i32 {
  at = skipSpace(at);
  const byte = load<u8>(at);
  if (byte === 0x7d) return at;
  if (byte !== 0x2c) return unusual(at);
  at = skipSpace(at + 1);
  return load<u8>(at) === 0x22 ? at : unusual(at);
}

/** Checks whether so many bytes are the same: the first ones, then from the end. Reads up to 15 more. */
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

export function cellAt(cell: i32): i32 {
  return CELLS + cell * CELL_BYTES;
}

/** Sets a number of the current record; @returns `at` */
export function setValue(at: i32, cell: i32, value: u64): i32 {
  store<u64>(cellAt(cell), value);
  state.present |= (<u32>1) << cell;
  return at;
}

export function isPresent(cell: i32): bool {
  return (state.present & ((<u32>1) << cell)) !== 0;
}
