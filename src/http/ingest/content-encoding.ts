/**
 * Undoes Content-Encoding under a limit, without ever holding what a small body merely claims to be.
 *
 *   gzip that says how large it becomes ──► inflate in one call ───────────────► use
 *              │ it does not become that
 *   body ──► inflate, keep ──► ends ──────────────────────────────────────────► use
 *              │ grows past what honest telemetry does: drop, go on counting
 *              ├──► past the limit: 413
 *              └──► ends within the limit: inflate again, keep, one such body at a time ──► use
 *
 * So a bomb costs a few times its own size, and many bodies that are dense but within the limit
 * cost the memory of one. Workspaces take turns with these.
 */
import { Readable } from 'node:stream';
import { setImmediate as nextRound } from 'node:timers/promises';
import zlib from 'node:zlib';

import { SluiceError } from '../../errors.ts';
import { type BodyLimits, bodyTooLarge, noRoom } from '../transport/exchange.ts';
import { beyond } from './byte-budget.ts';
import { gunzipAtOnce, gunzippedSize } from './inflate-at-once.ts';

/** Output is handed on in pieces of this size; small enough to stop soon after the limit. */
const CHUNK_BYTES = 64 * 1024;
/** Pieces concatenated per turn of the event loop. */
const JOINED_PER_ROUND = 64;
/** Telemetry in JSON deflates 5 to 20 fold; what grows more is counted before it is kept. */
const HONEST_GROWTH = 32;
/** Dense bodies of a workspace that may wait for their turn; more are refused. */
const DENSE_WAITING_MAX = 32;

const GZIP: ReadonlySet<string> = new Set(['gzip', 'x-gzip']);

type Decoder = () => NodeJS.ReadWriteStream & AsyncIterable<Buffer>;

/** zstd came with Node 22.15; the types are Node 20's. */
const createZstd: unknown = Reflect.get(zlib, 'createZstdDecompress');
/** Wider windows ask for up to 128 MiB each; 8 MiB is what RFC 8878 §3.1.1.1.2 has decoders take. */
const ZSTD_WINDOW_LOG_MAX = 23;

function zstdDecoder(create: (options: object) => ReturnType<Decoder>): Decoder {
  const windowLogMax: unknown = Reflect.get(zlib.constants, 'ZSTD_d_windowLogMax');
  const params = { [String(windowLogMax)]: ZSTD_WINDOW_LOG_MAX };
  return () => create({ chunkSize: CHUNK_BYTES, params });
}

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', () => zlib.createGunzip({ chunkSize: CHUNK_BYTES })],
  ['x-gzip', () => zlib.createGunzip({ chunkSize: CHUNK_BYTES })],
  ['deflate', () => zlib.createInflate({ chunkSize: CHUNK_BYTES })],
  ...(typeof createZstd === 'function'
    ? [['zstd', zstdDecoder(createZstd as Parameters<typeof zstdDecoder>[0])] as const]
    : []),
]);

/** The encodings this process takes, for messages. */
export const ENCODINGS = ['identity', ...[...DECODERS.keys()].filter((name) => name !== 'x-gzip')];

export interface DecodingLimits extends Omit<BodyLimits, 'deadlineMs'> {
  readonly workspaceId: number;
  /** does some work when the event loop can be held again */
  readonly takeTurn: <T>(work: () => T) => Promise<T>;
}

function nameOf(encoding: string): string {
  return encoding.trim().toLowerCase();
}

/**
 * Is the body encoded in a way that is taken?
 *
 * @throws {SluiceError} `unsupported_encoding`
 */
export function checkEncoding(encoding: string): void {
  const name = nameOf(encoding);
  if (name === '' || name === 'identity' || DECODERS.has(name)) return;
  throw new SluiceError(
    'unsupported_encoding',
    `Content-Encoding must be one of ${ENCODINGS.join(', ')}.`,
  );
}

/**
 * Inflates a body.
 *
 * @param keepMax past so many bytes nothing is kept any more, only counted
 * @returns the decoded body, or null when it was only counted
 */
async function inflate(
  body: Buffer,
  decoder: Decoder,
  { bytesMax, reserve }: DecodingLimits,
  keepMax: number,
): Promise<Buffer | null> {
  const stream = decoder();
  Readable.from([body]).pipe(stream);
  let chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw bodyTooLarge(bytesMax);
    if (bytes > keepMax) {
      chunks = [];
      continue;
    }
    if (!reserve(chunk.length)) throw noRoom();
    chunks.push(chunk);
  }
  return bytes > keepMax ? null : await joined(chunks, bytes);
}

