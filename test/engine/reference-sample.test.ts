/**
 * Sluice beside the corpus's reference engine on 20,000 texts that neither has seen: written from the
 * patterns of the rules, and disguised. Every difference has a cause in the table of
 * docs/decisions/0012-rules-as-written.md. `npm test` tries the first 500 of them; exhaustive runs
 * try all, and `EXHAUSTIVE=1 … -u` writes how many texts each cause explains.
 *
 * A difference is explained by a cause if the text without it is a hit for both engines, or if it comes
 * from the rule itself (a condition that cannot run).
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ATREngine, type ATRRule } from 'agent-threat-rules';
import { CORE_SCHEMA, load } from 'js-yaml';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { REFERENCE_SOURCE, toReferenceEvent } from '../../bench/match/reference.ts';
import { loadManifest, verifyCorpus } from '../../src/engine/corpus/corpus.ts';
import { createMatcher, type Matcher } from '../../src/engine/matcher/matcher.ts';
import { normalise } from '../../src/engine/matcher/normalised-text.ts';
import { createPatternCompiler } from '../../src/engine/matcher/pattern.ts';
import { splitFlags } from '../../src/engine/matcher/pattern-syntax.ts';
import { divideWords, type RuleWords, wordsOf } from '../../src/engine/matcher/word-gaps.ts';
import { createFastMatcher } from '../../src/engine/prefilter/fast-matcher.ts';
import { runnableRules } from '../../src/engine/rules/effective-set.ts';
import type { Rule } from '../../src/model/rules.ts';
import { SURFACES } from '../../src/model/steps.ts';
import { casesOf, isExhaustive } from '../support/cases.ts';
import { keptMatching } from '../support/kept-catalogue.ts';
import { Sampler } from './sample-text.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = join(ROOT, 'docs/decisions/0012-rules-as-written.md');
const TEXTS = casesOf(20_000, 80);
const SEED = 24;
/** Every difference has at most so many causes. */
const CAUSES_MAX = 4;

const SPACE = /[\v\u1680\u00a0\u2000-\u200a\u202f\u205f\u3000]/g;
const LINE_END = /[\r\u2028\u2029]/g;
/** What the reference engine removes. */
const REMOVED = /[\u200b-\u200f\ufeff\u2060\u180e\u202a-\u202e\u2066-\u2069]/g;

/**
 * Causes that are in a text, by their names in the table: the text without them, in each way in which
 * it may read to the engine that missed it.
 */
const IN_TEXT: readonly (readonly [cause: string, without: (text: string) => string])[] = [
  ['white space, `\\s`', (text) => text.replace(SPACE, ' ')],
  ['white space, `\\s`', (text) => text.replace(SPACE, 'x')],
  ['U+FEFF', (text) => text.replaceAll('\ufeff', ' ')],
  ['U+FEFF', (text) => text.replaceAll('\ufeff', '')],
  ['U+FEFF', (text) => text.replaceAll('\ufeff', '-')],
  ['U+FEFF', (text) => divideWords(text, ruleWords()).replaceAll('\ufeff', '')],
  ['`.` and line ends', (text) => text.replace(LINE_END, ' ')],
  ['`.` and line ends', (text) => text.replace(LINE_END, 'x')],
  ['letter case', (text) => text.replaceAll('ſ', 's').replaceAll('\u212a', 'k')],
  ['characters past U+FFFF', (text) => text.replace(/[\u{10000}-\u{10ffff}]/gu, '☃')],
  ['invisible characters', (text) => text.replace(/\p{DI}/gu, '')],
  ['invisible characters', (text) => text.replace(REMOVED, '')],
  ['look-alikes', (text) => [...text].map((letter) => latinOf(letter)).join('')],
];
/** Those that are in a rule. */
const LOST = 'lost conditions';
const PAIRS = 'surrogate pairs in a pattern';

/** Whether a condition matches when JavaScript reads pairs as characters, as with the flag `u`. */
function matchesByCharacter({ conditions }: Rule, text: string): boolean {
  return conditions.some(({ supported, pattern }) => {
    if (!supported || !/[\ud800-\udfff]/.test(pattern)) return false;
    const program = new RegExp(splitFlags(pattern).body, 'iu');
    return program.test(text) || program.test(normalise(text));
  });
}

function latinOf(letter: string): string {
  const read = normalise(letter);
  return /^[A-Za-z]$/.test(read) ? read : letter;
}

let rules: Rule[];
let ruleWords: RuleWords;
let fast: Matcher;
let plain: Matcher;
const engines = new Map<string, ATREngine>();
let noRules: string;

