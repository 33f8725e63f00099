/**
 * Batches requests without timers: while one transaction runs, the next batch fills.
 *
 *   offer ──► waiting ──► a lane takes a batch, workspaces in turn ──► COPY, COMMIT ──► answer
 *
 * Two lanes take batches from all workspaces. A third, the short lane, takes small batches from
 * workspaces that have no rows in a running batch, so that they never wait for the large batches of
 * others. While there is little to store, one lane takes it all: what arrives during its batch shares
 * the next transaction. A single active workspace uses two lanes; while several are active, each uses one lane at
 * a time, with short batches. That halves what the others wait for PostgreSQL (issue 9.8).
 *
 * Bounded by bytes in flight: past the limit `offer` refuses, it never queues. A batch that
 * PostgreSQL refuses for its data is halved until the bad request is alone; the others are stored.
 * A request is answered only after its own commit, and no later than a batch may take.
 *
 * A request that comes again while the first is here waits for the first. One that was stored before,
 * here or by another process, is taken out of its batch by its receipt (`receipts.ts`).
 */
import { SluiceError } from '../../errors.ts';
import type { Events } from '../../observe/events.ts';
import { type Connection, type Database, withConnection } from '../database.ts';
import { CommitWarning } from '../pipeline.ts';
import { placementOf } from '../placement.ts';
import { type RunTimes, type SettleAllowance, settleAllowance } from '../runs/run-times.ts';
import { storeBatch } from './copy-transaction.ts';
import type { EncodedRequest } from './encoded-request.ts';
import { FairQueue, type Portion } from './fair-queue.ts';
import { ensureDay, ensurePeriods } from './partitions.ts';
import {
  findReceipts,
  isBeingStored,
  isStoredAlready,
  lockTimeoutMs,
  RECEIPT_KEPT_MS,
  type Receipt,
  receiptKey,
  receiptPeriods,
  storeReceipts,
} from './receipts.ts';
import { isMissingPartition, isRowFault } from './row-faults.ts';
import { KnownContents, ServerChangedError } from './shared-contents.ts';

/**
 * Large enough that a transaction's cost is negligible, small enough to answer within a second
 * (measured: docs/decisions/0010-storage.md).
 */
const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/** One encodes and sends while the other commits; more compete for the same two cores. */
const LANES = 2;
/**
 * Up to this many bytes in flight, what arrives beside a batch waits for the next one, which is
 * cheaper than a transaction of its own (docs/decisions/0041-tried-for-speed.md); for so long.
 */
const ONE_LANE_BYTES_MAX = 256 * 1024;
const ONE_LANE_MS_MAX = 20;
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

/** How a request was stored. */
export interface Stored {
  /** it was stored before, or is the same request as one that was being stored */
  readonly isResend: boolean;
  /** of the first; null without a receipt */
  readonly receipt: Receipt | null;
}

