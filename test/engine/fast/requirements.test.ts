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
    ['instructions?', [[['instruction']]]],
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
    const beyond = (pattern: string) => requirementsOf(pattern)?.map((one) => one.beyondAscii);
    expect(beyond('[\\u0400-\\u04ff]{3,}')).toEqual([true]);
    expect(beyond('a[\\u0400-\\u04ff]?')).toEqual([false]);
    // The long s equals s: an ASCII text may match.
    expect(beyond('[\\u0170-\\u0180]')).toEqual([false]);
  });

  it('says of what it cannot read that it must always be asked', () => {
    expect(requirementsOf('\\pN(')).toBeNull();
  });
});
