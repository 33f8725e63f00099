/**
 * Owns the evaluation of one run: steps → surface texts → hits → findings. Pure: no clock, no
 * database, no identity (the store gives findings theirs).
 *
 * A description is built from the rule's identity only, never from customer text.
 */
import type { FindingDraft, Rule, Step, Surface } from '../model.ts';
import { excerptOf } from './excerpt.ts';
import type { Hit, Matcher } from './matcher.ts';
import type { StepKind } from './surfaces/convention.ts';
import { extractSurfaces } from './surfaces/extract.ts';

/** Longer names are none. Every finding holds its step's: hundreds of megabytes could not be stored. */
const NAME_UNITS_MAX = 256;
/** What cutting between two surrogates leaves. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;

export interface EvaluationSettings {
  /** most UTF-8 bytes looked at per surface and step */
  readonly surfaceCapBytes: number;
  /** most characters of customer text in an excerpt */
  readonly excerptChars: number;
}

export interface Evaluation {
  /** one per rule that hit, by rule index */
  readonly findings: readonly FindingDraft[];
  /** rules that could be called neither hit nor clean: the run must not count as evaluated */
  readonly undecided: readonly { readonly ruleId: string; readonly message: string }[];
  /** distinct texts the rules were asked about */
  readonly surfaces: number;
  /** texts not looked at in full because of the cap, and values too large to be taken apart */
  readonly truncated: number;
  /** what kind each step is, by its index */
  readonly kinds: readonly StepKind[];
}

/**
 * Evaluates a run.
 * @param steps of one run, by start time
 * @param matcher over the union of all runnable rules
 * @param enabled the workspace's effective set as a mask over `matcher.rules`
 */
export function evaluateRun(
  steps: readonly Step[],
  matcher: Matcher,
  enabled: (ruleIndex: number) => boolean,
  settings: EvaluationSettings,
): Evaluation {
  const { texts, exceeded, kinds } = extractSurfaces(steps);
  const result = matcher.match(texts, { enabled, capBytes: settings.surfaceCapBytes });
  const findings = result.hits.map((hit) => {
    const rule = at(matcher.rules, hit.ruleIndex);
    const { step, surface, text } = at(texts, hit.textIndex);
    const excerpt = excerptOf(text, hit, settings.excerptChars);
    return toFinding(rule, hit, at(steps, step), surface, excerpt);
  });
  const undecided = result.undecided.map(({ ruleIndex, message }) => ({
    ruleId: at(matcher.rules, ruleIndex).id,
    message,
  }));
  return {
    findings,
    undecided,
    surfaces: result.texts,
    truncated: result.truncated + exceeded,
    kinds,
  };
}

function toFinding(
  rule: Rule,
  { conditionIndex }: Hit,
  step: Step,
  surface: Surface,
  excerpt: string,
): FindingDraft {
  const condition = at(rule.conditions, conditionIndex);
  return {
    ruleId: rule.id,
    ruleVersion: rule.version,
    ruleStatus: rule.status,
    severity: rule.severity,
    category: rule.category,
    subcategory: rule.subcategory,
    description: `${rule.id} "${rule.title}" matched ${SURFACE_WORDS[surface]}`,
    conditionIndex,
    conditionDescription: condition.description,
    field: condition.field,
    surface,
    stepSpanId: step.spanId,
    stepName: nameOf(step),
    excerpt,
    recommendedActions: rule.recommendedActions,
  };
}

/** A log record's event may be named by an attribute only, or beside a name that says less. */
function nameOf({ source, name, attributes }: Step): string {
  const event = source === 'log' ? attributes['event.name'] : undefined;
  const whole = typeof event === 'string' && event !== '' ? event : name;
  return whole.slice(0, NAME_UNITS_MAX).replace(HALF_CHARACTER, '');
}

const SURFACE_WORDS: Readonly<Record<Surface, string>> = {
  step_input: 'the input of a step',
  tool_args: 'the arguments of a tool call',
  tool_result: 'the result of a tool call',
  step_output: 'the output of a step',
  query_text: 'the text of a query',
  agent_output: 'the output of the agent',
  tool_name: 'the name of a tool',
};

/** The element a matcher points at. An index outside the list is a broken matcher: it asserts. */
function at<Element>(list: readonly Element[], index: number): Element {
  const element = list[index];
  if (element === undefined) throw new RangeError(`no element ${index} of ${list.length}`);
  return element;
}
