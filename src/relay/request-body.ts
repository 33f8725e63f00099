/**
 * A client's body, read and turned into what is sent: OTLP/JSON in gzip. Bounded in bytes at every
 * step. Small bodies are decoded here, the others in a separate process, so that a turn of the event
 * loop is short.
 */
import type { IncomingMessage } from 'node:http';
import pLimit from 'p-limit';

import { SluiceError } from '../errors.ts';
import type { Signal } from '../model/telemetry.ts';
import { type BodyFacts, type BodyFormat, decodeBody, tooLarge } from './decode-body.ts';
import { ProcessDecoder } from './process-decoder.ts';

/** As sent; the same as the server's default. */
const BODY_BYTES_MAX = 20 * 1024 * 1024;
/** Bodies, as sent, that are in memory at the same time. */
const BODIES_BYTES_MAX = 128 * 1024 * 1024;
/** Inflated; larger ones are decoded in the process. */
const SMALL_BYTES_MAX = 128 * 1024;
/** Small bodies that are inflated and compressed at the same time. */
const DECODED_MAX = 2;

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

/** Turns requests of clients into bodies for the server. */
export class BodyReader {
  readonly #decoding = pLimit(DECODED_MAX);
  readonly #process = new ProcessDecoder();
  #bytes = 0;

  /**
   * Reads one body.
   *
   * @returns OTLP/JSON in gzip
   * @throws {SluiceError} for a body that is refused; another error when the client has left
   */
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

  /** Ends the process, if there is one. */
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
