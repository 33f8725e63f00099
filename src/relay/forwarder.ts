/**
 * Decides how a request is handled: it is sent at once and the server's answer is passed on, or it is
 * queued on the disk and acknowledged.
 *
 *   queue empty, server up ──► send ──► answer within DIRECT_MS_MAX ──► passed on
 *     │                         │ unavailable, or no answer yet
 *     └─ else ──────────────────┴──► queue ──► synced: 200 · full: 503
 *
 *   queue ──► oldest first, 8 at a time ──► accepted: removed · refused: dropped, counted
 *                                           unavailable, denied: kept, tried again after a wait
 *
 * After a failure one request is tried, and the others follow when the server answers it.
 * While the server denies the key or the URL, new requests are sent at once and never queued, so that
 * the client sees the answer.
 */
import type { RelayEvents, RelayState } from '../observe/relay-events.ts';
import { type DiskQueue, type QueuedRequest, QueueFull } from './queue/disk-queue.ts';
import { QUEUE_AGE_MS_MAX, type QueueAge } from './queue/queue-age.ts';
import type { RelayedRequest } from './queue/queue-files.ts';
import type { SendOutcome, Upstream, UpstreamAnswer } from './upstream.ts';

/** How long a client waits for the server's answer before its request is queued. */
const DIRECT_MS_MAX = 3000;
/** Requests that are sent at once beside each other; further ones are queued. */
const DIRECT_MAX = 16;
/** Requests of the queue that are sent beside each other, and that a killed relay sends again. */
const SENDING_MAX = 8;

export type Delivery =
  | { readonly kind: 'passed-on'; readonly answer: UpstreamAnswer }
  | { readonly kind: 'queued' }
  | { readonly kind: 'full'; readonly retryAfterMs: number };

export interface ForwarderOptions {
  /** attached: the outcome of a request that was being sent when it was queued */
  readonly queue: DiskQueue<Promise<SendOutcome>>;
  readonly age: QueueAge;
  readonly upstream: Pick<Upstream, 'send'>;
  readonly events: RelayEvents;
  /** reads the key again; whether it is another one now */
  readonly renewKey: () => boolean;
  readonly backoff?: Backoff;
  readonly directMsMax?: number;
}

type Queued = QueuedRequest<Promise<SendOutcome>>;

const COUNT = /^\d{1,18}$/;

/** 0 without a partial success. */
export function rejectedRecords({ body }: UpstreamAnswer): bigint {
  const partial: unknown = body?.partialSuccess;
  if (typeof partial !== 'object' || partial === null) return 0n;
  for (const [name, value] of Object.entries(partial)) {
    if (name.startsWith('rejected') && COUNT.test(String(value))) return BigInt(String(value));
  }
  return 0n;
}

/** Waits that end early when something happens. */
class WakeUp {
  readonly #ends = new Set<() => void>();

  raise(): void {
    for (const end of [...this.#ends]) end();
  }

  async wait(ms: number): Promise<void> {
    if (ms > 0) await this.race(new Promise<never>(() => {}), ms);
  }

  /** The result of `work`; null when it takes longer, or at the next `raise`. */
  async race<T>(work: Promise<T>, ms: number): Promise<T | null> {
    let end = (): void => {};
    const early = new Promise<null>((resolve) => {
      end = () => resolve(null);
    });
    const timer = setTimeout(end, ms);
    this.#ends.add(end);
    try {
      return await Promise.race([work, early]);
    } finally {
      clearTimeout(timer);
      this.#ends.delete(end);
    }
  }
}

export class Forwarder {
  readonly #queue: DiskQueue<Promise<SendOutcome>>;
  readonly #age: QueueAge;
  readonly #upstream: Pick<Upstream, 'send'>;
  readonly #events: RelayEvents;
  readonly #renewKey: () => boolean;
  readonly #backoff: Backoff;
  readonly #directMsMax: number;
  #direct = 0;
  #server: RelayState['server'] = 'up';
  /** the server is not tried before */
  #resumesAtMs = 0;
  #isStopping = false;
  /** whether a request is being tried while the server is not up */
  #isTrying = false;
  /** the requests of the queue that are being sent */
  readonly #sending = new Set<Promise<void>>();
  /** ends the requests under way when the relay stops */
  readonly #stopped = new WakeUp();
  /** ends the wait before the server is tried again */
  readonly #resumed = new WakeUp();

  constructor(options: ForwarderOptions) {
    this.#queue = options.queue;
    this.#age = options.age;
    this.#upstream = options.upstream;
    this.#events = options.events;
    this.#renewKey = options.renewKey;
    this.#backoff = options.backoff ?? new Backoff();
    this.#directMsMax = options.directMsMax ?? DIRECT_MS_MAX;
  }

  get server(): RelayState['server'] {
    return this.#server;
  }

  start(): void {
    while (this.#sending.size < SENDING_MAX) {
      const oldest = this.#takeOldest();
      if (oldest === null) return;
      const sending = this.#sendQueued(oldest).finally(() => {
        this.#sending.delete(sending);
        this.start();
      });
      this.#sending.add(sending);
    }
  }

