/** Look-ups of unknown keys: in all, of one network at once, and in a second. */
import { beforeEach, expect, test } from 'vitest';

import { NetworkShares } from '../../../src/http/limits/authentication.ts';

const LIMITS = { inAll: 4, ofNetwork: 2, perSecond: 3 };
const OVERLOADED = expect.objectContaining({ code: 'overloaded' });
const [ONE, TWO, THREE] = ['203.0.113.1', '203.0.113.2', '203.0.113.3'] as const;

let nowMs: number;
let shares: NetworkShares;
beforeEach(() => {
  nowMs = 0;
  shares = new NetworkShares(LIMITS, () => nowMs);
});

test('of one network two run at once, of all four; one that ends makes room', () => {
  const ends = [ONE, ONE, TWO].map((address) => shares.take(address));
  expect(() => shares.take(ONE)).toThrow(OVERLOADED);
  ends.push(shares.take(TWO));
  expect(() => shares.take(THREE)).toThrow(OVERLOADED);
  ends[0]?.();
  shares.take(THREE);
  expect(() => shares.take(THREE)).toThrow(OVERLOADED);
  ends[1]?.();
  shares.take(ONE);
});

test('of one network three begin in a second; the next one begins a second after the first', () => {
  for (let at = 0; at < 3; at += 1) shares.take(ONE)();
  shares.take(TWO)();
  nowMs = 999;
  expect(() => shares.take(ONE)).toThrow(OVERLOADED);
  nowMs = 1000;
  for (let at = 0; at < 3; at += 1) shares.take(ONE)();
  nowMs = 1999;
  expect(() => shares.take(ONE)).toThrow(OVERLOADED);
  nowMs = 2000;
  shares.take(ONE)();
});

test('what is refused takes nothing of the share', () => {
  const end = shares.take(ONE);
  shares.take(ONE)();
  shares.take(ONE)();
  expect(() => shares.take(ONE)).toThrow(OVERLOADED);
  end();
  nowMs = 1000;
  for (const address of [ONE, ONE, TWO, TWO]) shares.take(address);
});

test.each([
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['203.0.113.1', '203.0.113.2', false],
])('%s and %s are one network: %s', (one, other, isSame) => {
  for (let at = 0; at < 2; at += 1) shares.take(one);
  const take = () => shares.take(other);
  if (isSame) expect(take).toThrow(OVERLOADED);
  else take();
});

test('ten thousand networks are remembered; beyond that the oldest one that does nothing is not', () => {
  shares = new NetworkShares({ ...LIMITS, inAll: 10 }, () => nowMs);
  shares.take(ONE);
  for (let at = 0; at < 3; at += 1) shares.take(TWO)();
  for (let at = 0; at < 9_998; at += 1) shares.take(`10.0.${at >> 8}.${at & 255}`)();
  expect(() => shares.take(TWO)).toThrow(OVERLOADED);
  shares.take(THREE)();
  shares.take(TWO)();
  shares.take(ONE);
  expect(() => shares.take(ONE)).toThrow(OVERLOADED);
});
