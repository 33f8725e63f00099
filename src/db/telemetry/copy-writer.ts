/**
 * Batches requests without timers: while one transaction runs, the next batch fills.
 *
 *   offer ──► waiting ──► a lane takes a batch, workspaces in turn ──► COPY, COMMIT ──► answer
 *
 * Two lanes take batches from all workspaces. A third, the short lane, takes small batches from
 * workspaces that have no rows in a running batch, so that they never wait for the large batches of
 * others. A single active workspace uses two lanes; while several are active, each uses one lane at
 * a time, with short batches. That halves what the others wait for PostgreSQL (issue 9.8).
 *
 * Bounded by bytes in flight: past the limit `offer` refuses, it never queues. A batch that
 * PostgreSQL refuses for its data is halved until the bad request is alone; the others are stored.
 * A request is answered only after its own commit, and no later than a batch may take.
 */
import { SluiceError } from '../../errors.ts';
import type { Events } from '../../observe/events.ts';
import { type Connection, type Database, withConnection } from '../database.ts';
import { type RunTimes, type SettleAllowance, settleAllowance } from '../runs/run-times.ts';
import { KnownContents, ServerChangedError, storeBatch } from './copy-transaction.ts';
import type { EncodedRequest } from './encoded-request.ts';
import { FairQueue, type Portion } from './fair-queue.ts';
import { ensureDay, utcDay } from './partitions.ts';
import { isMissingPartition, isRowFault } from './row-faults.ts';

/**
 * Large enough that a transaction's cost is negligible, small enough to answer within a second
 * (measured: docs/decisions/0010-storage.md).
 */
const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/** One encodes and sends while the other commits; more compete for the same two cores. */
const LANES = 2;
/**
 * Size of a batch in the short lane, and in every lane while several workspaces are active.
 * It is stored in about 50 ms instead of 300 (docs/decisions/0010-storage.md), so others wait less.
 */
const SHORT_BATCH_BYTES_MAX = 1024 * 1024;
const RETRY_AFTER_SECONDS = 1;
/** A workspace is active for this long after its last request. */
const ACTIVE_MS = 1000;
/** Above the limit of a single statement, which a healthy server enforces itself. */
const BATCH_TIMEOUT_MS = 40_000;

interface Waiting {
  readonly request: EncodedRequest;
  /** releases its bytes in the budget */
  readonly releaseRoom: () => void;
  readonly resolve: () => void;
  readonly reject: (error: SluiceError) => void;
}

/**
 * The budget for rows that are accepted but not yet committed, shared by workspaces and writers.
 */
export interface RowBudget {
  /** Opens the account of one request. */
  readonly open: (workspaceId: number) => {
    /** False when the budget is used up; nothing is reserved then. */
    readonly reserve: (bytes: number) => boolean;
    readonly release: () => void;
  };
}

export interface CopyWriterSettings {
  /** requests that exceed it are refused */
  readonly budget: RowBudget;
  /** bounds for how long arrivals delay a run's evaluation; no bound by default */
  readonly runTimes?: RunTimes;
  readonly lanes?: number;
  /** a batch takes one more request only up to here */
  readonly batchBytesMax?: number;
  /** a transaction that takes longer is aborted, and its connection destroyed */
  readonly batchTimeoutMs?: number;
}

type WriterEvents = Pick<
  Events,
  'inflightChanged' | 'batchCommitted' | 'batchFailed' | 'requestUnstorable' | 'partitionsChanged'
>;

export class CopyWriter {
  readonly #database: Database;
  readonly #events: WriterEvents;
  readonly #budget: RowBudget;
  readonly #lanes: number;
  readonly #batchBytesMax: number;
  readonly #batchTimeoutMs: number;
  readonly #allowance: SettleAllowance | null;
  readonly #known = new KnownContents();
  readonly #ensuredDays = new Set<string>();
  /** connections that stored a batch */
  readonly #connections = new WeakSet<Connection>();
  readonly #waiting = new FairQueue<Waiting>();
  /** the last request, and the last one of another workspace */
  #last: { readonly workspaceId: number; readonly atMs: number } | null = null;
  #lastOfOther: { readonly workspaceId: number; readonly atMs: number } | null = null;
  /** number of running batches by workspace */
  readonly #running = new Map<number, number>();
  #inflightBytes = 0;
  #busyLanes = 0;
  #isShortLaneBusy = false;
  #closed = false;
  #onIdle: (() => void)[] = [];

