/**
 * Owns the second gate: a rule must catch its own true positives and pass its own true negatives,
 * with the matcher of the pass and on the conditions that survived classification.
 *
 * The table of placements below says on which surface a case's text would stand in a run.
 */
import type { FailedExample, JsonValue, Rule, Surface, SurfaceText } from '../../model.ts';
import type { OwnCase, RuleDocument } from '../corpus/rule-file.ts';
import type { PatternCompiler } from '../matcher/pattern.ts';
import { createFastMatcher, tablesOf } from '../prefilter/fast-matcher.ts';
import type { RequirementsReader } from '../prefilter/requirements.ts';
import { isObject } from '../surfaces/reader/value-text.ts';
import type { ClassifiedRule } from './classify.ts';
import { surfacesOf } from './fields.ts';

/** Members that name their text's place. */
const MEMBER_SURFACES: Readonly<Record<string, Surface>> = {
  tool_args: 'tool_args',
  tool_response: 'tool_result',
  response: 'tool_result',
  agent_output: 'agent_output',
  tool_name: 'tool_name',
};

/**
 * Tries a rule's own examples.
 * @returns the rule with the outcome; its support is `fails_own_examples` when a case failed.
 *   An unsupported rule is not tried.
 */
export function tryOwnExamples(
  rule: ClassifiedRule,
  { truePositives, trueNegatives }: RuleDocument,
  compile: PatternCompiler,
  read?: RequirementsReader,
): Rule {
  const failed: FailedExample[] = [];
  const counted = { truePositives: truePositives.length, trueNegatives: trueNegatives.length };
  const untried: Rule = { ...rule, ownExamples: { ...counted, failed } };
  if (rule.support === 'unsupported') return untried;

  const rules = [untried];
  const matcher = createFastMatcher(rules, withoutPlaces(compile), tablesOf(rules, read));
  const settings = { enabled: () => true, capBytes: Number.POSITIVE_INFINITY };
  const tryCases = (kind: FailedExample['kind'], cases: readonly OwnCase[]) => {
    cases.forEach((one, index) => {
      const { hits, undecided } = matcher.match(placeCase(one, rule), settings);
      const why = verdict(kind, hits[0]?.conditionIndex, undecided[0]?.message);
      if (why !== null) failed.push({ kind, index, why });
    });
  };
  tryCases('true_positive', truePositives);
  tryCases('true_negative', trueNegatives);
  return failed.length === 0 ? untried : { ...untried, support: 'fails_own_examples' };
}

/**
 * A compiler whose patterns say whether they match, not where: nobody reads the place, and to find
 * it RE2 compiles each pattern a second time, backwards (6 of the 8 s that the corpus's examples
 * took; 2 cores, Node 20).
 */
function withoutPlaces(compile: PatternCompiler): PatternCompiler {
  const find = (bytes: Buffer) => ({ start: 0, end: bytes.byteLength });
  return (source) => {
    const compiled = compile(source);
    if (compiled.pattern === null) return compiled;
    const { test } = compiled.pattern;
    return { pattern: { test, find, findShort: find }, reason: null };
  };
}

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
 * Members that do not: the corpus's authors use them for "the text this rule looks at". Its
 * reference runner too takes `user_input` for `input`, and offers `input` to whatever field a
 * condition names.
 */
const UNPLACED_MEMBERS = ['input', 'user_input', 'content', 'tool_description'] as const;

/** The texts of a case, as the one step they would be. */
export function placeCase(one: OwnCase, rule: Pick<ClassifiedRule, 'conditions'>): SurfaceText[] {
  const texts: SurfaceText[] = [];
  const place = (surfaces: Iterable<Surface>, value: JsonValue | undefined) => {
    if (value === undefined || value === null || value === '') return;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    for (const surface of surfaces) texts.push({ step: 0, surface, text });
  };
  const anywhere = readSurfaces(one, rule);
  const placeMembers = (members: OwnCase) => {
    for (const [member, surface] of Object.entries(MEMBER_SURFACES)) {
      place([surface], members[member]);
    }
  };
  placeMembers(one);
  for (const member of UNPLACED_MEMBERS) {
    const value = one[member];
    if (isObject(value)) placeMembers(value);
    else place(anywhere, value);
  }
  const call = one.tool_call;
  if (isObject(call)) placeMembers({ tool_name: call.name ?? '', tool_args: call.args ?? '' });
  return texts;
}

/**
 * Where a text stands whose case does not say: on each field the rule reads, but never as a tool's
 * name, which is an identifier and not a document.
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
