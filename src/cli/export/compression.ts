/** Compresses the lines of an export piece by piece. Each piece is one gzip member or one zstd frame. */
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';

import { USE_ZSTD_NODE } from '../../db/telemetry/codecs.ts';
import { OperatorError } from '../../errors.ts';

export const COMPRESSIONS = ['none', 'gzip', 'zstd'] as const;
export type Compression = (typeof COMPRESSIONS)[number];

/** The end of a file's name. */
export const ENDINGS: Readonly<Record<Compression, string>> = {
  none: '',
  gzip: '.gz',
  zstd: '.zst',
};

/** zlib's own default; the next ones take twice the time for 1 %. */
const GZIP_LEVEL = 6;
const gzip = promisify(zlib.gzip);

type Compress = (text: Buffer) => Promise<Buffer>;

export function compressionOf(name: string): Compression {
  if (name.endsWith(ENDINGS.gzip)) return 'gzip';
  return name.endsWith(ENDINGS.zstd) ? 'zstd' : 'none';
}

/** Compresses in the thread pool. @throws {OperatorError} if this Node.js does not have it */
export function compressorOf(compression: Compression): Compress {
  if (compression === 'none') return async (text) => text;
  if (compression === 'gzip') return (text) => gzip(text, { level: GZIP_LEVEL });
  // The types are those of Node.js 20, which has no zstd.
  const zstd: unknown = Reflect.get(zlib, 'zstdCompress');
  if (typeof zstd !== 'function') {
    throw new OperatorError(
      `Node.js ${process.versions.node} has no zstd: ${USE_ZSTD_NODE}, or --compress gzip`,
    );
  }
  return promisify(
    zstd as (text: Buffer, done: (error: Error | null, data: Buffer) => void) => void,
  );
}
