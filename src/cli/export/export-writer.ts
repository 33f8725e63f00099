/**
 * Writes the lines of an export: collects them by file, compresses them in pieces, and records in the state
 * how far it came. Memory is bounded: at most `BUFFERED_BYTES` of lines and two pieces that are compressed.
 */
import { OperatorError } from '../../errors.ts';
import type { ExportOutput, Sizes } from './export-output.ts';
import { type ExportState, type ExportUnit, writeState } from './export-state.ts';

/** Lines of a file that are compressed together, unless a block has more. */
const PIECE_BYTES = 2 * 1024 * 1024;
const BUFFERED_BYTES = 32 * 1024 * 1024;
/** Lines between two records of how far the export came. */
const CHECKPOINT_BYTES = 64 * 1024 * 1024;
const PIECES_MAX = 2;

interface Waiting {
  readonly parts: Buffer[];
  bytes: number;
}

interface WriterSettings {
  readonly output: ExportOutput;
  readonly compress: (text: Buffer) => Promise<Buffer>;
  readonly state: ExportState;
  /** null: nothing is recorded */
  readonly statePath: string | null;
  readonly pieceBytes?: number;
  readonly bufferedBytes?: number;
  readonly checkpointBytes?: number;
}

export class ExportWriter {
  readonly #settings: WriterSettings;
  readonly #waiting = new Map<string, Waiting>();
  #waitingBytes = 0;
  #sinceCheckpoint = 0;
  #sizes: Record<string, number> = {};
  readonly #unsynced = new Set<string>();
  readonly #pieces: Promise<void>[] = [];
  /** compressed */
  writtenBytes = 0;

  constructor(settings: WriterSettings) {
    this.#settings = settings;
  }

  get unit(): ExportUnit {
    return this.#settings.state.unit;
  }

  /** Begins a day, or all runs. @param arrivedOn null for runs */
  async begin(
    name: string,
    arrivedOn: string | null,
    { isLive, isHot }: { readonly isLive: boolean; readonly isHot: boolean },
  ): Promise<void> {
    const before = await this.#settings.output.sizes(arrivedOn);
    this.#sizes = { ...before };
    const now = before;
    const how = { is_live: isLive, is_hot: isHot, is_done: false };
    const unit = { name, after: '', ...how, before, now };
    this.#settings.state.unit = unit;
    await this.#record();
  }

  /**
   * Cuts off what was written after it.
   *
   * @param fromStart its records are written again
   * @throws {OperatorError} if its files were changed
   */
  async resume(arrivedOn: string | null, fromStart: boolean): Promise<void> {
    await Promise.allSettled(this.#pieces.splice(0));
    this.#waiting.clear();
    this.#waitingBytes = 0;
    this.#unsynced.clear();
    const { unit, unreadable } = this.#settings.state;
    const wanted = fromStart ? unit.before : unit.now;
    const found = await this.#settings.output.sizes(arrivedOn);
    for (const [file, size] of Object.entries(wanted)) {
      if ((found[file] ?? 0) >= size) continue;
      throw new OperatorError(
        `${file} was changed since it was exported: export to another place, or remove everything there`,
      );
    }
    await this.#settings.output.cut(
      Object.fromEntries(Object.keys(found).map((file) => [file, wanted[file] ?? 0])),
    );
    this.#sizes = { ...wanted };
    if (!fromStart) return;
    this.#settings.state.unit = { ...unit, after: '', is_done: false, now: unit.before };
    this.#settings.state.unreadable = unreadable.filter(({ unit: of }) => of !== unit.name);
  }

  async put(file: string, text: Buffer): Promise<void> {
    let waiting = this.#waiting.get(file);
    if (waiting === undefined) {
      waiting = { parts: [], bytes: 0 };
      this.#waiting.set(file, waiting);
    }
    waiting.parts.push(text);
    waiting.bytes += text.length;
    this.#waitingBytes += text.length;
    this.#sinceCheckpoint += text.length;
    if (waiting.bytes >= (this.#settings.pieceBytes ?? PIECE_BYTES)) await this.#flush(file);
    if (this.#waitingBytes >= (this.#settings.bufferedBytes ?? BUFFERED_BYTES))
      await this.#flushAll();
  }

  /** Records how far the export came, if enough was written since the last time. */
  async advance(after: string): Promise<void> {
    const enough = this.#settings.checkpointBytes ?? CHECKPOINT_BYTES;
    if (this.#sinceCheckpoint >= enough) await this.checkpoint(after, false);
  }

  async checkpoint(after: string, isDone: boolean): Promise<void> {
    await this.#flushAll();
    await Promise.all(this.#pieces.splice(0));
    await this.#settings.output.sync(this.#unsynced);
    this.#unsynced.clear();
    const now: Sizes = { ...this.#sizes };
    this.#settings.state.unit = { ...this.unit, after, is_done: isDone, now };
    this.#sinceCheckpoint = 0;
    await this.#record();
  }

  async createIfMissing(file: string): Promise<void> {
    if (this.#sizes[file] === undefined || this.#sizes[file] === 0) {
      await this.#settings.output.append(file, await this.#settings.compress(Buffer.alloc(0)));
    }
  }

  async #record(): Promise<void> {
    const { statePath, state } = this.#settings;
    if (statePath !== null) await writeState(statePath, state);
  }

  async #flushAll(): Promise<void> {
    for (const file of this.#waiting.keys()) await this.#flush(file);
  }

  /** Compresses the lines of a file; they are written after the pieces before them. */
  async #flush(file: string): Promise<void> {
    const waiting = this.#waiting.get(file);
    if (waiting === undefined) return;
    this.#waiting.delete(file);
    this.#waitingBytes -= waiting.bytes;
    if (this.#pieces.length >= PIECES_MAX) await this.#pieces.shift();
    const compressing = this.#settings.compress(Buffer.concat(waiting.parts));
    const piece = this.#append(file, compressing, this.#pieces.at(-1));
    // It is awaited later.
    piece.catch(() => {});
    this.#pieces.push(piece);
  }

  async #append(
    file: string,
    compressing: Promise<Buffer>,
    before: Promise<void> | undefined,
  ): Promise<void> {
    const [bytes] = await Promise.all([compressing, before]);
    await this.#settings.output.append(file, bytes);
    this.#sizes[file] = (this.#sizes[file] ?? 0) + bytes.length;
    this.#unsynced.add(file);
    this.writtenBytes += bytes.length;
  }
}
