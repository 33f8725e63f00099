/**
 * Cases of tests: how many are tried, and lists that must not be empty. `npm run test:exhaustive` tries all cases or
 * waits long, before a release; `npm test` tries a sample, the same at every run.
 */
import fc from 'fast-check';
import { test } from 'vitest';

export const isExhaustive: boolean = process.env.EXHAUSTIVE === '1';

/** How many cases of a property are tried: all, or a part of them. */
export function casesOf(all: number, part = 5): number {
  return isExhaustive ? all : Math.ceil(all / part);
}

/** Every case of a table, or each `step`th. */
export function sampleOf<Case>(cases: readonly Case[], step = 2): readonly Case[] {
  return isExhaustive ? cases : cases.filter((_, index) => index % step === 0);
}

/** A test of exhaustive runs. In others it is not registered, so that nothing counts as skipped. */
export function inFull(name: string, body: () => Promise<void>): void {
  if (isExhaustive) test(name, body);
}

/**
 * Returns the items of a list that a test loops over.
 *
 * @throws when there is none: the loop would assert nothing
 */
export function someOf<Item>(list: Iterable<Item>): readonly Item[] {
  const items = [...list];
  if (items.length === 0) throw new Error('an empty list: nothing would be tested');
  return items;
}

const SURROGATES_FROM = 0xd800;
const SURROGATES = 0x800;
const CODE_POINT_MAX = 0x10_ffff;

/**
 * Any character but lone surrogates, each as likely: `fc.string({ unit: anyCharacter })`. fast-check's own
 * `binary` is the same, and enters all of them in a map first, a second of CPU time in each worker.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: CODE_POINT_MAX - SURROGATES })
  .map((at) => String.fromCodePoint(at < SURROGATES_FROM ? at : at + SURROGATES));
