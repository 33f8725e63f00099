import { describe, expect, it } from 'vitest';
import { NOWHERE, type Reach } from '../../../src/engine/fast/reach.ts';
import { requirementsOf } from '../../../src/engine/fast/requirements.ts';

/** branch → group → literals */
const literalsOf = (pattern: string) =>
  requirementsOf(pattern)?.map(({ groups }) => groups.map(({ literals }) => literals));

const reach = (parts: Partial<Reach>): Reach => ({ ...NOWHERE, ...parts });

describe('what a pattern needs', () => {
  it.each<[string, unknown]>([
    ['ignore', [[['ignore']]]],
    ['(?i)IGNORE', [[['ignore']]]],
    ['ignore|forget', [[['ignore']], [['forget']]]],
    ['(?:ignore|forget)\\s+all', [[['forget all', 'ignore all']]]],
    ['instructions?', [[['nstruction']]]],
    ['port:\\d', [[['port:0']]]],
    ['a\\s*=\\s*b', [[['a = b', 'a =b', 'a= b', 'a=b']]]],
    ['rm\\s+-rf.*secret', [[['rm -rf'], ['secret']]]],
    // Nothing to look for: a class that may be anything.
    ['[a-z]+', [[]]],
    // A single letter is too common, a rare sign is not.
    ['x', [[]]],
    ['\\u200b', [[['\u200b']]]],
  ])('%s', (pattern, expected) => {
    expect(literalsOf(pattern)).toEqual(expected);
  });

  it('tells how far a match reaches around its literals', () => {
    const [branch] = requirementsOf('\\w+\\s+needle[^\\n]{0,20}x{2}.*') ?? [];
    expect(branch?.groups[0]).toMatchObject({ literals: ['needle'] });
    expect(branch?.groups[0]?.before).toEqual(reach({ word: 1, chars: 1, space: 1 }));
    expect(branch?.groups[0]?.after).toMatchObject({ chars: 28, line: 1, unbounded: 0 });
  });

  it('tells how far apart two groups stand', () => {
    const [branch] = requirementsOf('alpha.{0,5}omega') ?? [];
    const [alpha, omega] = branch?.groups ?? [];
    expect(alpha?.gaps.get(omega?.key ?? Symbol())).toEqual(reach({ chars: 10 }));
    expect(omega?.gaps.size).toBe(0);
  });

  it('knows what only a text beyond ASCII can match', () => {
    const beyond = (pattern: string) => requirementsOf(pattern)?.map(({ pages }) => pages);
    expect(beyond('[\\u3040-\\u309f]{3,}')).toEqual([new Set([0x30])]);
    expect(beyond('a[\\u0400-\\u04ff]?')).toEqual([null]);
    // The long s equals s: an ASCII text may match.
    expect(beyond('[\\u0170-\\u0180]')).toEqual([null]);
  });

  it('counts the other case of a letter, wherever it stands', () => {
    const pagesOf = (pattern: string) => requirementsOf(pattern)?.map(({ pages }) => pages);
    // The Angstrom sign equals å, Georgian Mtavruli the letters of another page.
    expect(pagesOf('[\\u212b]')).toEqual([new Set([0x21, 0])]);
    expect(pagesOf('[\\u1c90-\\u1c92]')).toEqual([new Set([0x1c, 0x10])]);
  });

  it('takes the narrowest part of a sequence, and all parts of alternatives', () => {
    const pagesOf = (pattern: string) => requirementsOf(pattern)?.map(({ pages }) => pages);
    expect(pagesOf('[\\u3040-\\u31ff]x[\\u2600-\\u26ff]')).toEqual([new Set([0x26])]);
    expect(pagesOf('x(?:[\\u3040-\\u309f]|[\\u2600-\\u26ff])')).toEqual([new Set([0x30, 0x26])]);
  });

  it('says of what it cannot read that it must always be asked', () => {
    expect(requirementsOf('\\pN(')).toBeNull();
  });
});
