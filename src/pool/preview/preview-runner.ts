/**
 * Works on previews in batches on a match thread, behind ingest and the pass: the thread gives a
 * preview the last turn, and while the machine is busy there is a pause after each batch. Previews of
 * several workspaces take turns: the batches of about a second are a slice.
 *
 *   claim ──► plan ──► batch ──► pause ──► batch … ──► all done: keep, finish
 *     ▲                                      │
 *     └─ pause ◄── yield ◄── slice over, stop ┘
 *
 * A batch that failed is tried again in the same slice; after `FAILURES_MAX` in a row the preview has
 * failed.
 */
import { setTimeout as waitFor } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import {
  type ClaimedPreview,
  claimPreview,
  finishPreview,
  keepPreview,
  type PreviewCursor,
  type PreviewRun,
  planPreview,
  readPreviewRuns,
  yieldPreview,
} from '../../db/previews/preview-queue.ts';
import type { ReadReplica } from '../../db/replica/read-replica.ts';
import { addTallies, type PreviewTally } from '../../model/previews.ts';
import type { Snapshot } from '../../model/rules.ts';
import type { Events } from '../../observe/events.ts';
import { reasonOf, shortReason } from '../reason.ts';
import type { MatchThread } from '../workers.ts';
import type { PreviewBatch } from './preview-batch.ts';

/** Most runs of a batch; it also ends with 8 MiB of steps. */
const BATCH_RUNS = 64;
/** Runs that are looked up at a time. */
const PAGE_RUNS = 512;
/** While the machine is busy, a preview works this part of the time. */
const BUSY_SHARE = 0.12;
/** The machine is busy while the thread gets less than this part of a core. */
const CORE_SHARE_MIN = 0.8;
/** Linux counts the CPU time of a thread in ticks of up to 10 ms: a shorter interval says little. */
const SHARE_MEASURED_MS = 100;
/** Failures of batches in a row after which a preview has failed. */
const FAILURES_MAX = 3;
/** A slice that takes more CPU time means that the thread is stuck. */
const STALLED_MS = 2 * 60_000;

const TIMING = { intervalMs: 2000, sliceMs: 1000, retryMs: 5000, watchMs: 5000 };
export type PreviewTiming = typeof TIMING;

export interface PreviewRunnerDependencies {
  readonly database: Database;
  readonly thread: Pick<MatchThread, 'preview' | 'end' | 'stalledMs'>;
  /** where batches are read from while it has all of their runs; null: from `database` */
  readonly replica: Pick<ReadReplica, 'isUsable'> | null;
  readonly snapshot: Pick<Snapshot, 'identity'>;
  readonly events: Pick<Events, 'previewFinished' | 'previewFailed' | 'previewsWorked'>;
}

/**
 * Knows if others want the core that previews are matched on. The thread's CPU time says it at once, and of
 * what this process may use: in a container, the cores of the machine say nothing.
 */
class Contention {
  #cpuMs = 0;
  #wallMs = 0;
  #isBusy = false;

  get isBusy(): boolean {
    return this.#isBusy;
  }

  add({ cpuMs, wallMs }: PreviewBatch['thread']): void {
    this.#cpuMs += cpuMs;
    this.#wallMs += wallMs;
    if (this.#wallMs < SHARE_MEASURED_MS) return;
    this.#isBusy = this.#cpuMs < CORE_SHARE_MIN * this.#wallMs;
    [this.#cpuMs, this.#wallMs] = [0, 0];
  }
}

/** Ends early when it is aborted. */
async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  await waitFor(ms, undefined, { signal }).catch(() => {});
}

interface Progress {
  tally: PreviewTally;
  cursor: PreviewCursor | null;
  /** when the runs that wait were looked up */
  listedAtMs: number;
  /** after the last batch, because others want the core */
  pauseMs: number;
}

export class PreviewRunner {
  readonly #deps: PreviewRunnerDependencies;
  readonly #timing: PreviewTiming;
  readonly #pauseFor: typeof pauseFor;
  readonly #contention = new Contention();
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | null = null;
  #watch: NodeJS.Timeout | null = null;
  #working: Promise<void> | null = null;

  /** @param pause another one, for tests */
  constructor(
    deps: PreviewRunnerDependencies,
    timing: PreviewTiming = TIMING,
    pause: typeof pauseFor = pauseFor,
  ) {
    this.#deps = deps;
    this.#timing = timing;
    this.#pauseFor = pause;
  }

