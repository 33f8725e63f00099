/**
 * Owns the one walk over a text that finds every literal: an Aho–Corasick automaton over bytes, as
 * flat tables (Aho, Corasick: Efficient string matching, CACM 18(6), 1975; here with every
 * transition resolved, so that a byte costs one look-up).
 */
import type { Folding } from './fold.ts';

/** Tables only: may be shared between threads. */
export interface Automaton {
  /** byte → column */
  readonly columnOf: Uint8Array;
  readonly columns: number;
  /** state (times columns) + column → state (times columns); 0 is the start */
  readonly next: Int32Array;
  /** states from here on end a literal */
  readonly endsFrom: number;
  /** per such state, where its literals begin in `ends` */
  readonly endsAt: Int32Array;
  /** literal ids */
  readonly ends: Int32Array;
  /** literal id → bytes */
  readonly lengths: Uint8Array;
}

/**
 * Builds the automaton of folded literals.
 * @param literals by id, each at most 255 bytes
 * @param takes which of them this automaton is to find
 */
export function createAutomaton(
  literals: readonly Buffer[],
  takes: (literal: Buffer) => boolean,
): Automaton {
  const taken = literals.filter(takes);
  const { columnOf, columns } = columnsOf(taken);
  const trie = createTrie(literals, takes, columnOf, columns);
  return numberEnds(resolve(trie, columns), columnOf, columns, literals);
}

function columnsOf(literals: readonly Buffer[]): Pick<Automaton, 'columnOf' | 'columns'> {
  const used = new Set<number>();
  for (const literal of literals) for (const byte of literal) used.add(byte);
  const columnOf = new Uint8Array(256);
  let columns = 1;
  for (const byte of [...used].sort((a, b) => a - b)) {
    columnOf[byte] = columns;
    columns += 1;
  }
  return { columnOf, columns };
}

interface Trie {
  /** row per state; -1 where nothing follows */
  readonly next: Int32Array;
  readonly states: number;
  readonly ends: (readonly number[])[];
}

function createTrie(
  literals: readonly Buffer[],
  takes: (literal: Buffer) => boolean,
  columnOf: Uint8Array,
  columns: number,
): Trie {
  const next = new Int32Array(statesOf(literals.filter(takes)) * columns).fill(-1);
  const ends: number[][] = [[]];
  let states = 1;
  literals.forEach((literal, id) => {
    if (!takes(literal)) return;
    let state = 0;
    for (const byte of literal) {
      const at = state * columns + (columnOf[byte] ?? 0);
      let after = next[at] ?? -1;
      if (after === -1) {
        after = states;
        next[at] = after;
        ends.push([]);
        states += 1;
      }
      state = after;
    }
    ends[state]?.push(id);
  });
  return { next, states, ends };
}

/** A state per byte that a literal does not share with the one before it in order, and the start. */
function statesOf(literals: readonly Buffer[]): number {
  const sorted = [...literals].sort(Buffer.compare);
  let states = 1;
  let before: Buffer = Buffer.alloc(0);
  for (const literal of sorted) {
    let shared = 0;
    while (shared < before.length && before[shared] === literal[shared]) shared += 1;
    states += literal.length - shared;
    before = literal;
  }
  return states;
}

/** Every missing transition becomes that of the longest suffix; breadth first, in place. */
function resolve({ next, states, ends }: Trie, columns: number): Trie {
  const fail = new Int32Array(states);
  const queue = new Int32Array(states);
  let read = 0;
  let write = 0;
  for (let column = 0; column < columns; column += 1) {
    const child = next[column] ?? -1;
    if (child > 0) queue[write++] = child;
    else next[column] = 0;
  }
  while (read < write) {
    const state = queue[read++] ?? 0;
    const suffix = fail[state] ?? 0;
    const inherited = ends[suffix] ?? [];
    if (inherited.length > 0) ends[state] = [...(ends[state] ?? []), ...inherited];
    for (let column = 0; column < columns; column += 1) {
      const at = state * columns + column;
      const child = next[at] ?? -1;
      const beside = next[suffix * columns + column] ?? 0;
      if (child === -1) next[at] = beside;
      else {
        fail[child] = beside;
        queue[write++] = child;
      }
    }
  }
  return { next, states, ends };
}

