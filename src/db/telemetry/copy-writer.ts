/**
 * Takes encoded requests and has them stored in batches.
 *
 *   offer ──► waiting ──► a lane takes a batch, workspaces in turn ──► COPY, COMMIT ──► answer
 *                         (fair-queue.ts)                              (batch-store.ts)
 *
 * Bounded by bytes in flight: past the limit `offer` refuses, it never queues. A request that comes
 * again while the first is here waits for the first.
 */
import { SluiceError } from '../../errors.ts';
import type { Hex16 } from '../../model/json.ts';
import type { Events } from '../../observe/events.ts';
import type { Database } from '../database.ts';
import type { RunTimes } from '../runs/run-times.ts';
import {
  BatchStore,
  type BatchStoreSettings,
  RETRY_AFTER_SECONDS,
  type Stored,
  type StoreEvents,
  type WaitingRequest,
} from './batch-store.ts';
import type { EncodedRequest } from './encoded-request.ts';
import { FairQueue, type Portion } from './fair-queue.ts';
import { findReceipts, type Receipt, type ReceivedRequest, receiptKey } from './receipts.ts';

/** Large enough that a transaction's cost is negligible, small enough to answer within a second. */
const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/** One encodes and sends while the other commits; more compete for the same two cores. */
const LANES = 2;
/**
 * Up to this many bytes in flight, what arrives beside a batch waits for the next one, which is
 * cheaper than a separate transaction (docs/decisions/0025-tried-for-speed.md); for so long.
 */
const ONE_LANE_BYTES_MAX = 256 * 1024;
const ONE_LANE_MS_MAX = 20;
/**
 * Size of a batch in the short lane, and in every lane while several workspaces are active.
 * It is stored in about 50 ms instead of 300, so others wait less.
 */
const SHORT_BATCH_BYTES_MAX = 1024 * 1024;

/** The budget for rows that are accepted but not yet committed, shared by workspaces and writers. */
export interface RowBudget {
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
  readonly batchTimeoutMs?: number;
  readonly compressor?: BatchStoreSettings['compressor'];
  readonly clock?: BatchStoreSettings['clock'];
  readonly lockWaitMs?: number;
}

type WriterEvents = StoreEvents & Pick<Events, 'inflightChanged'>;

/**
 * When requests are stored, and together with which: batches without timers. While one batch is
 * stored, the next one fills.
 *
 * Two lanes take batches from all workspaces. A third, the short lane, takes small batches from
 * workspaces that have no rows in a running batch, so that they never wait for the large batches of
 * others. While there is little to store, one lane takes it all: what arrives during its batch shares
 * the next transaction. A single active workspace uses two lanes; while several are active, each
 * uses one lane at a time, with short batches. That halves what the others wait for PostgreSQL.
 */
class BatchLanes {
  readonly #lanes: number;
  readonly #batchBytesMax: number;
  readonly #shortBatchBytesMax: number;
  readonly #inflightBytes: () => number;
  readonly #store: (batch: readonly WaitingRequest[]) => Promise<void>;
  readonly #waiting = new FairQueue<WaitingRequest>();
  readonly #running = new Map<number, number>();
  #busyLanes = 0;
  #isShortLaneBusy = false;
  /** when one of the two lanes took its latest batch, by `performance.now()` */
  #takenAtMs = 0;
  /** set while requests wait for the end of a batch beside a free lane */
  #laneTimer: NodeJS.Timeout | null = null;
  #onIdle: (() => void)[] = [];

  constructor(
    { lanes = LANES, batchBytesMax = BATCH_BYTES_MAX }: CopyWriterSettings,
    inflightBytes: () => number,
    store: (batch: readonly WaitingRequest[]) => Promise<void>,
  ) {
    this.#lanes = lanes;
    this.#batchBytesMax = batchBytesMax;
    this.#shortBatchBytesMax = Math.min(SHORT_BATCH_BYTES_MAX, batchBytesMax);
    this.#inflightBytes = inflightBytes;
    this.#store = store;
  }

  add(request: WaitingRequest): void {
    const { workspaceId, bytes } = request;
    this.#waiting.add(workspaceId, bytes, request);
    this.#wake(workspaceId);
  }

