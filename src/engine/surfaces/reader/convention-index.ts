/**
 * Owns the question which conventions are about a step: those that have no marks, and those of which it
 * shows one. Asked once per step and of what the step has, not of every mark there is; the tables of each
 * combination that has come up are kept.
 */
import type { Step } from '../../../model.ts';
import type { Convention, KindRow } from './convention.ts';
import { type Tables, tablesOf } from './convention-tables.ts';

/** Combinations, scopes and services that are remembered, of each so many; then it starts anew. */
const REMEMBERED_MAX = 200;

/** What is known of a step by the conventions that are about it. */
export interface About {
  readonly tables: Tables;
  /** the rows that tell its kind, in their order */
  readonly kinds: readonly KindRow[];
}

type Beginning = readonly [beginning: string, convention: number];

/** Conventions in telling order, found by their marks. */
export class Known {
  readonly #conventions: readonly Convention[];
  /** attribute → conventions of which it is a mark, by their number */
  readonly #byAttribute = new Map<string, number[]>();
  readonly #scopes: Beginnings;
  readonly #services: Beginnings;
  readonly #always: readonly number[];
  /** numbers of conventions → what they say together */
  readonly #abouts = new Map<string, About>();

  constructor(conventions: readonly Convention[]) {
    this.#conventions = conventions;
    const scopes: Beginning[] = [];
    const services: Beginning[] = [];
    const always: number[] = [];
    for (const [number, { on }] of conventions.entries()) {
      if (on === undefined) always.push(number);
      for (const beginning of on?.scopes ?? []) scopes.push([beginning, number]);
      for (const beginning of on?.services ?? []) services.push([beginning, number]);
      for (const key of on?.attributes ?? []) {
        this.#byAttribute.set(key, [...(this.#byAttribute.get(key) ?? []), number]);
      }
    }
    this.#scopes = new Beginnings(scopes);
    this.#services = new Beginnings(services);
    this.#always = always;
  }

  about({ scopeName, serviceName, attributes }: Step): About {
    const found = new Set(this.#always);
    for (const number of this.#scopes.of(scopeName)) found.add(number);
    for (const number of this.#services.of(serviceName)) found.add(number);
    for (const key of Object.keys(attributes)) {
      const marked = this.#byAttribute.get(key);
      if (marked !== undefined) for (const number of marked) found.add(number);
    }
    return this.#aboutOf([...found].sort((one, other) => one - other));
  }

  #aboutOf(numbers: readonly number[]): About {
    const key = numbers.join();
    const known = this.#abouts.get(key);
    if (known !== undefined) return known;
    const conventions = numbers.flatMap((number) => this.#conventions[number] ?? []);
    const kinds = conventions.flatMap((convention) => convention.kinds ?? []);
    const about = { tables: tablesOf(conventions), kinds };
    if (this.#abouts.size >= REMEMBERED_MAX) this.#abouts.clear();
    this.#abouts.set(key, about);
    return about;
  }
}

/** Finds the conventions that know how a name begins. */
class Beginnings {
  readonly #beginnings: readonly Beginning[];
  readonly #known = new Map<string, readonly number[]>();

  constructor(beginnings: readonly Beginning[]) {
    this.#beginnings = beginnings;
  }

  of(name: string | null): readonly number[] {
    if (name === null) return NONE;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const found = this.#beginnings.flatMap(([beginning, number]) =>
      name.startsWith(beginning) ? [number] : [],
    );
    if (this.#known.size >= REMEMBERED_MAX) this.#known.clear();
    this.#known.set(name, found);
    return found;
  }
}

const NONE: readonly number[] = [];
