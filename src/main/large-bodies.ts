/**
 * Decodes bodies that would hold the event loop on a thread of its own: those above 128 KiB that are left to the
 * plain way, and those with a record above 256 KiB. One at a time, workspaces in turn.
 *
 *   decode ─► waits (5 s, 32 bodies) ─► copied to the thread ─► decoded (60 s) ─► rows
 *               503                        started when there is none ─► ended when idle for 30 s
 *
 * The thread's memory is bounded: a body that would take more ends it, and is refused; the next one gets a
 * new thread. What was decoded crosses in parts (`decode-words.ts`).
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

import type { TelemetryTable } from '../db/table-layouts.ts';
import { SluiceError } from '../errors.ts';
import type { Signal } from '../model.ts';
import type { FromDecodeThread, Lists, ToDecodeThread } from './decode-words.ts';
import type { ReadyResult, RequestContext } from './request-decoder.ts';
import { withinLimit } from './time-limit.ts';

/** What was built, also where a test runs this file from its source (decision 0014). */
const ENTRY = fileURLToPath(new URL('../../dist/main/decode-thread.js', import.meta.url));
const MIB = 1024 * 1024;
/** Copied to the thread before the next look at the sockets: about a millisecond's worth. */
const COPY_BYTES = 2 * MIB;
const NO_RELEASE = (): void => {};

export interface LargeBodiesSettings {
  /** bodies that wait for the thread; more are refused, those of the workspace with the most first */
  readonly waitingMax: number;
  /** how long a body waits before it is refused */
  readonly waitMs: number;
  /** how long the decoding of one may take; the slowest that was found, 64 MiB of keys, takes 9 s */
  readonly decodeMs: number;
  /** V8's heap of the thread, in MiB */
  readonly heapMib: number;
  /** the thread ends when nothing came for so long, and its memory with it */
  readonly idleMs: number;
}

const SETTINGS: LargeBodiesSettings = {
  waitingMax: 32,
  waitMs: 5_000,
  decodeMs: 60_000,
  heapMib: 2048,
  idleMs: 30_000,
};

interface Waiter {
  readonly begin: () => void;
  readonly refuse: () => void;
}

export class LargeBodies {
  readonly #settings: LargeBodiesSettings;
  /** by workspace, the next one's first */
  readonly #waiting = new Map<number, Waiter[]>();
  #waitingCount = 0;
  #isBusy = false;
  #isClosed = false;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;
  #answered: { resolve: (word: FromDecodeThread) => void; reject: (error: Error) => void } | null =
    null;

  constructor(settings: Partial<LargeBodiesSettings> = {}) {
    this.#settings = { ...SETTINGS, ...settings };
  }

  /** Is there a thread at the moment? */
  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /**
   * Decodes a body.
   *
   * @param body read until this is settled
   * @throws {SluiceError} `overloaded`, `shutting_down`, or `body_too_large` when it holds too much, or takes
   *   too much time or memory; any other error is not about the body
   */
  async decode(signal: Signal, body: Buffer, context: RequestContext): Promise<ReadyResult> {
    await this.#turn(context.workspaceId);
    clearTimeout(this.#idle);
    const { decodeMs } = this.#settings;
    const endsAtMs = performance.now() + decodeMs;
    try {
      return await withinLimit(this.#decode(signal, body, context), decodeMs);
    } catch (error) {
      if (error instanceof SluiceError) throw error;
      // The thread has died, or is in the middle of something.
      await this.#end();
      if (performance.now() >= endsAtMs) throw tooDear('time', error);
      throw isOutOfMemory(error) ? tooDear('memory', error) : error;
    } finally {
      this.#next();
    }
  }

  /** Refuses what waits and what comes, and ends the thread. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    await this.#end();
  }

  /** Waits until no other body is being decoded. */
  async #turn(workspaceId: number): Promise<void> {
    if (this.#isClosed) throw new SluiceError('shutting_down', 'The server is shutting down.');
    if (!this.#isBusy) {
      this.#isBusy = true;
      return;
    }
    const { waitingMax, waitMs } = this.#settings;
    if (this.#waitingCount >= waitingMax && !this.#makePlace(workspaceId)) throw tooManyWait();
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const refuse = (): void => {
        clearTimeout(timer);
        this.#leave(workspaceId, waiter);
        reject(tooManyWait());
      };
      const timer = setTimeout(refuse, waitMs);
      const waiter = { begin, refuse };
      this.#waiting.set(workspaceId, [...(this.#waiting.get(workspaceId) ?? []), waiter]);
      this.#waitingCount += 1;
    });
  }

  /** Among too many, the workspace with the most loses its last place to one with fewer. */
  #makePlace(workspaceId: number): boolean {
    const own = this.#waiting.get(workspaceId)?.length ?? 0;
    let most: readonly Waiter[] = [];
    for (const line of this.#waiting.values()) if (line.length > most.length) most = line;
    if (most.length <= own + 1) return false;
    most.at(-1)?.refuse();
    return true;
  }

  #leave(workspaceId: number, waiter: Waiter): void {
    const others = (this.#waiting.get(workspaceId) ?? []).filter((other) => other !== waiter);
    if (others.length === 0) this.#waiting.delete(workspaceId);
    else this.#waiting.set(workspaceId, others);
    this.#waitingCount -= 1;
  }

  /** Begins the next body: of the workspace whose last one was longest ago. */
  #next(): void {
    for (const [workspaceId, [first, ...others]] of this.#waiting) {
      this.#waiting.delete(workspaceId);
      if (others.length > 0) this.#waiting.set(workspaceId, others);
      this.#waitingCount -= 1;
      first?.begin();
      return;
    }
    this.#isBusy = false;
    this.#idle = setTimeout(() => void this.#end(), this.#settings.idleMs).unref();
  }

