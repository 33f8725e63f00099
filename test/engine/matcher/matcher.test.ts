import { describe, expect, it } from 'vitest';
import { createMatcher } from '../../../src/engine/matcher/matcher.ts';
import type { Compiled } from '../../../src/engine/matcher/pattern.ts';
import { tinyRule } from '../tiny-rules.ts';
import { describeMatcher } from './matcher-suite.ts';

describeMatcher('plain matcher', (rules) => createMatcher(rules));

describe('plain matcher: undecided', () => {
  const rule = tinyRule({
    conditions: [
      ['content', 'breaks'],
      ['content', 'works'],
    ],
  });
  const settings = { enabled: () => true, capBytes: 1000 };
  const broken = (source: string): Compiled => ({
    pattern: {
      test: (bytes) => {
        if (source === 'breaks') throw new Error('out of memory');
        return bytes.includes(source);
      },
      mayMatch: () => true,
      find: (bytes) => ({ start: bytes.indexOf(source), end: bytes.indexOf(source) + 5 }),
      findFrom: (bytes, from) => {
        const start = bytes.indexOf(source, from);
        return start === -1 ? null : { start, end: start + 5 };
      },
      findShort: () => null,
    },
    reason: null,
  });

  it('never reports as clean what failed', () => {
    const texts = [{ step: 0, surface: 'step_input', text: 'quiet' } as const];
    expect(createMatcher([rule], broken).match(texts, settings)).toEqual({
      hits: [],
      undecided: [{ ruleIndex: 0, message: 'out of memory' }],
      texts: 1,
      truncated: 0,
    });
  });

  it('puts a question once per text, and not past the step that answers it', () => {
    const matched: string[] = [];
    const listening = (source: string): Compiled => ({
      pattern: {
        test: (bytes) => {
          matched.push(`${source}: ${bytes}`);
          return bytes.includes(source);
        },
        mayMatch: () => true,
        find: (bytes) => ({ start: bytes.indexOf(source), end: bytes.indexOf(source) + 5 }),
        findFrom: () => null,
        findShort: () => null,
      },
      reason: null,
    });
    const texts = [
      { step: 0, surface: 'step_input', text: 'quiet' },
      { step: 0, surface: 'tool_args', text: 'quiet' },
      { step: 1, surface: 'tool_args', text: 'it breaks' },
      { step: 2, surface: 'tool_args', text: 'it works' },
    ] as const;
    createMatcher([rule], listening).match(texts, settings);
    expect(matched).toEqual(['breaks: quiet', 'breaks: it breaks', 'works: quiet']);
  });

  it('reports a hit that another condition found', () => {
    const texts = [{ step: 0, surface: 'step_input', text: 'it works' } as const];
    const { hits, undecided } = createMatcher([rule], broken).match(texts, settings);
    expect(hits).toMatchObject([{ conditionIndex: 1, start: 3, end: 8 }]);
    expect(undecided).toEqual([]);
  });

  it('a rule that was found may have further places where matching it failed', () => {
    const texts = [{ step: 0, surface: 'step_input', text: 'it works' } as const];
    const every = createMatcher([rule], broken).match(texts, { ...settings, everyPlace: true });
    expect(every).toMatchObject({ hits: [{ start: 3 }], undecided: [], unsure: [0] });
    const sound = createMatcher([rule]).match(texts, { ...settings, everyPlace: true });
    expect(sound).toMatchObject({ hits: [{ start: 3 }], unsure: [] });
    const second = (source: string): Compiled => ({
      pattern: {
        test: (bytes) => bytes.includes(source),
        mayMatch: () => true,
        find: (bytes) => ({ start: bytes.indexOf(source), end: bytes.indexOf(source) + 5 }),
        findFrom: () => {
          throw new Error('out of memory');
        },
        findShort: () => null,
      },
      reason: null,
    });
    const two = [...texts, { step: 1, surface: 'step_input', text: 'works again' } as const];
    const half = createMatcher([rule], second).match(two, { ...settings, everyPlace: true });
    expect(half).toMatchObject({ undecided: [], unsure: [0] });
    expect(half.hits[0]).toMatchObject({ textIndex: 0, start: 3 });
  });

  it('is undecided when a hit cannot be found again', () => {
    const forgetful = (): Compiled => ({
      pattern: {
        test: () => true,
        mayMatch: () => true,
        find: () => null,
        findFrom: () => null,
        findShort: () => null,
      },
      reason: null,
    });
    const texts = [{ step: 0, surface: 'step_input', text: 'x' } as const];
    const { hits, undecided } = createMatcher([rule], forgetful).match(texts, settings);
    expect(hits).toEqual([]);
    expect(undecided).toHaveLength(1);
  });

  it('is undecided when a program does not compile after all', () => {
    const refuse = (): Compiled => ({ pattern: null, reason: { code: 'x', message: 'no memory' } });
    const texts = [{ step: 0, surface: 'step_input', text: 'x' } as const];
    expect(createMatcher([rule], refuse).match(texts, settings).undecided).toEqual([
      { ruleIndex: 0, message: 'condition 0: no memory' },
    ]);
  });
});