  /** Looks for a preview at every interval while none is under way. */
  start(): void {
    const { intervalMs, watchMs } = this.#timing;
    this.#timer = setInterval(() => this.#turn(), intervalMs);
    this.#watch = setInterval(() => {
      const { thread } = this.#deps;
      if (this.#working !== null && thread.stalledMs() > STALLED_MS) thread.end();
    }, watchMs);
    this.#turn();
  }

  /** Yields what is under way, after its batch. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#working;
    if (this.#watch !== null) clearInterval(this.#watch);
  }

  #turn(): void {
    this.#working ??= this.#work().finally(() => {
      this.#working = null;
    });
  }

  /** Works until no preview waits. Never rejects. */
  async #work(): Promise<void> {
    const { database, events } = this.#deps;
    try {
      for (;;) {
        if (this.#isStopping) return;
        const job = await claimPreview(database);
        events.previewsWorked();
        if (job === null) return;
        await this.#run(job);
      }
    } catch (error) {
      // Its lease ends, and it continues from its cursor.
      events.previewFailed(error);
    }
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #run(job: ClaimedPreview): Promise<void> {
    const { database, snapshot, events } = this.#deps;
    if (job.corpusIdentity !== snapshot.identity) {
      return await finishPreview(database, job, 'the rules are another corpus by now');
    }
    const sample = job.sample ?? (await planPreview(database, job));
    const { tally, cursor } = job;
    const progress: Progress = { tally, cursor, listedAtMs: performance.now(), pauseMs: 0 };
    const end = await this.#runSlice(job, sample, progress);
    if (end === 'turn') {
      await yieldPreview(database, job, progress.tally, progress.cursor);
      return await this.#pause(progress.pauseMs);
    }
    if (!(await keepPreview(database, job, progress.tally, progress.cursor))) return;
    await finishPreview(database, job, end === 'all' ? null : end);
    events.previewFinished(progress.tally.read, end === 'all');
  }

  /** @returns `all` when nothing is left, `turn` when others may have theirs; or why it failed */
  async #runSlice(job: ClaimedPreview, sample: number, progress: Progress): Promise<string> {
    const { database } = this.#deps;
    const endsAtMs = performance.now() + this.#timing.sliceMs;
    let failures = 0;
    let waiting: readonly PreviewRun[] = [];
    for (;;) {
      if (this.#isStopping) return 'turn';
      if (waiting.length === 0) {
        waiting = await readPreviewRuns(database, job, sample, progress.cursor, PAGE_RUNS);
        if (waiting.length === 0) return 'all';
        progress.listedAtMs = performance.now();
      }
      const from = performance.now();
      try {
        waiting = await this.#batch(job, waiting, progress);
        failures = 0;
      } catch (error) {
        failures += 1;
        if (failures >= FAILURES_MAX) return shortReason(reasonOf(error));
        await this.#pause(this.#timing.retryMs);
        continue;
      }
      const now = performance.now();
      progress.pauseMs = this.#contention.isBusy ? (now - from) * (1 / BUSY_SHARE - 1) : 0;
      // A long pause must not use up the lease, so the preview is yielded before it.
      if (now + progress.pauseMs >= endsAtMs) return 'turn';
      await this.#pause(progress.pauseMs);
    }
  }

  /** @returns the runs that are left */
  async #batch(
    { ruleIds }: ClaimedPreview,
    waiting: readonly PreviewRun[],
    progress: Progress,
  ): Promise<readonly PreviewRun[]> {
    const { thread, replica } = this.#deps;
    const task = { runs: waiting.slice(0, BATCH_RUNS), ruleIds, fromReplica: false };
    const fromReplica = replica?.isUsable(progress.listedAtMs) ?? false;
    const {
      runs,
      tally,
      thread: used,
    } = fromReplica
      ? await thread.preview({ ...task, fromReplica }).catch(() => thread.preview(task))
      : await thread.preview(task);
    const last = waiting[runs - 1];
    if (last === undefined) throw new RangeError('a batch of a preview did nothing');
    this.#contention.add(used);
    progress.tally = addTallies(progress.tally, tally);
    progress.cursor = { atMicros: last.atMicros, runId: last.runId };
    return waiting.slice(runs);
  }

  async #pause(ms: number): Promise<void> {
    if (ms === 0) return;
    await this.#pauseFor(ms, this.#stopping.signal);
  }
}
