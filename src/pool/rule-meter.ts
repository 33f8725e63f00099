/**
 * Times the matching of each rule in one of `SAMPLE_EVERY` evaluations of a thread. Reading the clock twice for
 * each rule that is searched for costs about a tenth of a microsecond, and only in that part of the runs. What
 * all rules share, reading texts and the prefilter, is not counted.
 */
import type { RuleTimer } from '../engine/matcher/matcher.ts';

const SAMPLE_EVERY = 16;

/** The CPU time and counts of matching one rule. */
export interface MeteredRule {
  /** index in the rules of the workers */
  readonly ruleIndex: number;
  readonly searches: number;
  readonly micros: number;
}

const MICROS_PER_MS = 1000;

export class RuleMeter {
  readonly #nowMs: () => number;
  readonly #costs = new Map<number, { searches: number; micros: number }>();
  readonly #timer: RuleTimer;
  #evaluations = 0;

  /** @param nowMs milliseconds of a clock that never goes back */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
    let from = 0;
    this.#timer = {
      begin: () => {
        from = this.#nowMs();
      },
      end: (ruleIndex) => this.#add(ruleIndex, (this.#nowMs() - from) * MICROS_PER_MS),
    };
  }

  /** The timer of the next evaluation; null for most of them. */
  next(): RuleTimer | null {
    this.#evaluations += 1;
    return this.#evaluations % SAMPLE_EVERY === 0 ? this.#timer : null;
  }

  take(): MeteredRule[] {
    const taken = [...this.#costs].map(([ruleIndex, cost]) => ({ ruleIndex, ...cost }));
    this.#costs.clear();
    return taken;
  }

  #add(ruleIndex: number, micros: number): void {
    const cost = this.#costs.get(ruleIndex) ?? { searches: 0, micros: 0 };
    cost.searches += 1;
    cost.micros += micros;
    this.#costs.set(ruleIndex, cost);
  }
}
