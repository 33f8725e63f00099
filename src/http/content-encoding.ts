/**
 * Undoes Content-Encoding under a limit. The decoded size is counted while it grows: a body that
 * expands past the limit is dropped at the limit, not after.
 */
import { Readable } from 'node:stream';
import zlib from 'node:zlib';

import { SluiceError } from '../errors.ts';
import { type BodyLimits, bodyTooLarge, noRoom } from './exchange.ts';

/** Output is handed on in pieces of this size; small enough to stop soon after the limit. */
const CHUNK_BYTES = 64 * 1024;

type Decoder = () => NodeJS.ReadWriteStream & AsyncIterable<Buffer>;

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', () => zlib.createGunzip({ chunkSize: CHUNK_BYTES })],
  ['x-gzip', () => zlib.createGunzip({ chunkSize: CHUNK_BYTES })],
  ['deflate', () => zlib.createInflate({ chunkSize: CHUNK_BYTES })],
]);

/** The encodings taken, for messages. */
export const ENCODINGS = ['identity', 'gzip', 'deflate'];

/**
 * Is the body encoded in a way that is taken?
 *
 * @throws {SluiceError} `unsupported_encoding`
 */
export function checkEncoding(encoding: string): void {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity' || DECODERS.has(name)) return;
  throw new SluiceError(
    'unsupported_encoding',
    `Content-Encoding must be one of ${ENCODINGS.join(', ')}.`,
  );
}

/**
 * Decodes a body.
 *
 * @param encoding a Content-Encoding that `checkEncoding` has passed
 * @throws {SluiceError} `body_too_large`, `overloaded`, or `undecodable_body` when the bytes are
 *   not
 *   what the header says
 */
export async function decodeBody(
  body: Buffer,
  encoding: string,
  { bytesMax, reserve }: Omit<BodyLimits, 'deadlineMs'>,
): Promise<Buffer> {
  const decoder = DECODERS.get(encoding.trim().toLowerCase());
  if (decoder === undefined) return body;
  const stream = decoder();
  Readable.from([body]).pipe(stream);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw bodyTooLarge(bytesMax);
      if (!reserve(chunk.length)) throw noRoom();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof SluiceError) throw error;
    throw new SluiceError('undecodable_body', `The body is not valid ${encoding}.`, {
      cause: error,
    });
  }
  return Buffer.concat(chunks);
}
