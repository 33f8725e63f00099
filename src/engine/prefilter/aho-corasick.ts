/**
 * Owns the automaton that finds the literals beyond ASCII in one pass over a text: Aho–Corasick over
 * bytes, in typed arrays (Aho, Corasick: Efficient string matching, CACM 18(6), 1975).
 *
 * States are numbered level by level, so that the most frequent ones are adjacent. The first levels
 * have every transition resolved: a byte costs one look-up. The many states below them have only
 * their children and fall back if none fits: resolved, they would take six times the memory, and few
 * texts would reach them.
 *
 * The search waits for memory, so a step reads as few tables as possible: a transition says whether
 * literals end in its target, and a deep state's first child, its byte and the fallback are adjacent.
 */
import { BLANK, FOLDED } from './folding.ts';

/** Typed arrays, so that threads can share them. */
export interface Automaton {
  /** byte of an unfolded text → column of the folded byte, 0 if it is in no literal */
  readonly columnOf: Uint8Array;
  readonly columns: number;
  /** the column of blanks; repeated blanks do not change the state */
  readonly blank: number;
  /** states below this one are resolved; 0 is the start */
  readonly resolved: number;
  /** resolved state * columns + column → `HIT | state` */
  readonly next: Uint16Array;
  /**
   * 2 * state → `column << CHILD_COLUMN | CHILD_HIT | child` of its first child; the children end
   * where those of the next state begin. 2 * state + 1 → its fallback: the longest suffix that is
   * resolved or has children.
   */
  readonly nodes: Int32Array;
  /** state → `HIT | column` that leads to it from its parent */
  readonly labels: Uint16Array;
  /** state → the state to continue from after a hit: itself, or its fallback */
  readonly onward: Int32Array;
  /** state → index in `ends` of its first literal; they end at the next state's */
  readonly endsAt: Int32Array;
  /** literal ids */
  readonly ends: Int32Array;
  /** bytes of its longest literal; 0 if it has none */
  readonly longest: number;
}

/** Set when literals end in the state of the same entry. */
export const HIT = 0x8000;
export const CHILD_COLUMN = 24;
export const CHILD_HIT = 0x80_0000;
const STATES_MAX = CHILD_HIT;

/** Deeper states are not resolved; nor are those whose children have no number below `HIT`. */
const RESOLVED_DEPTH = 4;

/**
 * Builds the automaton of folded literals.
 * @param literals by id, each at most 255 bytes, none empty, no two blanks in a row
 * @param takes selects the literals of this automaton
 * @throws RangeError for more than 8 million states
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
  const { isEnd, endsAt, ends } = endsOf(trie, fallback);
  const blank = columnOf[BLANK] as number;
  return {
    columnOf: columnOf.map((_, byte) => columnOf[FOLDED[byte] as number] as number),
    columns,
    blank,
    resolved: trie.resolved,
    next: markHits(trie, next, isEnd, columns, blank),
    ...packNodes(trie, fallback, isEnd),
    endsAt,
    ends,
    longest: taken.reduce((longest, { bytes }) => Math.max(longest, bytes.length), 0),
  };
}

interface Taken {
  readonly bytes: Buffer;
  readonly id: number;
}

/** byte of a literal → column */
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

interface Trie {
  readonly resolved: number;
  /** state → its first child; the children end where those of the next state begin */
  readonly firstChild: Int32Array;
  /** state → the column that leads to it from its parent */
  readonly label: Uint8Array;
  /** state → the literals that end in it and in no suffix of it */
  readonly own: ReadonlyMap<number, readonly number[]>;
}

/**
 * The states level by level. A state is a range of the sorted literals: those with the same prefix.
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
      // All children of the level before are numbered.
      if (depth <= RESOLVED_DEPTH && states <= HIT) resolved = state;
      depth += 1;
      levelEnd = states;
    }
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
  if (depth <= RESOLVED_DEPTH && states <= HIT) resolved = states;
  return { resolved, firstChild, label, own };
}

/** The start, and a state for every byte that a literal does not share with the one before it. */
function statesOf(taken: readonly Taken[]): number {
  let states = 1;
  let before: Buffer = Buffer.alloc(0);
  for (const { bytes } of taken) {
    let shared = 0;
    while (shared < before.length && before[shared] === bytes[shared]) shared += 1;
    states += bytes.length - shared;
    before = bytes;
  }
  if (states >= STATES_MAX) throw new RangeError(`${states} states of literals are too many`);
  return states;
}

/** The fallback of every state, and the resolved transitions of the first levels. */
function resolve(
  { resolved, firstChild, label }: Trie,
  columns: number,
): { readonly next: Uint16Array; readonly fallback: Int32Array } {
  const states = label.length;
  const next = new Uint16Array(resolved * columns);
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
  // Level by level: a fallback is shorter, and so already known.
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

/** The literals that end in a state: its own, and those of its fallback. */
function endsOf(
  { own, label }: Trie,
  fallback: Int32Array,
): Pick<Automaton, 'endsAt' | 'ends'> & { readonly isEnd: Uint8Array } {
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

function hitOf(isEnd: Uint8Array, state: number): number {
  return isEnd[state] === 1 ? HIT : 0;
}

/**
 * Marks the transitions to states in which literals end. A state reached by a blank stays at the next
 * blank, without a mark: its literals were found at the first.
 */
function markHits(
  { resolved, label }: Trie,
  next: Uint16Array,
  isEnd: Uint8Array,
  columns: number,
  blank: number,
): Uint16Array {
  for (let entry = 0; entry < next.length; entry += 1) {
    const state = next[entry] as number;
    next[entry] = state | hitOf(isEnd, state);
  }
  for (let state = 1; state < resolved; state += 1) {
    if (blank > 0 && label[state] === blank) next[state * columns + blank] = state;
  }
  return next;
}

/** Packs the deep states. One without children is replaced by its fallback, so all have a first child. */
function packNodes(
  { resolved, firstChild, label }: Trie,
  fallback: Int32Array,
  isEnd: Uint8Array,
): Pick<Automaton, 'nodes' | 'labels' | 'onward'> {
  const states = label.length;
  const onward = new Int32Array(states);
  const nodes = new Int32Array(2 * states + 1);
  const labels = new Uint16Array(states);
  // A fallback is on an earlier level.
  for (let state = 0; state < states; state += 1) {
    const child = firstChild[state] as number;
    const suffix = onward[fallback[state] as number] as number;
    const isLeaf = child === firstChild[state + 1];
    onward[state] = isLeaf && state >= resolved ? suffix : state;
    const column = (label[child] ?? 0) << CHILD_COLUMN;
    nodes[2 * state] = column | (isEnd[child] === 1 ? CHILD_HIT : 0) | child;
    nodes[2 * state + 1] = suffix;
    labels[state] = hitOf(isEnd, state) | (label[state] as number);
  }
  nodes[2 * states] = states;
  return { nodes, labels, onward };
}
