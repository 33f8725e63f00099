/**
 * Turns a client's body into what is sent: inflated, checked or decoded, as OTLP/JSON in gzip. Runs on
 * the relay's event loop for small bodies and in a separate process for the others. Pure.
 */
import { promisify } from 'node:util';
import { constants, gunzip, gzip, inflate } from 'node:zlib';

import { SluiceError } from '../errors.ts';
import type { Signal } from '../model/telemetry.ts';
import { decodeProtobufRequest } from './protobuf/protobuf-request.ts';

/** Inflated, and as JSON; the same as the server's default. */
export const INFLATED_BYTES_MAX = 64 * 1024 * 1024;

const gzipped = promisify<Buffer, { level: number }, Buffer>(gzip);

export type BodyFormat = 'protobuf' | 'json';

export interface BodyFacts {
  readonly signal: Signal;
  readonly format: BodyFormat;
  /** null when it is not compressed */
  readonly encoding: 'gzip' | 'deflate' | null;
}

export type DecodedBody =
  /** a body in gzip that is sent as it came */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'sent'; readonly body: Buffer }
  /** inflated, it has more bytes than may be decoded here */
  | { readonly kind: 'larger' };

export function tooLarge(bytes: number): SluiceError {
  return new SluiceError('body_too_large', `A body may have ${bytes} bytes at most.`);
}

/** Null when it has more bytes than that. */
async function inflated(
  body: Buffer,
  inflater: typeof gunzip,
  bytesMax: number,
): Promise<Buffer | null> {
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      inflater(body, { maxOutputLength: bytesMax }, (error, result) =>
        error === null ? resolve(result) : reject(error),
      );
    });
  } catch (cause) {
    const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : null;
    if (code === 'ERR_BUFFER_TOO_LARGE') return null;
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

/** @throws {SluiceError} for a body that is refused */
export async function decodeBody(
  body: Buffer,
  { signal, format, encoding }: BodyFacts,
  plainBytesMax: number,
): Promise<DecodedBody> {
  const inflater = encoding === 'gzip' ? gunzip : inflate;
  const plain = encoding === null ? body : await inflated(body, inflater, plainBytesMax);
  if (plain === null || plain.length > plainBytesMax) return { kind: 'larger' };
  if (format === 'json') checkJson(plain);
  if (format === 'json' && encoding === 'gzip') return { kind: 'unchanged' };
  const json = format === 'json' ? plain : Buffer.from(decodeProtobufRequest(signal, plain));
  if (json.length > INFLATED_BYTES_MAX) throw tooLarge(INFLATED_BYTES_MAX);
  return { kind: 'sent', body: await gzipped(json, { level: constants.Z_BEST_SPEED }) };
}
