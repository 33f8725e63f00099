/**
 * Owns the classification of a rule by what this engine supports: of each condition (field, operator,
 * pattern) and of the rule (as written, degraded, unsupported). An `all` rule is never run partially.
 *
 * Must not use the rule's own examples: they are tried afterwards (`own-examples.ts`).
 */
import type { Rule, RuleCondition, UnsupportedReason } from '../../model/rules.ts';
import type { RuleDocument } from '../corpus/rule-file.ts';
import type { PatternCompiler } from '../matcher/pattern.ts';
import { surfacesOf } from './fields.ts';

/** Detection methods other than patterns, as named in the corpus. */
const METHOD_REASONS = new Map<string, UnsupportedReason>([
  ['trace', { code: 'trace', message: 'reasons over a span graph; only patterns run' }],
  ['behavioral', { code: 'behavioural', message: 'watches a metric over time; only patterns run' }],
]);

const COMBINATIONS = new Map<string, Rule['condition']>([
  ['any', 'any'],
  ['or', 'any'],
  ['all', 'all'],
  ['and', 'all'],
]);

/** A rule without the outcome of its author's texts. */
export type ClassifiedRule = Omit<Rule, 'ownExamples' | 'measured'>;

/**
 * Classifies a rule for this engine.
 * @param compile the compiler of the pass, so that support means what runs
 */
export function classify(document: RuleDocument, compile: PatternCompiler): ClassifiedRule {
  return classifyBy(document, (written, surfaces) => conditionReason(written, surfaces, compile));
}

/**
 * The same by decisions that were kept.
 * @param lost by the number of the condition: why it cannot run
 */
export function classifyAsKept(
  document: RuleDocument,
  lost: Readonly<Record<string, UnsupportedReason>>,
): ClassifiedRule {
  return classifyBy(document, (_written, _surfaces, index) => lost[index] ?? null);
}

type ReasonOf = (
  written: RuleDocument['conditions'][number],
  surfaces: number,
  index: number,
) => UnsupportedReason | null;

function classifyBy(document: RuleDocument, reasonOf: ReasonOf): ClassifiedRule {
  const combination = COMBINATIONS.get(document.combination.toLowerCase());
  const whole = wholeRuleReason(document, combination);
  const conditions = document.conditions.map((written, index): RuleCondition => {
    const surfaces = surfacesOf(written.field);
    const reason = whole ?? reasonOf(written, surfaces.length, index);
    return {
      index,
      field: written.field,
      surfaces,
      operator: written.operator,
      pattern: written.value,
      description: written.description,
      supported: reason === null,
      reason,
    };
  });
  const reasons = conditions.flatMap(({ reason }) => reason ?? []);
  const condition = combination ?? 'all';
  return {
    id: document.id,
    title: document.title,
    version: document.version,
    status: document.status,
    severity: document.severity,
    category: document.category,
    subcategory: document.subcategory,
    description: document.description,
    author: document.author,
    date: document.date,
    references: document.references,
    condition,
    conditions,
    suppressInCodeBlocks: document.suppressInCodeBlocks,
    support: toSupport(condition, conditions),
    unsupportedReasons: distinct(whole === null ? reasons : [whole]),
    quality: document.quality,
    recommendedActions: document.recommendedActions,
    file: document.file,
  };
}

function wholeRuleReason(
  { fault, methods, hasFallbackPatterns, combination: written, otherMembers }: RuleDocument,
  combination: Rule['condition'] | undefined,
): UnsupportedReason | null {
  if (fault !== null) return fault;
  const other = methods.find((method) => method !== 'pattern');
  if (other === 'semantic') {
    const patterns = hasFallbackPatterns ? 'fallback patterns' : 'patterns';
    return { code: 'semantic', message: `is declared semantic; its ${patterns} are not run` };
  }
  if (other !== undefined) {
    return (
      METHOD_REASONS.get(other) ?? {
        code: 'unsupported_method',
        message: `detection method ${other}; only patterns run`,
      }
    );
  }
  const [member] = otherMembers;
  if (member !== undefined) return otherMember(member);
  if (combination !== undefined) return null;
  return { code: 'unsupported_combination', message: `conditions combine as "${written}"` };
}

/** A field that is not known here may change what matches. */
function otherMember(member: string): UnsupportedReason {
  return {
    code: 'unsupported_attribute',
    message: `has the attribute ${member}, which the service does not know`,
  };
}

function conditionReason(
  { field, operator, value, otherMembers }: RuleDocument['conditions'][number],
  surfaces: number,
  compile: PatternCompiler,
): UnsupportedReason | null {
  if (surfaces === 0) {
    return {
      code: 'no_surface',
      message: `reads the field ${field}, for which the service has no text`,
    };
  }
  if (operator !== 'regex') {
    return {
      code: 'unsupported_operator',
      message: `uses the operator ${operator}; only regex runs here`,
    };
  }
  const [member] = otherMembers;
  if (member !== undefined) return otherMember(member);
  if (value === '') return { code: 'invalid_pattern', message: 'empty pattern' };
  return compile(value).reason;
}

function toSupport(condition: Rule['condition'], conditions: readonly RuleCondition[]) {
  const lost = conditions.filter((one) => !one.supported).length;
  if (conditions.length === 0 || lost === conditions.length) return 'unsupported';
  if (lost === 0) return 'as_written';
  return condition === 'any' ? 'degraded' : 'unsupported';
}

function distinct(reasons: readonly UnsupportedReason[]): UnsupportedReason[] {
  return [
    ...new Map(reasons.map((reason) => [`${reason.code} ${reason.message}`, reason])).values(),
  ];
}