  constructor(database: Database, settings: CopyWriterSettings, events: WriterEvents) {
    this.#database = database;
    this.#events = events;
    this.#budget = settings.budget;
    this.#lanes = settings.lanes ?? LANES;
    this.#batchBytesMax = settings.batchBytesMax ?? BATCH_BYTES_MAX;
    this.#batchTimeoutMs = settings.batchTimeoutMs ?? BATCH_TIMEOUT_MS;
    const { runTimes } = settings;
    this.#allowance = runTimes === undefined ? null : settleAllowance(runTimes);
  }

  /** Bytes accepted but not yet committed. */
  get inflightBytes(): number {
    return this.#inflightBytes;
  }

  /**
   * Stores a request.
   *
   * @returns resolves once every row is committed
   * @throws {SluiceError} `overloaded` or `shutting_down` (not accepted), `unstorable_rows`
   *   (PostgreSQL refuses these rows), `store_unavailable` (not known to be stored)
   */
  offer(request: EncodedRequest): Promise<void> {
    if (this.#closed) {
      return Promise.reject(new SluiceError('shutting_down', 'The server is shutting down.'));
    }
    const account = this.#budget.open(request.workspaceId);
    if (!account.reserve(request.bytes)) {
      return Promise.reject(
        new SluiceError(
          'overloaded',
          'Too much data is waiting to be stored (MAX_INFLIGHT_BYTES). Try again later.',
          {
            retryAfterSeconds: RETRY_AFTER_SECONDS,
            shortage: 'inflight_rows',
          },
        ),
      );
    }
    this.#noteActive(request.workspaceId);
    this.#changeInflight(request.bytes);
    return new Promise((resolve, reject) => {
      const waiting = { request, releaseRoom: account.release, resolve, reject };
      this.#waiting.add(request.workspaceId, request.bytes, waiting);
      this.#wake(request.workspaceId);
    });
  }

  /** Refuses further requests and resolves when all accepted ones are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  get #shortBatchBytesMax(): number {
    return Math.min(SHORT_BATCH_BYTES_MAX, this.#batchBytesMax);
  }

  #noteActive(workspaceId: number): void {
    if (this.#last !== null && this.#last.workspaceId !== workspaceId) {
      this.#lastOfOther = this.#last;
    }
    this.#last = { workspaceId, atMs: performance.now() };
  }

  /**
   * Whether several workspaces are active, or have rows that wait or are being stored. Not only the
   * latter: a batch that starts between two requests of a small sender would delay the second one.
   */
  get #isShared(): boolean {
    const other = this.#lastOfOther;
    if (other !== null && performance.now() - other.atMs < ACTIVE_MS) return true;
    const others = [...this.#running.keys()].filter((id) => !this.#waiting.has(id));
    return this.#waiting.owners + others.length > 1;
  }

  readonly #isBeingStored = (workspaceId: number): boolean => this.#running.has(workspaceId);

