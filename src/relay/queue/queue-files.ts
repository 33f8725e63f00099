/**
 * The files of a queue folder.
 *
 *   00000007.queue   records, one after the other; 00000008.queue comes after it
 *   sent             file and position up to which everything has been sent
 *
 * `sent` is not synced: after a power failure, requests may be sent a second time, never lost.
 */
import {
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Signal } from '../../model/telemetry.ts';
import { openOwnFile } from '../../own-folder.ts';

/** Only the user of the relay reads telemetry. */
export const FILE_MODE = 0o600;
const SENT = 'sent';
const SENT_TEXT = /^(\d{8}) (\d{12})\n$/;
const FILE_NAME = /^(\d{8})\.queue$/;

export interface Position {
  readonly file: number;
  readonly offset: number;
}

/** A file of an earlier start. */
interface KeptFile {
  readonly number: number;
  readonly bytes: number;
}

export function pathOf(folder: string, number: number): string {
  return join(folder, `${String(number).padStart(8, '0')}.queue`);
}

export function listFiles(folder: string): KeptFile[] {
  return readdirSync(folder)
    .flatMap((name) => {
      const number = FILE_NAME.exec(name)?.[1];
      return number === undefined ? [] : [Number(number)];
    })
    .sort((one, other) => one - other)
    .map((number) => ({ number, bytes: lstatSync(pathOf(folder, number)).size }));
}

export function removeFile(folder: string, number: number): void {
  unlinkSync(pathOf(folder, number));
}

/** Makes the names of new files durable. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export class SentMark {
  readonly #descriptor: number;
  /** as of the last start; null when it is missing or was not written to its end */
  readonly kept: Position | null;

  constructor(folder: string) {
    const path = join(folder, SENT);
    this.#descriptor = openOwnFile(path, constants.O_RDWR | constants.O_CREAT, FILE_MODE);
    const [, file, offset] = SENT_TEXT.exec(readFileSync(this.#descriptor, 'latin1')) ?? [];
    this.kept = file === undefined ? null : { file: Number(file), offset: Number(offset) };
  }

  write({ file, offset }: Position): void {
    const text = `${String(file).padStart(8, '0')} ${String(offset).padStart(12, '0')}\n`;
    writeSync(this.#descriptor, text, 0, 'latin1');
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

type RecordRead =
  | { readonly kind: 'record'; readonly bytes: number; readonly record: QueueRecord }
  /** larger than what may be read now */
  | { readonly kind: 'too-large' }
  /** a record was being written when the process ended: the rest of the file */
  | { readonly kind: 'incomplete'; readonly bytes: number }
  /** up to the next whole record, or the end */
  | { readonly kind: 'damaged'; readonly bytes: number };

interface RecordPlace {
  readonly folder: string;
  readonly number: number;
  readonly offset: number;
  /** bytes of the file that may be read */
  readonly end: number;
}

function bytesAt({ folder, number, offset }: RecordPlace, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  const descriptor = openOwnFile(pathOf(folder, number), constants.O_RDONLY);
  try {
    const read = readSync(descriptor, buffer, 0, bytes, offset);
    return buffer.subarray(0, read);
  } finally {
    closeSync(descriptor);
  }
}

/** Reads one record of a queue file, or finds out how much of the file cannot be read. */
export function readRecord(place: RecordPlace, bytesMax: number): RecordRead {
  const rest = place.end - place.offset;
  const length = recordBytes(bytesAt(place, Math.min(rest, HEADER_BYTES)));
  if (length !== null && length <= rest) {
    if (length > bytesMax) return { kind: 'too-large' };
    const record = decodeRecord(bytesAt(place, length));
    if (record !== null) return { kind: 'record', bytes: length, record };
  }
  const found = findRecord(bytesAt(place, rest), 1);
  const isIncomplete = found === null && (length === null || length > rest);
  return isIncomplete
    ? { kind: 'incomplete', bytes: rest }
    : { kind: 'damaged', bytes: found ?? rest };
}

/**
 * One request in a file of the queue. All numbers are little-endian.
 *
 *   bytes 0–3    'SLQ1'
 *   bytes 4–7    CRC-32 of everything behind it
 *   bytes 8–11   length of the body
 *   byte  12     signal
 *   byte  13     1: to be stored whatever was stored before; bytes 14–15 are 0
 *   bytes 16–23  when it was accepted, milliseconds since 1970, as a double
 *   body         OTLP/JSON, compressed with gzip; sent as it is
 */

const MAGIC = Buffer.from('SLQ1');
export const HEADER_BYTES = 24;
const CHECKED_FROM = 8;
const SIGNALS: readonly Signal[] = ['traces', 'metrics', 'logs'];

export interface RelayedRequest {
  readonly signal: Signal;
  /** OTLP/JSON, compressed with gzip */
  readonly body: Buffer;
  /** false: the server stores it whatever it stored before */
  readonly deduplicates: boolean;
}

export interface QueueRecord extends RelayedRequest {
  readonly acceptedAtMs: number;
}

export function encodeRecord({ signal, body, deduplicates, acceptedAtMs }: QueueRecord): Buffer {
  const record = Buffer.alloc(HEADER_BYTES + body.length);
  MAGIC.copy(record);
  record.writeUInt32LE(body.length, 8);
  record.writeUInt8(SIGNALS.indexOf(signal), 12);
  record.writeUInt8(deduplicates ? 0 : 1, 13);
  record.writeDoubleLE(acceptedAtMs, 16);
  body.copy(record, HEADER_BYTES);
  record.writeUInt32LE(crc32(record.subarray(CHECKED_FROM)), 4);
  return record;
}

/** The length of a record by its header; null when this is no header. */
function recordBytes(header: Buffer): number | null {
  if (header.length < HEADER_BYTES || !header.subarray(0, MAGIC.length).equals(MAGIC)) return null;
  return HEADER_BYTES + header.readUInt32LE(8);
}

/** Null when its checksum is wrong. */
function decodeRecord(record: Buffer): QueueRecord | null {
  if (recordBytes(record) !== record.length) return null;
  if (crc32(record.subarray(CHECKED_FROM)) !== record.readUInt32LE(4)) return null;
  const signal = SIGNALS[record.readUInt8(12)];
  if (signal === undefined) return null;
  const body = record.subarray(HEADER_BYTES);
  const deduplicates = record.readUInt8(13) === 0;
  return { signal, body, deduplicates, acceptedAtMs: record.readDoubleLE(16) };
}

/** Finds the next whole record of a damaged file. @returns its first byte, or null when the file has no more */
function findRecord(bytes: Buffer, from: number): number | null {
  let at = bytes.indexOf(MAGIC, from);
  while (at !== -1) {
    const length = recordBytes(bytes.subarray(at, at + HEADER_BYTES));
    if (length !== null && at + length <= bytes.length) {
      if (decodeRecord(bytes.subarray(at, at + length)) !== null) return at;
    }
    at = bytes.indexOf(MAGIC, at + 1);
  }
  return null;
}
