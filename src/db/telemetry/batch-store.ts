/**
 * Stores a batch of requests in one transaction, and answers each of them.
 *
 *   COPY, COMMIT ──► the request is answered after its own commit, no later than a batch may take
 *
 * A batch that PostgreSQL refuses for its data is halved until the bad request is alone; the others are
 * stored. A request that was stored before, here or by another process, is taken out of its batch by
 * its receipt (`receipts.ts`). A batch without an answer to its COMMIT is looked up by its receipts.
 * A request whose day differs from its transaction's is refused, and the clock is read again.
 */
import { SluiceError } from '../../errors.ts';
import { isDataError } from '../../observe/error-facts.ts';
import type { Events } from '../../observe/events.ts';
import { type Database, withConnection } from '../database.ts';
import type { DatabaseClock } from '../database-clock.ts';
import { CommitWarning } from '../pipeline.ts';
import { placementOf, type TelemetryPlacement } from '../placement.ts';
import { type RunTimes, type SettleAllowance, settleAllowance } from '../runs/run-times.ts';
import { BlockCompressor } from './block-codec.ts';
import { type Block, packBlocks } from './blocks.ts';
import { storeBatch } from './copy-transaction.ts';
import type { EncodedRequest } from './encoded-request.ts';
import { ensureDay, ensurePeriods } from './partitions.ts';
import {
  findReceipts,
  isBeingStored,
  isStoredAlready,
  LOCK_WAIT_MS,
  LOCK_WAIT_OF_PART_MS,
  RECEIPT_KEPT_MS,
  type Receipt,
  receiptKey,
  receiptPeriods,
  storeReceipts,
} from './receipts.ts';

/** Above the limit of a single statement, which a healthy server enforces itself. */
const BATCH_TIMEOUT_MS = 40_000;
/** After a request was refused for a lack of memory, or of the database. */
export const RETRY_AFTER_SECONDS = 1;

export interface Stored {
  /** it was stored before, or is the same request as one that was being stored */
  readonly isResend: boolean;
  /** of the first; null without a receipt */
  readonly receipt: Receipt | null;
}

export interface WaitingRequest {
  readonly workspaceId: number;
  readonly bytes: number;
  readonly request: EncodedRequest;
  readonly receipt: Receipt | null;
  /** of the receipt; null without one */
  readonly key: string | null;
  readonly releaseRoom: () => void;
  readonly resolve: (stored: Stored) => void;
  readonly reject: (error: SluiceError) => void;
}

export interface BatchStoreSettings {
  /** bounds for how long arrivals delay a run's evaluation; no bound by default */
  readonly runTimes?: RunTimes | undefined;
  /** a transaction that takes longer is aborted, and its connection destroyed */
  readonly batchTimeoutMs?: number | undefined;
  /** by which requests are dated; without it, any moment of arrival is stored */
  readonly clock?: Pick<DatabaseClock, 'read'> | undefined;
  readonly compressor?: BlockCompressor | undefined;
  /** how long a batch with receipts waits for the locks of others */
  readonly lockWaitMs?: number | undefined;
  /** called before the answers: these requests no longer wait, and are not being stored */
  readonly onLeave: (batch: readonly WaitingRequest[]) => void;
}

export type StoreEvents = Pick<
  Events,
  'batchCommitted' | 'batchFailed' | 'requestUnstorable' | 'requestsResent' | 'partitionsChanged'
>;

type Received = WaitingRequest & { readonly receipt: Receipt };

function received(batch: readonly WaitingRequest[]): Received[] {
  return batch.filter((waiting): waiting is Received => waiting.receipt !== null);
}

export class BatchStore {
  readonly #database: Database;
  readonly #events: StoreEvents;
  readonly #batchTimeoutMs: number;
  readonly #lockWaitMs: number;
  readonly #onLeave: (batch: readonly WaitingRequest[]) => void;
  readonly #allowance: SettleAllowance | null;
  readonly #clock: Pick<DatabaseClock, 'read'> | null;
  readonly #compressor: BlockCompressor;
  /** hours since 1970 whose partitions are there */
  readonly #ensured = new Set<number>();

  constructor(database: Database, settings: BatchStoreSettings, events: StoreEvents) {
    this.#database = database;
    this.#events = events;
    this.#batchTimeoutMs = settings.batchTimeoutMs ?? BATCH_TIMEOUT_MS;
    this.#lockWaitMs = settings.lockWaitMs ?? LOCK_WAIT_MS;
    this.#onLeave = settings.onLeave;
    this.#clock = settings.clock ?? null;
    this.#compressor = settings.compressor ?? new BlockCompressor();
    const { runTimes } = settings;
    this.#allowance = runTimes === undefined ? null : settleAllowance(runTimes);
  }

