/**
 * Owns where in a text a pattern may match: windows around its literals' places, as wide as a match can
 * reach. Pairs of byte offsets, start and end.
 */

import { boundaryAfter, boundaryBefore } from '../matcher/utf8.ts';
import { type Branches, COMPANIONS_MAX } from './branches.ts';
import { firstFrom } from './int-arrays.ts';
import type { Places } from './literal-sets.ts';

/** Where a pattern may match: byte ranges in order, apart from each other; null for anywhere. */
export type Windows = readonly number[] | null;

/** A character on either side, so that `\b` and `^` see what is there. */
const EDGE_BYTES = 4;
/** An edge that falls into a character goes on to its end. */
const CHARACTER_REST_BYTES = 3;
/** How far a window's end can move outwards yet. */
const MARGIN_BYTES = EDGE_BYTES + CHARACTER_REST_BYTES;

/**
 * Adds the windows of one branch: in order, those that overlap as one, edges not yet added.
 * @param stretches only windows that touch one of these are of interest, edges included; null for all
 * @returns false when the branch can match anywhere; then nothing is added
 */
export function addWindows(
  windows: number[],
  branch: number,
  branches: Branches,
  places: Places,
  length: number,
  stretches: Int32Array | null,
): boolean {
  const before = branches.reach(branches.tables.before[branch] as number);
  const after = branches.reach(branches.tables.after[branch] as number);
  const isAnywhere = before >= length && after >= length;
  if (isAnywhere && branches.companion(branch, 0) < 0) return false;
  let last = -1;
  let stretch = 0;
  for (const place of places.of(branches.tables.set[branch] as number)) {
    match.from = Math.max(0, place - before);
    match.to = Math.min(length, place + after);
    if (stretches !== null) {
      while (
        stretch < stretches.length &&
        (stretches[stretch + 1] as number) < match.from - MARGIN_BYTES
      ) {
        stretch += 2;
      }
      if (stretch === stretches.length) break;
      if ((stretches[stretch] as number) > match.to + MARGIN_BYTES) continue;
    }
    if (!hasCompanions(branch, branches, places, place)) continue;
    // Places ascend, and so do both ends.
    if (match.from <= last) windows[windows.length - 1] = match.to;
    else windows.push(match.from, match.to);
    last = match.to;
  }
  return true;
}

/** Where a match around the place at hand lies; one for all, since they are looked at in turn. */
const match = { from: 0, to: 0 };

/**
 * Do all companions stand near an anchor? Then a match reaches no farther than they let it: not before
 * what the first of their places within reach allows, not behind what the last does.
 */
function hasCompanions(
  branch: number,
  branches: Branches,
  places: Places,
  anchor: number,
): boolean {
  for (let which = 0; which < COMPANIONS_MAX; which += 1) {
    const set = branches.companion(branch, which);
    if (set < 0) break;
    const those = places.of(set);
    const least = anchor - branches.back(branch, which);
    const most = anchor + branches.ahead(branch, which);
    const first = firstFrom(those, least);
    if (first === those.length || (those[first] as number) > most) return false;
    const end = firstFrom(those, most + 1);
    const from = (those[first] as number) - branches.companionBefore(branch, which);
    const to = (those[end - 1] as number) + branches.companionAfter(branch, which);
    if (from > match.from) match.from = from;
    if (to < match.to) match.to = to;
  }
  return match.from <= match.to;
}

/**
 * Windows of a pattern's branches, one after the other: in order, with an edge, on character
 * boundaries, those that touch as one.
 */
export function merge(found: readonly number[], text: Buffer): Windows {
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

function sorted(windows: readonly number[]): number[] {
  const starts = Array.from({ length: windows.length / 2 }, (_, index) => 2 * index);
  starts.sort((a, b) => (windows[a] as number) - (windows[b] as number));
  return starts.flatMap((at) => [windows[at] as number, windows[at + 1] as number]);
}
