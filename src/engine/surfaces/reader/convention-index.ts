/**
 * Owns the choice of the conventions that apply to a step: those without a selector, and those whose
 * selector it fits. Looks the step's attributes up, instead of trying every selector; the merged
 * tables of every combination of conventions are cached.
 */
import type { Step } from '../../../model/steps.ts';
import type { Convention, KindRow } from './convention.ts';
import { type ConventionTables, mergeTables } from './convention-tables.ts';

/** Entries per cache, of combinations, scopes and services; a full cache is cleared. */
const CACHED_MAX = 200;
const NONE: readonly number[] = [];

export interface StepConventions {
  readonly tables: ConventionTables;
  /** rows that show the step's kind, in order */
  readonly kinds: readonly KindRow[];
}

/** Conventions, in reading order, by what selects them. A convention's number is its index. */
export class ConventionIndex {
  readonly #conventions: readonly Convention[];
  readonly #byAttribute = new Map<string, number[]>();
  readonly #scopes: PrefixIndex;
  readonly #services: PrefixIndex;
  readonly #unconditional: readonly number[];
  /** numbers of conventions → the same merged */
  readonly #merged = new Map<string, StepConventions>();

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

  conventionsOf({ scopeName, serviceName, attributes }: Step): StepConventions {
    const numbers = new Set(this.#unconditional);
    for (const number of this.#scopes.find(scopeName)) numbers.add(number);
    for (const number of this.#services.find(serviceName)) numbers.add(number);
    for (const key of Object.keys(attributes)) {
      const selected = this.#byAttribute.get(key);
      if (selected !== undefined) for (const number of selected) numbers.add(number);
    }
    return this.#merge([...numbers].sort((one, other) => one - other));
  }

  #merge(numbers: readonly number[]): StepConventions {
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
