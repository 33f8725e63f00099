/**
 * Chooses the steps of a page in the tree of a run: by the number of the first step, or by a step that the page
 * must contain, and within the limits of the page. Pure.
 */
import type { Hex8, Int64 } from '../model/json.ts';
import type { TreeStep } from '../model/run-tree.ts';
import type { Step } from '../model/steps.ts';

export interface StepPageLimits {
  /** about the most bytes of a page */
  readonly bytesMax: number;
  /** most steps of a page */
  readonly pageSteps: number;
  /** a larger step is cut to this size */
  readonly cutBytes: number;
  /** a step is read whole up to this size, unless it has too many structures */
  readonly ordinaryBytes: number;
  /** the same for the step that is sought */
  readonly wholeBytes: number;
  /** most brackets, commas and colons of a step that is read whole; in texts they count, too */
  readonly structuresMax: number;
}

/** The step that a page must contain; members that are null or left out match any step. */
export interface SoughtStep {
  /** of several steps that match, the one with the nearest number counts */
  readonly number: number;
  readonly source?: Step['source'] | null;
  readonly startUnixNano?: Int64 | null;
  /** empty for a step without a span id */
  readonly spanId?: Hex8 | '' | null;
  /** UTC day */
  readonly arrivedOn?: string | null;
  /** number of steps before it with its source, start, span id and day of arrival */
  readonly twin?: number | null;
}

export interface ChosenSteps {
  /** number of a step of the page, 1 if left out; after the last step, the last page is read */
  readonly from?: number;
  /**
   * a step whose page is read instead; `slice` reads the steps from `from` on, each of them whole if the
   * limits allow it, and none after the last step
   */
  readonly sought?: SoughtStep | 'slice' | null;
  /**
   * the steps to read instead of a page; those beside the one that is sought are read for their kinds,
   * tokens and names
   */
  readonly numbers?: readonly number[] | null;
  /** one of `numbers` that is read whole, too */
  readonly before?: number | null;
}

/** Deeper steps are shown at this depth. */
const DEPTH_MAX = 6;
/** A span is read for its kind only, which short attributes show; a row of a tree for its snippet, too. */
const OWNER_BYTES = 4096;

/** A step to read, and how much of it. */
export interface KeptStep {
  readonly step: TreeStep;
  /** read only for a log record on the page */
  readonly isOwner: boolean;
  /** a larger one is cut to so many bytes */
  readonly cut: number;
  /** read whole up to this size, unless it has too many structures */
  readonly whole: number;
}

export interface PageChoice {
  readonly steps: readonly KeptStep[];
  /** number of the step that was sought; null when none was, or the run has none like it */
  readonly sought: number | null;
  /** the spans above the steps, by their ids */
  readonly above: ReadonlyMap<Hex8 | null, TreeStep>;
}

/**
 * Chooses the steps of a page. Pages have `pageSteps` steps, fewer only where they exceed `bytesMax`; the first
 * step of a page is read whatever its size.
 */
export function choosePage(
  tree: readonly TreeStep[],
  { pageSteps, cutBytes, ordinaryBytes, wholeBytes, bytesMax }: StepPageLimits,
  { from = 1, sought = null, numbers = null, before = null }: ChosenSteps,
): PageChoice {
  const isSlice = sought === 'slice';
  const place = sought === null || isSlice ? null : placeOf(tree, sought);
  const opened = place ?? Math.min(from, Math.max(tree.length, 1));
  const inPage = Math.floor((opened - 1) / pageSteps) * pageSteps + 1;
  const begin = numbers !== null ? opened : isSlice ? from : inPage;
  const listed =
    numbers === null
      ? tree.slice(begin - 1, begin - 1 + pageSteps)
      : numbers.flatMap((number) => tree[number - 1] ?? []);
  const steps = listed.map((step): KeptStep => {
    const isSought = step.number === place || (before !== null && step.number === before);
    const cut = numbers === null || isSought ? cutBytes : OWNER_BYTES;
    return { step, isOwner: false, cut, whole: isSlice || isSought ? wholeBytes : ordinaryBytes };
  });
  const page = fitting(steps, begin, bytesMax);
  const shown = page.map(({ step }) => step);
  const above = spansAbove(tree, shown);
  const owners = ownersOf(shown, above).map(
    (step): KeptStep => ({ step, isOwner: true, cut: OWNER_BYTES, whole: OWNER_BYTES }),
  );
  return { steps: [...page, ...owners], sought: place, above };
}

