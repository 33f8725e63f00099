/**
 * Owns the choice of the conventions that apply to a step: those without a selector, and those whose
 * selector it fits. Looks the step's attributes up, instead of trying every selector; the merged
 * tables of every combination of conventions are cached, and the choice for steps with the same keys:
 *
 *   scope ─► service ─► key ─► key ─► … ─► the conventions, and their rows for these keys
 */
import type { Step } from '../../../model/steps.ts';
import type { AttributeRow, Convention, KindRow } from './convention.ts';
import { type ConventionTables, mergeTables } from './convention-tables.ts';
import { mayHoldText } from './text-names.ts';

/** Entries per cache, of combinations, scopes and services; a full cache is cleared. */
const CACHED_MAX = 200;
const NONE: readonly number[] = [];

/** Keys, scopes and services in the tree of choices; a full tree is cleared. */
const NODES_MAX = 5_000;
/** For a step with more keys, or a longer one, the choice is made each time. */
const KEYS_MAX = 48;
const KEY_CHARS_MAX = 128;

interface Merged {
  readonly tables: ConventionTables;
  readonly kinds: readonly KindRow[];
}

/** The conventions that apply to a step, merged, and their rows for its attributes. */
export interface StepConventions extends Merged {
  /** rows that may show the step's kind, in order */
  readonly kinds: readonly KindRow[];
  /** rows that can read its attributes, in reading order, perhaps with others */
  readonly rows: readonly AttributeRow[];
  /** keys of its attributes that may name a text and that no row reads */
  readonly unread: readonly string[];
}

/** The choice for steps with the same scope, service and first keys. */
interface ChoiceNode {
  readonly next: Map<string | null, ChoiceNode>;
  conventions: StepConventions | null;
}

const newNode = (): ChoiceNode => ({ next: new Map(), conventions: null });

/** Conventions, in reading order, by what selects them. A convention's number is its index. */
export class ConventionIndex {
  readonly #conventions: readonly Convention[];
  readonly #byAttribute = new Map<string, number[]>();
  readonly #scopes: PrefixIndex;
  readonly #services: PrefixIndex;
  readonly #unconditional: readonly number[];
  /** numbers of conventions → the same merged */
  readonly #merged = new Map<string, Merged>();
  #choices = newNode();
  #nodes = 0;

  constructor(conventions: readonly Convention[]) {
    this.#conventions = conventions;
    const scopes: NumberedPrefix[] = [];
    const services: NumberedPrefix[] = [];
    const unconditional: number[] = [];
    for (const [number, { appliesTo }] of conventions.entries()) {
      if (appliesTo === undefined) unconditional.push(number);
      for (const prefix of appliesTo?.scopes ?? []) scopes.push([prefix, number]);
      for (const prefix of appliesTo?.services ?? []) services.push([prefix, number]);
      for (const key of appliesTo?.attributes ?? []) {
        this.#byAttribute.set(key, [...(this.#byAttribute.get(key) ?? []), number]);
      }
    }
    this.#scopes = new PrefixIndex(scopes);
    this.#services = new PrefixIndex(services);
    this.#unconditional = unconditional;
  }

  conventionsOf(step: Step): StepConventions {
    const { scopeName, serviceName, attributes } = step;
    const keys = Object.keys(attributes);
    if (keys.length > KEYS_MAX) return this.#choose(step, keys);
    let node = this.#nodeAfter(this.#nodeAfter(this.#choices, scopeName), serviceName);
    for (const key of keys) {
      if (key.length > KEY_CHARS_MAX) return this.#choose(step, keys);
      node = this.#nodeAfter(node, key);
    }
    node.conventions ??= this.#choose(step, keys);
    const { conventions } = node;
    if (this.#nodes > NODES_MAX) {
      this.#choices = newNode();
      this.#nodes = 0;
    }
    return conventions;
  }

  #nodeAfter(node: ChoiceNode, name: string | null): ChoiceNode {
    const known = node.next.get(name);
    if (known !== undefined) return known;
    const next = newNode();
    node.next.set(name, next);
    this.#nodes += 1;
    return next;
  }

  #choose({ scopeName, serviceName, attributes }: Step, keys: readonly string[]): StepConventions {
    const numbers = new Set(this.#unconditional);
    for (const number of this.#scopes.find(scopeName)) numbers.add(number);
    for (const number of this.#services.find(serviceName)) numbers.add(number);
    for (const key of keys) {
      const selected = this.#byAttribute.get(key);
      if (selected !== undefined) for (const number of selected) numbers.add(number);
    }
    const { tables, kinds } = this.#merge([...numbers].sort((one, other) => one - other));
    const { rows } = tables;
    return {
      tables,
      kinds: kinds.filter(
        (row) => 'names' in row || ('has' in row ? row.has : row.key) in attributes,
      ),
      rows: rows.rowsFor(attributes),
      unread: keys.filter((key) => mayHoldText(key) && !rows.reads(key)),
    };
  }

  #merge(numbers: readonly number[]): Merged {
    const key = numbers.join();
    const cached = this.#merged.get(key);
    if (cached !== undefined) return cached;
    const conventions = numbers.flatMap((number) => this.#conventions[number] ?? []);
    const kinds = conventions.flatMap((convention) => convention.kinds ?? []);
    const merged = { tables: mergeTables(conventions), kinds };
    if (this.#merged.size >= CACHED_MAX) this.#merged.clear();
    this.#merged.set(key, merged);
    return merged;
  }
}

type NumberedPrefix = readonly [prefix: string, convention: number];

class PrefixIndex {
  readonly #prefixes: readonly NumberedPrefix[];
  readonly #cache = new Map<string, readonly number[]>();

  constructor(prefixes: readonly NumberedPrefix[]) {
    this.#prefixes = prefixes;
  }

  find(name: string | null): readonly number[] {
    if (name === null) return NONE;
    const cached = this.#cache.get(name);
    if (cached !== undefined) return cached;
    const found = this.#prefixes.flatMap(([prefix, number]) =>
      name.startsWith(prefix) ? [number] : [],
    );
    if (this.#cache.size >= CACHED_MAX) this.#cache.clear();
    this.#cache.set(name, found);
    return found;
  }
}
