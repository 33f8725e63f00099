/**
 * Owns the evaluation of one run: steps → surface texts → hits → findings, in slices, so that other
 * work can run in between. Pure: no clock (the caller decides when a slice is over), no database, no
 * ids (the store assigns them).
 *
 *   steps ──► portion: steps of 256 Ki characters of text ──► hits ──► findings
 *     ▲                                                         │
 *     └──────────────── the next portion ◄──────────────────────┘   stopped: the rest is unread
 *
 * A finding's description never contains customer text.
 */
import type { FindingDraft } from '../model/findings.ts';
import type { Rule } from '../model/rules.ts';
import {
  type Step,
  type StepKind,
  SURFACES,
  type Surface,
  type SurfaceText,
  surfaceLabel,
} from '../model/steps.ts';
import { excerptWithMatch } from './matcher/excerpt.ts';
import { matchSha256 } from './matcher/match-digest.ts';
import { isMatchedName } from './matcher/matched-name.ts';
import type { Hit, IsOver, Matcher, RuleTimer, RunMatch } from './matcher/matcher.ts';
import { titleFrom } from './run-title.ts';
import { cutName, nameDigest, stepNameOf } from './step-name.ts';
import { extractSteps, type StepExtraction, stepKindsOf } from './surfaces/reader/extract.ts';
import { UNKNOWN_ROLES_MAX } from './surfaces/reader/messages/words.ts';

/**
 * A portion ends with the step that reaches this size. It is the precision with which a stopped
 * evaluation counts unread steps; findings do not depend on it.
 */
const PORTION_CHARS = 256 * 1024;

/** Most keys of unread texts that a run lists. */
export const UNREAD_KEYS_MAX = 20;

interface EvaluationSettings {
  /** most UTF-8 bytes matched per surface and step */
  readonly surfaceCapBytes: number;
  /** most characters of customer text in an excerpt */
  readonly excerptChars: number;
}

export interface Evaluation {
  /** one per rule that hit, by rule index */
  readonly findings: readonly FindingDraft[];
  /** rules that are neither hit nor clean: the run must not count as evaluated */
  readonly undecided: readonly { readonly ruleId: string; readonly message: string }[];
  /** number of distinct texts that were matched */
  readonly surfaces: number;
  /** on which surfaces they were, in the order of `SURFACES` */
  readonly surfaceNames: readonly Surface[];
  /** number of texts not matched in full because of the cap, and of values not parsed in full */
  readonly truncated: number;
  /** the values among `truncated` */
  readonly unparsed: number;
  /** number of steps with JSON that their sender cut */
  readonly cutSteps: number;
  /** number of values with text that nothing read, and the keys of the first of them */
  readonly unreadTexts: number;
  readonly unreadKeys: readonly string[];
  /** the first roles of messages that are in no known word */
  readonly unknownRoles: readonly string[];
  /** the kind of each step, by its index */
  readonly kinds: readonly StepKind[];
  /** the beginning of the first text that a user sent */
  readonly title: string | null;
  /** number of last steps that were not matched in full, because the evaluation was stopped */
  readonly unreadSteps: number;
}

/**
 * Evaluates a run without pauses.
 * @param steps of one run, by start time
 * @param matcher over the union of all runnable rules
 * @param enabled whether the rule at an index of `matcher.rules` runs for the workspace
 */
export function evaluateRun(
  steps: readonly Step[],
  matcher: Matcher,
  enabled: (ruleIndex: number) => boolean,
  settings: EvaluationSettings,
): Evaluation {
  const evaluation = new RunEvaluation(steps, matcher, enabled, settings);
  evaluation.work(() => false);
  return evaluation.result;
}

/**
 * An evaluation in slices:
 *
 *   work ──► over ──► work ──► over ──► … ──► done ──► result
 *                       └──────► stop ──────────────► result, with steps unread
 *
 * Has the parameters of `evaluateRun`, with what times its rules, and, unless it is stopped, exactly its result.
 */
