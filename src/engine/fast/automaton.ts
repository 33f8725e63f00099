/**
 * Owns the one walk over a text that finds every literal: an Aho–Corasick automaton over bytes, as
 * flat tables (Aho, Corasick: Efficient string matching, CACM 18(6), 1975).
 *
 * States are numbered level by level, so that those a text is mostly in lie together. The first
 * levels have every transition resolved: a byte costs one look-up. The many states below them know
 * their own children only and fall back where none fits: resolved, they would take six times the
 * memory, and hardly a text would be in them.
 */
import type { Folding } from './fold.ts';
import type { Hits } from './hits.ts';

/** Tables only: may be shared between threads. */
export interface Automaton {
  /** byte → column, 0 for bytes of no literal */
  readonly columnOf: Uint8Array;
  readonly columns: number;
  /** states below this one are resolved; 0 is the start */
  readonly resolved: number;
  /** resolved state * columns + column → state */
  readonly next: Int32Array;
  /** state → its first child; the children end where those of the next state begin */
  readonly firstChild: Int32Array;
  /** state → the column that leads to it from its parent */
  readonly label: Uint8Array;
  /** state → that of the longest suffix */
  readonly fallback: Int32Array;
  /** state → 1 when literals end there */
  readonly isEnd: Uint8Array;
  /** state → where its literals begin in `ends`; they end where those of the next state begin */
  readonly endsAt: Int32Array;
  /** literal ids */
  readonly ends: Int32Array;
  /** literal id → bytes */
  readonly lengths: Uint8Array;
  /** bytes of the longest literal that this automaton finds; 0 when it finds none */
  readonly longest: number;
}

/** Deeper states are not resolved. */
const RESOLVED_DEPTH = 4;

/** How much memory an automaton takes. */
export function bytesOf(automaton: Automaton): number {
  return Object.values(automaton).reduce<number>(
    (sum, table) => sum + (typeof table === 'number' ? 0 : table.byteLength),
    0,
  );
}

/**
 * Builds the automaton of folded literals.
 * @param literals by id, each at most 255 bytes, none empty
 * @param takes which of them this automaton is to find
 */
export function createAutomaton(
  literals: readonly Buffer[],
  takes: (literal: Buffer) => boolean,
): Automaton {
  const taken: Taken[] = [];
  literals.forEach((bytes, id) => {
    if (takes(bytes)) taken.push({ bytes, id });
  });
  taken.sort((a, b) => Buffer.compare(a.bytes, b.bytes));
  const { columnOf, columns } = columnsOf(taken);
  const trie = createTrie(taken, columnOf);
  const { next, fallback } = resolve(trie, columns);
  return {
    columnOf,
    columns,
    resolved: trie.resolved,
    next,
    firstChild: trie.firstChild,
    label: trie.label,
    fallback,
    ...endsOf(trie, fallback),
    lengths: Uint8Array.from(literals, (literal) => literal.length),
    longest: taken.reduce((longest, { bytes }) => Math.max(longest, bytes.length), 0),
  };
}

interface Taken {
  readonly bytes: Buffer;
  readonly id: number;
}

function columnsOf(taken: readonly Taken[]): Pick<Automaton, 'columnOf' | 'columns'> {
  const used = new Set<number>();
  for (const { bytes } of taken) for (const byte of bytes) used.add(byte);
  const columnOf = new Uint8Array(256);
  let columns = 1;
  for (const byte of [...used].sort((a, b) => a - b)) {
    columnOf[byte] = columns;
    columns += 1;
  }
  return { columnOf, columns };
}

interface Trie extends Pick<Automaton, 'resolved' | 'firstChild' | 'label'> {
  /** state → the literals that end in it and in no suffix of it */
  readonly own: ReadonlyMap<number, readonly number[]>;
}

/**
 * The states level by level. A state is a stretch of the sorted literals: those that begin alike.
 * @param taken in byte order
 */
function createTrie(taken: readonly Taken[], columnOf: Uint8Array): Trie {
  const size = statesOf(taken);
  const firstChild = new Int32Array(size + 1);
  const label = new Uint8Array(size);
  const from = new Int32Array(size);
  const until = new Int32Array(size);
  const own = new Map<number, number[]>();
  until[0] = taken.length;
  let states = 1;
  let resolved = 0;
  let levelEnd = 1;
  let depth = 0;
  for (let state = 0; state < states; state += 1) {
    if (state === levelEnd) {
      depth += 1;
      levelEnd = states;
    }
    if (depth <= RESOLVED_DEPTH) resolved = state + 1;
    firstChild[state] = states;
    const end = until[state] as number;
    let at = from[state] as number;
    const ending: number[] = [];
    for (; at < end && taken[at]?.bytes.length === depth; at += 1) {
      ending.push(taken[at]?.id as number);
    }
    if (ending.length > 0) own.set(state, ending);
    while (at < end) {
      const byte = taken[at]?.bytes[depth] as number;
      const begin = at;
      while (at < end && taken[at]?.bytes[depth] === byte) at += 1;
      label[states] = columnOf[byte] as number;
      from[states] = begin;
      until[states] = at;
      states += 1;
    }
  }
  firstChild[states] = states;
  return { resolved, firstChild, label, own };
}