interface Waiting {
  readonly request: EncodedRequest;
  readonly receipt: Receipt | null;
  /** of the receipt; null without one */
  readonly key: string | null;
  /** releases its bytes in the budget */
  readonly releaseRoom: () => void;
  readonly resolve: (stored: Stored) => void;
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
  | 'inflightChanged'
  | 'batchCommitted'
  | 'batchFailed'
  | 'requestUnstorable'
  | 'requestsResent'
  | 'partitionsChanged'
>;

/** Since 1970. Days and the periods of receipts begin with an hour. */
const hourOf = (atMs: number): number => Math.floor(atMs / RECEIPT_KEPT_MS);

type Received = Waiting & { readonly receipt: Receipt };

/** The requests of a batch that have a receipt. */
function received(batch: readonly Waiting[]): Received[] {
  return batch.filter((waiting): waiting is Received => waiting.receipt !== null);
}

export class CopyWriter {
  readonly #database: Database;
  readonly #events: WriterEvents;
  readonly #budget: RowBudget;
  readonly #lanes: number;
  readonly #batchBytesMax: number;
  readonly #batchTimeoutMs: number;
  readonly #allowance: SettleAllowance | null;
  readonly #known = new KnownContents();
  /** hours since 1970 whose partitions are there */
  readonly #ensured = new Set<number>();
  /** connections that stored a batch */
  readonly #connections = new WeakSet<Connection>();
  readonly #waiting = new FairQueue<Waiting>();
  /** requests that wait or are being stored, by `receiptKey` */
  readonly #underWay = new Map<string, Promise<Stored>>();
  /** the last request, and the last one of another workspace */
  #last: { readonly workspaceId: number; readonly atMs: number } | null = null;
  #lastOfOther: { readonly workspaceId: number; readonly atMs: number } | null = null;
  /** number of running batches by workspace */
  readonly #running = new Map<number, number>();
  #inflightBytes = 0;
  #busyLanes = 0;
  #isShortLaneBusy = false;
  /** when one of the two lanes took its latest batch, by `performance.now()` */
  #takenAtMs = 0;
  /** set while requests wait for the end of a batch beside a free lane */
  #laneTimer: NodeJS.Timeout | null = null;
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
   * Stores a request, unless it is stored already.
   *
   * @param receipt by which a resend is recognised; null stores it whatever was stored before
   * @returns resolves once every row is committed
   * @throws {SluiceError} `overloaded` or `shutting_down` (not accepted), `unstorable_rows`
   *   (PostgreSQL refuses these rows), `store_unavailable` (not known to be stored)
   */
  offer(request: EncodedRequest, receipt: Receipt | null = null): Promise<Stored> {
    const key = receipt && receiptKey(request.workspaceId, receipt);
    const first = key === null ? undefined : this.#underWay.get(key);
    if (first !== undefined) {
      request.release();
      this.#events.requestsResent(1);
      return first.then((stored) => ({ ...stored, isResend: true }));
    }
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
    const stored = new Promise<Stored>((resolve, reject) => {
      const waiting = { request, receipt, key, releaseRoom: account.release, resolve, reject };
      this.#waiting.add(request.workspaceId, request.bytes, waiting);
      this.#wake(request.workspaceId);
    });
    if (key !== null) this.#underWay.set(key, stored);
    return stored;
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

  /** Call before the answers: these requests wait no more, and are not being stored. */
  #leave(batch: readonly Waiting[]): void {
    for (const { releaseRoom, key } of batch) {
      releaseRoom();
      if (key !== null) this.#underWay.delete(key);
    }
    this.#changeInflight(-batch.reduce((sum, { request }) => sum + request.bytes, 0));
  }

  #changeInflight(change: number): void {
    this.#inflightBytes += change;
    this.#events.inflightChanged(this.#inflightBytes);
  }

