/**
 * Owns the extraction of surface texts from steps: each step's kind, the conventions that apply to
 * it, and that a text occurs once per step and surface. Knows no convention itself.
 *
 * Order is part of the contract: steps as given, within a step as `read-rows.ts` reads them, the
 * status message last.
 */
import type { JsonValue } from '../../../model/json.ts';
import type { Step, StepKind, Surface, SurfaceText } from '../../../model/steps.ts';
import { textKey } from '../../matcher/text-key.ts';
import { CONVENTIONS } from '../conventions/conventions.ts';
import { createBudget } from './budget.ts';
import type { KindRow } from './convention.ts';
import { ConventionIndex, type StepConventions } from './convention-index.ts';
import { logEvent } from './convention-tables.ts';
import { type Piece, textsOn } from './messages/message-parts.ts';
import { readStepInPieces } from './read-rows.ts';
import { surfaceOn } from './read-value.ts';
import { withoutClientTexts } from './run-rows.ts';
import { ERROR_SURFACE } from './step-surfaces.ts';
import { unreadKeysOf } from './unread-texts.ts';
import { isObject, isText, open } from './value-text.ts';

const STATUS_ERROR = 2;
/** One per thread: the conventions are constants, only its caches change. */
const INDEX = new ConventionIndex(CONVENTIONS);

export interface StepExtraction {
  readonly kind: StepKind;
  /** in reading order */
  readonly texts: readonly Pick<SurfaceText, 'surface' | 'text'>[];
  /**
   * `SurfaceText.recency` of each text; a text that occurs several times has its newest. Computed
   * in one piece, so not for the thread that takes requests.
   */
  readonly recencies: () => readonly number[];
  /** indexes of texts that have the content of the texts before them again, in another form */
  readonly forms: ReadonlySet<number>;
  /** values that exceed their budget, so that strings in them were not parsed */
  readonly exceeded: number;
  /** a value is JSON that its sender cut */
  readonly isCut: boolean;
  /** roles of messages that are in no known word */
  readonly unknownRoles: ReadonlySet<string>;
  /** Finds the values with text that nothing read, and returns the key of each. */
  readonly unreadKeys: () => readonly string[];
}

/** Extracts the texts of a run's steps, in time order. Linear in the steps' size. */
export function* extractSteps(steps: readonly Step[]): Generator<StepExtraction, void, void> {
  for (const extracted of extractInPieces(steps)) if (extracted !== null) yield extracted;
}

/**
 * The same for the thread that takes requests: `null` wherever it may yield, several times in a large
 * step. One value of a step is read without a pause.
 */
export function* extractInPieces(
  steps: readonly Step[],
): Generator<StepExtraction | null, void, void> {
  const conventions = steps.map((step) => INDEX.conventionsOf(step));
  const kinds = kindsBy(conventions, steps);
  for (const [index, step] of steps.entries()) {
    const own = conventions[index] ?? INDEX.conventionsOf(step);
    const pieces = extractStepInPieces(step, kinds[index] ?? 'other', own);
    let piece = pieces.next();
    for (; piece.done !== true; piece = pieces.next()) yield null;
    yield piece.value;
  }
}

/** Texts that are compared with those before them in one piece. */
const COMPARED_TEXTS = 500;

function* extractStepInPieces(
  step: Step,
  kind: StepKind,
  conventions: StepConventions,
): Generator<void, StepExtraction, void> {
  if (kind === 'duplicate') {
    return {
      kind,
      texts: [],
      recencies: () => [],
      forms: new Set(),
      exceeded: 0,
      isCut: false,
      unknownRoles: new Set(),
      unreadKeys: () => [],
    };
  }
  const own = yield* readStepInPieces(step, kind, conventions);
  const status = readStatus(step, kind);
  const all = [...own.pieces, ...status.pieces];
  /** of each surface: text → its index in `texts` */
  const seen = new Map<Surface, Map<string, number>>();
  const texts: StepExtraction['texts'][number][] = [];
  /** of each piece: the index of its text; -1 without a text */
  const textOf: number[] = [];
  const forms = new Set<number>();
  for (const [index, { surface, text: read, repeats = 0 }] of all.entries()) {
    if (index % COMPARED_TEXTS === COMPARED_TEXTS - 1) yield;
    const text = surface === 'step_input' ? withoutClientTexts(read) : read;
    const key = textKey(text);
    const known = seen.get(surface) ?? new Map<string, number>();
    const before = known.get(key);
    textOf.push(before ?? (isText(text) ? texts.length : -1));
    if (textOf[index] !== texts.length) continue;
    seen.set(surface, known.set(key, texts.length));
    if (repeats > 0) forms.add(texts.length);
    texts.push({ surface, text });
  }
  const isKnown = (text: string): boolean => {
    const key = textKey(text);
    return [...seen.values()].some((onSurface) => onSurface.has(key));
  };
  return {
    kind,
    texts,
    recencies: () => recenciesOf(all, textOf, texts.length),
    forms,
    exceeded: own.exceeded + status.exceeded,
    isCut: own.isCut,
    unknownRoles: own.unknownRoles,
    unreadKeys: () => unreadKeysOf(step, conventions, isKnown),
  };
}

