/**
 * The bodies of files of OTLP/JSON: one document, or one body per line, as `sluice export`, the download of
 * a run and the Collector's file exporter write them; also compressed with gzip or zstd. Read as a stream: a
 * file may be larger than the memory, one body may not.
 */
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Duplex, Readable } from 'node:stream';
import * as zlib from 'node:zlib';

import { USE_ZSTD_NODE } from '../../db/telemetry/codecs.ts';

import { OperatorError } from '../../errors.ts';
import type { Signal } from '../../model/telemetry.ts';
import { zstdFrames } from './zstd-frames.ts';

/** The largest body that a server takes by default (MAX_DECODED_BODY_BYTES). */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const NEW_LINE = 0x0a;
const NAMES = /\.jsonl?(?:\.gz|\.zst)?$/;
const STATE_NAME = 'export-state.json';

const SIGNALS: Readonly<Record<string, Signal>> = {
  resourceSpans: 'traces',
  resourceMetrics: 'metrics',
  resourceLogs: 'logs',
};
const FIRST_MEMBER = /^\s*\{\s*"(resourceSpans|resourceMetrics|resourceLogs)"\s*:/;

export interface ReplayBody {
  readonly signal: Signal;
  readonly text: string;
  /** `file.jsonl:12`, for messages */
  readonly place: string;
}

/** Returns the signal of a body; null when it is no OTLP/JSON. */
export function signalOf(text: string): Signal | null {
  const [, member = ''] = FIRST_MEMBER.exec(text) ?? [];
  return SIGNALS[member] ?? null;
}

/**
 * Returns the files of names; a folder has files at any depth, in the order of their names, so that hours of
 * all signals come together.
 */
export function listReplayFiles(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    if (name === '-' || !isFolder(name)) return [name];
    const files = readdirSync(name, { recursive: true, encoding: 'utf8' })
      .filter((file) => NAMES.test(file) && basename(file) !== STATE_NAME)
      .map((file) => join(name, file))
      .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
    if (files.length > 0) return files;
    throw new OperatorError(`${name} has no files that end in .json or .jsonl, also .gz or .zst`);
  });
}

const keyOf = (path: string): string => `${basename(path)} ${path}`;

function isFolder(name: string): boolean {
  return statSync(name, { throwIfNoEntry: false })?.isDirectory() === true;
}

type Chunks = AsyncGenerator<Buffer>;

/** @throws {OperatorError} if this Node.js has no zstd */
function createZstd(name: string): Duplex {
  // The types are those of Node.js 20, which has no zstd.
  const create: unknown = Reflect.get(zlib, 'createZstdDecompress');
  if (typeof create === 'function') return create() as Duplex;
  throw new OperatorError(`${name} is compressed with zstd: ${USE_ZSTD_NODE}`);
}

async function* decompressed(chunks: Chunks, decompressor: Duplex): Chunks {
  const input = Readable.from(chunks);
  input.on('error', (error) => decompressor.destroy(error));
  yield* input.pipe(decompressor) as AsyncIterable<Buffer>;
}

/** The content, decompressed when it begins as gzip or zstd does. */
async function* contentOf(name: string): Chunks {
  const source = name === '-' ? process.stdin : createReadStream(name);
  const chunks = (source as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done === true) return;
  const all = async function* (): Chunks {
    yield first.value;
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      yield next.value;
    }
  };
  if (startsWith(first.value, GZIP_MAGIC)) yield* decompressed(all(), zlib.createGunzip());
  else if (startsWith(first.value, ZSTD_MAGIC)) {
    for await (const frame of zstdFrames(all())) yield* decompressed(frame, createZstd(name));
  } else yield* all();
}

function startsWith(bytes: Buffer, magic: Buffer): boolean {
  return bytes.subarray(0, magic.length).equals(magic);
}

/** Lines with their numbers; one that is longer than a body may be is an error. */
async function* linesOf(name: string): AsyncGenerator<{ text: string; line: number }> {
  let parts: Buffer[] = [];
  let bytes = 0;
  let line = 1;
  for await (const chunk of contentOf(name)) {
    let from = 0;
    for (let at = chunk.indexOf(NEW_LINE); at !== -1; at = chunk.indexOf(NEW_LINE, from)) {
      parts.push(chunk.subarray(from, at));
      yield { text: Buffer.concat(parts).toString(), line };
      parts = [];
      bytes = 0;
      line += 1;
      from = at + 1;
    }
    parts.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > BODY_BYTES_MAX) throw tooLarge(`${name}:${line}`);
  }
  if (bytes > 0) yield { text: Buffer.concat(parts).toString(), line };
}

function tooLarge(place: string): OperatorError {
  return new OperatorError(`${place} has a body of more than ${BODY_BYTES_MAX} bytes`);
}

function isDocument(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function bodyOf(text: string, place: string): ReplayBody {
  const signal = signalOf(text);
  if (signal === null || !isDocument(text)) {
    throw new OperatorError(
      `${place} is no OTLP/JSON: it must be an object that begins with resourceSpans, resourceLogs ` +
        'or resourceMetrics',
    );
  }
  return { signal, text, place };
}

/** @throws {OperatorError} when it cannot be read, or is no OTLP/JSON */
export async function* readBodies(name: string): AsyncGenerator<ReplayBody> {
  try {
    yield* bodiesOf(name);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new OperatorError(`${name}: ${why}`, { cause: error });
  }
}

async function* bodiesOf(name: string): AsyncGenerator<ReplayBody> {
  // The first line of a document over several lines is not a document.
  let document: string[] | null = null;
  let units = 0;
  let isFirst = true;
  for await (const { text, line } of linesOf(name)) {
    if (text.trim() === '') continue;
    if (isFirst && !isDocument(text)) document = [];
    isFirst = false;
    if (document === null) {
      yield bodyOf(text, `${name}:${line}`);
      continue;
    }
    document.push(text);
    units += text.length;
    if (units > BODY_BYTES_MAX) throw tooLarge(name);
  }
  if (document !== null) yield bodyOf(document.join('\n'), name);
}
