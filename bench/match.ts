/**
 * How fast texts are matched: the fast matcher compared with the plain one, all rules that can run,
 * one thread. Hits are compared text by text; a difference voids the run.
 */

import { loadManifest, verifyCorpus } from '../src/engine/corpus/corpus.ts';
import { createMatcher, type Matcher } from '../src/engine/matcher/matcher.ts';
import { createPatternCompiler } from '../src/engine/matcher/pattern.ts';
import { createFastMatcher } from '../src/engine/prefilter/fast-matcher.ts';
import {
  createRequirementsReader,
  type RequirementsReader,
} from '../src/engine/prefilter/requirements.ts';
import { createCatalog } from '../src/engine/rules/catalog.ts';
import { runnableRules } from '../src/engine/rules/effective-set.ts';
import { corpusPackageDir, MANIFEST_PATH } from '../src/main/corpus-location.ts';
import type { Rule } from '../src/model/rules.ts';
import { log, median, VoidRun } from './harness.ts';
import { type MachineFacts, machineFacts } from './machine.ts';
import { type BesideRun, runBeside } from './match/beside.ts';
import { createGenerator } from './match/generated.ts';
import { redactionRows } from './match/redaction.ts';
import { type AgainstReference, againstReference } from './match/reference.ts';
import { type TextKind, textKinds } from './match/texts.ts';
import { measureWorkers, type WorkerFacts } from './match/workers.ts';
import { type WorstText, worstText } from './match/worst.ts';

const ROUNDS = 3;
/** Of each kind in each round, other text in each: nothing is matched twice by the fast matcher. */
const DISTINCT_BYTES = 2_000_000;
const QUICK_BYTES = 1_000_000;
/** Other texts before the first round: they compile the patterns that such texts need. */
const WARM_UP_BYTES = 400_000;
/** Texts of a kind that the plain matcher, which is a hundred times slower, matches. */
const PLAIN_TEXTS = 12;
const SETTINGS = { enabled: () => true, capBytes: 65_536 };

export interface MatchMeasured {
  readonly kind: string;
  readonly texts: number;
  readonly hits: number;
  /** megabytes of text per second of CPU time, one thread: median and every value */
  readonly plain: number;
  readonly fast: number;
  readonly ratio: number;
  readonly rawPlain: readonly number[];
  readonly rawFast: readonly number[];
  /** another engine on the same texts, in turn with ours; null without `--beside` */
  readonly beside: BesideMeasured | null;
}

interface BesideMeasured extends BesideRun {
  readonly raw: readonly number[];
}

export interface MatchOptions {
  /** another engine's program (`match/beside.ts`) */
  readonly beside?: string;
  /** seconds of each search for the slowest text */
  readonly worst: number;
}

export interface MatchResult {
  readonly name: 'match';
  readonly machine: MachineFacts;
  readonly rules: number;
  readonly patterns: number;
  readonly kinds: readonly MatchMeasured[];
  /** distinct text of each kind in a round; null in results of the same few texts, by the clock */
  readonly distinctBytes: number | null;
  readonly reference: AgainstReference;
  readonly workers: WorkerFacts;
  readonly worst: readonly WorstText[];
}

function match(matcher: Matcher, text: string) {
  return matcher.match([{ step: 0, surface: 'tool_result', text }], SETTINGS);
}

const MICROSECONDS = 1e6;

/** @returns megabytes per second of this process's CPU time */
function run(matcher: Matcher, texts: readonly string[]): number {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const before = process.cpuUsage();
  for (const text of texts) match(matcher, text);
  const { user, system } = process.cpuUsage(before);
  return bytes / 1e6 / ((user + system) / MICROSECONDS);
}

function check(plain: Matcher, fast: Matcher, name: string, texts: readonly string[]): number {
  let hits = 0;
  for (const text of texts) {
    const expected = match(plain, text);
    if (JSON.stringify(match(fast, text)) !== JSON.stringify(expected)) {
      throw new VoidRun(`the matchers disagree on a text of ${name}`);
    }
    hits += expected.hits.length;
  }
  return hits;
}

