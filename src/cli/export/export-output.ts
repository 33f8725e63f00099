/**
 * Where an export is written: one file, a folder with a file for each signal and hour, or standard output.
 *
 *   FOLDER/traces/2026-11-20T12.jsonl.gz                hour of the records, UTC
 *   FOLDER/traces/2026-11-20-other-times.jsonl.gz       records of other days, or without a time, by day of arrival
 *
 * Files only grow, by whole pieces. So an export that was interrupted continues by cutting each file to the
 * size that its state names (`export-state.ts`).
 */
import { mkdir, open, readdir, rm, stat, truncate } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { USE_ZSTD_NODE } from '../../db/telemetry/codecs.ts';
import { OperatorError } from '../../errors.ts';
import type { Signal } from '../../model/telemetry.ts';
import type { SelectedLines } from '../../reads/selected-lines.ts';
import { isOutputClosed } from '../../terminal/output.ts';

export const SIGNALS: readonly Signal[] = ['traces', 'metrics', 'logs'];

const DAY_MS = 86_400_000;
/** Without the part after it, a name is its hour or day. */
const HOURLY = /^(\d{4}-\d\d-\d\d)(?:T\d\d|(-other-times))\.jsonl/;

/** Sizes in bytes by path; in a folder relative to it. */
export type Sizes = Readonly<Record<string, number>>;

export interface ExportOutput {
  /** the output can be shortened to an earlier length */
  readonly canCut: boolean;
  /** each hour of the records has its own files */
  readonly byHour: boolean;
  readonly fileOf: (signal: Signal, arrivedOn: string, lines: SelectedLines) => string;
  readonly append: (file: string, bytes: Buffer) => Promise<void>;
  /** Returns the files that records of a day of arrival may be in, or all files. */
  readonly sizes: (arrivedOn: string | null) => Promise<Sizes>;
  /** Cuts these files to a size; those of size 0 are removed. */
  readonly cut: (sizes: Sizes) => Promise<void>;
  /** Makes sure that what was appended to these files survives a crash. */
  readonly sync: (files: Iterable<string>) => Promise<void>;
}

export class OutputClosed extends Error {}

export const standardOutput: ExportOutput = {
  canCut: false,
  byHour: false,
  fileOf: () => '-',
  append: async (_, bytes) => {
    if (isOutputClosed()) throw new OutputClosed();
    // The error is handled where standard output is (`handleClosedOutput`).
    await new Promise<void>((resolve) => process.stdout.write(bytes, () => resolve()));
  },
  sizes: async () => ({}),
  cut: async () => {},
  sync: async () => {},
};

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

function filesBelow(root: string): Pick<ExportOutput, 'append' | 'cut' | 'sync'> {
  return {
    append: async (file, bytes) => {
      const path = resolve(root, file);
      await mkdir(dirname(path), { recursive: true });
      const handle = await open(path, 'a');
      try {
        await handle.appendFile(bytes);
      } finally {
        await handle.close();
      }
    },
    cut: async (sizes) => {
      for (const [file, size] of Object.entries(sizes)) {
        if (size === 0) await rm(resolve(root, file), { force: true });
        else await truncate(resolve(root, file), size);
      }
    },
    sync: async (files) => {
      for (const file of files) {
        const handle = await open(resolve(root, file), 'r+');
        try {
          await handle.sync();
        } finally {
          await handle.close();
        }
      }
    },
  };
}

export function fileOutput(path: string): ExportOutput {
  return {
    canCut: true,
    byHour: false,
    fileOf: () => path,
    sizes: async () => ({ [path]: await sizeOf(path) }),
    ...filesBelow('.'),
  };
}

/** @param ending of the files' names, such as `.gz` */
export function folderOutput(folder: string, ending: string): ExportOutput {
  return {
    canCut: true,
    byHour: true,
    fileOf: (signal, arrivedOn, { hour }) =>
      join(signal, `${hour ?? `${arrivedOn}-other-times`}.jsonl${ending}`),
    sizes: async (arrivedOn) => {
      const sizes: Record<string, number> = {};
      for (const signal of SIGNALS) {
        for (const name of await namesIn(join(folder, signal))) {
          if (!mayHold(name, arrivedOn)) continue;
          const file = join(signal, name);
          sizes[file] = await sizeOf(join(folder, file));
        }
      }
      return sizes;
    },
    ...filesBelow(folder),
  };
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function mayHold(name: string, arrivedOn: string | null): boolean {
  const [, day, others] = HOURLY.exec(name) ?? [];
  if (day === undefined) return false;
  if (arrivedOn === null) return true;
  if (others !== undefined) return day === arrivedOn;
  return Math.abs(Date.parse(day) - Date.parse(arrivedOn)) <= DAY_MS;
}

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
