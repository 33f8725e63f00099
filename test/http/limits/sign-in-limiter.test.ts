/** How often signing in may be tried: by account and network, and by network. */
import { expect, test } from 'vitest';
import { createSignInLimiter } from '../../../src/http/limits/limiters.ts';
import { createMinuteCounts } from '../../../src/http/limits/minute-counts.ts';

const events = { limiterUnavailable() {}, limiterAnswered() {}, countedHere() {} };
const limiter = () =>
  createSignInLimiter(createMinuteCounts(null, events), { account: 3, network: 5, site: 7 });

/** How many of `attempts` were admitted. */
async function admitted(attempts: readonly (readonly [string | null, string])[]): Promise<number> {
  const { admit } = limiter();
  let count = 0;
  for (const [account, address] of attempts) {
    await admit(account, address).then(
      () => {
        count += 1;
      },
      (error: unknown) => {
        expect(error).toMatchObject({
          code: 'too_many_attempts',
          retryAfterSeconds: expect.any(Number),
        });
      },
    );
  }
  return count;
}

const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);

test('an account from one network: three, whatever its capitals', async () => {
  expect(await admitted(times(4, ['ana@people.test', '203.0.113.1']))).toBe(3);
  const mixed = ['Ana@people.test', 'ANA@PEOPLE.TEST', 'ana@people.test', 'aNa@people.test'];
  expect(await admitted(mixed.map((account) => [account, '203.0.113.1'] as const))).toBe(3);
});

test('one who guesses elsewhere does not lock the owner out', async () => {
  const guesses = times(9, ['ana@people.test', '198.51.100.1'] as const);
  expect(await admitted([...guesses, ['ana@people.test', '203.0.113.1']])).toBe(4);
});

test('a network, whatever the account: five', async () => {
  const accounts = Array.from({ length: 9 }, (_, at) => [`a${at}@b.test`, '203.0.113.1'] as const);
  expect(await admitted(accounts)).toBe(5);
  expect(await admitted(times(9, [null, '203.0.113.1']))).toBe(5);
});

test('all addresses of a household’s IPv6 are one', async () => {
  const addresses = Array.from({ length: 9 }, (_, at) => [null, `2001:db8:1:2::${at}`] as const);
  expect(await admitted(addresses)).toBe(5);
});

test('a client with many IPv6 networks has seven attempts over all of them', async () => {
  const addresses = Array.from({ length: 20 }, (_, at) => [null, `2001:db8:1:${at}::1`] as const);
  expect(await admitted([...addresses, [null, '2001:db8:2::1']])).toBe(8);
  const v4 = Array.from({ length: 20 }, (_, at) => [null, `203.0.113.${at}`] as const);
  expect(await admitted(v4)).toBe(20);
});

/** By default: how many a minute, of whom, and each of their attempts. */
const DEFAULTS: readonly [number, string, (at: number) => [string | null, string]][] = [
  [5, 'for an account from one network', () => ['ana@people.test', '203.0.113.1']],
  [60, 'from one network', (at) => [`a${at}@b.test`, '203.0.113.1']],
  [60, 'from one /64', (at) => [null, `2001:db8:1:2::${at}`]],
  [240, 'from one /48', (at) => [null, `2001:db8:1:${at}::1`]],
];
test.each(DEFAULTS)('by default %d attempts a minute are admitted %s', async (most, _what, of) => {
  const { admit } = createSignInLimiter(createMinuteCounts(null, events));
  for (let at = 0; at < most; at += 1) await admit(...of(at));
  await expect(admit(...of(most))).rejects.toMatchObject({ code: 'too_many_attempts' });
});