export class RunEvaluation {
  readonly #steps: readonly Step[];
  readonly #matcher: Matcher;
  readonly #settings: EvaluationSettings;
  readonly #match: RunMatch;
  readonly #work: Generator<void, void>;
  readonly #findings: { readonly ruleIndex: number; readonly finding: FindingDraft }[] = [];
  readonly #kinds: StepKind[] = [];
  readonly #surfaces = new Set<Surface>();
  #exceeded = 0;
  #cutSteps = 0;
  #unreadTexts = 0;
  readonly #unreadKeys = new Set<string>();
  readonly #unknownRoles = new Set<string>();
  #title: string | null = null;
  #stepsRead = 0;
  #isOver: IsOver = () => false;

  constructor(
    steps: readonly Step[],
    matcher: Matcher,
    enabled: (ruleIndex: number) => boolean,
    settings: EvaluationSettings,
    timer: RuleTimer | null = null,
  ) {
    this.#steps = steps;
    this.#matcher = matcher;
    this.#settings = settings;
    this.#match = matcher.begin({ enabled, capBytes: settings.surfaceCapBytes, timer });
    this.#work = this.#portions();
  }

  /**
   * Does the next slice. It ends soon after `isOver` returns true: after the current step is
   * parsed, the current text scanned, or the current rule matched against the portion.
   * @returns true when the run has been evaluated
   */
  work(isOver: IsOver): boolean {
    this.#isOver = isOver;
    return this.#work.next().done === true;
  }

  /** Ends the evaluation early; its result has the findings so far. */
  stop(): void {
    this.#work.return();
  }

