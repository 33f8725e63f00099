/**
 * Batching without timers: while one transaction runs, the next batch fills.
 *
 *   offer ──► waiting ──► lane takes all that waits (BATCH_BYTES_MAX) ──► COPY, COMMIT ──► answer
 *
 * Bounded by bytes in flight: past the limit `offer` refuses, it never queues. A batch that
 * PostgreSQL refuses for its data is halved until the bad request is alone; the others are stored.
 * A request is answered only after its own commit, and no later than a batch may take.
 */
import { SluiceError } from '../errors.ts';
import { isDataError } from '../observe/error-facts.ts';
import type { Events } from '../observe/events.ts';
import { KnownContents, storeBatch } from './copy-transaction.ts';
import { type Database, withConnection } from './database.ts';
import type { EncodedRequest } from './encoded-request.ts';
import { ensureDay, utcDay } from './partitions.ts';
import { type RunTimes, type SettleAllowance, settleAllowance } from './run-times.ts';

/**
 * Big enough that the cost of a transaction vanishes, small enough to answer within a second
 * (measured: docs/decisions/0010-storage.md).
 */
const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/** One encodes and sends while the other commits; more fight for the same two cores. */
const LANES = 2;
const RETRY_AFTER_SECONDS = 1;
/** Above the limit of a single statement, which a server in good health keeps by itself. */
const BATCH_TIMEOUT_MS = 40_000;

interface Waiting {
  readonly request: EncodedRequest;
  readonly resolve: () => void;
  readonly reject: (error: SluiceError) => void;
}

/** Bytes accepted but not yet committed, by all writers that share the count. */
export interface InflightCount {
  /** False when the total would pass `totalMax`; nothing is added then. */
  tryAdd(bytes: number, totalMax: number): boolean;
  subtract(bytes: number): void;
}

export interface CopyWriterSettings {
  /** bytes accepted but not yet committed; more are refused */
  readonly inflightBytesMax: number;
  /** where the bytes of several writers are counted together; without it this one counts alone */
  readonly inflight?: InflightCount;
  /** bounds how long a run waits while something arrives; without it nothing does */
  readonly runTimes?: RunTimes;
  readonly lanes?: number;
  /** a batch takes one more request only up to here */
  readonly batchBytesMax?: number;
  /** a transaction that takes longer is given up, and its connection with it */
  readonly batchTimeoutMs?: number;
}

type WriterEvents = Pick<
  Events,
  'inflightChanged' | 'batchCommitted' | 'batchFailed' | 'requestUnstorable' | 'partitionsChanged'
>;

export class CopyWriter {
  readonly #database: Database;
  readonly #events: WriterEvents;
  readonly #inflightBytesMax: number;
  readonly #inflight: InflightCount | null;
  readonly #lanes: number;
  readonly #batchBytesMax: number;
  readonly #batchTimeoutMs: number;
  readonly #allowance: SettleAllowance | null;
  readonly #known = new KnownContents();
  readonly #ensuredDays = new Set<string>();
  #waiting: Waiting[] = [];
  #inflightBytes = 0;
  #busyLanes = 0;
  #closed = false;
  #onIdle: (() => void)[] = [];

  constructor(database: Database, settings: CopyWriterSettings, events: WriterEvents) {
    this.#database = database;
    this.#events = events;
    this.#inflightBytesMax = settings.inflightBytesMax;
    this.#inflight = settings.inflight ?? null;
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
   * @throws {SluiceError} `overloaded` or `shutting_down` (nothing was taken), `unstorable_rows`
   *   (PostgreSQL refuses these rows), `store_unavailable` (nothing is known to be stored)
   */
  offer(request: EncodedRequest): Promise<void> {
    if (this.#closed) {
      return Promise.reject(new SluiceError('shutting_down', 'The server is shutting down.'));
    }
    if (!this.#take(request.bytes)) {
      return Promise.reject(
        new SluiceError('overloaded', 'More is waiting to be stored than MAX_INFLIGHT_BYTES.', {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        }),
      );
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      this.#wake();
    });
  }

  /** Refuses what comes from now on and resolves when all that was taken is answered. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#busyLanes === 0 && this.#waiting.length === 0) return;
    await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /** Takes room; a request that is larger than the whole of it gets it when it is empty. */
  #take(bytes: number): boolean {
    const totalMax = Math.max(this.#inflightBytesMax, bytes);
    const isTaken =
      this.#inflight === null
        ? this.#inflightBytes + bytes <= totalMax
        : this.#inflight.tryAdd(bytes, totalMax);
    if (isTaken) this.#note(bytes);
    return isTaken;
  }

  #giveBack(bytes: number): void {
    this.#inflight?.subtract(bytes);
    this.#note(-bytes);
  }

  #note(change: number): void {
    this.#inflightBytes += change;
    this.#events.inflightChanged(this.#inflightBytes);
  }

  #wake(): void {
    if (this.#waiting.length === 0 || this.#busyLanes >= this.#lanes) return;
    this.#busyLanes += 1;
    void this.#runLane();
  }

  /** Takes batches until nothing waits. Never rejects: every failure is answered to its callers. */
  async #runLane(): Promise<void> {
    // What arrives in the same turn of the event loop goes into the same batch.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) await this.#store(this.#takeBatch());
    this.#busyLanes -= 1;
    if (this.#busyLanes === 0 && this.#waiting.length === 0) {
      for (const resolve of this.#onIdle.splice(0)) resolve();
    }
  }

  #takeBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { request } of this.#waiting) {
      if (count > 0 && bytes + request.bytes > this.#batchBytesMax) break;
      bytes += request.bytes;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    const startedAt = performance.now();
    try {
      await this.#transact(batch.map(({ request }) => request));
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
    this.#giveBack(bytes);
    for (const { request, resolve } of batch) {
      request.release();
      resolve();
    }
  }

  async #transact(requests: readonly EncodedRequest[]): Promise<void> {
    for (const { arrivedAtMs } of requests) await this.#ensureDay(arrivedAtMs);
    await withConnection(this.#database, this.#batchTimeoutMs, (connection) =>
      storeBatch(connection, requests, this.#known, this.#allowance),
    );
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
    if (isDataError(error) && batch.length > 1) {
      const middle = batch.length >> 1;
      await this.#store(batch.slice(0, middle));
      await this.#store(batch.slice(middle));
      return;
    }
    for (const { request } of batch) this.#giveBack(request.bytes);
    if (isDataError(error)) {
      this.#events.requestUnstorable(error);
      first?.reject(
        new SluiceError('unstorable_rows', 'PostgreSQL refuses these rows.', { cause: error }),
      );
      return;
    }
    // What was known may be gone: the database may have been replaced under us.
    this.#known.clear();
    this.#ensuredDays.clear();
    this.#events.batchFailed(batch.length, error);
    for (const { reject } of batch) {
      reject(
        new SluiceError('store_unavailable', 'The database did not store this request.', {
          cause: error,
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        }),
      );
    }
  }
}