function measure(
  plain: Matcher,
  fast: Matcher,
  kind: TextKind,
  kinds: readonly TextKind[],
  program: string | null,
): MatchMeasured {
  const generate = createGenerator(kind, kinds);
  const warmUp = generate(0, WARM_UP_BYTES);
  run(fast, warmUp);
  const hits = check(plain, fast, kind.name, warmUp.slice(0, PLAIN_TEXTS));
  const rawPlain: number[] = [];
  const rawFast: number[] = [];
  const besides: BesideRun[] = [];
  let texts = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const own = generate(round + 1, DISTINCT_BYTES);
    texts = own.length;
    const runPlain = () => rawPlain.push(run(plain, own.slice(0, PLAIN_TEXTS)));
    const runFast = () => rawFast.push(run(fast, own));
    const runOther = () => (program === null ? 0 : besides.push(runBeside(program, own)));
    const turn = [runPlain, runFast, runOther];
    for (const next of round % 2 === 0 ? turn : turn.toReversed()) next();
  }
  const [slow, quick] = [median(rawPlain), median(rawFast)];
  const beside = besideOf(besides);
  const other = beside === null ? '' : `, ${beside.engine} ${beside.mbPerSecond}`;
  log(`${kind.name}: ${slow.toFixed(2)} → ${quick.toFixed(1)} MB/s${other}`);
  return {
    kind: kind.name,
    texts,
    hits,
    plain: Number(slow.toFixed(3)),
    fast: Number(quick.toFixed(2)),
    ratio: Number((quick / slow).toFixed(1)),
    rawPlain: rawPlain.map((value) => Number(value.toFixed(3))),
    rawFast: rawFast.map((value) => Number(value.toFixed(2))),
    beside,
  };
}

function besideOf(runs: readonly BesideRun[]): BesideMeasured | null {
  const [first] = runs;
  if (first === undefined) return null;
  const raw = runs.map(({ mbPerSecond }) => mbPerSecond);
  return { ...first, mbPerSecond: Number(median(raw).toFixed(2)), raw };
}

/** Prints what redaction takes, and how fast the fast matcher alone is, to compare versions of Node.js in half a minute. */
export function quickMatchBench(): void {
  redactionRows();
  const { corpus, rules } = readRules();
  const fast = createFastMatcher(rules, createPatternCompiler());
  const kinds = textKinds(corpus);
  for (const kind of kinds) {
    const generate = createGenerator(kind, kinds);
    run(fast, generate(0, WARM_UP_BYTES));
    log(`${kind.name}: ${run(fast, generate(1, QUICK_BYTES)).toFixed(1)} MB/s`);
  }
}

/** The slowest texts that are found, for all rules and for the stable ones. */
function worstTexts(rules: readonly Rule[], read: RequirementsReader, seconds: number) {
  const stable = rules.filter(({ status }) => status === 'stable');
  return [
    worstText('all rules', rules, read, seconds),
    worstText('stable rules', stable, read, seconds),
  ];
}

/** Only prints the slowest texts. */
export function worstBench(seconds: number): void {
  const { rules, read } = readRules();
  for (const one of worstTexts(rules, read, seconds)) log(JSON.stringify(one));
}

function readRules() {
  const corpus = verifyCorpus(corpusPackageDir(), loadManifest(MANIFEST_PATH));
  const read = createRequirementsReader();
  return { corpus, read, rules: runnableRules(createCatalog(corpus, read).rules) };
}

/** Runs the benchmark. */
export async function matchBench({ beside, worst }: MatchOptions): Promise<MatchResult> {
  const machine = machineFacts();
  const { corpus, read, rules } = readRules();
  const kinds = textKinds(corpus);
  const compile = createPatternCompiler();
  const plain = createMatcher(rules, compile);
  const fast = createFastMatcher(rules, compile);
  const measured = kinds.map((kind) => measure(plain, fast, kind, kinds, beside ?? null));
  const small = kinds.filter(({ name }) => / 2 KB$/.test(name));
  const reference = await againstReference(small, rules, corpus);
  const differing = [...reference.onlyReference, ...reference.onlyHere];
  if (differing.length > 0) throw new VoidRun(`the reference differs: ${differing.join(', ')}`);
  const mixed = small.flatMap(({ texts }) => texts);
  const workers = await measureWorkers(rules, read, mixed);
  return {
    name: 'match',
    machine,
    rules: rules.length,
    patterns: new Set(
      rules.flatMap(({ conditions }) =>
        conditions.flatMap((one) => (one.supported ? one.pattern : [])),
      ),
    ).size,
    kinds: measured,
    distinctBytes: DISTINCT_BYTES,
    reference,
    workers,
    worst: worstTexts(rules, read, worst),
  };
}
