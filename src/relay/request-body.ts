/**
 * A client's body, read and turned into what is sent: OTLP/JSON in gzip. Bounded in bytes at every
 * step. Small bodies are decoded here, the others in a separate process, so that a turn of the event
 * loop is short.
 */
import type { IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import pLimit from 'p-limit';

import { SluiceError } from '../errors.ts';
import { LimitedProcess, OutOfMemoryError } from '../limited-process/limited-process.ts';
import type { ReceivedMessage } from '../limited-process/messages.ts';
import type { Signal } from '../model/telemetry.ts';
import { withinLimit } from '../time-limit.ts';
import { type BodyFacts, type BodyFormat, decodeBody, tooLarge } from './decode-body.ts';
import type { FromBodyProcess, ToBodyProcess } from './decode-process.ts';

/** As sent; the same as the server's default. */
const BODY_BYTES_MAX = 20 * 1024 * 1024;
/** Bodies, as sent, that are in memory at the same time. */
const BODIES_BYTES_MAX = 128 * 1024 * 1024;
/** Inflated; larger ones are decoded in the process. */
const SMALL_BYTES_MAX = 128 * 1024;
/** Small bodies that are inflated and compressed at the same time. */
const DECODED_MAX = 2;

/** The built file, even when a test runs this file from source (decision 0003). */
const ENTRY = fileURLToPath(new URL('../../dist/relay/decode-process.js', import.meta.url));
/** For one body; the slowest known, a million small objects in 64 MiB, takes 3 s. */
const DECODE_MS_MAX = 30_000;
const HEAP_MIB_MAX = 1024;
const IDLE_MS_MAX = 30_000;

const ENCODINGS: ReadonlyMap<string, BodyFacts['encoding']> = new Map([
  ['', null],
  ['identity', null],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
]);

/** @throws {SluiceError} `unsupported_type` */
export function bodyFormat(contentType: string | undefined): BodyFormat {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType === 'application/x-protobuf') return 'protobuf';
  if (mediaType === 'application/json') return 'json';
  throw new SluiceError(
    'unsupported_type',
    'Content-Type must be application/x-protobuf or application/json.',
  );
}

function bodyEncoding(contentEncoding: string | undefined): BodyFacts['encoding'] {
  const encoding = ENCODINGS.get(contentEncoding?.trim().toLowerCase() ?? '');
  if (encoding !== undefined) return encoding;
  throw new SluiceError(
    'unsupported_encoding',
    'Content-Encoding must be one of identity, gzip, deflate.',
  );
}

/**
 * Decodes large bodies in a separate process, one at a time. The process is started by the first of them and ends
 * when it has been idle. A body that needs more than its memory or its time ends the process and is refused.
 */
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

export class BodyReader {
  readonly #decoding = pLimit(DECODED_MAX);
  readonly #process = new ProcessDecoder();
  #bytes = 0;

  /** @throws {SluiceError} for a body that is refused; another error when the client has left */
  async read(incoming: IncomingMessage, signal: Signal, format: BodyFormat): Promise<Buffer> {
    const encoding = bodyEncoding(incoming.headers['content-encoding']);
    if (Number(incoming.headers['content-length'] ?? 0) > BODY_BYTES_MAX) {
      throw tooLarge(BODY_BYTES_MAX);
    }
    let taken = 0;
    const chunks: Buffer[] = [];
    try {
      // Destroying the request would take the connection with it, before it is answered.
      const arriving = incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
      for await (const chunk of arriving) {
        if (taken + chunk.length > BODY_BYTES_MAX) throw tooLarge(BODY_BYTES_MAX);
        if (this.#bytes + chunk.length > BODIES_BYTES_MAX) {
          throw new SluiceError('overloaded', 'Too many requests at once.');
        }
        taken += chunk.length;
        this.#bytes += chunk.length;
        chunks.push(chunk);
      }
      return await this.#decode(Buffer.concat(chunks), { signal, format, encoding });
    } finally {
      this.#bytes -= taken;
    }
  }

  async close(): Promise<void> {
    await this.#process.close();
  }

  async #decode(body: Buffer, facts: BodyFacts): Promise<Buffer> {
    if (body.length <= SMALL_BYTES_MAX) {
      const decoded = await this.#decoding(() => decodeBody(body, facts, SMALL_BYTES_MAX));
      if (decoded.kind === 'sent') return decoded.body;
      if (decoded.kind === 'unchanged') return body;
    }
    return (await this.#process.decode(body, facts)) ?? body;
  }
}
