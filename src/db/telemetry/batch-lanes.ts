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
import { FairQueue, type Portion } from './fair-queue.ts';

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
/** A workspace is active for this long after its last request. */
const ACTIVE_MS = 1000;

/** What a lane must know of a request. */
export interface Sized {
  readonly workspaceId: number;
  readonly bytes: number;
}

export interface LaneSettings {
  readonly lanes?: number | undefined;
  /** a batch takes one more request only up to here */
  readonly batchBytesMax?: number | undefined;
  /** bytes of requests that wait or are being stored */
  readonly inflightBytes: () => number;
}

export class BatchLanes<Item extends Sized> {
  readonly #lanes: number;
  readonly #batchBytesMax: number;
  readonly #inflightBytes: () => number;
  readonly #store: (batch: readonly Item[]) => Promise<void>;
  readonly #waiting = new FairQueue<Item>();
  /** the last request, and the last one of another workspace */
  #last: { readonly workspaceId: number; readonly atMs: number } | null = null;
  #lastOfOther: { readonly workspaceId: number; readonly atMs: number } | null = null;
  /** number of running batches by workspace */
  readonly #running = new Map<number, number>();
  #busyLanes = 0;
  #isShortLaneBusy = false;
  /** when one of the two lanes took its latest batch, by `performance.now()` */
  #takenAtMs = 0;
  /** set while requests wait for the end of a batch beside a free lane */
  #laneTimer: NodeJS.Timeout | null = null;
  #onIdle: (() => void)[] = [];

  /** @param store stores a batch; never rejects */
  constructor(settings: LaneSettings, store: (batch: readonly Item[]) => Promise<void>) {
    this.#lanes = settings.lanes ?? LANES;
    this.#batchBytesMax = settings.batchBytesMax ?? BATCH_BYTES_MAX;
    this.#inflightBytes = settings.inflightBytes;
    this.#store = store;
  }

  /** Puts a request into one of the next batches. */
  add(item: Item): void {
    this.#noteActive(item.workspaceId);
    this.#waiting.add(item.workspaceId, item.bytes, item);
    this.#wake(item.workspaceId);
  }

  /** Resolves when nothing waits or is being stored. */
  async idle(): Promise<void> {
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

  /** Starts a free lane that may take a workspace's rows, unless the next batch takes them soon. */
  #wake(workspaceId: number): void {
    if (this.#busyLanes < this.#lanes) this.#wakeLane();
    else if (!this.#isShortLaneBusy && !this.#running.has(workspaceId)) void this.#runShortLane();
  }

  /** With a free lane. */
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

  /** Takes batches until nothing waits. */
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
   *   later request starts a lane
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