  /** Starts a free lane that may take a workspace's rows, unless the next batch takes them soon. */
  #wake(workspaceId: number): void {
    if (this.#busyLanes < this.#lanes) this.#wakeLane();
    else if (!this.#isShortLaneBusy && !this.#running.has(workspaceId)) void this.#runShortLane();
  }

  /** With a free lane. */
  #wakeLane(): void {
    const waitMs = this.#takenAtMs + ONE_LANE_MS_MAX - performance.now();
    if (this.#busyLanes === 0 || this.#inflightBytes > ONE_LANE_BYTES_MAX || waitMs <= 0) {
      void this.#runLane();
      return;
    }
    this.#laneTimer ??= setTimeout(() => {
      this.#laneTimer = null;
      if (this.#waiting.size > 0 && this.#busyLanes < this.#lanes) this.#wakeLane();
    }, waitMs);
  }

  /** Takes batches until nothing waits. Never rejects: callers of `offer` get every failure. */
  async #runLane(): Promise<void> {
    this.#busyLanes += 1;
    this.#takenAtMs = performance.now();
    const portion = (): Portion => {
      this.#takenAtMs = performance.now();
      return this.#isShared
        ? { bytesMax: this.#shortBatchBytesMax, hasLarge: true, isLeftOut: this.#isBeingStored }
        : { bytesMax: this.#batchBytesMax, hasLarge: true };
    };
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

  /** @param isPart of a batch that waited too long for one of its receipts */
  async #store(batch: readonly Waiting[], isPart = false): Promise<void> {
    const startedAt = performance.now();
    const progress = { isCommitting: false };
    try {
      await this.#storeOnce(batch, isPart, progress);
    } catch (error) {
      const isUnknown = progress.isCommitting && !(error instanceof CommitWarning);
      if (!isUnknown || !(await this.#isStored(batch))) {
        await this.#answerFailure(batch, error);
        return;
      }
    }
    const bytes = batch.reduce((sum, { request }) => sum + request.bytes, 0);
    this.#events.batchCommitted({
      requests: batch.length,
      rows: batch.reduce((sum, { request }) => sum + request.rows, 0),
      bytes,
      elapsedMs: performance.now() - startedAt,
    });
    this.#leave(batch);
    for (const { request, receipt, resolve } of batch) {
      request.release();
      resolve({ isResend: false, receipt });
    }
  }

  /** Stores requests; on another server than before, or without a partition, once more. */
  async #storeOnce(
    batch: readonly Waiting[],
    isPart: boolean,
    progress: { isCommitting: boolean },
  ): Promise<void> {
    try {
      await this.#transact(batch, isPart, progress);
    } catch (error) {
      if (!(error instanceof ServerChangedError || isMissingPartition(error))) throw error;
      this.#ensured.clear();
      await this.#transact(batch, isPart, progress);
    }
  }

  async #transact(
    batch: readonly Waiting[],
    isPart: boolean,
    progress: { isCommitting: boolean },
  ): Promise<void> {
    const requests = batch.map(({ request }) => request);
    const receipts = storeReceipts(received(batch));
    for (const { arrivedAtMs } of requests) {
      if (!this.#ensured.has(hourOf(arrivedAtMs))) await this.#ensureHour(arrivedAtMs);
    }
    const placement = await placementOf(this.#database);
    await withConnection(this.#database, this.#batchTimeoutMs, (connection) => {
      // The database may have been restored from a backup since the other connections were made.
      if (!this.#connections.has(connection)) this.#known.clear();
      this.#connections.add(connection);
      return storeBatch(connection, requests, this.#known, {
        allowance: this.#allowance,
        receipts,
        placement,
        lockTimeoutMs: receipts.length === 0 ? null : lockTimeoutMs(isPart),
        onCommit: () => {
          progress.isCommitting = true;
        },
      });
    });
  }

  async #ensureHour(arrivedAtMs: number): Promise<void> {
    const created = [
      ...(await ensureDay(this.#database, arrivedAtMs)),
      ...(await ensurePeriods(this.#database, receiptPeriods(arrivedAtMs))),
    ];
    if (created.length > 0) this.#events.partitionsChanged(created, []);
    this.#ensured.add(hourOf(arrivedAtMs));
  }

  /** Whether a batch was committed whose COMMIT was not answered. */
  async #isStored(batch: readonly Waiting[]): Promise<boolean> {
    const requests = received(batch);
    if (requests.length < batch.length) return false;
    try {
      const found = await findReceipts(this.#database, requests);
      return found.size === requests.length;
    } catch {
      return false;
    }
  }

  async #answerFailure(batch: readonly Waiting[], error: unknown): Promise<void> {
    const [first] = batch;
    if (isStoredAlready(error)) {
      await this.#answerResends(batch);
      return;
    }
    if ((isRowFault(error) || isBeingStored(error)) && batch.length > 1) {
      const middle = batch.length >> 1;
      await this.#store(batch.slice(0, middle), isBeingStored(error));
      await this.#store(batch.slice(middle), isBeingStored(error));
      return;
    }
    if (isRowFault(error)) {
      this.#leave(batch);
      this.#events.requestUnstorable(error);
      first?.reject(
        new SluiceError('unstorable_rows', 'PostgreSQL rejected this data.', { cause: error }),
      );
      return;
    }
    this.#refuse(batch, error);
  }

  /** Answers the requests of a batch that are stored already, and stores the others. */
  async #answerResends(batch: readonly Waiting[]): Promise<void> {
    let found: ReadonlyMap<string, Receipt>;
    try {
      found = await findReceipts(this.#database, received(batch));
      if (found.size === 0) throw new Error('a receipt is there, and was not found');
    } catch (error) {
      this.#refuse(batch, error);
      return;
    }
    const others: Waiting[] = [];
    const resends: Waiting[] = [];
    for (const waiting of batch) {
      const { request, receipt, resolve } = waiting;
      const first = receipt && found.get(receiptKey(request.workspaceId, receipt));
      if (!first) {
        others.push(waiting);
        continue;
      }
      resends.push(waiting);
      resolve({ isResend: true, receipt: first });
    }
    this.#leave(resends);
    this.#events.requestsResent(resends.length);
    if (others.length > 0) await this.#store(others);
  }

  /** Refuses requests that are not known to be stored. */
  #refuse(batch: readonly Waiting[], error: unknown): void {
    this.#leave(batch);
    // The database may have been replaced, so known rows may be gone.
    this.#known.clear();
    this.#ensured.clear();
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
