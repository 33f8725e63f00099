/**
 * Owns the outline of a run's steps for the dashboard: each step's kind, status, size of text per
 * surface, and the beginnings of the texts. Extracts texts as the pass does, so no rule can hit a step
 * without sizes. Works step by step, because extracting 48 KiB of hostile text takes about 30 ms.
 */
import type { Hex8 } from '../model/json.ts';
import type { Step, StepOutline, Surface } from '../model/steps.ts';
import { extractSteps, type StepExtraction } from './surfaces/reader/extract.ts';

/** The shown beginning of a text of a step. */
export interface ShownText {
  readonly surface: Surface;
  readonly text: string;
  /** UTF-16 units that are not shown */
  readonly more: number;
}

interface OutlinedStep {
  readonly outline: StepOutline;
  /** the first texts */
  readonly texts: readonly ShownText[];
}

/** Of a longer text the beginning is shown. */
const SHOWN_UNITS_MAX = 4000;
/** Most texts shown of one step, and of a run. */
const STEP_TEXTS_MAX = 50;
const RUN_TEXTS_MAX = 500;
/** A lone surrogate, left by a cut. */
const LONE_SURROGATE = /[\ud800-\udbff]$/;

/** Span ids of steps whose names are not shown; null for log records without a span. */
type Redacted = readonly (Hex8 | null)[];

/**
 * Outlines steps, one per turn.
 *
 * @param steps of one run, in time order
 * @param cut indexes of the steps that were cut
 * @param redacted steps whose names a rule matched; these names are not shown on any step
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
  const beginning = text.slice(0, SHOWN_UNITS_MAX).replace(LONE_SURROGATE, '');
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
