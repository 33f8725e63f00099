/**
 * The order of a run's steps: by start, and at equal starts parents before children. Two runs with the
 * same steps have the same order whatever their ids are and however they arrived, so a rule that hits
 * several steps is found at the same one.
 */
import { createHash } from 'node:crypto';
import { compareInt64 } from './json.ts';
import type { Step } from './steps.ts';

/** The fields that order steps; the rest of a step decides among equal ones. */
type OrderedStep = Pick<
  Step,
  'source' | 'spanId' | 'parentSpanId' | 'startUnixNano' | 'endUnixNano' | 'arrivedOn'
>;

interface Placed<S extends OrderedStep> {
  readonly step: S;
  /** steps above it that start at the same time, at most `LEVELS_MAX` */
  level: number;
  /** a digest of what it holds; set where nothing else differs */
  content: string | null;
}

/** Follows every span id. */
const LAST_ID = 'g';

/** Levels are counted up to this one. */
const LEVELS_MAX = 16;

/** Sorts the steps of one run. Linear in their size, and their contents are read for ties only. */
export function inTimeOrder(steps: readonly Step[]): Step[] {
  return placed(steps)
    .sort(compareTied)
    .map(({ step }) => step);
}

export interface Numbered {
  number: number;
  twin: number;
}

/**
 * Gives the steps of one run the numbers that they have on its pages: by start, at equal starts parents
 * before children, and then as they were read.
 *
 * @param steps are changed: copies of 20,000 would hold the event loop for 20 ms
 * @returns them, in this order
 */
export function numberSteps<S extends OrderedStep>(steps: readonly S[]): (S & Numbered)[] {
  const twins = new Map<string, number>();
  return placed(steps).map(({ step }, index, all) => {
    const { startUnixNano } = step;
    const isTied =
      all[index - 1]?.step.startUnixNano === startUnixNano ||
      all[index + 1]?.step.startUnixNano === startUnixNano;
    const numbered = step as S & Numbered;
    numbered.number = index + 1;
    numbered.twin = isTied ? twinOf(step, twins) : 0;
    return numbered;
  });
}

/** @param twins of the steps before it, by what they have in common */
function twinOf(
  { source, startUnixNano, spanId, arrivedOn }: OrderedStep,
  twins: Map<string, number>,
): number {
  const key = `${source} ${startUnixNano} ${spanId} ${arrivedOn}`;
  const twin = twins.get(key) ?? 0;
  twins.set(key, twin + 1);
  return twin;
}

type StoredStep = OrderedStep & {
  readonly arrivedOn: string;
  readonly blockId: string;
  readonly ordinal: number;
};

/**
 * Compares steps by the order in which they are read: it decides which are read of a run with too many, and is
 * the same for every reader.
 */
export function compareAsRead(one: StoredStep, other: StoredStep): number {
  return (
    compareInt64(one.startUnixNano, other.startUnixNano) ||
    compareInt64(other.endUnixNano, one.endUnixNano) ||
    compare(one.spanId ?? LAST_ID, other.spanId ?? LAST_ID) ||
    compare(other.source, one.source) ||
    compare(one.arrivedOn, other.arrivedOn) ||
    compare(one.blockId, other.blockId) ||
    one.ordinal - other.ordinal
  );
}

function placed<S extends OrderedStep>(steps: readonly S[]): Placed<S>[] {
  const all = steps.map((step): Placed<S> => ({ step, level: 0, content: null }));
  all.sort(compareStarts);
  for (let from = 0; from < all.length; ) {
    let to = from + 1;
    const start = all[from]?.step.startUnixNano;
    while (to < all.length && all[to]?.step.startUnixNano === start) to += 1;
    if (to - from > 1) {
      const tied = all.slice(from, to);
      setLevels(tied);
      tied.sort((one, other) => one.level - other.level);
      for (const [index, one] of tied.entries()) all[from + index] = one;
    }
    from = to;
  }
  return all;
}

function setLevels(tied: readonly Placed<OrderedStep>[]): void {
  const spans = new Map<string, OrderedStep>();
  for (const { step } of tied) {
    if (step.source !== 'span' || step.spanId === null) continue;
    // Of spans with one id, the choice must not depend on the order of arrival.
    const known = spans.get(step.spanId);
    if (known === undefined || (step.parentSpanId ?? '') < (known.parentSpanId ?? '')) {
      spans.set(step.spanId, step);
    }
  }
  const above = (step: OrderedStep): OrderedStep | undefined =>
    spans.get((step.source === 'span' ? step.parentSpanId : step.spanId) ?? '');
  for (const one of tied) {
    let next = above(one.step);
    while (next !== undefined && one.level < LEVELS_MAX) {
      one.level += 1;
      next = above(next);
    }
  }
}

function compareStarts({ step: one }: Placed<OrderedStep>, { step: other }: Placed<OrderedStep>) {
  return compareInt64(one.startUnixNano, other.startUnixNano);
}

function compareTied(one: Placed<Step>, other: Placed<Step>): number {
  return (
    compareStarts(one, other) ||
    one.level - other.level ||
    compareInt64(other.step.endUnixNano, one.step.endUnixNano) ||
    compare(other.step.source, one.step.source) ||
    compare(one.step.name, other.step.name) ||
    compare(contentOf(one), contentOf(other)) ||
    compare(one.step.spanId ?? '', other.step.spanId ?? '')
  );
}

function contentOf(placed: Placed<Step>): string {
  const { attributes, events, body, statusCode, statusMessage, scopeName } = placed.step;
  placed.content ??= createHash('sha1')
    .update(JSON.stringify([attributes, events, body, statusCode, statusMessage, scopeName]))
    .digest('base64');
  return placed.content;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
