/** Checks the bucket counts and bounds of a histogram's point, by the rules of `src/otlp/metrics.ts`. */
import { isSame, nextElement, skipNull, skipSpace, state, unusual } from './memory.ts';
import { readCount, readDouble } from './numbers.ts';

const BOUNDS_BYTES_MAX: i32 = 4096;
/** Maximum bytes that a copy writes past its end. */
const OVERRUN_BYTES: i32 = 32;
const SAFE_MAX: u64 = 0x1fffffffffffff;

// The last list of bounds: usually all points of a histogram have the same list.
const LAST = <i32>memory.data(BOUNDS_BYTES_MAX + OVERRUN_BYTES, 16);

export class distribution {
  static buckets: i32 = 0;
  static bucketsSum: u64 = 0;
  static bounds: i32 = 0;
}

class last {
  static bytes: i32 = 0;
  static bounds: i32 = 0;
}

export function clearDistribution(): void {
  distribution.buckets = 0;
  distribution.bucketsSum = 0;
  distribution.bounds = 0;
}

/** Reads null or a list of counts; returns the position after it. */
export function checkBucketCounts(at: i32): i32 {
  if (load<u8>(at) !== 0x5b) return skipNull(at);
  state.structures += 1;
  let sum: u64 = 0;
  at = skipSpace(at + 1);
  while (load<u8>(at) !== 0x5d) {
    at = readCount(at);
    if (at === 0) return 0;
    sum += state.value;
    distribution.buckets += 1;
    at = nextElement(at);
    if (at === 0) return 0;
  }
  if (sum > SAFE_MAX) return unusual(at);
  distribution.bucketsSum = sum;
  return at + 1;
}

/** Reads null or a list of rising bounds; returns the position after it. */
export function checkBounds(start: i32): i32 {
  if (load<u8>(start) !== 0x5b) return skipNull(start);
  state.structures += 1;
  if (last.bytes > 0 && isSame(start, LAST, last.bytes)) {
    distribution.bounds = last.bounds;
    return start + last.bytes;
  }
  let at = skipSpace(start + 1);
  let below = -Infinity;
  let bounds = 0;
  while (load<u8>(at) !== 0x5d) {
    at = readDouble(at);
    if (at === 0) return 0;
    // Also for NaN.
    if (!(state.real > below)) return unusual(at);
    below = state.real;
    bounds += 1;
    at = nextElement(at);
    if (at === 0) return 0;
  }
  const bytes = at + 1 - start;
  distribution.bounds = bounds;
  if (bytes <= BOUNDS_BYTES_MAX) {
    last.bytes = bytes;
    last.bounds = bounds;
    memory.copy(LAST, start, bytes);
  }
  return at + 1;
}
