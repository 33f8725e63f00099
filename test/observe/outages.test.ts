import { expect, test } from 'vitest';
import { Outages } from '../../src/observe/outages.ts';

test('the first failure begins an outage, the first success ends it', () => {
  const outages = new Outages<'a' | 'b'>();
  expect(outages.works('a')).toBeNull();
  expect([outages.fails('a'), outages.fails('a'), outages.fails('b')]).toEqual([true, false, true]);
  expect(outages.works('a')).toEqual({ failures: 2, elapsedMs: expect.any(Number) });
  expect(outages.works('a')).toBeNull();
  expect([outages.fails('b'), outages.fails('a')]).toEqual([false, true]);
});
