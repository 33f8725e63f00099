/** Owns the walk over a text: which literals end where. */
import { type Automaton, CHILD_COLUMN, CHILD_HIT, HIT } from './aho-corasick.ts';
import { foldedBefore, foldedBehind } from './folding.ts';
import type { Hits } from './literal-hits.ts';

const CHILD = CHILD_HIT - 1;
const STATE = HIT - 1;
const COLUMN = HIT - 1;

/**
 * Walks over a text and notes where every literal ends.
 * @param bytes without letters that equal one of ASCII (`withPlainLetters`)
 * @param from where to begin, and with `until` where to end
 */
export function walk(
  automaton: Automaton,
  bytes: Uint8Array,
  hits: Hits,
  from = 0,
  until = bytes.length,
): void {
  const { columnOf, columns, blank, resolved, next, nodes, labels } = automaton;
  let state = 0;
  byByte: for (let at = from; at < until; at += 1) {
    const column = columnOf[bytes[at] as number] as number;
    while (state >= resolved) {
      const node = nodes[2 * state] as number;
      let child = node & CHILD;
      if (node >>> CHILD_COLUMN === column) {
        state = (node & CHILD_HIT) === 0 ? child : noteEnds(automaton, child, at, hits);
        continue byByte;
      }
      const behind = (nodes[2 * state + 2] as number) & CHILD;
      for (child += 1; child < behind; child += 1) {
        const label = labels[child] as number;
        if ((label & COLUMN) !== column) continue;
        state = (label & HIT) === 0 ? child : noteEnds(automaton, child, at, hits);
        continue byByte;
      }
      if (column === blank && ((labels[state] as number) & COLUMN) === blank) continue byByte;
      state = nodes[2 * state + 1] as number;
    }
    const entry = next[state * columns + column] as number;
    state = entry & STATE;
    if (entry >= HIT) state = noteEnds(automaton, state, at, hits);
  }
}

/** @returns where to go on */
function noteEnds(
  { endsAt, ends, onward }: Automaton,
  state: number,
  lastByte: number,
  hits: Hits,
): number {
  const until = endsAt[state + 1] as number;
  for (let end = endsAt[state] as number; end < until; end += 1) {
    hits.add(ends[end] as number, lastByte);
  }
  return onward[state] as number;
}

/**
 * `walk` with an automaton of which every literal has a byte beyond ASCII: only where such bytes are
 * near.
 * @param beyond the runs of such bytes
 */
export function walkBeyondAscii(
  automaton: Automaton,
  bytes: Uint8Array,
  hits: Hits,
  beyond: readonly number[],
): void {
  const { longest } = automaton;
  if (longest === 0 || beyond.length === 0) return;
  const reach = longest - 1;
  let from = foldedBefore(bytes, beyond[0] as number, reach);
  let end = beyond[1] as number;
  for (let run = 2; run < beyond.length; run += 2) {
    const start = beyond[run] as number;
    // What lies between two words need not be measured.
    if (start - end > 2 * reach) {
      const until = foldedBehind(bytes, end, reach);
      const next = foldedBefore(bytes, start, reach);
      if (next > until) {
        walk(automaton, bytes, hits, from, until);
        from = next;
      }
    }
    end = beyond[run + 1] as number;
  }
  walk(automaton, bytes, hits, from, foldedBehind(bytes, end, reach));
}