/** Returns the first steps that fit; the step `begin` in any case. */
function fitting(steps: readonly KeptStep[], begin: number, bytesMax: number): KeptStep[] {
  let bytes = 0;
  return steps.filter(({ step: { number, stored }, cut, whole }) => {
    bytes += stored > whole ? cut : stored;
    return number === begin || bytes <= bytesMax;
  });
}

function placeOf(tree: readonly TreeStep[], sought: SoughtStep): number | null {
  const { source = null, startUnixNano = null, spanId = null } = sought;
  const { twin = null, arrivedOn = null } = sought;
  let nearest: number | null = null;
  const distance = (number: number): number => Math.abs(number - sought.number);
  for (const step of tree) {
    const isLike =
      (source === null || step.source === source) &&
      (startUnixNano === null || step.startUnixNano === startUnixNano) &&
      (spanId === null || (step.spanId ?? '') === spanId) &&
      (twin === null || step.twin === twin) &&
      (arrivedOn === null || step.arrivedOn === arrivedOn);
    if (isLike && (nearest === null || distance(step.number) < distance(nearest))) {
      nearest = step.number;
    }
  }
  return nearest;
}

/** The first span of each id that the steps need. */
function spansOf(
  tree: readonly TreeStep[],
  needed: ReadonlySet<Hex8 | null>,
): Map<Hex8 | null, TreeStep> {
  const spans = new Map<Hex8 | null, TreeStep>();
  if (needed.size === 0) return spans;
  for (const step of tree) {
    const { source, spanId } = step;
    if (source !== 'span' || !needed.has(spanId) || spans.has(spanId)) continue;
    spans.set(spanId, step);
    if (spans.size === needed.size) break;
  }
  return spans;
}

const aboveOf = ({ source, spanId, parentSpanId }: TreeStep): Hex8 | null =>
  source === 'log' ? spanId : parentSpanId;

/** The spans above steps, at most `DEPTH_MAX` levels of them. */
function spansAbove(
  tree: readonly TreeStep[],
  page: readonly TreeStep[],
): Map<Hex8 | null, TreeStep> {
  const spans = new Map<Hex8 | null, TreeStep>();
  let level = page;
  for (let depth = 0; depth < DEPTH_MAX && level.length > 0; depth += 1) {
    const needed = new Set(level.map(aboveOf).filter((id) => id !== null && !spans.has(id)));
    const found = spansOf(tree, needed);
    for (const [id, span] of found) spans.set(id, span);
    level = [...found.values()];
  }
  return spans;
}

/** Returns the number of spans above a step, at most `DEPTH_MAX`. */
export function depthOf(step: TreeStep, spans: ReadonlyMap<Hex8 | null, TreeStep>): number {
  let depth = 0;
  let above = spans.get(aboveOf(step));
  for (; above !== undefined && depth < DEPTH_MAX; depth += 1) above = spans.get(aboveOf(above));
  return depth;
}

/** The spans of log records of a page that are not on it themselves, each once. */
function ownersOf(
  page: readonly TreeStep[],
  spans: ReadonlyMap<string | null, TreeStep>,
): readonly TreeStep[] {
  const shown = new Set(page.map(({ number }) => number));
  const owners = page.flatMap((step) => {
    const span = step.source === 'log' ? spans.get(step.spanId) : undefined;
    return span === undefined || shown.has(span.number) ? [] : [span];
  });
  return [...new Set(owners)];
}
