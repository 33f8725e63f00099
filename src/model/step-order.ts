/**
 * The order of a run's steps: by start, and at equal starts parents before children. Two runs with the
 * same steps have the same order whatever their ids are and however they arrived, so a rule that hits
 * several steps is found at the same one.
 */
import { createHash } from 'node:crypto';
import type { Step } from './steps.ts';

interface Placed {
  readonly step: Step;
  readonly start: bigint;
  readonly end: bigint;
  /** steps above it that start at the same time; set where several do */
  level: number | null;
  /** a digest of what it holds; set where nothing else differs */
  content: string | null;
}

/** Sorts the steps of one run. Linear in their size, and their contents are read for ties only. */
export function inTimeOrder(steps: readonly Step[]): Step[] {
  const placed = steps.map((step): Placed => {
    const { startUnixNano, endUnixNano } = step;
    const [start, end] = [BigInt(startUnixNano), BigInt(endUnixNano)];
    return { step, start, end, level: null, content: null };
  });
  placed.sort((one, other) => compare(one.start, other.start));
  for (let from = 0; from < placed.length; ) {
    let to = from + 1;
    while (placed[to]?.start === placed[from]?.start) to += 1;
    if (to - from > 1) sortTied(placed, from, to);
    from = to;
  }
  return placed.map(({ step }) => step);
}

/** Sorts the steps from one index to another, which start at the same time. */
function sortTied(placed: Placed[], from: number, to: number): void {
  const tied = placed.slice(from, to);
  setLevels(tied);
  tied.sort(compareTied);
  for (const [index, one] of tied.entries()) placed[from + index] = one;
}

function setLevels(tied: readonly Placed[]): void {
  const spans = new Map<string, Placed>();
  for (const one of tied) {
    const { source, spanId, parentSpanId } = one.step;
    if (source !== 'span' || spanId === null) continue;
    // Of spans with one id, the choice must not depend on the order of arrival.
    const known = spans.get(spanId)?.step.parentSpanId;
    if (known === undefined || (parentSpanId ?? '') < (known ?? '')) spans.set(spanId, one);
  }
  const above = ({ step }: Placed): Placed | undefined =>
    spans.get((step.source === 'span' ? step.parentSpanId : step.spanId) ?? '');
  for (const one of tied) {
    const path: Placed[] = [];
    let next: Placed | undefined = one;
    while (next !== undefined && next.level === null) {
      // Until the level is known, so that a cycle of parents ends here.
      next.level = 0;
      path.push(next);
      next = above(next);
    }
    let level = next === undefined ? 0 : (next.level ?? 0) + 1;
    for (const below of path.reverse()) below.level = level++;
  }
}

function compareTied(one: Placed, other: Placed): number {
  return (
    compare(one.level ?? 0, other.level ?? 0) ||
    compare(other.end, one.end) ||
    compare(other.step.source, one.step.source) ||
    compare(one.step.name, other.step.name) ||
    compare(contentOf(one), contentOf(other)) ||
    compare(one.step.spanId ?? '', other.step.spanId ?? '')
  );
}

function contentOf(placed: Placed): string {
  const { attributes, events, body, statusCode, statusMessage, scopeName } = placed.step;
  placed.content ??= createHash('sha1')
    .update(JSON.stringify([attributes, events, body, statusCode, statusMessage, scopeName]))
    .digest('base64');
  return placed.content;
}

function compare<Value extends bigint | number | string>(one: Value, other: Value): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
