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
import { crc32 } from 'node:zlib';

import type { Signal } from '../../model/telemetry.ts';

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
export function recordBytes(header: Buffer): number | null {
  if (header.length < HEADER_BYTES || !header.subarray(0, MAGIC.length).equals(MAGIC)) return null;
  return HEADER_BYTES + header.readUInt32LE(8);
}

/** Null when its checksum is wrong. */
export function decodeRecord(record: Buffer): QueueRecord | null {
  if (recordBytes(record) !== record.length) return null;
  if (crc32(record.subarray(CHECKED_FROM)) !== record.readUInt32LE(4)) return null;
  const signal = SIGNALS[record.readUInt8(12)];
  if (signal === undefined) return null;
  const body = record.subarray(HEADER_BYTES);
  const deduplicates = record.readUInt8(13) === 0;
  return { signal, body, deduplicates, acceptedAtMs: record.readDoubleLE(16) };
}

/** @returns where the next whole record of a damaged file begins; null when there is none */
export function findRecord(bytes: Buffer, from: number): number | null {
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
