/**
 * Owns the windows of a text in which a pattern may match: around the positions of its literals, as
 * far as a match can extend. Pairs of byte offsets, start and end.
 */

import { boundaryAfter, boundaryBefore } from '../matcher/utf8.ts';
import { type Branches, COMPANIONS_MAX } from './branches.ts';
import { lowerBound } from './int-arrays.ts';
import type { SetPositions } from './literal-sets.ts';

/** Where a pattern may match: disjoint byte ranges in order; null for the whole text. */
export type MatchWindows = readonly number[] | null;

/** A character on either side, which `\b` and `^` look at. */
const EDGE_BYTES = 4;
/** An edge inside a character is moved to the character's end. */
const CHARACTER_REST_BYTES = 3;
/** The most by which `mergeWindows` moves a window's end outwards. */
const MARGIN_BYTES = EDGE_BYTES + CHARACTER_REST_BYTES;

/** Finds the windows of branches in the current text of `branches` and `positions`. */
export class WindowFinder {
  readonly #branches: Branches;
  readonly #positions: SetPositions;
  /** the range of a match around the current anchor */
  #from = 0;
  #to = 0;

  constructor(branches: Branches, positions: SetPositions) {
    this.#branches = branches;
    this.#positions = positions;
  }

  /**
   * Adds the windows of one branch: in order, overlapping ones merged, without edges.
   * @param length of the text
   * @param ranges only windows that touch one of these, edges included, are added; null for all
   * @returns false, and adds nothing, if the branch can match anywhere
   */
  add(windows: number[], branch: number, length: number, ranges: Int32Array | null): boolean {
    const branches = this.#branches;
    const { tables } = branches;
    const before = branches.extentOf(tables.before[branch] as number);
    const after = branches.extentOf(tables.after[branch] as number);
    const isAnywhere = before >= length && after >= length;
    if (isAnywhere && branches.companion(branch, 0) < 0) return false;
    const set = tables.set[branch] as number;
    if (this.#positions.isEverywhere(set)) {
      if (ranges?.length !== 0) windows.push(0, length);
      return true;
    }
    let last = -1;
    let range = 0;
    for (const anchor of this.#positions.of(set)) {
      const from = Math.max(0, anchor - before);
      const to = Math.min(length, anchor + after);
      if (ranges !== null) {
        while (range < ranges.length && (ranges[range + 1] as number) < from - MARGIN_BYTES) {
          range += 2;
        }
        if (range === ranges.length) break;
        if ((ranges[range] as number) > to + MARGIN_BYTES) continue;
      }
      this.#from = from;
      this.#to = to;
      if (!this.#hasCompanions(branch, anchor)) continue;
      // Anchors ascend, and so do both ends.
      if (this.#from <= last) windows[windows.length - 1] = this.#to;
      else windows.push(this.#from, this.#to);
      last = this.#to;
    }
    return true;
  }

  /**
   * Checks whether all companions are near the anchor. If so, narrows the match to what they allow: from the
   * extent before the first of their positions to the extent after the last.
   */
  #hasCompanions(branch: number, anchor: number): boolean {
    const branches = this.#branches;
    for (let index = 0; index < COMPANIONS_MAX; index += 1) {
      const set = branches.companion(branch, index);
      if (set < 0) break;
      if (this.#positions.isEverywhere(set)) continue;
      const positions = this.#positions.of(set);
      const least = anchor - branches.back(branch, index);
      const most = anchor + branches.ahead(branch, index);
      const first = lowerBound(positions, least);
      if (first === positions.length || (positions[first] as number) > most) return false;
      const end = lowerBound(positions, most + 1);
      const from = (positions[first] as number) - branches.companionBefore(branch, index);
      const to = (positions[end - 1] as number) + branches.companionAfter(branch, index);
      if (from > this.#from) this.#from = from;
      if (to < this.#to) this.#to = to;
    }
    return this.#from <= this.#to;
  }
}

/**
 * Merges the windows of a pattern's branches, which come branch by branch: in order, extended by an
 * edge to character boundaries, touching ones merged.
 */
export function mergeWindows(found: readonly number[], text: Buffer): number[] | null {
  // So many that sorting them would not be exact.
  if ((text.length * found.length) / 2 > Number.MAX_SAFE_INTEGER) return null;
  const inOrder = isInOrder(found) ? found : sorted(found);
  const merged: number[] = [];
  let covered = 0;
  for (let at = 0; at < inOrder.length; at += 2) {
    const start = boundaryBefore(text, (inOrder[at] as number) - EDGE_BYTES);
    const end = boundaryAfter(text, (inOrder[at + 1] as number) + EDGE_BYTES);
    const last = merged.length - 1;
    const reached = last > 0 ? (merged[last] as number) : -1;
    if (start > reached) {
      merged.push(start, end);
      covered += end - start;
    } else if (end > reached) {
      merged[last] = end;
      covered += end - reached;
    }
  }
  return covered >= text.length ? null : merged;
}

function isInOrder(windows: readonly number[]): boolean {
  for (let at = 2; at < windows.length; at += 2) {
    if ((windows[at] as number) < (windows[at - 2] as number)) return false;
  }
  return true;
}

/** In the order of their starts. A start and the window's number are sorted as one number. */
function sorted(windows: readonly number[]): number[] {
  const count = windows.length / 2;
  const keys = new Float64Array(count);
  for (let window = 0; window < count; window += 1) {
    keys[window] = (windows[2 * window] as number) * count + window;
  }
  keys.sort();
  const result: number[] = [];
  for (const key of keys) {
    const window = key % count;
    result.push((key - window) / count, windows[2 * window + 1] as number);
  }
  return result;
}
