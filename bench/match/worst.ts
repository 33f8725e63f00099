/**
 * The search for a text that is as slow to match as possible: hill climbing over the literals that the
 * corpus's patterns need. A fragment is the literals of a branch of a pattern, one of each set, so that it
 * passes the prefilter; a text is a list of fragments in random order, again and again, up to the cap.
 * The order is another one every time, so that nothing is matched twice.
 *
 *   random lists ──► the slowest ──► exchange, add, remove ──► slower? keep it ──┐
 *                                              ▲─────────────────────────────────┘  until the time is over
 */
import { createFastMatcher } from '../../src/engine/prefilter/fast-matcher.ts';
import type { RequirementsReader } from '../../src/engine/prefilter/requirements.ts';
import type { Rule } from '../../src/model/rules.ts';
import { seeded } from '../bodies.ts';
import { log, median } from '../harness.ts';

const TEXT_BYTES = 65_536;
const SETTINGS = { enabled: () => true, capBytes: TEXT_BYTES };
const SEED = 25;
const FIRST_LISTS = 8;
const FIRST_FRAGMENTS = 150;
const FRAGMENTS_MAX = 600;
/** Fragments that are changed at a time. */
const CHANGES = [1, 2, 4, 8, 16, 32];
/** Behind a literal. The last two make the normalised reading another text. */
const SEPARATORS = [' ', ' ', ' ', ' ', '\n', '', ', ', '. ', '"', ': "', '\u200b', '\u00a0'];
/** Orders of a list that are timed before it counts as slower. */
const ORDERS = 3;
const RETIMED_AFTER = 25;
/** Orders of the slowest list that are measured in the end. */
const MEASURED = 9;
const MICROSECONDS = 1e6;

export interface WorstText {
  /** which rules are matched */
  readonly name: string;
  readonly rules: number;
  /** lists that were tried */
  readonly tried: number;
  readonly fragments: number;
  readonly hits: number;
  /** megabytes of text per second of CPU time, median and every value */
  readonly mbPerSecond: number;
  readonly raw: readonly number[];
}

type Random = () => number;

/** For every branch of every pattern, the sets of literals that it needs, in order. */
function needsOf(rules: readonly Rule[], read: RequirementsReader): string[][][] {
  const patterns = rules.flatMap(({ conditions }) =>
    conditions.flatMap(({ supported, pattern }) => (supported ? pattern : [])),
  );
  return [...new Set(patterns)].flatMap((pattern) =>
    (read(pattern) ?? [])
      .map(({ required }) => required.map(({ literals }) => [...literals]))
      .filter((sets) => sets.length > 0),
  );
}

const pick = <Element>(from: readonly Element[], random: Random): Element =>
  from[Math.floor(random() * from.length)] as Element;

/** Fragments in random order, until the text is full. */
function textOf(fragments: readonly string[], random: Random): string {
  let text = '';
  let left = TEXT_BYTES;
  for (;;) {
    const fragment = pick(fragments, random);
    left -= Buffer.byteLength(fragment);
    if (left < 0) return text;
    text += fragment;
  }
}

function changed(fragments: readonly string[], random: Random, next: () => string): string[] {
  const list = [...fragments];
  for (let left = pick(CHANGES, random); left > 0; left -= 1) {
    const at = Math.floor(random() * list.length);
    const kind = random();
    if (kind < 0.6) list[at] = next();
    else if (kind < 0.8 && list.length < FRAGMENTS_MAX) list.splice(at, 0, next());
    else if (kind < 0.9 && list.length < FRAGMENTS_MAX) list.push(list[at] ?? next());
    else if (list.length > 1) list.splice(at, 1);
  }
  return list;
}

/** Climbs for so many seconds. */
class Climb {
  readonly #random = seeded(SEED);
  readonly #next: () => string;
  readonly #matcher: ReturnType<typeof createFastMatcher>;
  readonly #name: string;
  fragments: readonly string[] = [];
  tried = 0;
  hits = 0;
  #most = 0;

  constructor(name: string, rules: readonly Rule[], read: RequirementsReader) {
    this.#name = name;
    this.#matcher = createFastMatcher(rules);
    const needs = needsOf(rules, read);
    const random = this.#random;
    this.#next = () =>
      pick(needs, random)
        .map((literals) => pick(literals, random) + pick(SEPARATORS, random))
        .join('');
  }

  run(seconds: number): void {
    const endsAt = performance.now() + seconds * 1000;
    for (let list = 0; list < FIRST_LISTS; list += 1) {
      this.#try(Array.from({ length: FIRST_FRAGMENTS }, this.#next));
    }
    while (performance.now() < endsAt) {
      this.#try(changed(this.fragments, this.#random, this.#next));
    }
  }

  /** CPU seconds for another order of the fragments. */
  timeOf(fragments: readonly string[]): number {
    const text = textOf(fragments, this.#random);
    const before = process.cpuUsage();
    const found = this.#matcher.match([{ step: 0, surface: 'tool_result', text }], SETTINGS);
    const { user, system } = process.cpuUsage(before);
    this.hits = found.hits.length;
    return (user + system) / MICROSECONDS;
  }

  /**
   * What else the machine does makes a time longer, never shorter: the shortest of several counts,
   * and that of the slowest list is taken again from time to time.
   */
  #try(fragments: readonly string[]): void {
    this.tried += 1;
    if (this.tried % RETIMED_AFTER === 0) this.#most = this.#shortest(this.fragments);
    if (this.timeOf(fragments) <= this.#most) return;
    const time = this.#shortest(fragments);
    if (time <= this.#most) return;
    this.fragments = fragments;
    this.#most = time;
    const rate = (TEXT_BYTES / 1e6 / time).toFixed(2);
    log(`slowest text, ${this.#name}: ${this.tried} tried, ${rate} MB/s`);
  }

  #shortest(fragments: readonly string[]): number {
    return Math.min(...Array.from({ length: ORDERS }, () => this.timeOf(fragments)));
  }
}

/** Searches for the slowest text, and measures it in other orders. */
export function worstText(
  name: string,
  rules: readonly Rule[],
  read: RequirementsReader,
  seconds: number,
): WorstText {
  const climb = new Climb(name, rules, read);
  climb.run(seconds);
  const { fragments, tried } = climb;
  const raw = Array.from({ length: MEASURED }, () => TEXT_BYTES / 1e6 / climb.timeOf(fragments));
  return {
    name,
    rules: rules.length,
    tried,
    fragments: fragments.length,
    hits: climb.hits,
    mbPerSecond: Number(median(raw).toFixed(2)),
    raw: raw.map((value) => Number(value.toFixed(2))),
  };
}
