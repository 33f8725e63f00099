/**
 * Owns the test of a rule by its own examples: it must hit its true positives and not its true
 * negatives, with the matcher of the pass and the conditions that are supported. A rule that ships no
 * example has not passed.
 *
 * The tables below map the members of an example to the surfaces that their text would have in a run.
 */
import type { JsonValue } from '../../model/json.ts';
import { type FailedExample, hasNoExamples, type Measured, type Rule } from '../../model/rules.ts';
import type { Surface, SurfaceText } from '../../model/steps.ts';
import type { OwnCase, RuleDocument } from '../corpus/rule-file.ts';
import type { PatternCompiler } from '../matcher/pattern.ts';
import { createFastMatcher, tablesOf } from '../prefilter/fast-matcher.ts';
import type { RequirementsReader } from '../prefilter/requirements.ts';
import { isObject } from '../surfaces/reader/value-text.ts';
import type { ClassifiedRule } from './classify.ts';
import { surfacesOf } from './fields.ts';

const MEMBER_SURFACES: Readonly<Record<string, Surface>> = {
  tool_args: 'tool_args',
  tool_response: 'tool_result',
  response: 'tool_result',
  agent_output: 'agent_output',
  tool_name: 'tool_name',
};

/**
 * Tries a rule's own examples and, if it passes, its author's other texts.
 * @returns the rule with the outcome; its support is `fails_own_examples` if a case failed or it
 *   has none. An unsupported rule is not tried.
 */
export function tryOwnExamples(
  rule: ClassifiedRule,
  document: RuleDocument,
  compile: PatternCompiler,
  read?: RequirementsReader,
): Rule {
  const { truePositives, trueNegatives, evasionTests, quality } = document;
  const failed: FailedExample[] = [];
  const untried = withOutcome(rule, document, { failed, measured: UNMEASURED });
  if (rule.support === 'unsupported') return untried;

  const rules = [untried];
  // The place of a match decides if it begins in code.
  const compiler = rule.suppressInCodeBlocks ? compile : withoutLocating(compile);
  const matcher = createFastMatcher(rules, compiler, tablesOf(rules, read));
  const settings = { enabled: () => true, capBytes: Number.POSITIVE_INFINITY };
  const tryCases = (kind: FailedExample['kind'], cases: readonly OwnCase[]) => {
    cases.forEach((one, index) => {
      const texts = caseTexts(one, rule);
      const { hits, undecided } = matcher.match(texts, settings);
      const why =
        kind === 'true_positive' && texts.length === 0
          ? NO_SURFACE
          : verdict(kind, hits[0]?.conditionIndex, undecided[0]?.message);
      if (why !== null) failed.push({ kind, index, why });
    });
  };
  tryCases('true_positive', truePositives);
  tryCases('true_negative', trueNegatives);
  if (failed.length > 0) return withOutcome(rule, document, { failed, measured: UNMEASURED });

  const measure = (inputs: readonly string[]): Measured => {
    const hits = inputs.filter(
      (input) => matcher.match(caseTexts({ input }, rule), settings).hits.length > 0,
    );
    return { texts: inputs.length, found: hits.length };
  };
  const evasions = (isCaught: boolean) =>
    evasionTests.filter((one) => one.isCaught === isCaught).map(({ input }) => input);
  const measured = {
    caughtEvasions: measure(evasions(true)),
    otherEvasions: measure(evasions(false)),
    falsePositives: measure(quality.falsePositives),
  };
  return withOutcome(rule, document, { failed, measured });
}

interface Outcome {
  readonly failed: readonly FailedExample[];
  readonly measured: Rule['measured'];
}

export function withOutcome(
  rule: ClassifiedRule,
  { truePositives, trueNegatives }: Pick<RuleDocument, 'truePositives' | 'trueNegatives'>,
  { failed, measured }: Outcome,
): Rule {
  const counted = { truePositives: truePositives.length, trueNegatives: trueNegatives.length };
  const fails = failed.length > 0 || (rule.support !== 'unsupported' && hasNoExamples(counted));
  const support = fails ? 'fails_own_examples' : rule.support;
  return { ...rule, support, ownExamples: { ...counted, failed }, measured };
}

const NONE: Measured = { texts: 0, found: 0 };
/** Of a rule that does not run, or whose author gave no such texts. */
export const UNMEASURED: Rule['measured'] = {
  caughtEvasions: NONE,
  otherEvasions: NONE,
  falsePositives: NONE,
};

/**
 * A compiler of patterns that do not locate their match. The place is not needed here, and to find it
 * RE2 compiles each pattern a second time, backwards (6 of the 8 s that the corpus's examples took;
 * 2 cores, Node 20).
 */
function withoutLocating(compile: PatternCompiler): PatternCompiler {
  const find = (bytes: Buffer) => ({ start: 0, end: bytes.byteLength });
  return (source) => {
    const compiled = compile(source);
    if (compiled.pattern === null) return compiled;
    const { test } = compiled.pattern;
    return {
      pattern: { test, mayMatch: test, find, findFrom: find, findShort: find },
      reason: null,
    };
  };
}

/** A text like a tool's description is in no run, so the pass could not find it. */
const NO_SURFACE = 'its text has no surface in a run';

function verdict(
  kind: FailedExample['kind'],
  hit: number | undefined,
  undecided: string | undefined,
): string | null {
  if (undecided !== undefined) return `could not be decided: ${undecided}`;
  if (kind === 'true_positive') return hit === undefined ? 'no surviving condition matches' : null;
  return hit === undefined ? null : `condition ${hit} matches`;
}

/**
 * Members that name none: the corpus's authors use them for any text that the rule matches. Its
 * reference runner, too, takes `user_input` for `input`, and matches `input` with a condition of any
 * field.
 */
const OTHER_MEMBERS = ['input', 'user_input', 'content'] as const;

export function caseTexts(one: OwnCase, rule: Pick<ClassifiedRule, 'conditions'>): SurfaceText[] {
  const texts: SurfaceText[] = [];
  const add = (surfaces: Iterable<Surface>, value: JsonValue | undefined) => {
    if (value === undefined || value === null || value === '') return;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    for (const surface of surfaces) texts.push({ step: 0, surface, text });
  };
  const ruleSurfaces = readSurfaces(one, rule);
  const addMembers = (members: OwnCase) => {
    for (const [member, surface] of Object.entries(MEMBER_SURFACES)) {
      add([surface], members[member]);
    }
  };
  addMembers(one);
  for (const member of OTHER_MEMBERS) {
    const value = one[member];
    if (isObject(value)) addMembers(value);
    else add(ruleSurfaces, value);
  }
  const call = one.tool_call;
  if (isObject(call)) addMembers({ tool_name: call.name ?? '', tool_args: call.args ?? '' });
  return texts;
}

/**
 * The surfaces of a text without one: of each field that the rule reads, except a tool's name, which
 * is an identifier and no document.
 */
function readSurfaces(one: OwnCase, rule: Pick<ClassifiedRule, 'conditions'>): Set<Surface> {
  const named = one.detection_field;
  const fields =
    typeof named === 'string' ? [named] : rule.conditions.map((condition) => condition.field);
  const surfaces = new Set<Surface>();
  for (const field of fields) {
    const [first] = surfacesOf(field);
    if (first !== undefined && first !== 'tool_name') surfaces.add(first);
  }
  return surfaces;
}
