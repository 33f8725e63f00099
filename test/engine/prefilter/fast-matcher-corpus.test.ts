/**
 * The fast matcher gives exactly the plain matcher's answers: every rule that can run, over the
 * corpus's own texts, mixtures of them, and texts made of the very literals its filter looks for.
 */
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadManifest, verifyCorpus } from '../../../src/engine/corpus/corpus.ts';
import { parseRuleFile } from '../../../src/engine/corpus/rule-file.ts';
import { createMatcher, type Matcher } from '../../../src/engine/matcher/matcher.ts';
import { createPatternCompiler } from '../../../src/engine/matcher/pattern.ts';
import { createFastMatcher } from '../../../src/engine/prefilter/fast-matcher.ts';
import { createRequirementsReader } from '../../../src/engine/prefilter/requirements.ts';
import { runnableRules } from '../../../src/engine/rules/effective-set.ts';
import type { JsonValue } from '../../../src/model/json.ts';
import type { Rule } from '../../../src/model/rules.ts';
import { SURFACES, type SurfaceText } from '../../../src/model/steps.ts';
import { casesOf, isExhaustive } from '../../support/cases.ts';
import { keptMatching } from '../../support/kept-catalogue.ts';

const readRequirements = createRequirementsReader();
const ROOT = join(import.meta.dirname, '../../..');
/** Every so manyeth text of the corpus: the plain matcher takes a millisecond or more for each. */
const TEXTS_STEP = isExhaustive ? 9 : 360;
/** The same for texts that only their own rule is matched against. */
const OWN_STEP = isExhaustive ? 1 : 96;
const CAP_BYTES = 65_536;

let plain: Matcher;
let fast: Matcher;
let texts: string[];
/** rule index → the texts of its own examples */
let ownTexts: string[][];
/** the rules, by index */
let rules: readonly Rule[];

function stringsIn(value: JsonValue): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}

beforeAll(() => {
  const corpus = verifyCorpus(
    join(ROOT, 'node_modules/agent-threat-rules'),
    loadManifest(join(ROOT, 'corpus/manifest.json')),
  );
  const { catalog, tables } = keptMatching();
  rules = runnableRules(catalog.rules);
  const compile = createPatternCompiler();
  plain = createMatcher(rules, compile);
  fast = createFastMatcher(rules, compile, tables);
  const textsOf = new Map(
    corpus.files.map((file) => {
      const { truePositives, trueNegatives } = parseRuleFile(file);
      return [file.path, [...truePositives, ...trueNegatives].flatMap((one) => stringsIn(one))];
    }),
  );
  texts = [...textsOf.values()].flat();
  ownTexts = rules.map((rule) => textsOf.get(rule.file) ?? []);
}, 120_000);

/** The literals that the filter of a rule looks for, group by group. */
function requiredLiterals(rule: number): string[][] {
  const supported = (rules[rule]?.conditions ?? []).filter((one) => one.supported);
  return supported
    .flatMap(({ pattern }) => readRequirements(pattern) ?? [])
    .flatMap(({ required }) => required.map(({ literals }) => [...literals]));
}

function compare(
  given: readonly SurfaceText[],
  capBytes = CAP_BYTES,
  enabled: (ruleIndex: number) => boolean = () => true,
): number {
  const settings = { enabled, capBytes };
  const expected = plain.match(given, settings);
  expect(fast.match(given, settings)).toEqual(expected);
  const places = plain.match(given, { ...settings, everyPlace: true });
  expect(fast.match(given, { ...settings, everyPlace: true })).toEqual(places);
  // The rules and their first places do not depend on whether further ones are wanted.
  const rulesHit = new Set<number>();
  const first = places.hits.filter(({ ruleIndex }) => {
    const isFirst = !rulesHit.has(ruleIndex);
    rulesHit.add(ruleIndex);
    return isFirst;
  });
  expect(first).toEqual(expected.hits);
  expect(places.undecided).toEqual(expected.undecided);
  return expected.hits.length;
}

