/**
 * Works on previews, one at a time, in batches on a match thread, behind ingest and the pass: the
 * thread gives a preview the last turn, and while the machine is busy there is a pause after each batch.
 *
 *   claim ──► plan ──► batch ──► pause ──► batch … ──► finish
 *                        │ every second: keep ── cancelled, or lost ──► leave it
 *                        └ stop: keep, release
 *
 * A batch that failed is tried again; after `FAILURES_MAX` in a row the preview has failed.
 */
import { cpus } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
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
  releasePreview,
} from '../../db/previews/preview-queue.ts';
import type { ReadReplica } from '../../db/replica/read-replica.ts';
import { addTallies, type PreviewTally } from '../../model/previews.ts';
import type { Snapshot } from '../../model/rules.ts';
import type { Events } from '../../observe/events.ts';
import { reasonOf, shortReason } from '../reason.ts';
import type { MatchThread } from '../workers.ts';

/** Most runs of a batch; it also ends with 8 MiB of steps. */
const BATCH_RUNS = 64;
/** Runs that are looked up at a time. */
const PAGE_RUNS = 512;
/** While the machine is busy, a preview works this part of the time. */
const BUSY_SHARE = 0.12;
/** The machine is busy while less than this part of its CPU time is idle. */
const IDLE_SHARE_MIN = 0.2;
/** Failures of batches in a row after which a preview has failed. */
const FAILURES_MAX = 3;
/** A slice that takes more CPU time means that the thread is stuck. */
const STALLED_MS = 2 * 60_000;

const TIMING = { intervalMs: 2000, keepMs: 1000, retryMs: 5000, watchMs: 5000 };
export type PreviewTiming = typeof TIMING;

export interface PreviewRunnerDependencies {
  readonly database: Database;
  readonly thread: Pick<MatchThread, 'preview' | 'end' | 'stalledMs'>;
  /** where batches are read from while it has all of their runs; null: from `database` */
  readonly replica: Pick<ReadReplica, 'isUsable'> | null;
  readonly snapshot: Pick<Snapshot, 'identity'>;
  readonly events: Pick<Events, 'previewFinished' | 'previewFailed' | 'previewsWorked'>;
}

/** Linux counts CPU time in ticks of 10 ms: a shorter interval says little. */
const IDLE_MEASURED_MS = 250;

/** The part of the machine's CPU time that was idle a moment ago; none before it was measured. */
function createIdleShare(): () => number {
  const read = () =>
    cpus().reduce(
      ({ idle, all }, { times }) => ({
        idle: idle + times.idle,
        all: all + times.user + times.nice + times.sys + times.idle + times.irq,
      }),
      { idle: 0, all: 0 },
    );
  let [before, beforeMs, share] = [read(), performance.now(), 0];
  return () => {
    const nowMs = performance.now();
    if (nowMs - beforeMs < IDLE_MEASURED_MS) return share;
    const now = read();
    const all = now.all - before.all;
    share = all === 0 ? 0 : (now.idle - before.idle) / all;
    [before, beforeMs] = [now, nowMs];
    return share;
  };
}

/** Where a preview is. */
interface Progress {
  tally: PreviewTally;
  cursor: PreviewCursor | null;
  keptAtMs: number;
  /** when the runs that wait were looked up */
  listedAtMs: number;
}

export class PreviewRunner {
  readonly #deps: PreviewRunnerDependencies;
  readonly #timing: PreviewTiming;
  readonly #idleShare: () => number;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | null = null;
  #watch: NodeJS.Timeout | null = null;
  #working: Promise<void> | null = null;

  /** @param idleShare another measure, for tests */
  constructor(
    deps: PreviewRunnerDependencies,
    timing: PreviewTiming = TIMING,
    idleShare: () => number = createIdleShare(),
  ) {
    this.#deps = deps;
    this.#timing = timing;
    this.#idleShare = idleShare;
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

  /** Gives back what is under way, after its batch. */
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
    const progress: Progress = {
      tally: job.tally,
      cursor: job.cursor,
      keptAtMs: performance.now(),
      listedAtMs: performance.now(),
    };
    const failure = await this.#runAll(job, sample, progress);
    if (failure === 'left') return;
    const isOwn = await keepPreview(database, job, progress.tally, progress.cursor);
    if (this.#isStopping && failure === 'stopped') return await releasePreview(database, job);
    if (!isOwn) return;
    await finishPreview(database, job, failure === 'all' ? null : failure);
    events.previewFinished(progress.tally.read, failure === 'all');
  }

  /** @returns `all` when nothing is left, `left` when it is another's or cancelled; or why it failed */
  async #runAll(job: ClaimedPreview, sample: number, progress: Progress): Promise<string> {
    const { database } = this.#deps;
    let failures = 0;
    let waiting: readonly PreviewRun[] = [];
    for (;;) {
      if (this.#isStopping) return 'stopped';
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
      }
      if (!(await this.#keepSoon(job, progress))) return 'left';
      const isBusy = this.#idleShare() < IDLE_SHARE_MIN;
      if (isBusy) await this.#pause((performance.now() - from) * (1 / BUSY_SHARE - 1));
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
    const { runs, tally } = fromReplica
      ? await thread.preview({ ...task, fromReplica }).catch(() => thread.preview(task))
      : await thread.preview(task);
    const last = waiting[runs - 1];
    if (last === undefined) throw new RangeError('a batch of a preview did nothing');
    progress.tally = addTallies(progress.tally, tally);
    progress.cursor = { atMicros: last.atMicros, runId: last.runId };
    return waiting.slice(runs);
  }

  /** Stores the progress when it is time. @returns false when the preview is not ours any more */
  async #keepSoon(job: ClaimedPreview, progress: Progress): Promise<boolean> {
    if (performance.now() - progress.keptAtMs < this.#timing.keepMs) return true;
    progress.keptAtMs = performance.now();
    return await keepPreview(this.#deps.database, job, progress.tally, progress.cursor);
  }

  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }
}
