/**
 * Decodes on a separate thread the bodies that would block the event loop: bodies above 128 KiB
 * that cannot be scanned, and bodies with a record above 256 KiB. One at a time, workspaces in turn.
 *
 *   decode ─► waits (5 s, 32 bodies) ─► copied to the thread ─► decoded (60 s) ─► rows
 *               503                        started if there is none ─► ended when idle for 30 s
 *
 * The thread's memory is limited: a body that needs more ends the thread and is refused; the next
 * body starts a new thread. The result is sent in parts (`decode-messages.ts`).
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { SluiceError } from '../errors.ts';
import type { TelemetryTable } from '../model/columns.ts';
import type { Signal } from '../model/telemetry.ts';
import { withinLimit } from '../time-limit.ts';
import { WorkspaceQueue } from '../workspace-queue.ts';
import type { FromDecodeThread, StoredLists, ToDecodeThread } from './decode-messages.ts';
import type { ReadyResult, RequestContext } from './request-decoder.ts';

/** The built file, even when a test runs this file from source (decision 0014). */
const ENTRY = fileURLToPath(new URL('../../dist/ingest/decode-thread.js', import.meta.url));
const MIB = 1024 * 1024;
/** Bytes copied in one turn of the event loop: about a millisecond. */
const COPY_BYTES = 2 * MIB;
const NO_RELEASE = (): void => {};

export interface LargeBodiesSettings {
  /** most bodies that wait; beyond that, the workspace with the most is refused first */
  readonly waitingMax: number;
  /** how long a body waits before it is refused */
  readonly waitMs: number;
  /** time limit for decoding a body; the slowest known body, 64 MiB of keys, takes 9 s */
  readonly decodeMs: number;
  /** limit of the thread's V8 heap, in MiB */
  readonly heapMib: number;
  /** the thread ends after this time without a body, to free its memory */
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
  readonly #bodies = new WorkspaceQueue<Waiter>();
  #isClosed = false;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;
  #onReply: {
    resolve: (message: FromDecodeThread) => void;
    reject: (error: Error) => void;
  } | null = null;

  constructor(settings: Partial<LargeBodiesSettings> = {}) {
    this.#settings = { ...SETTINGS, ...settings };
  }

  /** Whether a thread is running. */
  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /**
   * Decodes a body.
   *
   * @param body must not change until the promise settles
   * @throws {SluiceError} `overloaded`, `shutting_down`, or `body_too_large` when the body holds
   *   too much or takes too much time or memory; any other error is not the body's fault
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
      // The thread has ended or is still busy with this body.
      await this.#end();
      if (performance.now() >= endsAtMs) throw tooCostly('time', error);
      throw isOutOfMemory(error) ? tooCostly('memory', error) : error;
    } finally {
      this.#next();
    }
  }

  /** Refuses waiting and new bodies, and ends the thread. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    await this.#end();
  }

  /** Waits until no other body is being decoded. */
  async #turn(workspaceId: number): Promise<void> {
    if (this.#isClosed) throw new SluiceError('shutting_down', 'The server is shutting down.');
    const { waitingMax, waitMs } = this.#settings;
    if (this.#bodies.size >= waitingMax) {
      const other = this.#bodies.removeForOther(workspaceId);
      if (other === null) throw tooManyWait();
      other.refuse();
    }
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#bodies.remove(workspaceId, waiter);
        waiter.refuse();
      }, waitMs);
      const waiter = {
        begin: () => {
          clearTimeout(timer);
          resolve();
        },
        refuse: () => {
          clearTimeout(timer);
          reject(tooManyWait());
        },
      };
      this.#bodies.add(workspaceId, waiter);
      this.#bodies.begin()?.begin();
    });
  }

  #next(): void {
    this.#bodies.end();
    this.#bodies.begin()?.begin();
    if (this.#bodies.isIdle) {
      this.#idle = setTimeout(() => void this.#end(), this.#settings.idleMs).unref();
    }
  }

  async #decode(signal: Signal, body: Buffer, context: RequestContext): Promise<ReadyResult> {
    const { workspaceId, arrivedAtMs, logRuns } = context;
    const bytes = await copyOf(body);
    const order = { kind: 'decode', signal, body: bytes, workspaceId, arrivedAtMs } as const;
    let message = await this.#request(order, [bytes.buffer]);
    for (;;) {
      switch (message.kind) {
        case 'marks':
          message = await this.#request({
            ...message,
            marks: logRuns.marksOf(message.records, workspaceId),
          });
          break;
        case 'runs':
          message = await this.#request({
            ...message,
            runs: logRuns.runsOf(message.records, workspaceId),
          });
          break;
        case 'rows':
          return { ok: true, request: await this.#take(message, signal, context) };
        case 'undecodable':
          return { ok: false, message: message.message, path: message.path };
        case 'refused':
          throw new SluiceError(message.code, message.message);
        default:
          throw new Error(`unexpected message from the decode thread: ${message.kind}`);
      }
    }
  }

  /** Assembles the result from its parts. */
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

  async #lists(): Promise<StoredLists> {
    const resources: StoredLists['resources'][number][] = [];
    const metrics: StoredLists['metrics'][number][] = [];
    const runs: StoredLists['runs'][number][] = [];
    const sessionMarks: StoredLists['sessionMarks'][number][] = [];
    for (;;) {
      const message = await this.#request({ kind: 'more' });
      if (message.kind !== 'list') return { resources, metrics, runs, sessionMarks };
      resources.push(...message.lists.resources);
      metrics.push(...message.lists.metrics);
      runs.push(...message.lists.runs);
      sessionMarks.push(...message.lists.sessionMarks);
    }
  }

  /** Sends a message and waits for the reply. */
  async #request(message: ToDecodeThread, transfer: readonly ArrayBuffer[] = []) {
    if (this.#isClosed) throw new SluiceError('shutting_down', 'The server is shutting down.');
    this.#worker ??= this.#start();
    const worker = this.#worker;
    return await new Promise<FromDecodeThread>((resolve, reject) => {
      this.#onReply = { resolve, reject };
      worker.postMessage(message, transfer);
    });
  }

  #start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: this.#settings.heapMib };
    // The parent's arguments apply to its own thread only.
    const worker = new Worker(ENTRY, { execArgv: [], name: 'decode', resourceLimits });
    worker.unref();
    const isCurrent = (): boolean => this.#worker === worker;
    worker.on('message', (message: FromDecodeThread) => this.#onReply?.resolve(message));
    worker.on('error', (error) => {
      if (isCurrent()) this.#onReply?.reject(error);
    });
    worker.on('exit', (code) => {
      if (!isCurrent()) return;
      this.#worker = null;
      this.#onReply?.reject(new Error(`the decode thread ended with ${code}`));
    });
    return worker;
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    this.#onReply?.reject(new Error('the decode thread was ended'));
    this.#onReply = null;
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
  return new SluiceError('overloaded', 'Too many large requests are waiting. Try again later.', {
    shortage: 'large_bodies',
  });
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, 'code') === 'ERR_WORKER_OUT_OF_MEMORY';
}

/** Bodies above this use a second thread, so that smaller ones wait less than a second. */
const GIANT_BYTES = 4 * MIB;

/** Two threads: for large bodies, and for giant ones. */
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

/** Not retryable: the same body would take as much again. */
function tooCostly(what: 'time' | 'memory', cause: unknown): SluiceError {
  const message = `Decoding the body takes too much ${what}; send smaller batches.`;
  return new SluiceError('body_too_large', message, { cause });
}