/** Renumbers the states so that those that end a literal come last, and premultiplies. */
function numberEnds(
  { next, states, ends }: Trie,
  columnOf: Uint8Array,
  columns: number,
  literals: readonly Buffer[],
): Automaton {
  const renumbered = new Int32Array(states);
  let count = 0;
  for (let state = 0; state < states; state += 1) {
    if (ends[state]?.length === 0) renumbered[state] = count++;
  }
  const silent = count;
  const endsAt = new Int32Array(states - silent + 1);
  const flat: number[] = [];
  for (let state = 0; state < states; state += 1) {
    const ids = ends[state] ?? [];
    if (ids.length === 0) continue;
    endsAt[count - silent] = flat.length;
    flat.push(...ids);
    renumbered[state] = count++;
  }
  endsAt[count - silent] = flat.length;
  const table = new Int32Array(states * columns);
  for (let state = 0; state < states; state += 1) {
    const row = (renumbered[state] ?? 0) * columns;
    for (let column = 0; column < columns; column += 1) {
      table[row + column] = (renumbered[next[state * columns + column] ?? 0] ?? 0) * columns;
    }
  }
  return {
    columnOf,
    columns,
    next: table,
    endsFrom: silent * columns,
    endsAt,
    ends: Int32Array.from(flat),
    lengths: Uint8Array.from(literals, (literal) => literal.length),
  };
}

/** Room for hits; it doubles when it is used up. */
const HITS_AT_FIRST = 256;

/** Where literals stand in a text: per literal its places in order, as chains. Used again and again. */
export class Hits {
  /** literal id → first hit, -1 for none */
  readonly first: Int32Array;
  readonly #last: Int32Array;
  /** hit → offset of the literal's first byte */
  places = new Int32Array(HITS_AT_FIRST);
  /** hit → the literal's next hit, -1 at the end */
  following = new Int32Array(HITS_AT_FIRST);
  /** the literals that were hit, each once */
  readonly literals: number[] = [];
  #count = 0;

  constructor(literals: number) {
    this.first = new Int32Array(literals).fill(-1);
    this.#last = new Int32Array(literals).fill(-1);
  }

  clear(): void {
    for (const literal of this.literals) {
      this.first[literal] = -1;
      this.#last[literal] = -1;
    }
    this.literals.length = 0;
    this.#count = 0;
  }

  add(literal: number, place: number): void {
    const hit = this.#count;
    this.#count += 1;
    if (hit === this.places.length) this.#grow();
    this.places[hit] = place;
    this.following[hit] = -1;
    const last = this.#last[literal] ?? -1;
    if (last === -1) {
      this.first[literal] = hit;
      this.literals.push(literal);
    } else {
      this.following[last] = hit;
    }
    this.#last[literal] = hit;
  }

  #grow(): void {
    const size = this.places.length * 2;
    const places = new Int32Array(size);
    places.set(this.places);
    this.places = places;
    const following = new Int32Array(size);
    following.set(this.following);
    this.following = following;
  }
}

/** Walks over a folded text and notes where in the text itself every literal begins. */
export function scan(
  automaton: Automaton,
  { bytes, length, origin }: Pick<Folding, 'bytes' | 'length' | 'origin'>,
  hits: Hits,
): void {
  const { columnOf, columns, next, endsFrom, endsAt, ends, lengths } = automaton;
  let state = 0;
  for (let at = 0; at < length; at += 1) {
    state = next[state + (columnOf[bytes[at] as number] as number)] as number;
    if (state < endsFrom) continue;
    const row = (state - endsFrom) / columns;
    const until = endsAt[row + 1] as number;
    for (let end = endsAt[row] as number; end < until; end += 1) {
      const literal = ends[end] as number;
      hits.add(literal, origin[at + 1 - (lengths[literal] as number)] as number);
    }
  }
}
