/** Owns the comparison of 64-bit integers that come as canonical decimal text. */
import type { Int64 } from '../../model/json.ts';

export function isLess(a: Int64, b: Int64): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}
