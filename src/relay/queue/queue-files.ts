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
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

import { openOwnFile } from '../../own-folder.ts';

/** Only the user of the relay reads telemetry. */
export const FILE_MODE = 0o600;
const SENT = 'sent';
const SENT_TEXT = /^(\d{8}) (\d{12})\n$/;
const FILE_NAME = /^(\d{8})\.queue$/;

/** A place in the queue. */
export interface Position {
  /** number of the file */
  readonly file: number;
  readonly offset: number;
}

/** A file of an earlier start. */
export interface KeptFile {
  readonly number: number;
  readonly bytes: number;
}

export function pathOf(folder: string, number: number): string {
  return join(folder, `${String(number).padStart(8, '0')}.queue`);
}

/** The files of earlier starts, oldest first. */
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

/** The file `sent`. */
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
