/**
 * Decodes large bodies on a thread, one at a time, so that they do not hold up the event loop. The
 * thread is started by the first of them and ends when it has been idle. Its memory and its time are
 * limited: a body that needs more ends the thread and is refused.
 */
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';

import { SluiceError } from '../errors.ts';
import type { BodyFacts } from './decode-body.ts';
import type { FromBodyThread, ToBodyThread } from './decode-thread.ts';

/** The built file, even when a test runs this file from source (decision 0014). */
const ENTRY = fileURLToPath(new URL('../../dist/relay/decode-thread.js', import.meta.url));
/** For one body; the slowest known, a million small objects in 64 MiB, takes 3 s. */
const DECODE_MS_MAX = 30_000;
/** Of the thread's V8 heap. */
const HEAP_MIB_MAX = 1024;
const IDLE_MS_MAX = 30_000;

export class ThreadDecoder {
  readonly #turn = pLimit(1);
  readonly #decodeMsMax: number;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;
  #onReply: {
    readonly resolve: (reply: FromBodyThread) => void;
    readonly reject: (error: Error) => void;
  } | null = null;

  constructor(decodeMsMax: number = DECODE_MS_MAX) {
    this.#decodeMsMax = decodeMsMax;
  }

  /**
   * Decodes a body, after those before it.
   *
   * @returns what is sent; null for the body as it came
   * @throws {SluiceError} for a body that is refused, or that takes too much time or memory
   */
  async decode(body: Buffer, facts: BodyFacts): Promise<Buffer | null> {
    return await this.#turn(async () => {
      clearTimeout(this.#idle);
      try {
        const reply = await this.#request({ body, facts });
        if (reply.kind === 'refused') throw new SluiceError(reply.code, reply.message);
        if (reply.kind === 'unchanged') return null;
        const { buffer, byteOffset, byteLength } = reply.body;
        return Buffer.from(buffer, byteOffset, byteLength);
      } finally {
        this.#idle = setTimeout(() => void this.close(), IDLE_MS_MAX).unref();
      }
    });
  }

  /** Ends the thread; the next body starts another. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = null;
    this.#onReply?.reject(new SluiceError('shutting_down', 'The relay is stopping.'));
    this.#onReply = null;
    await worker?.terminate();
  }

  async #request(message: ToBodyThread): Promise<FromBodyThread> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        this.#onReply = { resolve, reject };
        timer = setTimeout(() => reject(tooCostly('time')), this.#decodeMsMax);
        worker.postMessage(message);
      });
    } catch (error) {
      // The thread has ended, or is still busy with this body.
      await this.close();
      throw error;
    } finally {
      this.#onReply = null;
      clearTimeout(timer);
    }
  }

  #start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: HEAP_MIB_MAX };
    // The parent's arguments apply to its own thread only.
    const worker = new Worker(ENTRY, { execArgv: [], name: 'decode', resourceLimits });
    worker.unref();
    const isCurrent = (): boolean => this.#worker === worker;
    worker.on('message', (reply: FromBodyThread) => this.#onReply?.resolve(reply));
    worker.on('error', (error) => {
      if (isCurrent()) this.#onReply?.reject(isOutOfMemory(error) ? tooCostly('memory') : error);
    });
    worker.on('exit', (code) => {
      if (!isCurrent()) return;
      this.#worker = null;
      this.#onReply?.reject(new Error(`the decode thread ended with ${code}`));
    });
    return worker;
  }
}

function isOutOfMemory(error: Error): boolean {
  return Reflect.get(error, 'code') === 'ERR_WORKER_OUT_OF_MEMORY';
}

/** Not retryable: the same body would take as much again. */
function tooCostly(what: 'time' | 'memory'): SluiceError {
  const message = `Decoding the body takes too much ${what}; send smaller batches.`;
  return new SluiceError('body_too_large', message);
}
