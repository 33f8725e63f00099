/**
 * Works on a run's evaluation in slices, each in its flow's turn, until it is done or has used up
 * its CPU time. The main thread watches every slice (thread-cpu.ts).
 */
import type { RunEvaluation } from '../engine/evaluate.ts';
import type { Flow, SliceScheduler } from './slice-scheduler.ts';
import type { ThreadClock, ThreadPulse } from './thread-cpu.ts';

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
