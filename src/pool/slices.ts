/**
 * Owns how a run's evaluation is done in slices: each in its flow's turn, watched by the main thread
 * (thread-cpu.ts), until it is done or has used up its CPU time.
 */
import type { RunEvaluation } from '../engine/evaluate.ts';
import type { Flow, SliceScheduler } from './slice-scheduler.ts';
import type { ThreadClock, ThreadPulse } from './thread-cpu.ts';

/** A slice is over after this long, and the text or pattern begun: others have waited so long. */
const SLICE_MS = 50;

/** What slices are taken from. */
export interface SliceDependencies {
  readonly scheduler: SliceScheduler;
  readonly cpuMs: ThreadClock;
  readonly pulse: ThreadPulse;
}

/**
 * Works on an evaluation.
 *
 * @param cpuMaxMs CPU time in milliseconds after which no further slice begins
 * @returns false when the CPU time is used up: the evaluation may be stopped
 * @throws what the evaluation throws
 */
export async function workInSlices(
  evaluation: RunEvaluation,
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
