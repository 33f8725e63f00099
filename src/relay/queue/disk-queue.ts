/**
 * The queue on disk: requests in the order in which they were accepted, up to a number of bytes. An
 * appended request survives the end of the process and of the machine; several are synced together.
 *
 *   append ─► written ─► synced ─► acknowledged         next ─► sent or dropped ─► remove
 *
 * A record that is incomplete was never acknowledged, so it is dropped. A process begins a new file
 * at its start and after each failed write; files that have been sent are deleted. One process per
 * folder: the caller holds the lock.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

import {
  FILE_MODE,
  listFiles,
  type Position,
  pathOf,
  removeFile,
  SentMark,
  syncFolder,
} from './queue-files.ts';
import {
  decodeRecord,
  encodeRecord,
  findRecord,
  HEADER_BYTES,
  type QueueRecord,
  recordBytes,
} from './queue-record.ts';

/** A file is deleted when all of it has been sent, so this is the step in which space is freed. */
const FILE_BYTES_MAX = 8 * 1024 * 1024;
/** Files that the queue has at least when it is full. */
const FILES_MIN = 8;

/** The queue has no room for a request. */
export class QueueFull extends Error {}

export interface QueueEvents {
  /** Records that were acknowledged cannot be read. */
  readonly queueDamaged: (bytes: number) => void;
  /** A record was being written when the relay was killed. */
  readonly incompleteRecordDropped: (bytes: number) => void;
}

/** A request in the queue, with what this process attached to it. */
export interface QueuedRequest<Attached> extends QueueRecord {
  attached: Attached | null;
}

interface QueueFile {
  readonly number: number;
  /** bytes that may be read: everything that is synced */
  end: number;
  /** bytes on disk */
  size: number;
}

interface Waiting<Attached> {
  readonly record: Buffer;
  readonly attached: Attached | null;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const placeOf = ({ file, offset }: Position): string => `${file}:${offset}`;

/** @typeParam Attached what may be attached to requests, in memory only */
export class DiskQueue<Attached> {
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #events: QueueEvents;
  readonly #sent: SentMark;
  readonly #files: QueueFile[] = [];
  #nextNumber: number;
  /** in the first file */
  #offset = 0;
  #head: QueuedRequest<Attached> | null = null;
  /** of the last file, while this process writes to it */
  #writer: FileHandle | null = null;
  #waiting: Waiting<Attached>[] = [];
  /** by place */
  readonly #attached = new Map<string, Attached>();
  #waitingBytes = 0;
  #flush: Promise<void> | null = null;

  /**
   * Opens the queue of a folder that exists.
   *
   * @param bytesMax most bytes of all files
   */
  constructor(folder: string, bytesMax: number, events: QueueEvents) {
    this.#folder = folder;
    this.#bytesMax = bytesMax;
    this.#events = events;
    this.#sent = new SentMark(folder);
    const { kept } = this.#sent;
    const first = kept?.file ?? 0;
    this.#nextNumber = first + 1;
    for (const { number, bytes } of listFiles(folder)) {
      this.#nextNumber = Math.max(this.#nextNumber, number + 1);
      if (number < first) removeFile(folder, number);
      else this.#files.push({ number, end: bytes, size: bytes });
    }
    const [file] = this.#files;
    if (kept !== null && file?.number === kept.file) {
      this.#offset = Math.min(kept.offset, file.end);
    }
  }

  /** Bytes that wait to be sent. */
  get bytes(): number {
    return this.#files.reduce((sum, { end }) => sum + end, 0) - this.#offset;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#flush === null && this.bytes === 0;
  }

  /** When the oldest request was accepted, if `next` has read it. */
  get oldestAtMs(): number | null {
    return this.#head?.acceptedAtMs ?? null;
  }

