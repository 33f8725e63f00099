/** Which claimed runs are read, matched and stored together. */
import type { ClaimedRun } from '../db/evaluation-queue.ts';

/** Past some dozens asking once more costs next to nothing, and what fails takes fewer with it. */
export const BATCH_RUNS_MAX = 64;
/** Bytes bound what is read at a time (`steps.ts`); this bounds what is looked through for them. */
export const BATCH_STEPS_MAX = 2000;

/**
 * Cuts claimed runs into batches, in their order. A run that was claimed before goes alone and after
 * the others: it may be the one that ends whoever evaluates it.
 *
 * @param workers how many can work at the same time: few runs are shared out among them
 */
export function toBatches(runs: readonly ClaimedRun[], workers: number): ClaimedRun[][] {
  const fresh = runs.filter(({ attempt }) => attempt === 1);
  const again = runs.filter(({ attempt }) => attempt !== 1);
  const runsMax = Math.min(BATCH_RUNS_MAX, Math.ceil(fresh.length / workers));
  const batches: ClaimedRun[][] = [];
  let room = 0;
  for (const run of fresh) {
    const last = batches.at(-1);
    room -= run.steps;
    if (last !== undefined && last.length < runsMax && room >= 0) last.push(run);
    else {
      batches.push([run]);
      room = BATCH_STEPS_MAX - run.steps;
    }
  }
  return [...batches, ...again.map((run) => [run])];
}