  get #isIdle(): boolean {
    return this.#busyLanes === 0 && !this.#isShortLaneBusy && this.#waiting.size === 0;
  }

  #releaseRoom(batch: readonly Waiting[]): void {
    for (const { releaseRoom } of batch) releaseRoom();
    this.#changeInflight(-batch.reduce((sum, { request }) => sum + request.bytes, 0));
  }

  #changeInflight(change: number): void {
    this.#inflightBytes += change;
    this.#events.inflightChanged(this.#inflightBytes);
  }

  /** Starts a free lane that may take a workspace's rows. */
  #wake(workspaceId: number): void {
    if (this.#busyLanes < this.#lanes) void this.#runLane();
    else if (!this.#isShortLaneBusy && !this.#running.has(workspaceId)) void this.#runShortLane();
  }

  /** Takes batches until nothing waits. Never rejects: callers of `offer` get every failure. */
  async #runLane(): Promise<void> {
    this.#busyLanes += 1;
    const portion = (): Portion =>
      this.#isShared
        ? { bytesMax: this.#shortBatchBytesMax, hasLarge: true, isLeftOut: this.#isBeingStored }
        : { bytesMax: this.#batchBytesMax, hasLarge: true };
    await this.#storeAll(portion, () => {
      this.#busyLanes -= 1;
    });
  }

  /** As `#runLane`, but only for workspaces without rows in a running batch. */
  async #runShortLane(): Promise<void> {
    this.#isShortLaneBusy = true;
    const portion = (): Portion => ({
      bytesMax: this.#shortBatchBytesMax,
      hasLarge: false,
      isLeftOut: this.#isBeingStored,
    });
    await this.#storeAll(portion, () => {
      this.#isShortLaneBusy = false;
      // What is too large for it waited for its batch to end.
      if (this.#waiting.size > 0 && this.#busyLanes < this.#lanes) void this.#runLane();
    });
  }

  /**
   * @param end called in the same turn of the event loop in which nothing waits any more, so that a
   *   later offer starts a lane
   */
  async #storeAll(portion: () => Portion, end: () => void): Promise<void> {
    // What arrives in the same turn of the event loop goes into the same batch.
    await new Promise(setImmediate);
    for (;;) {
      const batch = this.#waiting.take(portion());
      if (batch.length === 0) {
        end();
        break;
      }
      const workspaces = new Set(batch.map(({ request }) => request.workspaceId));
      for (const id of workspaces) this.#running.set(id, (this.#running.get(id) ?? 0) + 1);
      await this.#store(batch);
      for (const id of workspaces) {
        const others = (this.#running.get(id) ?? 0) - 1;
        if (others > 0) this.#running.set(id, others);
        else this.#running.delete(id);
      }
    }
    if (this.#isIdle) for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    const startedAt = performance.now();
    try {
      await this.#storeOnce(batch.map(({ request }) => request));
    } catch (error) {
      await this.#answerFailure(batch, error);
      return;
    }
    const bytes = batch.reduce((sum, { request }) => sum + request.bytes, 0);
    this.#events.batchCommitted({
      requests: batch.length,
      rows: batch.reduce((sum, { request }) => sum + request.rows, 0),
      bytes,
      elapsedMs: performance.now() - startedAt,
    });
    this.#releaseRoom(batch);
    for (const { request, resolve } of batch) {
      request.release();
      resolve();
    }
  }

  /** Stores requests; on another server than before, or without a partition of the day, once more. */
  async #storeOnce(requests: readonly EncodedRequest[]): Promise<void> {
    try {
      await this.#transact(requests);
    } catch (error) {
      if (!(error instanceof ServerChangedError || isMissingPartition(error))) throw error;
      this.#ensuredDays.clear();
      await this.#transact(requests);
    }
  }

  async #transact(requests: readonly EncodedRequest[]): Promise<void> {
    for (const { arrivedAtMs } of requests) await this.#ensureDay(arrivedAtMs);
    await withConnection(this.#database, this.#batchTimeoutMs, (connection) => {
      // The database may have been restored from a backup since the other connections were made.
      if (!this.#connections.has(connection)) this.#known.clear();
      this.#connections.add(connection);
      return storeBatch(connection, requests, this.#known, this.#allowance);
    });
  }

  async #ensureDay(arrivedAtMs: number): Promise<void> {
    const day = utcDay(arrivedAtMs);
    if (this.#ensuredDays.has(day)) return;
    const created = await ensureDay(this.#database, arrivedAtMs);
    if (created.length > 0) this.#events.partitionsChanged(created, []);
    this.#ensuredDays.add(day);
  }

  async #answerFailure(batch: readonly Waiting[], error: unknown): Promise<void> {
    const [first] = batch;
    if (isRowFault(error) && batch.length > 1) {
      const middle = batch.length >> 1;
      await this.#store(batch.slice(0, middle));
      await this.#store(batch.slice(middle));
      return;
    }
    this.#releaseRoom(batch);
    if (isRowFault(error)) {
      this.#events.requestUnstorable(error);
      first?.reject(
        new SluiceError('unstorable_rows', 'PostgreSQL rejected this data.', { cause: error }),
      );
      return;
    }
    // The database may have been replaced, so known rows may be gone.
    this.#known.clear();
    this.#ensuredDays.clear();
    this.#events.batchFailed(batch.length, error);
    for (const { reject } of batch) {
      reject(
        new SluiceError('store_unavailable', 'The database could not store this request.', {
          cause: error,
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        }),
      );
    }
  }
}