  /**
   * Appends a request; resolves once it is on the disk.
   *
   * @param attached is there when `next` returns the request, unless this process has ended
   * @throws {QueueFull}, or the error of the file system; the request is not in the queue then
   */
  async append(request: QueueRecord, attached: Attached | null = null): Promise<void> {
    const record = encodeRecord(request);
    const onDisk = this.#files.reduce((sum, { size }) => sum + size, 0);
    if (onDisk + this.#waitingBytes + record.length > this.#bytesMax) throw new QueueFull();
    this.#waitingBytes += record.length;
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ record, attached, resolve, reject });
      this.#flush ??= this.#writeWaiting();
    });
  }

  /** The oldest request, until `remove` is called; null when everything has been sent. */
  next(): QueuedRequest<Attached> | null {
    while (this.#head === null) {
      const [file] = this.#files;
      if (file === undefined) return null;
      if (this.#offset < file.end) this.#head = this.#readRecord(file);
      else if (!this.#dropSentFile()) return null;
    }
    return this.#head;
  }

  /** Removes the request that `next` returned. */
  remove(): void {
    const [file] = this.#files;
    if (this.#head === null || file === undefined) throw new Error('remove() without next()');
    this.#skip(file, HEADER_BYTES + this.#head.body.length);
    this.#head = null;
    if (this.#offset >= file.end) this.#dropSentFile();
  }

  /** Waits for requests that are being written. Nothing may be appended afterwards. */
  async close(): Promise<void> {
    await this.#flush;
    await this.#writer?.close();
    this.#sent.close();
  }

  #skip(file: QueueFile, bytes: number): void {
    this.#offset += bytes;
    try {
      this.#sent.write({ file: file.number, offset: this.#offset });
    } catch {
      // Costs a second sending after a restart, no request.
    }
  }

  /** Deletes the first file; false while it is being written to. */
  #dropSentFile(): boolean {
    const [file, ...later] = this.#files;
    if (file === undefined) return false;
    if (later.length === 0 && this.#writer !== null) {
      if (this.#flush !== null) return false;
      void this.#writer.close().catch(() => {});
      this.#writer = null;
    }
    this.#files.shift();
    this.#offset = 0;
    removeFile(this.#folder, file.number);
    return true;
  }

  /** The record at the offset; null when there is none, with the offset behind what is damaged. */
  #readRecord(file: QueueFile): QueuedRequest<Attached> | null {
    const rest = file.end - this.#offset;
    const length = recordBytes(this.#read(file, Math.min(rest, HEADER_BYTES)));
    if (length !== null && length <= rest) {
      const record = decodeRecord(this.#read(file, length));
      if (record !== null) {
        const place = placeOf({ file: file.number, offset: this.#offset });
        const attached = this.#attached.get(place) ?? null;
        this.#attached.delete(place);
        return { ...record, attached };
      }
    }
    const found = findRecord(this.#read(file, rest), 1);
    const isIncomplete = found === null && (length === null || length > rest);
    if (isIncomplete) this.#events.incompleteRecordDropped(rest);
    else this.#events.queueDamaged(found ?? rest);
    this.#skip(file, found ?? rest);
    return null;
  }

  #read({ number }: QueueFile, bytes: number): Buffer {
    const buffer = Buffer.alloc(bytes);
    const descriptor = openSync(pathOf(this.#folder, number), 'r');
    try {
      const read = readSync(descriptor, buffer, 0, bytes, this.#offset);
      return buffer.subarray(0, read);
    } finally {
      closeSync(descriptor);
    }
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      const records = Buffer.concat(group.map(({ record }) => record));
      try {
        await this.#write(records, group);
        for (const { resolve } of group) resolve();
      } catch (error) {
        await this.#sealLastFile();
        for (const { reject } of group) reject(error);
      } finally {
        this.#waitingBytes -= records.length;
      }
    }
    this.#flush = null;
  }

  async #write(records: Buffer, group: readonly Waiting<Attached>[]): Promise<void> {
    const { file, writer } = await this.#openLastFile(records.length);
    let written = 0;
    while (written < records.length) {
      const { bytesWritten } = await writer.write(
        records,
        written,
        records.length - written,
        file.size + written,
      );
      written += bytesWritten;
    }
    await writer.datasync();
    // From here on `next` may return them.
    for (const { record, attached } of group) {
      if (attached !== null) {
        this.#attached.set(placeOf({ file: file.number, offset: file.size }), attached);
      }
      file.size += record.length;
    }
    file.end = file.size;
  }

  async #openLastFile(bytes: number): Promise<{ file: QueueFile; writer: FileHandle }> {
    const last = this.#files.at(-1);
    const fileBytesMax = Math.min(FILE_BYTES_MAX, Math.ceil(this.#bytesMax / FILES_MIN));
    if (this.#writer !== null && last !== undefined && last.size + bytes <= fileBytesMax) {
      return { file: last, writer: this.#writer };
    }
    await this.#writer?.close();
    this.#writer = null;
    const number = this.#nextNumber;
    const writer = await open(pathOf(this.#folder, number), 'wx', FILE_MODE);
    this.#nextNumber += 1;
    const file: QueueFile = { number, end: 0, size: 0 };
    this.#files.push(file);
    this.#writer = writer;
    syncFolder(this.#folder);
    return { file, writer };
  }

  /** After a failed write: its bytes are never read, and the next write begins another file. */
  async #sealLastFile(): Promise<void> {
    const last = this.#files.at(-1);
    const writer = this.#writer;
    if (last === undefined || writer === null) return;
    this.#writer = null;
    await writer.truncate(last.end).catch(() => {});
    await writer.close().catch(() => {});
    last.size = statSync(pathOf(this.#folder, last.number)).size;
  }
}
