/**
 * The files that `sluice scan` is given: files, folders with everything in them, patterns such as
 * `*.json`, and `-` for standard input. Symbolic links inside folders are not followed.
 */
import { isUtf8 } from 'node:buffer';
import { closeSync, lstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../errors.ts';

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

/** @throws {OperatorError} when a pattern or folder has no file, or there are too many files */
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

// The encoding of a scanned file. Rules match UTF-8: UTF-16 with a byte order mark is converted, UTF-32 and
// UTF-16 without a mark are refused. Any other bytes are matched, and noted if they are not UTF-8 text.

/** Number of bytes at the start of a file that are searched for zero bytes. */
const SNIFF_BYTES = 8000;
/** Maximum bytes per character in these encodings. */
const WIDTH_MAX = 4;
/** Minimum share of zero bytes at an unused byte position, in mostly ASCII text. */
const ZEROS_MIN = 0.4;
/** Maximum share of zero bytes at a used byte position. */
const ZEROS_MAX = 0.04;

const MARKS = [
  // Before UTF-16: this mark begins with the mark of UTF-16.
  { mark: [0xff, 0xfe, 0, 0], encoding: 'UTF-32' },
  { mark: [0, 0, 0xfe, 0xff], encoding: 'UTF-32' },
  { mark: [0xff, 0xfe], encoding: 'utf-16le' },
  { mark: [0xfe, 0xff], encoding: 'utf-16be' },
  { mark: [0xef, 0xbb, 0xbf], encoding: 'utf-8' },
] as const;

interface DecodedText {
  /** UTF-8, without a byte order mark */
  readonly bytes: Buffer;
  /** false if it has zero bytes or bytes that are not UTF-8: rules may miss text in them */
  readonly isUtf8Text: boolean;
}

/**
 * @param isFound whether the file was found in a folder: one that is no text is then left out
 * @throws {OperatorError} when the text is in an encoding that is not read
 */
export function decodeText(bytes: Buffer, isFound: boolean): DecodedText | null {
  const found = MARKS.find(({ mark }) => mark.every((byte, index) => bytes[index] === byte));
  if (found?.encoding === 'UTF-32') throw refusal('UTF-32');
  if (found?.encoding === 'utf-16le' || found?.encoding === 'utf-16be') {
    return { bytes: fromUtf16(bytes, found.encoding), isUtf8Text: true };
  }
  const text = found === undefined ? bytes : bytes.subarray(found.mark.length);
  const first = text.subarray(0, SNIFF_BYTES);
  if (isWide(first)) throw refusal('UTF-16 or UTF-32 without a byte order mark');
  // A zero byte means no text, as for grep and git.
  if (isFound && first.includes(0)) return null;
  return { bytes: text, isUtf8Text: !text.includes(0) && isUtf8(text) };
}

function refusal(encoding: string): OperatorError {
  return new OperatorError(`it looks like ${encoding}: convert it to UTF-8`);
}

function fromUtf16(bytes: Buffer, encoding: 'utf-16le' | 'utf-16be'): Buffer {
  try {
    return Buffer.from(new TextDecoder(encoding, { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new OperatorError(
      `it begins as ${encoding.toUpperCase()} and is not: convert it to UTF-8`,
      {
        cause,
      },
    );
  }
}

/** Checks whether some places of each character are often zero, and the others hardly ever. */
function isWide(first: Buffer): boolean {
  const zeros = Array.from({ length: WIDTH_MAX }, () => 0);
  const end = first.length - (first.length % WIDTH_MAX);
  for (let at = 0; at < end; at += 1) {
    const place = at % WIDTH_MAX;
    if (first[at] === 0) zeros[place] = (zeros[place] ?? 0) + 1;
  }
  const parts = zeros.map((count) => (count * WIDTH_MAX) / end);
  const often = parts.filter((part) => part >= ZEROS_MIN).length;
  const hardly = parts.filter((part) => part <= ZEROS_MAX).length;
  return often > 0 && hardly > 0 && often + hardly === WIDTH_MAX;
}