  get result(): Evaluation {
    const { undecided, texts, truncated } = this.#match.result;
    const findings = [...this.#findings].sort((a, b) => a.ruleIndex - b.ruleIndex);
    return {
      findings: findings.map(({ finding }) => finding),
      undecided: undecided.map(({ ruleIndex, message }) => ({
        ruleId: at(this.#matcher.rules, ruleIndex).id,
        message,
      })),
      surfaces: texts,
      surfaceNames: SURFACES.filter((surface) => this.#surfaces.has(surface)),
      truncated: truncated + this.#exceeded,
      unparsed: this.#exceeded,
      cutSteps: this.#cutSteps,
      unreadTexts: this.#unreadTexts,
      unreadKeys: [...this.#unreadKeys].sort(),
      unknownRoles: [...this.#unknownRoles].sort(),
      kinds: this.#kinds.length === this.#steps.length ? this.#kinds : stepKindsOf(this.#steps),
      title: this.#title,
      unreadSteps: this.#steps.length - this.#stepsRead,
    };
  }

  *#portions(): Generator<void, void> {
    const isOver: IsOver = () => this.#isOver();
    let texts: SurfaceText[] = [];
    let chars = 0;
    for (const extracted of extractSteps(this.#steps)) {
      const { kind, texts: surfaceTexts } = extracted;
      const step = this.#kinds.push(kind) - 1;
      this.#note(extracted);
      this.#title ??= titleFrom(surfaceTexts);
      const recencies = extracted.recencies();
      for (const [index, { surface, text }] of surfaceTexts.entries()) {
        texts.push({ step, surface, text, recency: at(recencies, index) });
        chars += text.length;
      }
      if (isOver()) yield;
      if (chars < PORTION_CHARS && step + 1 < this.#steps.length) continue;
      yield* this.#matchPortion(texts, isOver);
      this.#stepsRead = step + 1;
      texts = [];
      chars = 0;
    }
  }

  /** Notes what of a step was not read. */
  #note({ exceeded, isCut, unknownRoles, unreadKeys }: StepExtraction): void {
    this.#exceeded += exceeded;
    if (isCut) this.#cutSteps += 1;
    for (const role of unknownRoles) {
      if (this.#unknownRoles.size < UNKNOWN_ROLES_MAX) this.#unknownRoles.add(role);
    }
    for (const key of unreadKeys()) {
      this.#unreadTexts += 1;
      if (this.#unreadKeys.size < UNREAD_KEYS_MAX) this.#unreadKeys.add(key);
    }
  }

  *#matchPortion(texts: readonly SurfaceText[], isOver: IsOver): Generator<void, void> {
    const hits: Hit[] = [];
    for (const { surface } of texts) this.#surfaces.add(surface);
    try {
      yield* this.#match.portion(texts, hits, isOver);
    } finally {
      for (const hit of hits) this.#findings.push(this.#toFinding(hit, texts));
    }
  }

  #toFinding(hit: Hit, texts: readonly SurfaceText[]) {
    const { ruleIndex, textIndex } = hit;
    const { step, surface, text } = at(texts, textIndex);
    const rule = at(this.#matcher.rules, ruleIndex);
    const found = at(this.#steps, step);
    const stepName = stepNameOf(found);
    const stepNameMatched = isMatchedName(stepName, surface, text, hit);
    const excerpt = excerptWithMatch(text, hit, this.#settings.excerptChars);
    const location = {
      surface,
      stepSpanId: found.spanId,
      stepName,
      stepNameMatched,
      toolName: toolNameOf(hit, texts),
      excerpt: excerpt.text,
      matchSha256: matchSha256(text, hit),
      place: {
        step: found.number ?? step + 1,
        source: found.source,
        startUnixNano: found.startUnixNano,
        arrivedOn: found.arrivedOn,
        twin: found.twin ?? 0,
        text: textIndex - firstOfStep(texts, textIndex),
        match: { start: hit.start, end: hit.end },
        inExcerpt: excerpt.match,
        nameDigest: stepNameMatched ? nameDigest(stepName) : null,
      },
    };
    return { ruleIndex, finding: toFinding(rule, hit, location) };
  }
}

/** The index of the first text of a text's step. */
function firstOfStep(texts: readonly SurfaceText[], textIndex: number): number {
  let first = textIndex;
  while (first > 0 && texts[first - 1]?.step === texts[textIndex]?.step) first -= 1;
  return first;
}

/** Surfaces whose text belongs to the tool that the step names. */
const TOOL_SURFACES: ReadonlySet<Surface> = new Set(['tool_name', 'tool_args', 'tool_result']);

/**
 * The tool of a hit. Null without one, when the step names several, and when the name contains what
 * matched on another surface: only on its own surface is it redacted.
 */
function toolNameOf(hit: Hit, texts: readonly SurfaceText[]): string | null {
  const { step, surface, text } = at(texts, hit.textIndex);
  if (surface === 'tool_name') return cutName(text);
  if (!TOOL_SURFACES.has(surface)) return null;
  const names = new Set<string>();
  for (let index = firstOfStep(texts, hit.textIndex); texts[index]?.step === step; index += 1) {
    const other = at(texts, index);
    if (other.surface === 'tool_name') names.add(other.text);
  }
  const [name] = names;
  if (name === undefined || names.size > 1) return null;
  const tool = cutName(name);
  return isMatchedName(tool, surface, text, hit) ? null : tool;
}

function toFinding(
  rule: Rule,
  { conditionIndex }: Hit,
  location: Pick<
    FindingDraft,
    | 'surface'
    | 'stepSpanId'
    | 'stepName'
    | 'stepNameMatched'
    | 'toolName'
    | 'excerpt'
    | 'matchSha256'
    | 'place'
  >,
): FindingDraft {
  const condition = at(rule.conditions, conditionIndex);
  return {
    ruleId: rule.id,
    ruleVersion: rule.version,
    ruleStatus: rule.status,
    severity: rule.severity,
    category: rule.category,
    subcategory: rule.subcategory,
    description: `${rule.id} "${rule.title}" matched the ${surfaceLabel(location.surface).toLowerCase()}`,
    conditionIndex,
    conditionDescription: condition.description,
    field: condition.field,
    ...location,
    recommendedActions: rule.recommendedActions,
  };
}

/** Asserts that an index from a matcher is in the list. */
function at<Element>(list: readonly Element[], index: number): Element {
  const element = list[index];
  if (element === undefined) throw new RangeError(`no element ${index} of ${list.length}`);
  return element;
}
