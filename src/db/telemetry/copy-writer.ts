/**
 * Takes encoded requests and has them stored in batches.
 *
 *   offer ──► waiting ──► a lane takes a batch, workspaces in turn ──► COPY, COMMIT ──► answer
 *                         (batch-lanes.ts)                             (batch-store.ts)
 *
 * Bounded by bytes in flight: past the limit `offer` refuses, it never queues. A request that comes
 * again while the first is here waits for the first.
 */
import { SluiceError } from '../../errors.ts';
import type { Events } from '../../observe/events.ts';
import type { Database } from '../database.ts';
import type { RunTimes } from '../runs/run-times.ts';
import { BatchLanes } from './batch-lanes.ts';
import {
  BatchStore,
  RETRY_AFTER_SECONDS,
  type Stored,
  type WaitingRequest,
} from './batch-store.ts';
import type { EncodedRequest } from './encoded-request.ts';
import { type Receipt, receiptKey } from './receipts.ts';

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

export class CopyWriter {
  readonly #events: WriterEvents;
  readonly #budget: RowBudget;
  readonly #lanes: BatchLanes<WaitingRequest>;
  /** requests that wait or are being stored, by `receiptKey` */
  readonly #underWay = new Map<string, Promise<Stored>>();
  #inflightBytes = 0;
  #closed = false;

  constructor(database: Database, settings: CopyWriterSettings, events: WriterEvents) {
    this.#events = events;
    this.#budget = settings.budget;
    const { lanes, batchBytesMax, runTimes, batchTimeoutMs } = settings;
    const onLeave = (batch: readonly WaitingRequest[]): void => this.#leave(batch);
    const batches = new BatchStore(database, { runTimes, batchTimeoutMs, onLeave }, events);
    this.#lanes = new BatchLanes(
      { lanes, batchBytesMax, inflightBytes: () => this.#inflightBytes },
      (batch) => batches.store(batch),
    );
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
    this.#changeInflight(request.bytes);
    const stored = new Promise<Stored>((resolve, reject) => {
      const { workspaceId, bytes } = request;
      const releaseRoom = account.release;
      this.#lanes.add({ workspaceId, bytes, request, receipt, key, releaseRoom, resolve, reject });
    });
    if (key !== null) this.#underWay.set(key, stored);
    return stored;
  }

  /** Refuses further requests and resolves when all accepted ones are answered. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#lanes.idle();
  }

  /** Call before the answers: these requests no longer wait, and are not being stored. */
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