/** `Buffer.concat` over several turns of the event loop: copying 64 MiB takes about 40 ms. */
async function joined(chunks: readonly Buffer[], bytes: number): Promise<Buffer> {
  const whole = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const [index, chunk] of chunks.entries()) {
    if (index % JOINED_PER_ROUND === JOINED_PER_ROUND - 1) await nextRound();
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** How large a body says it becomes, where that may be believed; else null. */
function claimedSize(name: string, body: Buffer, bytesMax: number): number | null {
  const size = GZIP.has(name) ? gunzippedSize(body) : null;
  return size === null || size > bytesMax ? null : size;
}

/** Decodes the bodies of one thread. */
export class ContentDecoder {
  /** dense bodies that wait, by workspace, in the order of the workspaces' turns */
  readonly #denseWaiting = new Map<number, (() => void)[]>();
  #isDenseInMemory = false;

  /**
   * Decodes a body and hands it on.
   *
   * @param encoding a Content-Encoding that `checkEncoding` has passed
   * @param use takes what it needs out of the decoded body, which is gone once it resolves
   * @throws {SluiceError} `body_too_large`, `overloaded`, or `undecodable_body` when the bytes are not
   *   what the header says; and whatever `use` throws
   */
  async decode<T>(
    body: Buffer,
    encoding: string,
    limits: DecodingLimits,
    use: (decoded: Buffer) => T | Promise<T>,
  ): Promise<T> {
    const name = nameOf(encoding);
    const decoder = DECODERS.get(name);
    if (decoder === undefined) return await use(body);
    try {
      return await this.#decodeWith(name, decoder, body, limits, use);
    } catch (error) {
      // zlib names its faults by code; other errors are not about the bytes.
      const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
      if (typeof code !== 'string' || !/^(Z_|ZSTD_|ERR_)/.test(code)) throw error;
      throw new SluiceError('undecodable_body', `The body is not valid ${name}.`, { cause: error });
    }
  }

  async #decodeWith<T>(
    name: string,
    decoder: Decoder,
    body: Buffer,
    limits: DecodingLimits,
    use: (decoded: Buffer) => T | Promise<T>,
  ): Promise<T> {
    const keepMax = Math.max(CHUNK_BYTES, body.length * HONEST_GROWTH);
    const size = claimedSize(name, body, Math.min(keepMax, limits.bytesMax));
    if (size !== null) {
      if (!limits.reserve(size)) throw noRoom();
      const whole = await gunzipAtOnce(body, size, limits.takeTurn);
      if (whole !== null) return await use(whole);
    }
    const reserve = beyond(size ?? 0, limits.reserve);
    const decoded = await inflate(body, decoder, { ...limits, reserve }, keepMax);
    if (decoded !== null) return await use(decoded);
    return await this.#inDenseTurn(limits.workspaceId, async () => {
      const whole = await inflate(body, decoder, limits, limits.bytesMax);
      if (whole === null) throw bodyTooLarge(limits.bytesMax);
      return await use(whole);
    });
  }

  /** Runs `work` when no other dense body is in memory. */
  async #inDenseTurn<T>(workspaceId: number, work: () => Promise<T>): Promise<T> {
    if (this.#isDenseInMemory) await this.#denseTurn(workspaceId);
    this.#isDenseInMemory = true;
    try {
      return await work();
    } finally {
      this.#isDenseInMemory = false;
      this.#startNextDense();
    }
  }

  #denseTurn(workspaceId: number): Promise<void> {
    const waiting = this.#denseWaiting.get(workspaceId) ?? [];
    if (waiting.length >= DENSE_WAITING_MAX) throw noRoom();
    this.#denseWaiting.set(workspaceId, waiting);
    return new Promise((resolve) => {
      waiting.push(resolve);
    });
  }

  /** Moves the workspace whose turn it was to the end of the round. */
  #startNextDense(): void {
    for (const [workspaceId, waiting] of this.#denseWaiting) {
      this.#denseWaiting.delete(workspaceId);
      const start = waiting.shift();
      if (waiting.length > 0) this.#denseWaiting.set(workspaceId, waiting);
      // Before it runs: a body that arrives in between must wait.
      this.#isDenseInMemory = true;
      start?.();
      return;
    }
  }
}
