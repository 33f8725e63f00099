import { describe, expect, it } from 'vitest';
import { spellingsOf } from '../../../src/engine/prefilter/case-equivalents.ts';
import { type Extent, NO_EXTENT } from '../../../src/engine/prefilter/match-extent.ts';
import { createRequirementsReader } from '../../../src/engine/prefilter/requirements.ts';
import { pageOf } from '../../../src/engine/prefilter/unicode-pages.ts';

const requirementsOf = createRequirementsReader();

/** branch → required set → literals */
const literalsOf = (pattern: string) =>
  requirementsOf(pattern)?.map(({ required }) => required.map(({ literals }) => literals));

const extent = (parts: Partial<Extent>): Extent => ({ ...NO_EXTENT, ...parts });

describe('the requirements of a pattern', () => {
  it.each<[string, unknown]>([
    ['ignore', [[['ignore']]]],
    ['(?i)IGNORE', [[['ignore']]]],
    ['ignore|forget', [[['ignore']], [['forget']]]],
    ['(?:ignore|forget)\\s+all', [[['forget all', 'ignore all']]]],
    ['instructions?', [[['instruction']]]],
    ['port:\\d', [[['port:0']]]],
    ['a\\s*=\\s*b', [[['a = b', 'a =b', 'a= b', 'a=b']]]],
    ['rm\\s+-rf.*secret', [[['rm -rf'], ['secret']]]],
    // No literals: the class has too many characters.
    ['[a-z]+', [[]]],
    // A single letter is too common, a rare sign is not.
    ['x', [[]]],
    ['\\u200b', [[['\u200b']]]],
  ])('%s', (pattern, expected) => {
    expect(literalsOf(pattern)).toEqual(expected);
  });

  it('have the extent of a match around its literals', () => {
    const [branch] = requirementsOf('\\w+\\s+needle[^\\n]{0,20}x{2}.*') ?? [];
    expect(branch?.required[0]).toMatchObject({ literals: ['needle'] });
    expect(branch?.required[0]?.before).toEqual(extent({ word: 1, chars: 1, space: 1 }));
    expect(branch?.required[0]?.after).toMatchObject({ chars: 28, line: 1, unbounded: 0 });
  });

  it('have the gap between two sets of literals', () => {
    const [branch] = requirementsOf('alpha.{0,5}omega') ?? [];
    const [alpha, omega] = branch?.required ?? [];
    expect(alpha?.gaps.get(omega?.key ?? Symbol())).toEqual(extent({ chars: 10 }));
    expect(omega?.gaps.size).toBe(0);
  });

  it('have the pages of a pattern that no ASCII text can match', () => {
    const beyond = (pattern: string) => requirementsOf(pattern)?.map(({ pages }) => pages);
    expect(beyond('[\\u3040-\\u309f]{3,}')).toEqual([[[0x608, 0x613]]]);
    expect(beyond('a[\\u0400-\\u04ff]?')).toEqual([null]);
    // The long s equals s: an ASCII text may match.
    expect(beyond('[\\u0170-\\u0180]')).toEqual([null]);
  });

  it('have the pages of other cases of a letter', () => {
    const touchedBy = (pattern: string) => [
      ...new Set(requirementsOf(pattern)?.flatMap(({ pages }) => (pages ?? []).flat())),
    ];
    // The Angstrom sign equals å, Georgian Mtavruli the letters of another page.
    expect(touchedBy('[\\u212b]')).toEqual([0x212b, 0xc5, 0xe5].map(pageOf));
    expect(touchedBy('[\\u1c90-\\u1c92]')).toEqual([0x1c90, 0x10d0].map(pageOf));
  });

  it('have the smallest pages of a sequence, all pages of alternatives', () => {
    const pagesOf = (pattern: string) => requirementsOf(pattern)?.map(({ pages }) => pages);
    expect(pagesOf('[\\u3040-\\u31ff]x[\\u2600-\\u26ff]')).toEqual([[[0x4c0, 0x4df]]]);
    expect(pagesOf('x(?:[\\u3040-\\u309f]|[\\u2600-\\u26ff])')).toEqual([
      [
        [0x608, 0x613],
        [0x4c0, 0x4df],
      ],
    ]);
  });

  it.each<[string, Partial<Extent>]>([
    // A repeated group stays inside the run that contains each of its characters.
    ['(?:ab|c)*needle', { word: 1 }],
    ['(?:a=)*needle', { solid: 1 }],
    ['(?:, )*needle', { gap: 1 }],
    ['[\\s,.]*needle', { gap: 1 }],
    ['(?:[^\\n]a)*needle', { line: 1 }],
    ['(?:\\s\\w)*needle', { unbounded: 1 }],
    ['(?s)(?:.)*needle', { unbounded: 1 }],
  ])('%s can begin this far before its literal', (pattern, expected) => {
    const found = requirementsOf(pattern)?.[0]?.required.find(({ literals }) =>
      literals.includes('needle'),
    );
    const { chars, ...runs } = { ...NO_EXTENT, ...expected };
    expect(found?.before).toMatchObject(runs);
    expect(found?.before.chars).toBeLessThanOrEqual(chars + 2);
  });

  it('are read from needless escapes', () => {
    expect(literalsOf('say \\"hush\\" 🔓')).toEqual([[['say "hush" 🔓']]]);
  });

  it('have the beginning of a literal with too many spellings', () => {
    expect(spellingsOf('ab')).toEqual(['ab']);
    expect(spellingsOf('предоставл')?.every((one) => /^[пП]/.test(one))).toBe(true);
  });

  it('are null for a pattern that cannot be parsed', () => {
    expect(requirementsOf('\\pN(')).toBeNull();
    expect(requirementsOf('[[:alpha:]]x')).toBeNull();
  });
});
