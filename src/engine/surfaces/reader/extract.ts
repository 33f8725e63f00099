/**
 * Owns the way from steps to surface texts: which conventions are about a step, what kind of step it
 * is, and that a text stands once per step and surface. Knows no convention itself.
 *
 * Order is part of the contract: steps as given, within a step as `read-rows.ts` tells them, the
 * status message last.
 */
import type { Step, SurfaceText } from '../../../model.ts';
import { textKey } from '../../matcher/text-key.ts';
import { CONVENTIONS } from '../conventions/conventions.ts';
import { FAILURE_PLACE } from '../conventions/opentelemetry/otel-infrastructure.ts';
import { createBudget } from './budget.ts';
import type { Convention, StepKind } from './convention.ts';
import { Known } from './convention-index.ts';
import { logEvent } from './convention-tables.ts';
import { type Piece, place } from './message-parts.ts';
import { readStep } from './read-rows.ts';
import { resolve } from './read-value.ts';
import { stepKindOf } from './step-kind.ts';
import { isText, textsOf } from './value-text.ts';

const STATUS_ERROR = 2;
/** Of this thread, whatever the run: the conventions do not change. */
const KNOWN = new Known(CONVENTIONS);

export interface Extraction {
  /** by step, then in telling order */
  readonly texts: readonly SurfaceText[];
  /** values of which something was left closed, or out, because they exceed their budget */
  readonly exceeded: number;
  /** what kind each step is, by its index */
  readonly kinds: readonly StepKind[];
}

/**
 * The texts of a run, by surface. Takes time and memory linear in the steps' size.
 * @param steps in time order
 * @param conventions in telling order
 */
export function extractSurfaces(
  steps: readonly Step[],
  conventions: readonly Convention[] = CONVENTIONS,
): Extraction {
  let exceeded = 0;
  const kinds: StepKind[] = [];
  const texts: SurfaceText[] = [];
  let index = 0;
  for (const step of extractSteps(steps, conventions)) {
    kinds.push(step.kind);
    exceeded += step.exceeded;
    for (const { surface, text } of step.texts) texts.push({ step: index, surface, text });
    index += 1;
  }
  return { texts, exceeded, kinds };
}

/** The texts of one step. */
export interface StepExtraction {
  readonly kind: StepKind;
  /** in reading order */
  readonly texts: readonly Pick<SurfaceText, 'surface' | 'text'>[];
  readonly exceeded: number;
}

/** As `extractSurfaces`, step by step, for callers that do other work in between. */
export function* extractSteps(
  steps: readonly Step[],
  conventions: readonly Convention[] = CONVENTIONS,
): Generator<StepExtraction, void, void> {
  const known = conventions === CONVENTIONS ? KNOWN : new Known(conventions);
  const kinds = kindsOf(steps, known);
  for (const [index, step] of steps.entries()) {
    yield extractStep(step, kinds[index] ?? 'other', known);
  }
}

function extractStep(step: Step, kind: StepKind, known: Known): StepExtraction {
  if (kind === 'duplicate') return { kind, texts: [], exceeded: 0 };
  const own = readStep(step, kind, known.about(step).tables);
  const status = readStatus(step, kind);
  const seen = new Set<string>();
  const texts = [...own.pieces, ...status.pieces].filter(({ surface, text }) => {
    const key = `${surface} ${textKey(text)}`;
    if (seen.has(key) || !isText(text)) return false;
    seen.add(key);
    return true;
  });
  return { kind, texts, exceeded: own.exceeded + status.exceeded };
}

/** What kind each step of a run is, by its index. */
export function stepKindsOf(steps: readonly Step[]): StepKind[] {
  return kindsOf(steps, KNOWN);
}

/** The kind of every step. A log record that does not show its own has that of its span. */
function kindsOf(steps: readonly Step[], known: Known): StepKind[] {
  const own = steps.map((step): StepKind => {
    const about = known.about(step);
    const event = step.source === 'log' ? logEvent(step, about.tables) : undefined;
    return event?.kind ?? stepKindOf(step, about.kinds);
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

/** A status message means something with an error only (OTLP, `Status.message`). */
function readStatus(
  { source, statusCode, statusMessage }: Step,
  kind: StepKind,
): { pieces: Piece[]; exceeded: number } {
  if (source === 'log' || statusCode !== STATUS_ERROR) return { pieces: [], exceeded: 0 };
  const budget = createBudget();
  const pieces = place(resolve(FAILURE_PLACE, kind), textsOf(statusMessage, budget));
  return { pieces, exceeded: budget.exceeded ? 1 : 0 };
}