beforeAll(() => {
  const { catalog, tables } = keptMatching();
  rules = runnableRules(catalog.rules);
  ruleWords = wordsOf(rules.flatMap(({ conditions }) => conditions.map(({ pattern }) => pattern)));
  const compile = createPatternCompiler();
  fast = createFastMatcher(rules, compile, tables);
  plain = createMatcher(rules, compile);
  noRules = mkdtempSync(join(tmpdir(), 'sluice-no-rules-'));
  const corpus = verifyCorpus(
    join(ROOT, 'node_modules/agent-threat-rules'),
    loadManifest(join(ROOT, 'corpus/manifest.json')),
  );
  for (const { path, bytes } of corpus.files) {
    const written = load(bytes.toString(), { schema: CORE_SCHEMA }) as ATRRule;
    const engine = new ATREngine({ rulesDir: noRules });
    engine.addRule({
      ...written,
      status: 'experimental',
      agent_source: REFERENCE_SOURCE,
    } as ATRRule);
    engines.set(path, engine);
  }
}, 120_000);

afterAll(() => rmSync(noRules, { recursive: true, force: true }));

const theirs = (rule: Rule, text: string): boolean =>
  (engines.get(rule.file)?.evaluate(toReferenceEvent(text)).length ?? 0) > 0;

/** By the fast and the plain matcher, which must agree, also on a text that is cut in half. */
function ours(ruleIndex: number, text: string): boolean {
  const enabled = (index: number) => index === ruleIndex;
  const texts = SURFACES.map((surface) => ({ step: 0, surface, text }));
  const [half, whole] = [Buffer.byteLength(text) >> 1, 1024 * 1024].map((capBytes) => {
    const result = fast.match(texts, { enabled, capBytes });
    expect(result).toEqual(plain.match(texts, { enabled, capBytes }));
    expect(result.undecided).toEqual([]);
    return result.hits.length > 0;
  });
  // The cap may lose a match, but never invent one.
  expect(half === true && whole === false, JSON.stringify(text)).toBe(false);
  return whole === true;
}

/** Every choice from a list, small ones first. */
function* combinations<Item>(items: readonly Item[], most: number): Generator<Item[]> {
  for (let size = 1; size <= most; size += 1) yield* chosen(items, size);
}

function* chosen<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  if (size === 0) yield [];
  else {
    for (const [index, item] of items.entries()) {
      for (const rest of chosen(items.slice(index + 1), size - 1)) yield [item, ...rest];
    }
  }
}

/** The causes of a difference; null if it has none that is known. */
function causesOf(rule: Rule, ruleIndex: number, text: string, isOurs: boolean): string[] | null {
  for (const some of combinations(IN_TEXT, CAUSES_MAX)) {
    const without = some.reduce((rest, [, remove]) => remove(rest), text);
    if (without === text) continue;
    const isHit = isOurs ? theirs(rule, without) : ours(ruleIndex, without);
    if (isHit) return [...new Set(some.map(([cause]) => cause))];
  }
  if (isOurs) return matchesByCharacter(rule, text) ? [PAIRS] : null;
  return rule.support === 'degraded' ? [LOST] : null;
}

it('differs by causes that are listed and decided, and by no other', async () => {
  const sampler = new Sampler(SEED);
  const conditions = rules.flatMap((rule, ruleIndex) =>
    rule.conditions.map(({ pattern }) => ({ rule, ruleIndex, pattern })),
  );
  const counts = new Map<string, number>();
  const unexplained: string[] = [];
  const only = { here: 0, there: 0 };
  let texts = 0;
  let hits = 0;
  for (let turn = 0; texts < TEXTS; turn += 1) {
    const one = conditions[turn % conditions.length];
    const written = one === undefined ? null : sampler.textOf(one.pattern);
    if (one === undefined || written === null) continue;
    const { rule, ruleIndex } = one;
    const text = sampler.disguised(written);
    texts += 1;
    const isOurs = ours(ruleIndex, text);
    if (isOurs) hits += 1;
    if (isOurs === theirs(rule, text)) continue;
    only[isOurs ? 'here' : 'there'] += 1;
    const causes = causesOf(rule, ruleIndex, text, isOurs);
    if (causes === null)
      unexplained.push(`${rule.id} ${isOurs ? 'here' : 'there'} ${JSON.stringify(text)}`);
    for (const cause of causes ?? []) counts.set(cause, (counts.get(cause) ?? 0) + 1);
  }
  expect(hits).toBeGreaterThan(TEXTS / 2);
  expect(unexplained).toEqual([]);

  const page = readFileSync(PAGE, 'utf8');
  for (const cause of [...IN_TEXT.map(([name]) => name), LOST, PAIRS])
    expect(page).toContain(`| ${cause} |`);
  if (!isExhaustive) return;
  const count = (number: number | undefined) => number?.toLocaleString('en') ?? '–';
  const filled = page
    .replace(/^\| (.+?) \|( +[^|]+\|){3} ([\d,]+|–) \|$/gm, (row, cause: string) =>
      row.replace(/\| ([\d,]+|–) \|$/, `| ${count(counts.get(cause))} |`),
    )
    .replace(
      /[\d,–]+ are hits only here, [\d,–]+ only there/,
      `${count(only.here)} are hits only here, ${count(only.there)} only there`,
    );
  await expect(filled).toMatchFileSnapshot(PAGE);
}, 240_000);