  async #decode(signal: Signal, body: Buffer, context: RequestContext): Promise<ReadyResult> {
    const { workspaceId, arrivedAtMs, logRuns } = context;
    const bytes = await copyOf(body);
    const order = { kind: 'decode', signal, body: bytes, workspaceId, arrivedAtMs } as const;
    let word = await this.#ask(order, [bytes.buffer]);
    for (;;) {
      switch (word.kind) {
        case 'marks':
          word = await this.#ask({ ...word, marks: logRuns.marksOf(word.records, workspaceId) });
          break;
        case 'runs':
          word = await this.#ask({ ...word, runs: logRuns.runsOf(word.records, workspaceId) });
          break;
        case 'rows':
          return { ok: true, request: await this.#take(word, signal, context) };
        case 'undecodable':
          return { ok: false, message: word.message, path: word.path };
        case 'refused':
          throw new SluiceError(word.code, word.message);
        default:
          throw new Error(`the decode thread said ${word.kind} out of turn`);
      }
    }
  }

  /** Puts together what comes in parts. */
  async #take(
    { rejections, replacedCharacters, ...row }: Extract<FromDecodeThread, { kind: 'rows' }>,
    signal: Signal,
    { workspaceId, arrivedAtMs }: RequestContext,
  ) {
    const chunks = new Map<TelemetryTable, Buffer>();
    for (const [table, { buffer, byteOffset, byteLength }] of row.chunks) {
      chunks.set(table, Buffer.from(buffer, byteOffset, byteLength));
    }
    const lists = await this.#lists();
    const { rows, bytes } = row;
    const release = NO_RELEASE;
    const encoded = { workspaceId, arrivedAtMs, chunks, ...lists, rows, bytes, release };
    return { signal, rejections, replacedCharacters, encoded };
  }

  async #lists(): Promise<Lists> {
    const resources: Lists['resources'][number][] = [];
    const metrics: Lists['metrics'][number][] = [];
    const runs: Lists['runs'][number][] = [];
    const sessionMarks: Lists['sessionMarks'][number][] = [];
    for (;;) {
      const word = await this.#ask({ kind: 'more' });
      if (word.kind !== 'list') return { resources, metrics, runs, sessionMarks };
      resources.push(...word.lists.resources);
      metrics.push(...word.lists.metrics);
      runs.push(...word.lists.runs);
      sessionMarks.push(...word.lists.sessionMarks);
    }
  }

  /** Says a word and waits for the answer. */
  async #ask(word: ToDecodeThread, transfer: readonly ArrayBuffer[] = []) {
    if (this.#isClosed) throw new SluiceError('shutting_down', 'The server is shutting down.');
    this.#worker ??= this.#start();
    const worker = this.#worker;
    return await new Promise<FromDecodeThread>((resolve, reject) => {
      this.#answered = { resolve, reject };
      worker.postMessage(word, transfer);
    });
  }

  #start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: this.#settings.heapMib };
    // Nothing of the parent's arguments: they are for its own thread.
    const worker = new Worker(ENTRY, { execArgv: [], name: 'decode', resourceLimits });
    worker.unref();
    const isCurrent = (): boolean => this.#worker === worker;
    worker.on('message', (word: FromDecodeThread) => this.#answered?.resolve(word));
    worker.on('error', (error) => {
      if (isCurrent()) this.#answered?.reject(error);
    });
    worker.on('exit', (code) => {
      if (!isCurrent()) return;
      this.#worker = null;
      this.#answered?.reject(new Error(`the decode thread ended with ${code}`));
    });
    return worker;
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    this.#answered?.reject(new Error('the decode thread was ended'));
    this.#answered = null;
    await worker?.terminate();
  }
}

async function copyOf(body: Buffer): Promise<Uint8Array<ArrayBuffer>> {
  const copy = new Uint8Array(body.length);
  for (let at = 0; at < body.length; at += COPY_BYTES) {
    if (at > 0) await nextRound();
    copy.set(body.subarray(at, at + COPY_BYTES), at);
  }
  return copy;
}

function tooManyWait(): SluiceError {
  return new SluiceError('overloaded', 'Too many large bodies wait to be decoded.');
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, 'code') === 'ERR_WORKER_OUT_OF_MEMORY';
}

/** Bodies above this have a thread of their own, so that others wait for less than a second. */
const GIANT_BYTES = 4 * MIB;

/** Two threads, for large bodies and for giant ones. */
export function createLargeBodies(): Pick<LargeBodies, 'decode' | 'close'> {
  const large = new LargeBodies();
  const giant = new LargeBodies();
  return {
    decode: (signal, body, context) =>
      (body.length > GIANT_BYTES ? giant : large).decode(signal, body, context),
    close: async () => {
      await Promise.all([large.close(), giant.close()]);
    },
  };
}

/** Sent again it would cost the same again. */
function tooDear(what: 'time' | 'memory', cause: unknown): SluiceError {
  const message = `The body takes more ${what} to decode than there is for one; send smaller batches.`;
  return new SluiceError('body_too_large', message, { cause });
}
