/**
 * Owns what people see of a run's steps without their text: what kind each is, how it ended, and how
 * much text it told on which surface. Reads them as the pass does, so that a step without a size is
 * a step no rule was about.
 */
import type { Step, StepOutline, Surface } from '../model.ts';
import { extractSurfaces } from './surfaces/extract.ts';

/** A text of a step, as far as it is shown. */
export interface ShownText {
  readonly surface: Surface;
  readonly text: string;
  /** UTF-16 units that are not shown */
  readonly more: number;
}

/** Longer texts are shown by their beginning. */
const SHOWN_UNITS_MAX = 4000;
/** A cut that leaves half a character is one character shorter. */
const HALF = /[\ud800-\udbff]$/;

/**
 * The steps with the beginnings of their texts.
 * @param steps of one run, in time order
 */
export function stepsWithTexts(
  steps: readonly Step[],
): { readonly outline: StepOutline; readonly texts: readonly ShownText[] }[] {
  const shown = steps.map((): ShownText[] => []);
  for (const { step, surface, text } of extractSurfaces(steps).texts) {
    const beginning = text.slice(0, SHOWN_UNITS_MAX).replace(HALF, '');
    shown[step]?.push({ surface, text: beginning, more: text.length - beginning.length });
  }
  return outlineOf(steps).map((outline, index) => ({ outline, texts: shown[index] ?? [] }));
}

/** @param steps of one run, in time order */
export function outlineOf(steps: readonly Step[]): StepOutline[] {
  const { texts, kinds } = extractSurfaces(steps);
  const sizes = steps.map(() => new Map<Surface, { texts: number; bytes: number }>());
  for (const { step, surface, text } of texts) {
    const ofStep = sizes[step];
    const before = ofStep?.get(surface) ?? { texts: 0, bytes: 0 };
    const bytes = before.bytes + Buffer.byteLength(text);
    ofStep?.set(surface, { texts: before.texts + 1, bytes });
  }
  return steps.map((step, index) => ({
    source: step.source,
    name: step.name,
    kind: kinds[index] ?? 'other',
    spanId: step.spanId,
    parentSpanId: step.parentSpanId,
    serviceName: step.serviceName,
    startUnixNano: step.startUnixNano,
    endUnixNano: step.endUnixNano,
    statusCode: step.statusCode,
    surfaces: [...(sizes[index] ?? [])].map(([surface, size]) => ({ surface, ...size })),
  }));
}
