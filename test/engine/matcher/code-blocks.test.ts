/**
 * Rules with `suppress_in_code_blocks`: both matchers beside the corpus's reference engine, whose rule
 * is taken over, but only for what is code as it was written.
 */
import { type AgentEvent, ATREngine, type ATRRule } from 'agent-threat-rules';
import fc from 'fast-check';
import { CORE_SCHEMA, load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { codeRanges } from '../../../src/engine/matcher/code-blocks.ts';
import { createMatcher, type Matcher } from '../../../src/engine/matcher/matcher.ts';
import { normalise, toWrittenRange } from '../../../src/engine/matcher/normalised-text.ts';
import { createPatternCompiler } from '../../../src/engine/matcher/pattern.ts';
import { createFastMatcher } from '../../../src/engine/prefilter/fast-matcher.ts';
import type { Rule } from '../../../src/model/rules.ts';
import { casesOf } from '../../support/cases.ts';
import { ruleOfYaml, type TinyRule, tinyYaml } from '../tiny-rules.ts';

const CAP_BYTES = 65_536;

/** Both matchers of a list of rules, made once for it. */
const made = new Map<readonly Rule[], Record<'plain' | 'fast', Matcher>>();

function matchersOf(rules: readonly Rule[]): Record<'plain' | 'fast', Matcher> {
  const matchers = made.get(rules) ?? {
    plain: createMatcher(rules),
    fast: createFastMatcher(rules),
  };
  made.set(rules, matchers);
  return matchers;
}

/** The ids of the rules that hit a text, by the plain and by the fast matcher, which must agree. */
function hitsOf(rules: readonly Rule[], text: string, capBytes = CAP_BYTES): string[] {
  const matchers = matchersOf(rules);
  const settings = { enabled: () => true, capBytes };
  const texts = [{ step: 0, surface: 'step_input', text }] as const;
  const plain = matchers.plain.match(texts, settings);
  expect(matchers.fast.match(texts, settings)).toEqual(plain);
  expect(plain.undecided).toEqual([]);
  return plain.hits.map(({ ruleIndex }) => rules[ruleIndex]?.id ?? '');
}

/** The same rules in both engines. */
function bothEngines(tiny: readonly TinyRule[]) {
  const engine = new ATREngine();
  const rules = tiny.map((one, index) => {
    const yaml = tinyYaml({ ...one, id: `ATR-2026-9000${index}` });
    const written = load(yaml, { schema: CORE_SCHEMA }) as ATRRule;
    engine.addRule({ ...written, agent_source: { type: 'llm_io' } } as ATRRule);
    return ruleOfYaml(yaml);
  });
  const theirs = (content: string): string[] => {
    const timestamp = new Date(0).toISOString();
    const event: AgentEvent = { type: 'llm_input', timestamp, content };
    return engine.evaluate(event).map(({ rule }) => rule.id);
  };
  return { rules, theirs };
}

const suppressed = (...conditions: [string, string][]): TinyRule => ({
  suppressInCodeBlocks: true,
  conditions,
});

const { rules, theirs } = bothEngines([
  suppressed(['user_input', 'needle']),
  suppressed(['user_input', '(?i)a\\w*\\s+needle'], ['user_input', 'hay|thread']),
  { ...suppressed(['user_input', 'needle'], ['user_input', 'hay']), condition: 'all' },
  // Matches invisible characters, which the normalised text has not.
  suppressed(['user_input', '\\u200bneedle|ne\\u200bedle']),
  suppressed(['user_input', '`+\\s*(?:needle|hay)']),
  { conditions: [['user_input', 'needle']] },
]);

const parts = fc.constantFrom(
  ...[
    'needle',
    'needle',
    'a needle',
    'hay',
    'NEEDLE',
    'nееdle',
    'ｎｅｅｄｌｅ',
    'ne\u200bedle',
    'ne\ufeffedle',
  ],
  ...[
    '\u200bneedle',
    'thread',
    ' ',
    '\t',
    '\n',
    '\n',
    '\n',
    '\r\n',
    '\r',
    '\v',
    '\u2028',
    '\u2029',
    '\u00a0',
  ],
  ...[
    '`',
    '`',
    '``',
    '```',
    '\n```',
    '\n```\n',
    '  ```js\n',
    '\u2028```',
    '``\u200b`',
    '｀｀｀',
    '｀',
    '~~~',
  ],
  ...['"', '"', '|', '\n|', '\n| ', '\u2028|', '｜', '＂', '\n｜ ', '😀', 'ﬁ', '\u0301', '\ufeff'],
);
/** The reference engine composes letters and marks before it removes what is between them. */
const SEPARATED_MARK = /[\u200b\ufeff]\u0301/;
const text = fc
  .array(parts, { maxLength: 14 })
  .map((some) => some.join(''))
  .filter((content) => !SEPARATED_MARK.test(content));

const compile = createPatternCompiler();

/** Where the leftmost match of a pattern starts in a text, in UTF-16 units. */
function firstMatch(source: string, content: string): number | null {
  const bytes = Buffer.from(content.toWellFormed());
  const found = compile(source).pattern?.find(bytes) ?? null;
  return found === null ? null : bytes.toString('utf8', 0, found.start).length;
}

const isCode = (content: string, at: number) =>
  codeRanges(content).some(({ start, end }) => start <= at && at < end);

/** White space to JavaScript, for which the rules are written, but not to RE2. */
const UNUSUAL_BLANK = /[^\S\t\n\f\r ]/g;

/** Whether the pattern matches the text as it was written, not in code: normalisation must not change it. */
function isWrittenHit(source: string, content: string): boolean {
  return [content, content.replace(UNUSUAL_BLANK, ' ')].some((written) => {
    const at = firstMatch(source, written);
    return at !== null && !isCode(content, at);
  });
}

/** Whether a match of the pattern in a normalised reading begins where the written text has no code. */
function isUncoveredHit(source: string, content: string): boolean {
  return [content, content.replaceAll('\ufeff', ' ')].some((written) => {
    const at = firstMatch(source, normalise(written));
    if (at === null) return false;
    return !isCode(content, toWrittenRange(written, { start: at, end: at + 1 }).start);
  });
}

describe('suppression in code blocks', () => {
  it('is that of the reference engine where the code is code as it was written', () => {
    const seen = new Set<string>();
    let more = 0;
    fc.assert(
      fc.property(text, (content) => {
        const shown = JSON.stringify(content);
        const expected = theirs(content).sort();
        const found = hitsOf(rules, content).sort();
        expect(found, shown).toEqual(expect.arrayContaining(expected));
        if (normalise(content) === content) expect(found, shown).toEqual(expected);
        for (const { id, condition, conditions } of rules) {
          const sources = conditions.map(({ pattern }) => pattern);
          const isHit = (by: (source: string, content: string) => boolean) =>
            condition === 'any'
              ? sources.some((source) => by(source, content))
              : sources.every((source) => by(source, content));
          if (isHit(isWrittenHit)) expect(found, shown).toContain(id);
          if (condition === 'all' || !found.includes(id) || expected.includes(id)) continue;
          const isUncovered = (source: string) =>
            isWrittenHit(source, content) || isUncoveredHit(source, content);
          expect(isHit(isUncovered), shown).toBe(true);
          more += 1;
        }
        seen.add(expected.join(' '));
      }),
      { numRuns: casesOf(3000) },
    );
    expect(seen.size).toBeGreaterThan(10);
    expect(more).toBeGreaterThan(10);
  });

  it.each([
    ['a fullwidth grave accent around it', '｀needle｀'],
    ['the Greek varia, whose canonical form is a backtick', '\u1fefneedle\u1fef'],
    ['fences of them', '｀｀｀\nneedle\n｀｀｀'],
    ['a fence of backtick and varia', '``\u1fef\nneedle'],
    ['a backtick, then a fullwidth one', '`needle｀'],
    ['an invisible character in a fence', '``\u200b`\nneedle\n``\u200b`'],
    ['an invisible character before a fence', '\u200b```\nneedle'],
    ['a fullwidth table', '\n｜ a ｜ "needle" ｜'],
    ['fullwidth quotes in a table', '| a | ＂needle＂ |'],
    ['a row of a table that begins with an invisible character', '\u2060| "needle" |'],
  ])('is not for what normalisation makes code: %s', (_name, content) => {
    expect(theirs(content)).not.toContain('ATR-2026-90000');
    expect(hitsOf(rules, content)).toContain('ATR-2026-90000');
    const disguised = content.replace('needle', 'nееdle');
    expect(hitsOf(rules, disguised)).toContain('ATR-2026-90000');
  });

  it.each([
    ['in inline code', '`nееdle`'],
    ['behind a fence that is indented with U+3000', '\u3000```\nnееdle'],
    ['in a fence behind a byte order mark', '\ufeff```\nnееdle\n```'],
  ])('is for a disguised match in code: %s', (_name, content) => {
    expect(hitsOf(rules, content)).not.toContain('ATR-2026-90000');
  });

  it('a mark behind an invisible character is composed, other than by the reference engine', () => {
    const separated = 'n\u200beedle\u200b\u0301';
    expect(theirs(separated)).not.toEqual([]);
    // As both engines read the same letters without the character between them.
    const composed = 'n\u200beedle\u0301';
    expect(theirs(composed)).toEqual([]);
    expect([hitsOf(rules, separated), hitsOf(rules, composed)]).toEqual([[], []]);
    // What is disguised by nothing but the mark matches as it was written, in both.
    for (const plain of ['needle\ufeff\u0301', 'needle\u0301']) {
      expect(hitsOf(rules, plain)).toEqual(theirs(plain).sort());
      expect(hitsOf(rules, plain)).not.toEqual([]);
    }
  });

  it.each(['\v', '\u00a0', '\u2003', '\u2028', '\u2029', '\u3000', '\ufeff'])(
    'a blank as %j is read beside letters that a mark changes',
    (blank) => {
      for (const content of [`\`${blank}needle\u0301`, `\`${blank}needle\u0301 x\``]) {
        expect(theirs(content)).toContain('ATR-2026-90004');
        expect(hitsOf(rules, content)).toEqual(theirs(content).sort());
        const long = `${content} ${'x '.repeat(300)}`;
        expect(hitsOf(rules, long, 300)).toContain('ATR-2026-90004');
        expect(hitsOf(rules, `${'x '.repeat(300)}${content}`, 300)).toContain('ATR-2026-90004');
      }
    },
  );

  it('U+FEFF as a blank of a disguised match is no hit in code, and one elsewhere, only here', () => {
    const onlyHere = 'ATR-2026-90001';
    for (const needle of ['\u200bneedle', 'ｎｅｅｄｌｅ', 'nееdle', 'ne\u200bedle']) {
      const text = `a\ufeff${needle}`;
      expect(theirs(text)).not.toContain(onlyHere);
      expect(hitsOf(rules, text).sort()).toEqual([...theirs(text), onlyHere].sort());
      const code = `\`\`\`\n${text}`;
      expect(hitsOf(rules, code).sort()).toEqual(theirs(code).sort());
    }
  });

  it.each<[string, string, boolean]>([
    ['no code', 'a needle', true],
    ['in a fence', '```\nneedle\n```', false],
    ['in a fence that does not end', 'see\n  ```sh\nneedle', false],
    ['behind a fence', '```\nx\n```\nneedle', true],
    ['in inline code', 'say `needle` here', false],
    ['between inline codes', '`a` needle `b`', true],
    ['in a quote of a table row', '| 1 | "needle" |', false],
    ['in a quote elsewhere', '1 | "needle"', true],
    ['in code, and again outside', '`needle` needle', false],
    ['outside, and again in code', 'needle `needle`', true],
  ])('%s', (_name, content, isHit) => {
    expect(theirs(content).includes('ATR-2026-90000')).toBe(isHit);
    expect(hitsOf(rules, content).includes('ATR-2026-90000')).toBe(isHit);
  });

  it('a disguised match in code does not take away a plain one behind it', () => {
    const content = '`ｎeedle` needle';
    expect(theirs(content)).not.toContain('ATR-2026-90000');
    expect(hitsOf(rules, content)).toContain('ATR-2026-90000');
    expect(hitsOf(rules, '`needle` ｎeedle')).not.toContain('ATR-2026-90000');
  });

  it('judges a match at the end of a cut text by the leftmost of the whole text', () => {
    const [rule] = rules.map((one) => [one]) as [Rule[]];
    const long = 'x '.repeat(400);
    const hits = (content: string) => hitsOf(rule, content, 400);
    expect(hits(`${long}needle`)).toHaveLength(1);
    expect(hits(`${long}\`needle\``)).toEqual([]);
    // The fence begins, or the first match is, where the text was left out.
    expect(hits(`${long}\n\`\`\`\n${long}needle`)).toEqual([]);
    expect(hits(`${long}\`needle\`${long}needle`)).toEqual([]);
    expect(hits(`${long}needle${long}\`needle\``)).toHaveLength(1);
    const tooLong = 'x '.repeat(600_000);
    expect(hits(`${tooLong}needle`)).toEqual([]);
  });

  it('sees past the cut that inline code ends, and that a match does', () => {
    const content = `${'x'.repeat(90)} \`needle and more\``;
    expect(hitsOf(rules.slice(0, 1), content, 100)).toEqual([]);
    expect(hitsOf(rules.slice(0, 1), content.replace(/`$/, ''), 100)).toHaveLength(1);
    const { rules: long } = bothEngines([suppressed(['user_input', 'a[^z]*z|needle'])]);
    expect(hitsOf(long, `\`a needle ${'x'.repeat(300)}z\``, 100)).toEqual([]);
  });

  it('takes linear time for a text full of fences and inline code', () => {
    const hostile = '```\n`a`\n```\n`b`\n'.repeat(40_000);
    const started = process.cpuUsage();
    expect(codeRanges(hostile).length).toBe(80_000);
    expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
  });

  it('is for `true` only, as in the reference engine', () => {
    const yaml = tinyYaml(suppressed(['user_input', 'needle']));
    expect(ruleOfYaml(yaml).suppressInCodeBlocks).toBe(true);
    const quoted = yaml.replace(
      '"suppress_in_code_blocks":true',
      '"suppress_in_code_blocks":"true"',
    );
    expect(ruleOfYaml(quoted).suppressInCodeBlocks).toBe(false);
  });

  it('comes before own examples are judged', () => {
    const rule = ruleOfYaml(
      tinyYaml({
        ...suppressed(['user_input', 'needle']),
        truePositives: [{ input: 'a needle' }, { input: 'a `needle`' }],
        trueNegatives: [{ input: 'see `needle`' }],
      }),
    );
    expect(rule.support).toBe('fails_own_examples');
    expect(rule.ownExamples.failed).toMatchObject([{ kind: 'true_positive', index: 1 }]);
  });
});
