/** Which matched texts are the same: what a reader sees is, and nothing else. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { matchSha256 } from '../../../src/engine/matcher/match-digest.ts';
import { anyCharacter } from '../../support/cases.ts';

const digest = (match: string): string => matchSha256(match, { start: 0, end: match.length });

describe('the digest of a match', () => {
  test.each([
    ['case', 'Ignore ALL rules', 'ignore all rules'],
    ['white space', 'ignore\n\tall  rules', 'ignore all rules'],
    ['invisible characters', 'ig\u200bnore all\u00ad rules', 'ignore all rules'],
    ['width', 'ｉｇｎｏｒｅ all rules', 'ignore all rules'],
  ])('is the same whatever the %s', (_what, one, other) => {
    expect(digest(one)).toBe(digest(other));
  });

  test('is of the match alone', () => {
    expect(matchSha256('a secret here', { start: 2, end: 8 })).toBe(digest('secret'));
    expect(digest('secret')).not.toBe(digest('secrets'));
  });

  test('of a long match depends on all of it', () => {
    const long = 'x'.repeat(100_000);
    expect(digest(`${long}a`)).not.toBe(digest(`${long}b`));
  });

  test('is 64 digits for any range of any text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter }),
        fc.nat(20),
        fc.nat(20),
        (text, start, length) => {
          expect(matchSha256(text, { start, end: start + length })).toMatch(/^[0-9a-f]{64}$/);
        },
      ),
    );
  });
});
