/**
 * Decides which task computes next on a worker thread. Work is done in slices, and each belongs to a
 * flow: all quick tasks are one flow, every long run is its own. The next slice goes to the flow
 * with the least time for its weight (start-time fair queueing), so a long run gets its share and no
 * more, and everything when it is alone. The main thread watches every slice (thread-cpu.ts).
 */
import type { RunEvaluation } from '../engine/evaluate.ts';
import type { ThreadClock, ThreadPulse } from './thread-cpu.ts';

/** A sequence of slices that share one weight. */
export interface Flow {
  /** of two busy flows, the one of twice the weight gets twice the time */
  readonly weight: number;
  /** time used, divided by the weight; kept by `SliceScheduler` */
  reachedMs: number;
}

export function createFlow(weight: number): Flow {
  return { weight, reachedMs: 0 };
}

interface Waiting {
  readonly flow: Flow;
  readonly run: () => void;
}

export class SliceScheduler {
  readonly #now: () => number;
  readonly #waiting: Waiting[] = [];
  #isScheduled = false;
  /** `reachedMs` of the flow of the last slice when it began; an idle flow resumes from here */
  #reachedMs = 0;

  /** @param now milliseconds, monotonic */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Does a slice of work when it is the flow's turn. Input and output are served between slices.
   * @param work ends by itself, soon
   * @returns what `work` returns; rejects with what it throws
   */
  take<T>(flow: Flow, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = (): void => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      };
      flow.reachedMs = Math.max(flow.reachedMs, this.#reachedMs);
      this.#waiting.push({ flow, run });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => this.#next());
  }

  #next(): void {
    this.#isScheduled = false;
    const next = this.#waiting.reduce((best, one) =>
      one.flow.reachedMs < best.flow.reachedMs ? one : best,
    );
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    const { flow, run } = next;
    this.#reachedMs = flow.reachedMs;
    const from = this.#now();
    run();
    flow.reachedMs += (this.#now() - from) / flow.weight;
    this.#schedule();
  }
}

/** A slice ends after this time, at the next boundary between texts or rules. */
const SLICE_MS = 50;

export interface SliceDependencies {
  readonly scheduler: SliceScheduler;
  readonly cpuMs: ThreadClock;
  readonly pulse: ThreadPulse;
}

/**
 * Works on an evaluation until it is done or out of CPU time.
 *
 * @param cpuMaxMs CPU time in milliseconds after which no further slice starts
 * @returns false when the CPU time is used up before the evaluation is done
 * @throws the evaluation's errors
 */
export async function workInSlices(
  evaluation: Pick<RunEvaluation, 'work'>,
  flow: Flow,
  cpuMaxMs: number,
  { scheduler, cpuMs, pulse }: SliceDependencies,
): Promise<boolean> {
  let usedMs = 0;
  const slice = (): boolean => {
    const from = cpuMs();
    const until = performance.now() + SLICE_MS;
    pulse.begin(from);
    try {
      return evaluation.work(() => performance.now() >= until);
    } finally {
      usedMs += cpuMs() - from;
      pulse.end();
    }
  };
  for (;;) {
    const isDone = await scheduler.take(flow, slice);
    if (isDone || usedMs >= cpuMaxMs) return isDone;
  }
}
