/**
 * The files that `sluice scan` is given: files, folders with everything in them, patterns such as
 * `*.json`, and `-` for standard input. Symbolic links inside folders are not followed.
 */
import { closeSync, lstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { OperatorError } from '../../errors.ts';
import { type DecodedText, decodeText } from './text-encoding.ts';

const SCAN_FILES_MAX = 100_000;
const SCAN_FILE_MAX_BYTES = 256 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;

const STANDARD_INPUT = 0;

export interface ScanFile {
  /** as it was named or found; `-` is standard input */
  readonly name: string;
  /** whether it was found in a folder or by a pattern, and not named itself */
  readonly isFound: boolean;
}

/**
 * The files that the arguments name, in order, each once.
 *
 * @throws {OperatorError} when a pattern or folder has no file, or there are too many files
 */
export function listScanFiles(args: readonly string[]): ScanFile[] {
  const files = new Map<string, ScanFile>();
  for (const arg of args) {
    for (const file of filesOf(arg)) {
      if (!files.has(file.name)) files.set(file.name, file);
      if (files.size > SCAN_FILES_MAX) {
        throw new OperatorError(`More than ${SCAN_FILES_MAX} files: name fewer of them`);
      }
    }
  }
  return [...files.values()];
}

function* filesOf(arg: string): Generator<ScanFile> {
  const stats = arg === '-' ? undefined : statSync(arg, { throwIfNoEntry: false });
  const isPattern = stats === undefined && /[*?]/.test(arg);
  if (!isPattern && stats?.isDirectory() !== true) {
    yield { name: arg, isFound: false };
    return;
  }
  let found = 0;
  const pattern = isPattern ? patternOf(arg) : null;
  for (const name of filesIn(isPattern ? baseOf(arg) : arg)) {
    if (pattern?.test(name) === false) continue;
    found += 1;
    yield { name, isFound: true };
  }
  if (found === 0) throw new OperatorError(`No file in or like ${arg}`);
}

/** Every file in a folder, by name; hidden ones and `node_modules` are left out. */
function* filesIn(folder: string): Generator<string> {
  if (lstatSync(folder === '' ? '.' : folder, { throwIfNoEntry: false }) === undefined) return;
  const entries = readdirSync(folder === '' ? '.' : folder, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesIn(path);
    else if (entry.isFile()) yield path;
  }
}

/** The folder before the first wildcard; empty for the current one. */
function baseOf(pattern: string): string {
  const before = pattern.slice(0, pattern.search(/[*?]/));
  return before.slice(0, before.lastIndexOf('/') + 1);
}

/** `?` is a character, `*` any but slashes, `**` any. */
function patternOf(text: string): RegExp {
  const source = join(text).replaceAll(/\*\*\/|\*\*|\*|\?|[^\w/]/g, (part) => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    return part === '?' ? '[^/]' : `\\${part}`;
  });
  return new RegExp(`^${source}$`, 's');
}

/**
 * Reads a file or standard input, as UTF-8.
 *
 * @returns null for a file that was found and is no text
 * @throws {OperatorError} when it cannot be read, is too large, or is in an encoding that is not read
 */
export function readScanFile({ name, isFound }: ScanFile): DecodedText | null {
  try {
    return decodeText(name === '-' ? readUpToLimit(STANDARD_INPUT) : readFile(name), isFound);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new OperatorError(why, { cause: error });
  }
}

function readFile(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    return readUpToLimit(file);
  } finally {
    closeSync(file);
  }
}

/** Reads to the end, which an endless input such as /dev/zero does not have. */
function readUpToLimit(file: number): Buffer {
  const chunks: Buffer[] = [];
  for (let bytes = 0; ; ) {
    const chunk = Buffer.allocUnsafe(READ_BYTES);
    const read = readSync(file, chunk);
    if (read === 0) return Buffer.concat(chunks);
    bytes += read;
    if (bytes > SCAN_FILE_MAX_BYTES) {
      throw new Error(`it is larger than ${SCAN_FILE_MAX_BYTES} bytes: divide it`);
    }
    chunks.push(chunk.subarray(0, read));
  }
}
