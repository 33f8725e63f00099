/**
 * A client's body: read, inflated, decoded, and turned into what is sent: OTLP/JSON in gzip. Bounded in
 * bytes at every step; bodies are inflated and decoded a few at a time.
 */
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { constants, gunzip, gzip, inflate } from 'node:zlib';
import pLimit from 'p-limit';

import { SluiceError } from '../errors.ts';
import type { Signal } from '../model/telemetry.ts';
import { decodeProtobufRequest } from './protobuf/protobuf-request.ts';

/** As sent; the same as the server's default. */
const BODY_BYTES_MAX = 20 * 1024 * 1024;
/** Inflated, and as JSON; the same as the server's default. */
const INFLATED_BYTES_MAX = 64 * 1024 * 1024;
/** Bodies, as sent, that are in memory at the same time. */
const BODIES_BYTES_MAX = 128 * 1024 * 1024;
/** Bodies that are inflated and decoded at the same time. */
const DECODED_MAX = 2;

const INFLATERS: ReadonlyMap<string, typeof gunzip | typeof inflate> = new Map([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', inflate],
]);

const gzipped = promisify<Buffer, { level: number }, Buffer>(gzip);

/** The formats of OTLP/HTTP. */
export type BodyFormat = 'protobuf' | 'json';

function tooLarge(bytes: number): SluiceError {
  return new SluiceError('body_too_large', `A body may have ${bytes} bytes at most.`);
}

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

function inflaterOf(contentEncoding: string | undefined): typeof gunzip | null {
  const name = contentEncoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return null;
  const inflater = INFLATERS.get(name);
  if (inflater !== undefined) return inflater;
  throw new SluiceError(
    'unsupported_encoding',
    'Content-Encoding must be one of identity, gzip, deflate.',
  );
}

async function inflated(body: Buffer, inflater: typeof gunzip): Promise<Buffer> {
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      inflater(body, { maxOutputLength: INFLATED_BYTES_MAX }, (error, result) =>
        error === null ? resolve(result) : reject(error),
      );
    });
  } catch (cause) {
    const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : null;
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(INFLATED_BYTES_MAX);
    throw new SluiceError('undecodable_body', 'the body is not compressed as its header says', {
      cause,
    });
  }
}

function checkJson(body: Buffer): void {
  try {
    JSON.parse(body.toString());
  } catch (cause) {
    throw new SluiceError('undecodable_body', 'the body is not valid JSON', { cause });
  }
}

/** Turns requests of clients into bodies for the server. */
export class BodyReader {
  readonly #decoding = pLimit(DECODED_MAX);
  #bytes = 0;

  /**
   * Reads one body.
   *
   * @returns OTLP/JSON in gzip
   * @throws {SluiceError} for a body that is refused; another error when the client has left
   */
  async read(incoming: IncomingMessage, signal: Signal, format: BodyFormat): Promise<Buffer> {
    const encoding = incoming.headers['content-encoding'];
    const inflater = inflaterOf(encoding);
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
      const body = Buffer.concat(chunks);
      return await this.#decoding(() => this.#decode(body, inflater, signal, format));
    } finally {
      this.#bytes -= taken;
    }
  }

  async #decode(
    body: Buffer,
    inflater: typeof gunzip | null,
    signal: Signal,
    format: BodyFormat,
  ): Promise<Buffer> {
    const plain = inflater === null ? body : await inflated(body, inflater);
    if (format === 'json') {
      checkJson(plain);
      return inflater === gunzip ? body : await gzipped(plain, { level: constants.Z_BEST_SPEED });
    }
    const json = decodeProtobufRequest(signal, plain);
    if (Buffer.byteLength(json) > INFLATED_BYTES_MAX) throw tooLarge(INFLATED_BYTES_MAX);
    return await gzipped(Buffer.from(json), { level: constants.Z_BEST_SPEED });
  }
}
