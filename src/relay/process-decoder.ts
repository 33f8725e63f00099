/**
 * Decodes large bodies in a separate process, one at a time, so that they do not hold up the event
 * loop. The process is started by the first of them and ends when it has been idle. Its memory and its
 * time are limited: a body that needs more ends the process and is refused.
 */
import { fileURLToPath } from 'node:url';
import pLimit from 'p-limit';

import { SluiceError } from '../errors.ts';
import { LimitedProcess, OutOfMemoryError } from '../limited-process/limited-process.ts';
import type { ReceivedMessage } from '../limited-process/messages.ts';
import { withinLimit } from '../time-limit.ts';
import type { BodyFacts } from './decode-body.ts';
import type { FromBodyProcess, ToBodyProcess } from './decode-process.ts';

/** The built file, even when a test runs this file from source (decision 0003). */
const ENTRY = fileURLToPath(new URL('../../dist/relay/decode-process.js', import.meta.url));
/** For one body; the slowest known, a million small objects in 64 MiB, takes 3 s. */
const DECODE_MS_MAX = 30_000;
/** Of the process's V8 heap. */
const HEAP_MIB_MAX = 1024;
const IDLE_MS_MAX = 30_000;

export class ProcessDecoder {
  readonly #turn = pLimit(1);
  readonly #decodeMsMax: number;
  readonly #process: LimitedProcess<ToBodyProcess, FromBodyProcess>;
  #isClosed = false;
  #idle: NodeJS.Timeout | undefined;

  constructor(decodeMsMax: number = DECODE_MS_MAX, heapMibMax: number = HEAP_MIB_MAX) {
    this.#decodeMsMax = decodeMsMax;
    this.#process = new LimitedProcess(ENTRY, heapMibMax);
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
        const { message, bytes } = await this.#request(body, facts);
        if (message.kind === 'refused') throw new SluiceError(message.code, message.message);
        return message.kind === 'unchanged' ? null : bytes;
      } finally {
        this.#idle = setTimeout(() => void this.#process.end(), IDLE_MS_MAX).unref();
      }
    });
  }

  /** Ends the process, and refuses what it decodes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    await this.#process.end();
  }

  async #request(body: Buffer, facts: BodyFacts): Promise<ReceivedMessage<FromBodyProcess>> {
    const answer = this.#process.request({ facts }, body);
    try {
      return await withinLimit(answer, this.#decodeMsMax, () => tooCostly('time'));
    } catch (error) {
      // The process has ended, or is still busy with this body.
      await this.#process.end();
      if (this.#isClosed) throw new SluiceError('shutting_down', 'The relay is stopping.');
      throw error instanceof OutOfMemoryError ? tooCostly('memory') : error;
    }
  }
}

/** Not retryable: the same body would take as much again. */
function tooCostly(what: 'time' | 'memory'): SluiceError {
  const message = `Decoding the body takes too much ${what}; send smaller batches.`;
  return new SluiceError('body_too_large', message);
}
