/**
 * The queue on disk: requests in the order in which they were accepted, up to a number of bytes. An
 * appended request survives the end of the process and of the machine; several are synced together.
 *
 *   append ─► written ─► synced ─► acknowledged       next, take ─► sent or dropped ─► remove
 *
 * Several may be taken at a time and removed in any order. What is kept over a restart is the place
 * up to which everything was removed: a request removed before an older one may be sent again.
 *
 * A record that is incomplete was never acknowledged, so it is dropped. A process begins a new file
 * at its start and after each failed write; files that have been sent are deleted, and so is a file
 * whose first write failed. One process per folder: the caller holds the lock.
 */
import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { OperatorError } from '../../errors.ts';
import { requireOwnFiles, requireOwnFolder, requireSafePath } from '../../own-folder.ts';
import {
  encodeRecord,
  FILE_MODE,
  listFiles,
  type Position,
  pathOf,
  type QueueRecord,
  readRecord,
  removeFile,
  SentMark,
  syncFolder,
} from './queue-files.ts';

/** A file is deleted when all of it has been sent, so this is the step in which space is freed. */
const FILE_BYTES_MAX = 8 * 1024 * 1024;
/** Files that the queue has at least when it is full. */
const FILES_MIN = 8;
/** Bodies of taken requests in memory; one larger request is taken alone. */
const TAKEN_BYTES_MAX = 64 * 1024 * 1024;

export class QueueFull extends Error {}

export interface QueueEvents {
  /** Records that were acknowledged cannot be read. */
  readonly queueDamaged: (bytes: number) => void;
  /** A record was being written when the relay was killed. */
  readonly incompleteRecordDropped: (bytes: number) => void;
}

export interface QueuedRequest<Attached> extends QueueRecord {
  attached: Attached | null;
}

interface QueueFile {
  readonly number: number;
  /** bytes that may be read: everything that is synced */
  end: number;
  size: number;
}

interface ReadPart<Attached> {
  readonly file: QueueFile;
  /** offset behind it */
  readonly end: number;
  readonly bytes: number;
  /** null when nothing of it is to be sent any more */
  request: QueuedRequest<Attached> | null;
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
  readonly #takenBytesMax: number;
  readonly #sent: SentMark;
  readonly #files: QueueFile[] = [];
  #nextNumber: number;
  /** in the first file: everything before it was removed */
  #offset = 0;
  /** where the next record is read: the index of its file, and the offset in it */
  #readIndex = 0;
  #readOffset = 0;
  /** the request that `next` returns, read but not taken */
  #head: ReadPart<Attached> | null = null;
  /** entries from `#offset` on, in order */
  readonly #taken: ReadPart<Attached>[] = [];
  /** of the last file, while this process writes to it */
  #writer: FileHandle | null = null;
  #waiting: Waiting<Attached>[] = [];
  /** by place */
  readonly #attached = new Map<string, Attached>();
  #waitingBytes = 0;
  #flush: Promise<void> | null = null;

