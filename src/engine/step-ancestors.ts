/**
 * Owns which steps are below which. A span often repeats the texts of the spans below it (an agent's its
 * first prompt and last answer), so of steps with one text the lowest is where the text came to be.
 */
import type { Hex8 } from '../model/json.ts';
import type { Step } from '../model/steps.ts';

type Placed = Pick<Step, 'source' | 'spanId' | 'parentSpanId'>;

/** Most steps above one that are looked at; also ends the way up in a cycle. */
const ABOVE_MAX = 64;

export class StepAncestors {
  readonly #parents = new Map<Hex8, Hex8 | null>();

  add({ source, spanId, parentSpanId }: Placed): void {
    if (source === 'span' && spanId !== null && !this.#parents.has(spanId)) {
      this.#parents.set(spanId, parentSpanId);
    }
  }

  /** Checks whether a step is below another one; a log record is below its span. */
  isBelow({ source, spanId, parentSpanId }: Placed, upper: Placed): boolean {
    if (upper.source !== 'span' || upper.spanId === null) return false;
    let above = source === 'log' ? spanId : parentSpanId;
    for (let level = 0; above !== null && level < ABOVE_MAX; level += 1) {
      if (above === upper.spanId) return true;
      above = this.#parents.get(above) ?? null;
    }
    return false;
  }
}