const surface = fc.constantFrom(...SURFACES);

describe('fast and plain matcher agree', () => {
  it('on every own example of every rule, with its own rule', () => {
    let hits = 0;
    ownTexts.forEach((own, rule) => {
      for (const [index, text] of own.entries()) {
        if ((index + rule) % OWN_STEP !== 0) continue;
        const everywhere = SURFACES.map((on) => ({ step: 0, surface: on, text }));
        hits += compare(everywhere, CAP_BYTES, (index) => index === rule);
      }
    });
    expect(ownTexts.flat().length).toBeGreaterThan(10_000);
    expect(hits).toBeGreaterThan(3000 / OWN_STEP);
  });

  it('on own examples, with all rules', () => {
    let hits = 0;
    for (let index = 0; index < texts.length; index += TEXTS_STEP) {
      const on = SURFACES[index % SURFACES.length] ?? 'step_input';
      hits += compare([{ step: 0, surface: on, text: texts[index] ?? '' }]);
    }
    expect(hits).toBeGreaterThan(1800 / TEXTS_STEP);
  });

  it('on mixtures, disguised, shouted, cut', () => {
    const piece = fc
      .tuple(fc.nat({ max: texts.length - 1 }), fc.nat({ max: 300 }), fc.nat({ max: 300 }))
      .map(([at, from, length]) => (texts[at] ?? '').slice(from, from + length + 1));
    const glue = fc.constantFrom(
      ...[
        '',
        ' ',
        '\n',
        ' \t\n ',
        '\u200b',
        'ſ',
        '\u212a',
        'é',
        'а',
        '0',
        '\v',
        '\u2028',
        '\ufeff',
        'ϲ',
        '\u{e0041}\u{e0042}\u{e0043}',
        '`',
        '\n```\n',
        '\ud83d',
        '\ude00',
      ],
    );
    const mixture = fc
      .tuple(fc.array(fc.tuple(piece, glue), { maxLength: 8 }), fc.nat({ max: 3 }))
      .map(([pieces, shape]) => {
        const text = pieces.flat().join('');
        return shape === 0 ? text.toUpperCase() : shape === 1 ? text.replaceAll('s', 'ſ') : text;
      });
    const step = fc.nat({ max: 1 });
    fc.assert(
      fc.property(
        fc.array(fc.record({ step, surface, text: mixture }), { maxLength: 3 }),
        fc.oneof(fc.constant(CAP_BYTES), fc.nat({ max: 400 })),
        (given, capBytes) => {
          compare(
            given.sort((a, b) => a.step - b.step),
            capBytes,
          );
        },
      ),
      { numRuns: casesOf(150, 5) },
    );
  });

  it('on texts made of what the filter looks for, near and far', () => {
    const gap = fc.constantFrom(
      '',
      ' ',
      '  ',
      '\n',
      '.',
      ' x ',
      '-',
      "'",
      '=',
      'x'.repeat(40),
      '\n\n y',
    );
    const ruleIndex = fc.nat({ max: rules.length - 1 });
    const picks = fc.array(fc.tuple(fc.nat(), fc.nat(), gap), { minLength: 1, maxLength: 12 });
    let hits = 0;
    fc.assert(
      fc.property(ruleIndex, picks, surface, (rule, picked, on) => {
        const groups = requiredLiterals(rule);
        const text = picked
          .map(([group, literal, between], index) => {
            // In the pattern's own order as often as not.
            const at = group % 2 === 0 ? index : group;
            const literals = groups[at % Math.max(1, groups.length)] ?? [''];
            return (literals[literal % Math.max(1, literals.length)] ?? '') + between;
          })
          .join('');
        hits += compare([{ step: 0, surface: on, text }], CAP_BYTES, (index) => index === rule);
      }),
      { numRuns: casesOf(10_000, 40) },
    );
    expect(hits).toBeGreaterThan(casesOf(20, 40));
  });
});
