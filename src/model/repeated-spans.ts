/**
 * Spans that were sent more than once, by exporters that build their batches again. Spans with
 * equal trace id, span id and content are one step wherever steps are read, and count once. A span that
 * was sent again with other content is another step. Log records have no id, so an equal one may be
 * meant: each is a step.
 */
import type { Hex8, Hex16, Int64 } from './json.ts';
import type { RunSummary } from './runs.ts';
import type { Step } from './steps.ts';

export class SentSpans<S> {
  readonly #first = new Map<string, S>();

  /**
   * Finds the span that this one repeats; notes it if there is none.
   *
   * @param content what it holds, or a digest of that; its resource and scope included
   * @returns null for a span that is the first of its kind
   */
  repeatedBy(span: S, traceId: Hex16, spanId: Hex8, content: string): S | null {
    const key = `${traceId} ${spanId} ${content}`;
    const first = this.#first.get(key);
    if (first === undefined) this.#first.set(key, span);
    return first ?? null;
  }
}

export type UnreadStep = Pick<Step, 'source' | 'spanId' | 'startUnixNano'>;

/**
 * Finds the spans that may repeat another: those that share their span id and start. Most runs have none,
 * so it first looks for span ids that occur twice.
 *
 * @returns them in the order of their ids, those of one id and start in the order of `steps`
 */
export function possibleRepeats<S>(steps: readonly S[], read: (step: S) => UnreadStep): S[] {
  const known = new Set<Hex8>();
  const repeated = new Map<Hex8, Map<Int64, S[]>>();
  for (const step of steps) {
    const { source, spanId } = read(step);
    if (source !== 'span' || spanId === null) continue;
    if (known.has(spanId)) repeated.set(spanId, new Map());
    else known.add(spanId);
  }
  if (repeated.size === 0) return [];
  for (const step of steps) {
    const { source, spanId, startUnixNano } = read(step);
    if (source !== 'span' || spanId === null) continue;
    const group = repeated.get(spanId);
    const others = group?.get(startUnixNano);
    if (others === undefined) group?.set(startUnixNano, [step]);
    else others.push(step);
  }
  const groups = [...repeated.values()].flatMap((group) => [...group.values()]);
  return groups.flatMap((group) => (group.length > 1 ? group : []));
}

/**
 * Corrects the number of a run's spans by what a reader of its steps found. Ingest counts every span
 * that arrives, and an evaluation stores how many of them are repeats.
 */
export function withRepeats<R extends Pick<RunSummary, 'spans' | 'repeatedSpans'>>(
  run: R,
  repeats: number,
): R {
  const repeatedSpans = Math.max(run.repeatedSpans, repeats);
  const spans = Math.max(0, run.spans + run.repeatedSpans - repeatedSpans);
  return { ...run, spans, repeatedSpans };
}
