/**
 * Decompresses bodies (Content-Encoding) up to a size limit. Must never keep the output of a
 * decompression bomb in memory.
 *
 *   gzip with a plausible size ──► inflate in one call ────────────────────────► use
 *              │ the size is wrong
 *   body ──► inflate, keep ──► ends ──────────────────────────────────────────► use
 *              │ grows more than telemetry does: drop it, continue counting
 *              ├──► past the limit: 413
 *              └──► ends within the limit: inflate again, keep, few such bodies at a time ──► use
 *
 * So a decompression bomb costs a few times its size. At most `DENSE_AT_ONCE` dense bodies within the
 * limit are in memory, one per workspace; workspaces take turns.
 */
import { Readable } from 'node:stream';
import { setImmediate as nextRound } from 'node:timers/promises';
import zlib from 'node:zlib';
import { SluiceError, unawaited } from '../../errors.ts';
import { WorkspaceQueue } from '../../workspace-queue.ts';
import { type BodyLimits, bodyTooLarge, noRoom } from '../transport/exchange.ts';
import { beyond } from './byte-budget.ts';
import { GzipInflater, gunzippedSize } from './inflate-at-once.ts';

/** Size of zlib's output chunks; small enough to stop soon after the limit. */
const CHUNK_BYTES = 64 * 1024;
/** Chunks concatenated per turn of the event loop. */
const JOINED_PER_ROUND = 64;
/** A body that grows more is dense. JSON telemetry compresses 5 to 20 fold. */
const DENSE_GROWTH = 32;
/** Maximum number of dense bodies in memory, one per workspace. */
export const DENSE_AT_ONCE = 4;
/** Most waiting dense bodies per workspace; more are refused. */
const DENSE_WAITING_MAX = 32;

const GZIP: ReadonlySet<string> = new Set(['gzip', 'x-gzip']);

type Decoder = () => NodeJS.ReadWriteStream & AsyncIterable<Buffer>;

/** Node has zstd since 22.15; the types are Node 20's. */
const createZstd: unknown = Reflect.get(zlib, 'createZstdDecompress');
/** 8 MiB, which RFC 8878 §3.1.1.1.2 requires; wider windows take up to 128 MiB each. */
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

export const ENCODINGS = ['identity', ...[...DECODERS.keys()].filter((name) => name !== 'x-gzip')];

export interface DecodingLimits extends Omit<BodyLimits, 'deadlineMs'> {
  readonly workspaceId: number;
  /** memory for a decoded body, of at least so many bytes */
  readonly allocate: (bytes: number) => Buffer;
  /** runs work in this workspace's next turn on the event loop */
  readonly takeTurn: <T>(work: () => T) => Promise<T>;
  /** calls the listener once nobody awaits the answer any more */
  readonly whenUnawaited: (listener: () => void) => void;
}

function nameOf(encoding: string): string {
  return encoding.trim().toLowerCase();
}

/** @throws {SluiceError} `unsupported_encoding` */
export function checkEncoding(encoding: string): void {
  const name = nameOf(encoding);
  if (name === '' || name === 'identity' || DECODERS.has(name)) return;
  throw new SluiceError(
    'unsupported_encoding',
    `Content-Encoding must be one of ${ENCODINGS.join(', ')}.`,
  );
}

/** @param keepMax beyond this many bytes, the output is dropped and only counted */
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

/** The inflated size that a body declares, if it is known and at most `bytesMax`; else null. */
function declaredSize(name: string, body: Buffer, bytesMax: number): number | null {
  const size = GZIP.has(name) ? gunzippedSize(body) : null;
  return size === null || size > bytesMax ? null : size;
}

export class ContentDecoder {
  readonly #inflater = new GzipInflater();
  /** dense bodies: how each is started */
  readonly #dense = new WorkspaceQueue<() => void>(DENSE_AT_ONCE);

  /**
   * @param use may keep the decoded body until the memory of `limits.allocate` is released
   * @throws {SluiceError} `body_too_large`, `overloaded`, or `undecodable_body` if the bytes do not
   *   match the header; and the errors of `use`
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
      // zlib's errors about the bytes have such a code; other errors are not the client's fault.
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
    const keepMax = Math.max(CHUNK_BYTES, body.length * DENSE_GROWTH);
    const size = declaredSize(name, body, Math.min(keepMax, limits.bytesMax));
    if (size !== null) {
      if (!limits.reserve(size)) throw noRoom();
      const { allocate, takeTurn } = limits;
      const whole = await this.#inflater.inflate(body, size, allocate, takeTurn);
      if (whole !== null) return await use(whole);
    }
    const reserve = beyond(size ?? 0, limits.reserve);
    const decoded = await inflate(body, decoder, { ...limits, reserve }, keepMax);
    if (decoded !== null) return await use(decoded);
    return await this.#inDenseTurn(limits, async () => {
      const whole = await inflate(body, decoder, limits, limits.bytesMax);
      if (whole === null) throw bodyTooLarge(limits.bytesMax);
      return await use(whole);
    });
  }

  /** Runs `work` in the workspace's turn for dense bodies. */
  async #inDenseTurn<T>(
    { workspaceId, whenUnawaited }: DecodingLimits,
    work: () => Promise<T>,
  ): Promise<T> {
    if (this.#dense.countOf(workspaceId) >= DENSE_WAITING_MAX) throw noRoom();
    await new Promise<void>((resolve, reject) => {
      this.#dense.add(workspaceId, resolve);
      this.#dense.begin()?.();
      whenUnawaited(() => {
        this.#dense.remove(workspaceId, resolve);
        reject(unawaited());
      });
    });
    try {
      return await work();
    } finally {
      this.#dense.end(workspaceId);
      this.#dense.begin()?.();
    }
  }
}
