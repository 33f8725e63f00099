/** Owns the search for all literals in a text, by the automaton of `aho-corasick.ts`. */
import { type Automaton, CHILD_COLUMN, CHILD_HIT, HIT } from './aho-corasick.ts';
import { foldedBefore, foldedBehind } from './folding.ts';
import type { LiteralHits } from './literal-hits.ts';

const CHILD = CHILD_HIT - 1;
const STATE = HIT - 1;
const COLUMN = HIT - 1;

/** A way to find literals. */
export interface LiteralSearch {
  /** Adds every literal in the bytes from `from` to `until`. */
  readonly find: (bytes: Uint8Array, hits: LiteralHits, from?: number, until?: number) => void;
}

/** The search by an automaton. */
export function createSearch(automaton: Automaton): LiteralSearch {
  return {
    find: (bytes, hits, from, until) => findLiterals(automaton, bytes, hits, from, until),
  };
}

/**
 * Finds every literal in the bytes from `from` to `until`.
 * @param bytes without letters that equal an ASCII one (`replaceAsciiEquals`)
 */
export function findLiterals(
  automaton: Automaton,
  bytes: Uint8Array,
  hits: LiteralHits,
  from = 0,
  until = bytes.length,
): void {
  const { columnOf, columns, next, resolved } = automaton;
  let state = 0;
  for (let at = from; at < until; at += 1) {
    const column = columnOf[bytes[at] as number] as number;
    if (state < resolved) {
      const entry = next[state * columns + column] as number;
      state = entry & STATE;
      if (entry >= HIT) state = addHits(automaton, state, at, hits);
    } else {
      state = step(automaton, state, column, at, hits);
    }
  }
}

/** @returns the state behind the byte */
function step(
  automaton: Automaton,
  from: number,
  column: number,
  at: number,
  hits: LiteralHits,
): number {
  const { columns, blank, resolved, next, nodes, labels } = automaton;
  let state = from;
  while (state >= resolved) {
    const node = nodes[2 * state] as number;
    let child = node & CHILD;
    if (node >>> CHILD_COLUMN === column) {
      return (node & CHILD_HIT) === 0 ? child : addHits(automaton, child, at, hits);
    }
    const behind = (nodes[2 * state + 2] as number) & CHILD;
    for (child += 1; child < behind; child += 1) {
      const label = labels[child] as number;
      if ((label & COLUMN) !== column) continue;
      return (label & HIT) === 0 ? child : addHits(automaton, child, at, hits);
    }
    if (column === blank && ((labels[state] as number) & COLUMN) === blank) return state;
    state = nodes[2 * state + 1] as number;
  }
  const entry = next[state * columns + column] as number;
  state = entry & STATE;
  return entry < HIT ? state : addHits(automaton, state, at, hits);
}

/** @returns the state to continue from */
function addHits(
  { endsAt, ends, onward }: Automaton,
  state: number,
  lastByte: number,
  hits: LiteralHits,
): number {
  const until = endsAt[state + 1] as number;
  for (let end = endsAt[state] as number; end < until; end += 1) {
    hits.add(ends[end] as number, lastByte);
  }
  return onward[state] as number;
}

/**
 * `findLiterals` with an automaton whose literals all have a non-ASCII byte: only near such bytes.
 * @param nonAscii the runs of non-ASCII bytes
 */
export function findNonAsciiLiterals(
  automaton: Automaton,
  bytes: Uint8Array,
  hits: LiteralHits,
  nonAscii: readonly number[],
): void {
  const { longest } = automaton;
  if (longest === 0 || nonAscii.length === 0) return;
  const distance = longest - 1;
  let from = foldedBefore(bytes, nonAscii[0] as number, distance);
  let end = nonAscii[1] as number;
  for (let run = 2; run < nonAscii.length; run += 2) {
    const start = nonAscii[run] as number;
    // Runs that are near are searched as one, without measuring folded bytes.
    if (start - end > 2 * distance) {
      const until = foldedBehind(bytes, end, distance);
      const next = foldedBefore(bytes, start, distance);
      if (next > until) {
        findLiterals(automaton, bytes, hits, from, until);
        from = next;
      }
    }
    end = nonAscii[run + 1] as number;
  }
  findLiterals(automaton, bytes, hits, from, foldedBehind(bytes, end, distance));
}