  async deliver(request: RelayedRequest): Promise<Delivery> {
    if (!this.#isSentAtOnce()) return await this.#enqueue(request, null);
    this.#direct += 1;
    const sending = this.#send(request).finally(() => {
      this.#direct -= 1;
    });
    const outcome = await this.#stopped.race(sending, this.#directMsMax);
    if (outcome === null) return await this.#enqueue(request, sending);
    this.#note(outcome, request);
    if (outcome.kind === 'unavailable') {
      this.#pause(outcome);
      return await this.#enqueue(request, null);
    }
    return { kind: 'passed-on', answer: outcome.answer };
  }

  /** Queues from now on; what is queued stays on the disk. */
  stop(): void {
    this.#isStopping = true;
    this.#stopped.raise();
    this.#resumed.raise();
  }

  async idle(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending);
  }

  #isSentAtOnce(): boolean {
    if (this.#isStopping || this.#direct >= DIRECT_MAX) return false;
    if (this.#server === 'denied') return true;
    return this.#queue.isEmpty && performance.now() >= this.#resumesAtMs;
  }

  async #send(request: RelayedRequest): Promise<SendOutcome> {
    const outcome = await this.#upstream.send(request);
    if (outcome.kind !== 'denied' || !this.#renewKey()) return outcome;
    return await this.#upstream.send(request);
  }

  async #enqueue(request: RelayedRequest, sending: Promise<SendOutcome> | null): Promise<Delivery> {
    try {
      await this.#queue.append({ ...request, acceptedAtMs: this.#age.nowMs() }, sending);
      this.#events.queueWritten();
      this.#events.requestQueued(request.signal);
      this.start();
      return { kind: 'queued' };
    } catch (error) {
      if (!(error instanceof QueueFull)) this.#events.queueUnwritten(error);
      const retryAfterMs = Math.max(BACKOFF_MS_MIN, this.#resumesAtMs - performance.now());
      return { kind: 'full', retryAfterMs };
    }
  }

  /** The request to send now; null when there is none, or the relay stops. */
  #takeOldest(): Queued | null {
    try {
      const oldest = this.#queue.next();
      this.#events.queueRead();
      // Waits for requests in flight, so that the next process does not send them again.
      if (oldest === null || (this.#isStopping && oldest.attached === null)) return null;
      this.#queue.take();
      return oldest;
    } catch (error) {
      this.#events.queueUnread(error);
      setTimeout(() => this.start(), BACKOFF_MS_MAX).unref();
      return null;
    }
  }

  /** Sends a request of the queue until it is done with, or the relay stops. */
  async #sendQueued(request: Queued): Promise<void> {
    let isDone: boolean | null = false;
    while (isDone === false) {
      const { attached } = request;
      request.attached = null;
      isDone = attached === null ? await this.#try(request) : this.#settle(await attached, request);
    }
    if (isDone === null) return;
    try {
      this.#queue.remove(request);
      this.#events.sentRemoved();
    } catch (error) {
      this.#events.sentUnremoved(error);
    }
  }

  /** Sends a request once the server may be tried; null when the relay stops. */
  async #try(request: Queued): Promise<boolean | null> {
    while (!this.#isStopping) {
      const waitMs = this.#resumesAtMs - performance.now();
      if (waitMs > 0) await this.#resumed.wait(waitMs);
      else if (this.#server === 'up') return this.#settle(await this.#send(request), request);
      else if (this.#isTrying) await this.#resumed.wait(BACKOFF_MS_MAX);
      else {
        this.#isTrying = true;
        try {
          return this.#settle(await this.#send(request), request);
        } finally {
          this.#isTrying = false;
          this.#resumed.raise();
        }
      }
    }
    return null;
  }

  /** Checks whether a request of the queue need not be sent again. */
  #settle(outcome: SendOutcome, request: Queued): boolean {
    this.#note(outcome, request);
    if (outcome.kind === 'accepted') return true;
    if (outcome.kind === 'refused') {
      this.#events.requestDropped('refused');
      return true;
    }
    this.#pause(outcome);
    if (this.#age.ageMs(request.acceptedAtMs) <= QUEUE_AGE_MS_MAX) return false;
    this.#events.requestDropped('expired');
    return true;
  }

  #note(outcome: SendOutcome, { signal }: RelayedRequest): void {
    const before = this.#server;
    if (outcome.kind === 'unavailable') {
      this.#server = 'unavailable';
      return;
    }
    const { answer } = outcome;
    if (outcome.kind === 'denied') {
      this.#server = 'denied';
      if (before !== 'denied') this.#events.serverDenies(answer.status);
      return;
    }
    this.#server = 'up';
    this.#resumesAtMs = 0;
    this.#backoff.succeed();
    if (before !== 'up') {
      this.#events.serverAnswers();
      this.#resumed.raise();
    }
    if (outcome.kind === 'refused') {
      this.#events.requestRefused(answer.status);
      return;
    }
    this.#events.requestSent(signal);
    const rejected = rejectedRecords(answer);
    if (rejected > 0n) this.#events.recordsRejected(signal, Number(rejected));
  }

  /** Requests that fail at the same time cause one wait. */
  #pause(outcome: SendOutcome): void {
    if (performance.now() < this.#resumesAtMs) return;
    const isUnavailable = outcome.kind === 'unavailable';
    const waitMs = this.#backoff.fail(isUnavailable ? outcome.retryAfterMs : null);
    this.#resumesAtMs = performance.now() + waitMs;
    const reason = isUnavailable ? outcome.reason : String(outcome.answer.status);
    this.#events.sendFailed(reason, waitMs);
  }
}

/** Doubled after every failure. */
const BACKOFF_MS_MIN = 1000;
export const BACKOFF_MS_MAX = 60_000;
/** A longer Retry-After is cut to this. */
export const RETRY_AFTER_MS_MAX = 300_000;

/** Grows with every failure, with jitter, so that many relays do not come back at once. */
export class Backoff {
  readonly #random: () => number;
  #failures = 0;

  /** @param random from 0 up to 1 */
  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** @returns how long to wait, at least as long as the server said */
  fail(retryAfterMs: number | null): number {
    const fullMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    const waitMs = fullMs / 2 + (fullMs / 2) * this.#random();
    return Math.max(waitMs, Math.min(retryAfterMs ?? 0, RETRY_AFTER_MS_MAX));
  }

  succeed(): void {
    this.#failures = 0;
  }
}
