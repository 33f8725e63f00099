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
import type { FindingDraft, FurtherPlace } from '../model/findings.ts';
import type { Rule } from '../model/rules.ts';
import {
  type Step,
  type StepKind,
  SURFACES,
  type Surface,
  type SurfaceText,
  surfaceLabel,
} from '../model/steps.ts';
import { LowestPlaces } from './lowest-places.ts';
import { excerptOf } from './matcher/excerpt.ts';
import { matchSha256 } from './matcher/match-digest.ts';
import { isMatchedName, StepNames } from './matcher/matched-name.ts';
import { firstOfStep, toolNameOf } from './matcher/matched-tool.ts';
import type { Hit, IsOver, Matcher, RuleTimer, RunMatch } from './matcher/matcher.ts';
import { titleFrom } from './run-title.ts';
import { cutName, nameDigest, stepNameOf } from './step-name.ts';
import { extractSteps, type StepExtraction, stepKindsOf } from './surfaces/reader/extract.ts';
import { noteRoles } from './surfaces/reader/messages/words.ts';

/**
 * A portion ends with the step that reaches this size. It is the precision with which a stopped
 * evaluation counts unread steps; findings do not depend on it.
 */
const PORTION_CHARS = 256 * 1024;

/** Texts that a step with further steps in it writes at its end. */
const OUTPUTS: ReadonlySet<Surface> = new Set(['tool_result', 'step_output', 'agent_output']);

export const TOOLS_MAX = 20;

export const UNREAD_KEYS_MAX = 20;

interface EvaluationSettings {
  /** most UTF-8 bytes matched per surface and step */
  readonly surfaceCapBytes: number;
  /** most characters of customer text in an excerpt */
  readonly excerptChars: number;
  /** whether findings have all of their places; else the first one only */
  readonly everyPlace?: boolean;
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
  readonly cutSteps: number;
  /** number of values with text that nothing read, and the keys of the first of them */
  readonly unreadTexts: number;
  readonly unreadKeys: readonly string[];
  /** the first roles of messages that are in no known word */
  readonly unknownRoles: readonly string[];
  readonly kinds: readonly StepKind[];
  readonly tools: readonly string[];
  /** the beginning of the first text that a user sent */
  readonly title: string | null;
  /** number of last steps that were not matched in full, because the evaluation was stopped */
  readonly unreadSteps: number;
}

/** A place of a rule among the others, which a step below may have too. */
interface MovablePlace {
  readonly places: FurtherPlace[];
  readonly index: number;
  readonly hit: Hit;
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
  /** rule → its places, the first one first */
  readonly #places = new Map<number, FurtherPlace[]>();
  #names: StepNames | null = null;
  /** ids of the steps that have further steps in them; made at the first hit */
  #parents: ReadonlySet<Step['parentSpanId']> | null = null;
  #lowest: LowestPlaces<MovablePlace> | null = null;
  readonly #kinds: StepKind[] = [];
  readonly #surfaces = new Set<Surface>();
  #exceeded = 0;
  #cutSteps = 0;
  #unreadTexts = 0;
  readonly #unreadKeys = new Set<string>();
  readonly #unknownRoles = new Set<string>();
  readonly #tools = new Set<string>();
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
    const { surfaceCapBytes: capBytes, everyPlace = false } = settings;
    this.#match = matcher.begin({ enabled, capBytes, timer, everyPlace });
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

  stop(): void {
    this.#work.return();
  }