  constructor(
    folder: string,
    bytesMax: number,
    events: QueueEvents,
    takenBytesMax: number = TAKEN_BYTES_MAX,
  ) {
    this.#folder = folder;
    this.#bytesMax = bytesMax;
    this.#events = events;
    this.#takenBytesMax = takenBytesMax;
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
      this.#readOffset = this.#offset;
    }
  }

  get bytes(): number {
    return this.#files.reduce((sum, { end }) => sum + end, 0) - this.#offset;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#flush === null && this.bytes === 0;
  }

  /** When the oldest request was accepted, if `next` has read it. */
  get oldestAtMs(): number | null {
    const oldest = this.#taken.find(({ request }) => request !== null) ?? this.#head;
    return oldest?.request?.acceptedAtMs ?? null;
  }

  /**
   * Resolves once it is on the disk.
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

  /** The oldest request that is not taken; null when there is none, or enough are taken. */
  next(): QueuedRequest<Attached> | null {
    while (this.#head === null) {
      const file = this.#files[this.#readIndex];
      if (file === undefined) return null;
      if (this.#readOffset < file.end) {
        const part = this.#read(file);
        if (part === null) return null;
        this.#readOffset = part.end;
        if (part.request === null) this.#taken.push(part);
        else this.#head = part;
      } else if (this.#readIndex < this.#files.length - 1) {
        this.#readIndex += 1;
        this.#readOffset = 0;
      } else {
        this.#release();
        return null;
      }
    }
    return this.#head.request;
  }

  /** Takes the request that `next` returned: `next` goes to the one behind it. */
  take(): void {
    if (this.#head === null) throw new Error('take() without next()');
    this.#taken.push(this.#head);
    this.#head = null;
  }

  /** Removes a request that was taken. An error of the file system does not bring it back. */
  remove(request: QueuedRequest<Attached>): void {
    const part = this.#taken.find((one) => one.request === request);
    if (part === undefined) throw new Error('remove() of a request that is not taken');
    part.request = null;
    this.#release();
  }

  /** Nothing may be appended afterwards. */
  async close(): Promise<void> {
    await this.#flush;
    await this.#writer?.close();
    this.#sent.close();
  }

  /** Notes up to where everything was removed, and deletes the files before it. */
  #release(): void {
    let part = this.#taken[0];
    while (part !== undefined && part.request === null) {
      while (this.#files[0] !== part.file) this.#deleteFirstFile();
      this.#offset = part.end;
      try {
        this.#sent.write({ file: part.file.number, offset: part.end });
      } catch {
        // Costs a second sending after a restart, no request.
      }
      this.#taken.shift();
      part = this.#taken[0];
    }
    while (part === undefined && this.#isFirstFileSent()) this.#deleteFirstFile();
  }

  #isFirstFileSent(): boolean {
    const [file, ...later] = this.#files;
    if (file === undefined || this.#offset < file.end) return false;
    const isBeingWritten = later.length === 0 && this.#writer !== null && this.#flush !== null;
    return !isBeingWritten;
  }

  #deleteFirstFile(): void {
    const file = this.#files.shift();
    if (file === undefined) return;
    if (this.#files.length === 0) {
      void this.#writer?.close().catch(() => {});
      this.#writer = null;
    }
    this.#offset = 0;
    if (this.#readIndex > 0) this.#readIndex -= 1;
    else this.#readOffset = 0;
    removeFile(this.#folder, file.number);
  }

  /** The request at the reading offset; null while it does not fit next to those already taken. */
  #read(file: QueueFile): ReadPart<Attached> | null {
    const offset = this.#readOffset;
    const takenBytes = this.#taken.reduce((sum, { bytes }) => sum + bytes, 0);
    const bytesMax = takenBytes === 0 ? Number.POSITIVE_INFINITY : this.#takenBytesMax - takenBytes;
    const place = { folder: this.#folder, number: file.number, offset, end: file.end };
    const read = readRecord(place, bytesMax);
    if (read.kind === 'too-large') return null;
    const end = offset + read.bytes;
    if (read.kind === 'record') {
      const key = placeOf({ file: file.number, offset });
      const attached = this.#attached.get(key) ?? null;
      this.#attached.delete(key);
      return { file, end, bytes: read.bytes, request: { ...read.record, attached } };
    }
    if (read.kind === 'incomplete') this.#events.incompleteRecordDropped(read.bytes);
    else this.#events.queueDamaged(read.bytes);
    return { file, end, bytes: 0, request: null };
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
        await this.#giveUpLastFile();
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
  async #giveUpLastFile(): Promise<void> {
    const last = this.#files.at(-1);
    const writer = this.#writer;
    if (last === undefined || writer === null) return;
    this.#writer = null;
    await writer.truncate(last.end).catch(() => {});
    await writer.close().catch(() => {});
    try {
      if (last.end === 0) this.#deleteUnusedFile(last);
      else last.size = statSync(pathOf(this.#folder, last.number)).size;
    } catch {
      // Nothing reads past its end; it is deleted with the files that were sent.
    }
  }

  /** Deletes the last file, which has no record. Its number is used again. */
  #deleteUnusedFile({ number }: QueueFile): void {
    removeFile(this.#folder, number);
    this.#nextNumber = number;
    this.#files.pop();
    if (this.#readIndex < this.#files.length) return;
    this.#readIndex = Math.max(0, this.#files.length - 1);
    this.#readOffset = this.#files.at(-1)?.end ?? 0;
  }
}

// Creates or checks the folder of a queue, which only this user may use. Its requests hold telemetry,
// and a user who could write to it could send with the relay's key.

const FOLDER_MODE = 0o700;
const ANOTHER_FOLDER = 'choose another folder with --queue-dir';

/**
 * @returns the same folder, free of symbolic links; an existing one keeps its mode
 * @throws {OperatorError} when it cannot be used, or another user can change it
 */
export function openQueueFolder(folder: string): string {
  try {
    const above = dirname(folder);
    mkdirSync(above, { recursive: true, mode: FOLDER_MODE });
    const path = join(realpathSync(above), basename(folder));
    requireSafePath(dirname(path), ANOTHER_FOLDER);
    createFolder(path);
    requireOwnFolder(path, ANOTHER_FOLDER);
    requireOwnFiles(path);
    return path;
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause;
    throw new OperatorError(`The folder of the queue cannot be used: ${folder}`, { cause });
  }
}

/** Creates a folder; unlike a recursive mkdir, never behind a symbolic link. */
function createFolder(path: string): void {
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}
