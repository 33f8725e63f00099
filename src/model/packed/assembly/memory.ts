/**
 * The memory of the splitter: regions that grow together. `src/reads/text-splitter.ts` fills the first and reads the
 * others.
 *
 * This folder is AssemblyScript, a dialect of TypeScript that `bin/build.js` compiles to WebAssembly. Positions are
 * addresses, but for offsets in the stream, which stay when a region moves.
 */
import { GROUPS, GROUPS_PART, REGIONS } from './codes.ts';

/** Bytes past the end of a region that may be read and written. */
const SLACK: i32 = 128;
/** Longer pieces are copied by the engine. */
const SHORT_BYTES: i32 = 256;
const PAGE_BYTES: i32 = 65536;

const LENGTHS = <i32>memory.data(REGIONS * 4, 16);

class regions {
  /** bytes of each */
  static capacity: i32 = 0;
}

export function startOf(region: i32): i32 {
  return placeOf(region, regions.capacity);
}

function placeOf(region: i32, capacity: i32): i32 {
  return ((<i32>__heap_base + 15) & ~15) + region * (capacity + SLACK);
}

export function lengthOf(region: i32): i32 {
  return load<i32>(LENGTHS + (region << 2));
}

export function setLength(region: i32, length: i32): void {
  store<i32>(LENGTHS + (region << 2), length);
}

export function endOf(region: i32): i32 {
  return startOf(region) + lengthOf(region);
}

/** Lets each region have so many bytes. @returns false if there is no memory */
export function reserve(bytes: i32): bool {
  const before = regions.capacity;
  if (bytes <= before) return true;
  const capacity = max(bytes, 2 * before);
  const end = placeOf(GROUPS, capacity) + GROUPS_PART * (capacity + SLACK);
  const missing = end / PAGE_BYTES + 1 - memory.size();
  if (missing > 0 && memory.grow(missing) < 0) return false;
  regions.capacity = capacity;
  // The last one moves first.
  for (let region = GROUPS; region > 0; region -= 1) {
    memory.copy(placeOf(region, capacity), placeOf(region, before), lengthOf(region));
  }
  return true;
}

/** Copies bytes that do not overlap, and up to 15 more. */
export function copy(to: i32, from: i32, bytes: i32): void {
  if (bytes > SHORT_BYTES) {
    memory.copy(to, from, bytes);
    return;
  }
  for (let at = 0; at < bytes; at += 16) v128.store(to + at, v128.load(from + at));
}

export function putBytes(region: i32, from: i32, bytes: i32): void {
  copy(endOf(region), from, bytes);
  setLength(region, lengthOf(region) + bytes);
}

/** Appends a number of variable length (`varints.ts`). */
export function putNumber(region: i32, value: i32): void {
  const start = endOf(region);
  let at = start;
  let rest = value;
  for (; rest > 0x7f; rest >>= 7) {
    store<u8>(at, <u8>((rest & 0x7f) | 0x80));
    at += 1;
  }
  store<u8>(at, <u8>rest);
  setLength(region, lengthOf(region) + at + 1 - start);
}