  get result(): Evaluation {
    const { undecided, unsure = [], texts, truncated } = this.#match.result;
    const found = [...this.#places].sort(([a], [b]) => a - b);
    return {
      findings: found.map(([ruleIndex, places]) =>
        toFinding(
          at(this.#matcher.rules, ruleIndex),
          this.#lowest?.inOrder(places) ?? places,
          unsure.includes(ruleIndex),
        ),
      ),
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
      tools: [...this.#tools].sort(),
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
        if (surface === 'tool_name' && this.#tools.size < TOOLS_MAX) this.#tools.add(cutName(text));
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

  #note({ exceeded, isCut, unknownRoles, unreadKeys }: StepExtraction): void {
    this.#exceeded += exceeded;
    if (isCut) this.#cutSteps += 1;
    noteRoles(this.#unknownRoles, unknownRoles);
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
      for (const hit of hits) this.#addPlace(hit, texts);
      this.#lowest?.lower(texts, (movable, textIndex) => this.#move(movable, textIndex, texts));
    }
  }

  #addPlace(hit: Hit, texts: readonly SurfaceText[]): void {
    const { ruleIndex, textIndex } = hit;
    const text = at(texts, textIndex);
    const place = this.#toPlace(hit, texts);
    const lowest = this.#lowest ?? new LowestPlaces<MovablePlace>(this.#steps);
    this.#lowest = lowest;
    lowest.note(place, text.step);
    const places = this.#places.get(ruleIndex) ?? [];
    this.#places.set(ruleIndex, places);
    const index = places.push(place) - 1;
    // The texts of other conditions may be in the upper step only.
    const isAny = at(this.#matcher.rules, ruleIndex).condition === 'any';
    if (isAny && !place.isRest) lowest.begin({ places, index, hit }, text);
  }

  /** Moves a place to another step with its text, unless exceptions see the two apart. */
  #move({ places, index, hit }: MovablePlace, textIndex: number, texts: readonly SurfaceText[]) {
    const place = this.#toPlace({ ...hit, textIndex }, texts);
    if (place.toolName !== places[index]?.toolName) return false;
    places[index] = place;
    this.#lowest?.note(place, at(texts, textIndex).step);
    return true;
  }

  #toPlace(hit: Hit, texts: readonly SurfaceText[]): FurtherPlace {
    const { ruleIndex, conditionIndex, textIndex } = hit;
    const { step, surface, text } = at(texts, textIndex);
    const rule = at(this.#matcher.rules, ruleIndex);
    const found = at(this.#steps, step);
    const stepName = stepNameOf(found);
    const stepNameMatched = isMatchedName(stepName, surface, text, hit);
    this.#names ??= new StepNames(this.#steps.map(stepNameOf));
    const matchedNames = new Set(this.#names.with(text, hit));
    if (stepNameMatched) matchedNames.add(stepName);
    const excerpt = excerptOf(text, hit, this.#settings.excerptChars);
    const condition = at(rule.conditions, conditionIndex);
    this.#parents ??= new Set(this.#steps.map(({ parentSpanId }) => parentSpanId));
    const isLate =
      found.source === 'span' && OUTPUTS.has(surface) && this.#parents.has(found.spanId);
    return {
      description: `${rule.id} "${rule.title}" matched the ${surfaceLabel(surface).toLowerCase()}`,
      conditionIndex,
      conditionDescription: condition.description,
      field: condition.field,
      surface,
      stepSpanId: found.spanId,
      stepName,
      stepNameMatched,
      toolName: toolNameOf(texts, textIndex, hit),
      excerpt: excerpt.text,
      matchSha256: matchSha256(text, hit),
      place: {
        step: found.number ?? step + 1,
        source: found.source,
        startUnixNano: found.startUnixNano,
        ...(isLate && { endUnixNano: found.endUnixNano }),
        arrivedOn: found.arrivedOn,
        twin: found.twin ?? 0,
        text: textIndex - firstOfStep(texts, textIndex),
        match: { start: hit.start, end: hit.end },
        inExcerpt: excerpt.match,
        nameDigests: [...matchedNames].map(nameDigest),
      },
      isRest: hit.isRest === true,
    };
  }
}

/** @param isUnsure matching failed somewhere: it may have further places */
function toFinding(
  rule: Rule,
  [first, ...more]: readonly FurtherPlace[],
  isUnsure: boolean,
): FindingDraft {
  if (first === undefined) throw new RangeError('a finding without a place');
  const { isRest: _, ...place } = first;
  if (isUnsure && more.at(-1)?.isRest !== true) more.push({ ...place, isRest: true });
  return {
    ruleId: rule.id,
    ruleVersion: rule.version,
    ruleStatus: rule.status,
    severity: rule.severity,
    category: rule.category,
    subcategory: rule.subcategory,
    ...place,
    recommendedActions: rule.recommendedActions,
    ...(more.length > 0 && { morePlaces: more }),
  };
}

function at<Element>(list: readonly Element[], index: number): Element {
  const element = list[index];
  if (element === undefined) throw new RangeError(`no element ${index} of ${list.length}`);
  return element;
}
