/**
 * The file in the data folder that keeps the catalogue and its prefilter tables, so that the next
 * start reads them instead of building them.
 *
 *   SHA-256 of the rest (32 bytes) | key (32 bytes) | the `MatchingData`, as v8.serialize writes it
 *
 * The key is the digest of everything the content depends on: this build of the program, the corpus
 * manifest and what is kept beside it, Node.js. Other users must not be able to plant a file, because rules decide what is found:
 * it is read only if this process's user owns it and its folder, and only that user can write to
 * either. Does not create the folder. After any failure the catalogue is built, as without the file.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { PrefilterTables } from '../engine/prefilter/prefilter-tables.ts';
import type { Catalog } from '../engine/rules/catalog.ts';
import { openOwnFile } from '../own-folder.ts';
import { readClassification } from './kept-catalog.ts';

export interface MatchingData {
  readonly catalog: Catalog;
  /** of its runnable rules */
  readonly tables: PrefilterTables;
}

const FILE = 'matching.cache';
const DIGEST_BYTES = 32;
/** Written by bin/build.js: the digest of the sources and of package-lock.json. */
const BUILD_STAMP = new URL('../../dist/built-from', import.meta.url);
const OTHERS_MAY_WRITE = 0o022;
const OTHERS_MAY_ANYTHING = 0o077;

/**
 * The key of this build's data for a corpus.
 *
 * @throws when the manifest, the file beside it or the build's stamp cannot be read
 */
export function matchingKey(manifestPath: string): Buffer {
  const parts = [
    readFileSync(BUILD_STAMP),
    readFileSync(manifestPath),
    readClassification(manifestPath),
    `${process.version} ${process.arch}`,
  ];
  return sha256(Buffer.concat(parts.map(sha256)));
}

/** The data in `folder`, if it has this key; null when it has to be built. */
export function readMatching(folder: string, key: Buffer): MatchingData | null {
  try {
    requireOwn(statSync(folder), OTHERS_MAY_WRITE);
    const bytes = readOwnFile(join(folder, FILE));
    const content = bytes.subarray(DIGEST_BYTES);
    if (!sha256(content).equals(bytes.subarray(0, DIGEST_BYTES))) return null;
    if (!key.equals(content.subarray(0, DIGEST_BYTES))) return null;
    return deserialize(content.subarray(DIGEST_BYTES)) as MatchingData;
  } catch {
    return null;
  }
}

/** Replaces the file in `folder`, if only this process's user can write there. */
export function keepMatching(folder: string, key: Buffer, matching: MatchingData): void {
  const path = join(folder, FILE);
  const draft = `${path}.new`;
  try {
    requireOwn(statSync(folder), OTHERS_MAY_WRITE);
    const content = Buffer.concat([key, serialize(matching)]);
    rmSync(draft, { force: true });
    // `wx` follows no link. If two processes write at once, one fails; the digest detects a torn file.
    writeFileSync(draft, Buffer.concat([sha256(content), content]), { flag: 'wx', mode: 0o600 });
    renameSync(draft, path);
  } catch {
    // If the folder is missing, full or read-only, the next start builds the catalogue again.
  }
}

function readOwnFile(path: string): Buffer {
  const file = openOwnFile(path, constants.O_RDONLY);
  try {
    requireOwn(fstatSync(file), OTHERS_MAY_ANYTHING);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

function requireOwn({ uid, mode }: Stats, forbidden: number): void {
  if (uid !== process.getuid?.()) throw new Error('it belongs to another user');
  if ((mode & forbidden) !== 0) throw new Error('others may write to it');
}

function sha256(bytes: Buffer | string): Buffer {
  return createHash('sha256').update(bytes).digest();
}
