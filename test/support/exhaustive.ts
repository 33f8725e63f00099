/**
 * Tests that try very many cases, or wait long: `npm run test:exhaustive` runs them in full, before a
 * release; `npm test` runs a sample, the same at every run.
 */
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
