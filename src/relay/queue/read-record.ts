/** Reads one record of a queue file, or finds out how much of the file cannot be read. */
import { closeSync, constants, readSync } from 'node:fs';

import { openOwnFile } from '../../own-folder.ts';
import { pathOf } from './queue-files.ts';
import {
  decodeRecord,
  findRecord,
  HEADER_BYTES,
  type QueueRecord,
  recordBytes,
} from './queue-record.ts';

/** The content at a place in a queue file. */
export type RecordRead =
  | { readonly kind: 'record'; readonly bytes: number; readonly record: QueueRecord }
  /** larger than what may be read now */
  | { readonly kind: 'too-large' }
  /** a record was being written when the process ended: the rest of the file */
  | { readonly kind: 'incomplete'; readonly bytes: number }
  /** up to the next whole record, or the end */
  | { readonly kind: 'damaged'; readonly bytes: number };

export interface RecordPlace {
  readonly folder: string;
  /** of the file */
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

/** @param bytesMax most bytes of a record that is read */
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