/**
 * The recency of each text: the last place of a piece with it, when every piece is put before those that
 * it repeats.
 */
function recenciesOf(
  pieces: readonly Piece[],
  textOf: readonly number[],
  texts: number,
): readonly number[] {
  const repeated: number[] = [];
  const order: number[] = [];
  for (const [index, { repeats = 0 }] of pieces.entries()) {
    if (repeats === Number.POSITIVE_INFINITY) repeated.push(index);
    else if (repeats === 0) order.push(index);
    else order.splice(-repeats, 0, index);
  }
  const recencies = new Array<number>(texts).fill(0);
  for (const [recency, index] of [...repeated, ...order].entries()) {
    const text = textOf[index] as number;
    if (text >= 0) recencies[text] = recency;
  }
  return recencies;
}

/**
 * The kind of each step of a run, by its index. A log record that does not show its own kind has the kind
 * of its span.
 */
export function stepKindsOf(steps: readonly Step[]): StepKind[] {
  return kindsBy(
    steps.map((step) => INDEX.conventionsOf(step)),
    steps,
  );
}

function kindsBy(conventions: readonly StepConventions[], steps: readonly Step[]): StepKind[] {
  const own = conventions.map(({ tables, kinds }, index): StepKind => {
    const step = steps[index] as Step;
    const event = step.source === 'log' ? logEvent(step, tables) : undefined;
    return event?.kind ?? stepKindOf(step, kinds);
  });
  const ofSpan = new Map(
    steps.map((step, index) => [step.source === 'span' ? step.spanId : null, own[index]]),
  );
  return steps.map((step, index) => {
    const kind = own[index] ?? 'other';
    if (kind !== 'other' || step.spanId === null) return kind;
    return ofSpan.get(step.spanId) ?? kind;
  });
}

/** A status message has a meaning only with an error (OTLP, `Status.message`). */
function readStatus(
  { source, statusCode, statusMessage }: Step,
  kind: StepKind,
): { pieces: Piece[]; exceeded: number } {
  if (source === 'log' || statusCode !== STATUS_ERROR) return { pieces: [], exceeded: 0 };
  const budget = createBudget();
  const pieces = textsOn(surfaceOn(ERROR_SURFACE, kind), statusMessage, budget);
  return { pieces, exceeded: budget.exceeded ? 1 : 0 };
}

/** The kind that a step shows by itself. @param rows of the conventions that apply to it */
function stepKindOf(step: Step, rows: readonly KindRow[]): StepKind {
  for (const row of rows) {
    const kind = kindBy(row, step);
    if (kind !== undefined) return kind;
  }
  return 'other';
}

function kindBy(row: KindRow, { attributes, name }: Step): StepKind | undefined {
  if ('names' in row) return own(row.names, name) ?? own(row.names, name.split(' ', 1)[0] ?? '');
  if ('has' in row) return attributes[row.has] === undefined ? undefined : row.kind;
  const whole = attributes[row.key];
  const value =
    whole === undefined || row.member === undefined ? whole : memberOf(whole, row.member);
  return value === undefined ? undefined : own(row.kinds, toWord(value));
}

function memberOf(structure: JsonValue, name: string): JsonValue | undefined {
  const opened = open(structure, createBudget());
  return isObject(opened) && Object.hasOwn(opened, name) ? opened[name] : undefined;
}

/** Some products encode every value as JSON, which puts a word in quotes. */
function toWord(value: JsonValue): string {
  return typeof value === 'string' ? value.replaceAll('"', '').toLowerCase() : String(value);
}

function own(kinds: Readonly<Record<string, StepKind>>, name: string): StepKind | undefined {
  return Object.hasOwn(kinds, name) ? kinds[name] : undefined;
}