  async idle(): Promise<void> {
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /**
   * Checks whether several workspaces are active, or have rows that wait or are being stored. Not only the
   * latter: a batch that starts between two requests of a small sender would delay the second one.
   */
  get #isShared(): boolean {
    if (this.#waiting.isShared) return true;
    const others = [...this.#running.keys()].filter((id) => !this.#waiting.has(id));
    return this.#waiting.owners + others.length > 1;
  }

  readonly #isBeingStored = (workspaceId: number): boolean => this.#running.has(workspaceId);

  get #isIdle(): boolean {
    return this.#busyLanes === 0 && !this.#isShortLaneBusy && this.#waiting.size === 0;
  }

  /** Starts a free lane that may take a workspace's rows, unless the next batch takes them soon. */
  #wake(workspaceId: number): void {
    if (this.#busyLanes < this.#lanes) this.#wakeLane();
    else if (!this.#isShortLaneBusy && !this.#running.has(workspaceId)) void this.#runShortLane();
  }

  #wakeLane(): void {
    const waitMs = this.#takenAtMs + ONE_LANE_MS_MAX - performance.now();
    if (this.#busyLanes === 0 || this.#inflightBytes() > ONE_LANE_BYTES_MAX || waitMs <= 0) {
      void this.#runLane();
      return;
    }
    this.#laneTimer ??= setTimeout(() => {
      this.#laneTimer = null;
      if (this.#waiting.size > 0 && this.#busyLanes < this.#lanes) this.#wakeLane();
    }, waitMs);
  }

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
      // A request that is too large for it waited for its batch to end.
      if (this.#waiting.size > 0 && this.#busyLanes < this.#lanes) void this.#runLane();
    });
  }

  /** @param end called in the turn in which nothing waits any more, so that a later request starts a lane */
  async #storeAll(portion: () => Portion, end: () => void): Promise<void> {
    // Requests that arrive in the same turn of the event loop go into the same batch.
    await new Promise(setImmediate);
    for (;;) {
      const batch = this.#waiting.take(portion());
      if (batch.length === 0) {
        end();
        break;
      }
      const workspaces = new Set(batch.map(({ workspaceId }) => workspaceId));
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
}

export class CopyWriter {
  readonly #database: Database;
  readonly #events: WriterEvents;
  readonly #budget: RowBudget;
  readonly #lanes: BatchLanes;
  /** requests that wait or are being stored, by `receiptKey` */
  readonly #underWay = new Map<string, Promise<Stored>>();
  #inflightBytes = 0;
  #closed = false;

  constructor(database: Database, settings: CopyWriterSettings, events: WriterEvents) {
    this.#database = database;
    this.#events = events;
    this.#budget = settings.budget;
    const { runTimes, batchTimeoutMs, lockWaitMs, clock, compressor } = settings;
    const onLeave = (batch: readonly WaitingRequest[]): void => this.#leave(batch);
    const ofBatches = { runTimes, batchTimeoutMs, lockWaitMs, clock, compressor, onLeave };
    const batches = new BatchStore(database, ofBatches, events);
    const store = (batch: readonly WaitingRequest[]): Promise<void> => batches.store(batch);
    this.#lanes = new BatchLanes(settings, () => this.#inflightBytes, store);
  }

  get inflightBytes(): number {
    return this.#inflightBytes;
  }

  /**
   * Stores a request, unless it is stored already; resolves once every row is committed. @param receipt by
   * which a resend is recognised; null stores it whatever was stored before
   */
  offer(request: EncodedRequest, receipt: Receipt | null = null): Promise<Stored> {
    const key = receipt && receiptKey(request.workspaceId, receipt);
    const first = key === null ? undefined : this.#underWay.get(key);
    if (first !== undefined) {
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
    this.#changeInflight(request.bytes);
    const stored = new Promise<Stored>((resolve, reject) => {
      const { workspaceId, bytes } = request;
      const releaseRoom = account.release;
      this.#lanes.add({ workspaceId, bytes, request, receipt, key, releaseRoom, resolve, reject });
    });
    if (key !== null) this.#underWay.set(key, stored);
    return stored;
  }

  /** Looks a request up before it is decoded: its receipt, once every row is committed; else null. */
  async find(request: ReceivedRequest['request'], bodyHash: Hex16): Promise<Receipt | null> {
    const receipt = { bodyHash, answer: null };
    const key = receiptKey(request.workspaceId, receipt);
    let found = (await this.#underWay.get(key))?.receipt;
    found ??= (await findReceipts(this.#database, [{ request, receipt }])).get(key);
    // Another connection may have offered the same request in the meantime.
    found ??= (await this.#underWay.get(key))?.receipt;
    if (found === undefined || found === null) return null;
    this.#events.requestsResent(1);
    return found;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#lanes.idle();
  }

  #leave(batch: readonly WaitingRequest[]): void {
    for (const { releaseRoom, key } of batch) {
      releaseRoom();
      if (key !== null) this.#underWay.delete(key);
    }
    this.#changeInflight(-batch.reduce((sum, { bytes }) => sum + bytes, 0));
  }

  #changeInflight(change: number): void {
    this.#inflightBytes += change;
    this.#events.inflightChanged(this.#inflightBytes);
  }
}
