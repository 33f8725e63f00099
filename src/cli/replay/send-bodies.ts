/**
 * Sends bodies to a server: so many at a time, so many a second, each until it is answered.
 *
 *   accepted      counted
 *   refused       counted, and its message kept; the others continue
 *   unavailable   tried again after Retry-After, or a growing wait; meanwhile nothing else is sent
 *   denied        the key or the URL is wrong: everything stops
 */
import { gzipSync } from 'node:zlib';
import { Backoff, rejectedRecords } from '../../relay/forwarder.ts';
import type { SendOutcome, Upstream } from '../../relay/upstream.ts';
import type { ReplayBody } from './replay-input.ts';

/** A body that is not stored after this is given up, and with it the replay. */
export const GIVE_UP_MS = 10 * 60_000;
const FAULTS_MAX = 20;

export interface ReplayFault {
  readonly place: string;
  readonly status: string;
  readonly message: string;
}

export interface ReplayProgress {
  accepted: number;
  refused: number;
  retries: number;
  /** why a body was tried again last; null before the first retry */
  retryReason: string | null;
  /** of partial successes */
  rejectedRecords: number;
  /** of accepted bodies, uncompressed */
  bytes: number;
  readonly faults: ReplayFault[];
  /** why the rest was not sent; null when all was */
  stopped: 'denied' | 'unavailable' | 'interrupted' | null;
}

export interface SendSettings<Body extends ReplayBody = ReplayBody> {
  readonly upstream: Pick<Upstream, 'send'>;
  readonly concurrency: number;
  /** requests that begin in a second; null: no limit */
  readonly perSecond: number | null;
  /** stops the replay; what is being sent is waited for */
  readonly interruption: AbortSignal;
  readonly backoff?: () => Backoff;
  /** resolves earlier when interrupted */
  readonly wait: (ms: number, interruption: AbortSignal) => Promise<void>;
  readonly nowMs?: () => number;
  readonly answered?: (body: Body, isRefused: boolean) => void;
}

export function startProgress(): ReplayProgress {
  const counts = { accepted: 0, refused: 0, retries: 0, rejectedRecords: 0, bytes: 0 };
  return { ...counts, retryReason: null, faults: [], stopped: null };
}

function messageOf(outcome: Exclude<SendOutcome, { kind: 'unavailable' }>): string {
  const message: unknown = outcome.answer.body?.message;
  return typeof message === 'string' ? message : '';
}

type PaceSettings = Pick<SendSettings, 'perSecond' | 'wait' | 'interruption' | 'nowMs'>;

class Pacer {
  readonly #settings: PaceSettings;
  readonly #nowMs: () => number;
  #nextAtMs = 0;
  #resumesAtMs = 0;

  constructor(settings: PaceSettings) {
    this.#settings = settings;
    this.#nowMs = settings.nowMs ?? (() => performance.now());
  }

  get nowMs(): number {
    return this.#nowMs();
  }

  pause(ms: number): void {
    this.#resumesAtMs = Math.max(this.#resumesAtMs, this.nowMs + ms);
  }

  async turn(): Promise<void> {
    const { perSecond, wait, interruption } = this.#settings;
    if (perSecond !== null) {
      const atMs = Math.max(this.nowMs, this.#nextAtMs);
      this.#nextAtMs = atMs + 1000 / perSecond;
      if (atMs > this.nowMs) await wait(atMs - this.nowMs, interruption);
    }
    while (this.#resumesAtMs > this.nowMs && !interruption.aborted) {
      await wait(this.#resumesAtMs - this.nowMs, interruption);
    }
  }
}

/** Sends one body until it is answered; null when the replay stops before. */
async function sendOne(
  body: ReplayBody,
  settings: Omit<SendSettings, 'answered'>,
  pacer: Pacer,
  progress: ReplayProgress,
): Promise<Exclude<SendOutcome, { kind: 'unavailable' }> | null> {
  const request = {
    signal: body.signal,
    body: gzipSync(body.text, { level: 1 }),
    // A retry whose first answer was lost is stored once.
    deduplicates: true,
  };
  const backoff = settings.backoff?.() ?? new Backoff();
  let firstFailureMs: number | null = null;
  for (;;) {
    await pacer.turn();
    if (progress.stopped !== null || settings.interruption.aborted) return null;
    const outcome = await settings.upstream.send(request);
    if (outcome.kind !== 'unavailable') return outcome;
    progress.retries += 1;
    progress.retryReason = outcome.reason;
    firstFailureMs ??= pacer.nowMs;
    if (pacer.nowMs - firstFailureMs >= GIVE_UP_MS) {
      progress.stopped ??= 'unavailable';
      progress.faults.push({ place: body.place, status: outcome.reason, message: '' });
      return null;
    }
    pacer.pause(backoff.fail(outcome.retryAfterMs));
  }
}

/** @throws what reading the bodies throws; what is being sent is waited for */
export async function sendBodies<Body extends ReplayBody>(
  bodies: AsyncGenerator<Body>,
  settings: SendSettings<Body>,
  progress: ReplayProgress,
): Promise<void> {
  const pacer = new Pacer(settings);
  const note = (body: Body, outcome: Exclude<SendOutcome, { kind: 'unavailable' }>): void => {
    if (outcome.kind !== 'denied') settings.answered?.(body, outcome.kind === 'refused');
    if (outcome.kind === 'accepted') {
      progress.accepted += 1;
      progress.bytes += Buffer.byteLength(body.text);
      progress.rejectedRecords += Number(rejectedRecords(outcome.answer));
      return;
    }
    if (outcome.kind === 'denied') progress.stopped ??= 'denied';
    else progress.refused += 1;
    if (progress.faults.length < FAULTS_MAX) {
      const { status } = outcome.answer;
      progress.faults.push({ place: body.place, status: `${status}`, message: messageOf(outcome) });
    }
  };
  const work = async (): Promise<void> => {
    while (progress.stopped === null && !settings.interruption.aborted) {
      // Calls of `next` are answered one after another.
      const next = await bodies.next();
      if (next.done === true) return;
      const outcome = await sendOne(next.value, settings, pacer, progress);
      if (outcome !== null) note(next.value, outcome);
    }
  };
  const workers = Array.from({ length: settings.concurrency }, work);
  const results = await Promise.allSettled(workers);
  if (settings.interruption.aborted) progress.stopped ??= 'interrupted';
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