  /** Stores requests and answers them. Never rejects. @param isPart of a batch that waited for a receipt */
  async store(batch: readonly WaitingRequest[], isPart = false): Promise<void> {
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
    const bytes = batch.reduce((sum, request) => sum + request.bytes, 0);
    this.#events.batchCommitted({
      requests: batch.length,
      rows: batch.reduce((sum, { request }) => sum + request.records, 0),
      bytes,
      elapsedMs: performance.now() - startedAt,
    });
    this.#onLeave(batch);
    for (const { receipt, resolve } of batch) resolve({ isResend: false, receipt });
  }

  async #storeOnce(
    batch: readonly WaitingRequest[],
    isPart: boolean,
    progress: { isCommitting: boolean },
  ): Promise<void> {
    const requests = batch.map(({ request }) => request);
    const blocks = await packBlocks(requests, this.#compressor);
    try {
      await this.#transact(batch, blocks, isPart, progress);
      // Not after a failure: only of what is committed PostgreSQL is known to have read every byte.
      this.#compressor.release(blocks);
    } catch (error) {
      const mayMiss = mayMissPartition(error, await placementOf(this.#database));
      if (progress.isCommitting || !mayMiss) throw error;
      this.#ensured.clear();
      await this.#transact(batch, blocks, isPart, progress);
    }
  }

  async #transact(
    batch: readonly WaitingRequest[],
    blocks: readonly Block[],
    isPart: boolean,
    progress: { isCommitting: boolean },
  ): Promise<void> {
    const requests = batch.map(({ request }) => request);
    const receipts = storeReceipts(received(batch));
    const lockWaitMs = isPart ? LOCK_WAIT_OF_PART_MS : this.#lockWaitMs;
    for (const { arrivedAtMs } of requests) {
      if (!this.#ensured.has(hourOf(arrivedAtMs))) await this.#ensureHour(arrivedAtMs);
    }
    const placement = await placementOf(this.#database);
    await withConnection(this.#database, this.#batchTimeoutMs, (connection) =>
      storeBatch(connection, requests, {
        allowance: this.#allowance,
        receipts,
        placement,
        blocks,
        lockTimeoutMs: receipts.length === 0 ? null : lockWaitMs,
        onCommit: (nowMs) => {
          const isMisdatedNow = ({ arrivedAtMs }: EncodedRequest) => isMisdated(arrivedAtMs, nowMs);
          if (this.#clock !== null && requests.some(isMisdatedNow)) throw new MisdatedError(nowMs);
          progress.isCommitting = true;
        },
      }),
    );
  }

  async #ensureHour(arrivedAtMs: number): Promise<void> {
    const created = [
      ...(await ensureDay(this.#database, arrivedAtMs)),
      ...(await ensurePeriods(this.#database, receiptPeriods(arrivedAtMs))),
    ];
    if (created.length > 0) this.#events.partitionsChanged(created, []);
    this.#ensured.add(hourOf(arrivedAtMs));
  }

  /** Checks whether a batch was committed whose COMMIT was not answered. */
  async #isStored(batch: readonly WaitingRequest[]): Promise<boolean> {
    const requests = received(batch);
    if (requests.length < batch.length) return false;
    try {
      const found = await findReceipts(this.#database, requests);
      return found.size === requests.length;
    } catch {
      return false;
    }
  }

  async #answerFailure(batch: readonly WaitingRequest[], error: unknown): Promise<void> {
    const [first] = batch;
    if (isStoredAlready(error)) {
      await this.#answerResends(batch);
      return;
    }
    if (error instanceof MisdatedError) {
      await this.#refuseMisdated(batch, error);
      return;
    }
    if ((isRowFault(error) || isBeingStored(error)) && batch.length > 1) {
      const middle = batch.length >> 1;
      await this.store(batch.slice(0, middle), isBeingStored(error));
      await this.store(batch.slice(middle), isBeingStored(error));
      return;
    }
    if (isRowFault(error)) {
      this.#onLeave(batch);
      this.#events.requestUnstorable(error);
      first?.reject(
        new SluiceError('unstorable_rows', 'PostgreSQL rejected this data.', { cause: error }),
      );
      return;
    }
    this.#refuse(batch, error);
  }

  async #answerResends(batch: readonly WaitingRequest[]): Promise<void> {
    let found: ReadonlyMap<string, Receipt>;
    try {
      found = await findReceipts(this.#database, received(batch));
      if (found.size === 0) throw new Error('a receipt is there, and was not found');
    } catch (error) {
      this.#refuse(batch, error);
      return;
    }
    const others: WaitingRequest[] = [];
    const resends: WaitingRequest[] = [];
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
    this.#onLeave(resends);
    this.#events.requestsResent(resends.length);
    if (others.length > 0) await this.store(others);
  }

  /**
   * Refuses the misdated requests of a batch once the clock has been read again, so that they are dated
   * right when they are sent again, and stores the others.
   */
  async #refuseMisdated(batch: readonly WaitingRequest[], error: MisdatedError): Promise<void> {
    const isWrong = ({ request }: WaitingRequest) => isMisdated(request.arrivedAtMs, error.nowMs);
    await this.#clock?.read().catch(() => {
      // It is read every minute; until then every batch is checked.
    });
    this.#refuse(batch.filter(isWrong), error);
    const others = batch.filter((waiting) => !isWrong(waiting));
    if (others.length > 0) await this.store(others);
  }

  #refuse(batch: readonly WaitingRequest[], error: unknown): void {
    this.#onLeave(batch);
    // The database may have been replaced, so partitions may be gone.
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

// Compares the moments by which requests were dated with the time of the transaction that stores them.
// They differ when the machine slept, or PostgreSQL's clock was set, since the process last read it
// (`database-clock.ts`). Rows of an old day would be looked for on another one, and dropped too early;
// a receipt of an old period would not be found.

/**
 * How long after its arrival a request may be stored on the day of its arrival, when another one has
 * begun: longer than requests wait for a batch and its transaction.
 */
export const ARRIVAL_DIFFERENCE_MAX_MS = 120_000;

/** Hours since 1970. Days and the periods of receipts begin with an hour. */
export const hourOf = (atMs: number): number => Math.floor(atMs / RECEIPT_KEPT_MS);

export function isMisdated(arrivedAtMs: number, nowMs: number): boolean {
  return (
    hourOf(arrivedAtMs) !== hourOf(nowMs) &&
    Math.abs(nowMs - arrivedAtMs) > ARRIVAL_DIFFERENCE_MAX_MS
  );
}

/** Some requests of a batch are misdated; nothing of the batch is stored. */
export class MisdatedError extends Error {
  override name = 'MisdatedError';
  readonly nowMs: number;

  constructor(nowMs: number) {
    super("PostgreSQL's clock has jumped since the request arrived, or the machine has slept.");
    this.nowMs = nowMs;
  }
}

// Which errors of PostgreSQL are the fault of the rows: the request is answered 400, and its sender
// throws it away. Every other error is answered 503, and the request is sent again. So an error
// belongs here only if the same rows can never be stored.
//
// | SQLSTATE | error | here |
// |---|---|---|
// | 22… | data exception: bad UTF-8, U+0000, a value out of range, a malformed COPY row | yes |
// | 23502, 23505 | a required value is missing; a duplicate key | yes |
// | 23503 | a referenced row is missing: the workspace was deleted meanwhile | yes |
// | 23514 with a constraint | a check constraint refuses a value | yes |
// | 23514 without one | no partition takes the row's day | no: it is created again |
// | 54… | program limit exceeded: a value too long for an index | yes |
// | all others | the server's state, its schema, its connection | no |

const CHECK_VIOLATION = '23514';
const INTERNAL_ERROR = 'XX000';

function isMissingPartition(error: unknown): boolean {
  if (!(error instanceof Error) || Reflect.get(error, 'code') !== CHECK_VIOLATION) return false;
  return Reflect.get(error, 'constraint') === undefined;
}

/**
 * Checks whether a row may have been refused because its day has no partition. Citus passes on what a worker
 * says about a COPY, in the worker's language, but not its SQLSTATE.
 */
export function mayMissPartition(error: unknown, placement: TelemetryPlacement): boolean {
  if (isMissingPartition(error)) return true;
  if (placement === 'local' || !(error instanceof Error)) return false;
  return Reflect.get(error, 'code') === INTERNAL_ERROR;
}

export function isRowFault(error: unknown): boolean {
  return isDataError(error) && !isMissingPartition(error);
}