/** A state per byte that a literal does not share with the one before it, and the start. */
function statesOf(taken: readonly Taken[]): number {
  let states = 1;
  let before: Buffer = Buffer.alloc(0);
  for (const { bytes } of taken) {
    let shared = 0;
    while (shared < before.length && before[shared] === bytes[shared]) shared += 1;
    states += bytes.length - shared;
    before = bytes;
  }
  return states;
}

/** Where every state falls back to, and the whole rows of the first levels. */
function resolve(
  { resolved, firstChild, label }: Trie,
  columns: number,
): Pick<Automaton, 'next' | 'fallback'> {
  const states = label.length;
  const next = new Int32Array(resolved * columns);
  const fallback = new Int32Array(states);
  const follow = (start: number, column: number): number => {
    let state = start;
    while (state >= resolved) {
      const end = firstChild[state + 1] as number;
      for (let child = firstChild[state] as number; child < end; child += 1) {
        if (label[child] === column) return child;
      }
      state = fallback[state] as number;
    }
    return next[state * columns + column] as number;
  };
  // Level by level: what a state falls back to is shorter and known.
  for (let state = 0; state < states; state += 1) {
    const suffix = fallback[state] as number;
    if (state > 0 && state < resolved) {
      next.copyWithin(state * columns, suffix * columns, (suffix + 1) * columns);
    }
    const end = firstChild[state + 1] as number;
    for (let child = firstChild[state] as number; child < end; child += 1) {
      const column = label[child] as number;
      if (state > 0) fallback[child] = follow(suffix, column);
      if (state < resolved) next[state * columns + column] = child;
    }
  }
  return { next, fallback };
}

/** The literals that end in a state: its own, and those of what it falls back to. */
function endsOf(
  { own, label }: Trie,
  fallback: Int32Array,
): Pick<Automaton, 'isEnd' | 'endsAt' | 'ends'> {
  const states = label.length;
  const endsAt = new Int32Array(states + 1);
  const isEnd = new Uint8Array(states);
  const ends: number[] = [];
  for (let state = 0; state < states; state += 1) {
    endsAt[state] = ends.length;
    ends.push(...(own.get(state) ?? []));
    const suffix = fallback[state] as number;
    if (isEnd[suffix] === 1) {
      const until = endsAt[suffix + 1] as number;
      for (let at = endsAt[suffix] as number; at < until; at += 1) ends.push(ends[at] as number);
    }
    isEnd[state] = ends.length > (endsAt[state] as number) ? 1 : 0;
    endsAt[state + 1] = ends.length;
  }
  return { isEnd, endsAt, ends: Int32Array.from(ends) };
}

export type Folded = Pick<Folding, 'bytes' | 'length' | 'origin'>;

/**
 * `scan` with an automaton of which every literal has a byte beyond ASCII: walks only where such bytes
 * are near.
 */
export function scanBeyondAscii(automaton: Automaton, folded: Folded, hits: Hits): void {
  const { longest } = automaton;
  if (longest === 0) return;
  const { bytes, length } = folded;
  const reach = longest - 1;
  let at = 0;
  while (at < length) {
    if ((bytes[at] as number) < 0x80) {
      at += 1;
      continue;
    }
    const from = Math.max(0, at - reach);
    let until = at + reach;
    for (; at <= until && at < length; at += 1) {
      if ((bytes[at] as number) >= 0x80) until = at + reach;
    }
    scan(automaton, folded, hits, from, at);
  }
}

/**
 * Walks over a folded text and notes where in the text itself every literal begins.
 * @param from where to begin, and with `until` where to end: offsets in the folded text
 */
export function scan(
  automaton: Automaton,
  { bytes, length, origin }: Folded,
  hits: Hits,
  from = 0,
  until = length,
): void {
  const { columnOf, columns, resolved, next, firstChild, label, fallback } = automaton;
  const { isEnd, endsAt, ends, lengths } = automaton;
  let state = 0;
  for (let at = from; at < until; at += 1) {
    const column = columnOf[bytes[at] as number] as number;
    let after = -1;
    while (state >= resolved) {
      const end = firstChild[state + 1] as number;
      let child = firstChild[state] as number;
      while (child < end && label[child] !== column) child += 1;
      if (child < end) {
        after = child;
        break;
      }
      state = fallback[state] as number;
    }
    state = after === -1 ? (next[state * columns + column] as number) : after;
    if (isEnd[state] === 0) continue;
    const endsUntil = endsAt[state + 1] as number;
    for (let end = endsAt[state] as number; end < endsUntil; end += 1) {
      const literal = ends[end] as number;
      const start = origin[at + 1 - (lengths[literal] as number)] as number;
      hits.add(literal, start, origin[at + 1] as number);
    }
  }
}
