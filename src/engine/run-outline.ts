/**
 * Owns the outline of a run's steps that people see: each step's kind, how it ended, how much text
 * it has on which surface, and the beginnings of the texts. Reads steps as the pass does, so a step
 * without sizes is one that no rule reads. Works step by step, because reading 48 KiB of hostile
 * text takes about 30 ms.
 */
import type { Hex8, Step, StepOutline, Surface } from '../model.ts';
import { extractSteps, type StepExtraction } from './surfaces/reader/extract.ts';

/** A text of a step, as far as it is shown. */
export interface ShownText {
  readonly surface: Surface;
  readonly text: string;
  /** UTF-16 units that are not shown */
  readonly more: number;
}

export interface OutlinedStep {
  readonly outline: StepOutline;
  /** the beginnings of the first texts */
  readonly texts: readonly ShownText[];
}

/** Longer texts are shown by their beginning. */
const SHOWN_UNITS_MAX = 4000;
/** Most texts shown of one step, and of a run. */
const STEP_TEXTS_MAX = 50;
const RUN_TEXTS_MAX = 500;
/** A cut that leaves half a character is one character shorter. */
const HALF = /[\ud800-\udbff]$/;

/** Spans whose names are not shown; null stands for log records without a span. */
type Redacted = readonly (Hex8 | null)[];

/**
 * Outlines steps, one per turn.
 *
 * @param steps of one run, in time order
 * @param cut indexes of the steps that were cut
 * @param redacted steps whose names a rule matched; neither these nor equal names elsewhere are
 *   shown
 */
export function* outlineInPieces(
  steps: readonly Step[],
  cut: ReadonlySet<number> = new Set(),
  redacted: Redacted = [],
): Generator<void, OutlinedStep[], void> {
  const hidden = new Set(
    steps.filter(({ spanId }) => redacted.includes(spanId)).map(({ name }) => name),
  );
  const outlined: OutlinedStep[] = [];
  let room = RUN_TEXTS_MAX;
  let index = 0;
  for (const extracted of extractSteps(steps)) {
    const step = steps[index];
    if (step === undefined) break;
    const texts = extracted.texts.slice(0, Math.min(room, STEP_TEXTS_MAX)).map(shownText);
    room -= texts.length;
    const facts = { isCut: cut.has(index), isHidden: hidden.has(step.name) };
    outlined.push({ outline: outlineOf(step, extracted, facts), texts });
    index += 1;
    yield;
  }
  return outlined;
}

function shownText({ surface, text }: StepExtraction['texts'][number]): ShownText {
  const beginning = text.slice(0, SHOWN_UNITS_MAX).replace(HALF, '');
  return { surface, text: beginning, more: text.length - beginning.length };
}

function outlineOf(
  step: Step,
  { kind, texts }: StepExtraction,
  { isCut, isHidden }: { readonly isCut: boolean; readonly isHidden: boolean },
): StepOutline {
  const sizes = new Map<Surface, { texts: number; bytes: number }>();
  for (const { surface, text } of texts) {
    const before = sizes.get(surface) ?? { texts: 0, bytes: 0 };
    const bytes = before.bytes + Buffer.byteLength(text);
    sizes.set(surface, { texts: before.texts + 1, bytes });
  }
  return {
    source: step.source,
    name: isHidden ? null : step.name,
    kind,
    spanId: step.spanId,
    parentSpanId: step.parentSpanId,
    serviceName: step.serviceName,
    startUnixNano: step.startUnixNano,
    endUnixNano: step.endUnixNano,
    statusCode: step.statusCode,
    surfaces: [...sizes].map(([surface, size]) => ({ surface, ...size })),
    isCut,
  };
}
