/**
 * Reads the steps of runs for an evaluation, in time order, within limits for each run and for all together.
 *
 *   runs ─► places ─► blocks, run by run, each once ─► records of every run ─► steps
 *
 * A block that cannot be read costs the runs that have records in it these records, and nothing else.
 */
import type { Database } from '../db/database.ts';
import { placementOf } from '../db/placement.ts';
import type { RunToRead, StepLimits } from '../db/runs/run-to-read.ts';
import { requireFinished } from '../db/runs/shards.ts';
import {
  type BlockKey,
  type BlockText,
  MissingBlockError,
  readBlocks,
} from '../db/telemetry/stored-blocks.ts';
import { findPlaces, type RunPlace } from '../db/telemetry/stored-places.ts';
import { countRecords } from '../model/record-ranges.ts';
import { type BlockRecord, recordsOf } from '../otlp/lines/block-records.ts';
import { PIECE_BYTES, type Pieces } from '../otlp/pieces.ts';
import { inTurns } from './piece-work.ts';
import { PlacedRecords } from './placed-records.ts';
import type { ReportBlock } from './read-records.ts';
import type { StepSignal } from './read-step.ts';
import { RunReading, type StepsOfRun } from './run-reading.ts';

const MIB = 1024 * 1024;
/**
 * Maximum bytes of several runs read at a time: some seconds of matching at its slowest. If the
 * first run has more, it is read alone.
 */
export const TOGETHER_BYTES_MAX = 8 * MIB;

/** Limits of each run, and of the runs that are read together. */
export interface ReadLimits extends StepLimits {
  readonly togetherBytesMax: number;
  /** a larger run is not read together with others */
  readonly runBytesMax: number;
  /** the hot records are returned with the steps, to be packed */
  readonly keepsRecords: boolean;
}
const LIMITS: ReadLimits = {
  stepsMax: 20_000,
  bytesMax: 64 * MIB,
  togetherBytesMax: TOGETHER_BYTES_MAX,
  runBytesMax: Number.MAX_SAFE_INTEGER,
  keepsRecords: false,
};

/** Checks whether steps are stored but none could be read: nothing can be said about the run. */
export const isUnreadable = ({ steps, unread }: Pick<StepsOfRun, 'steps' | 'unread'>): boolean =>
  steps.length === 0 && unread > 0;

/**
 * Reads the steps of runs: each run's spans and log records. A run's first step is read whatever its size, so
 * that a run is never empty because of its limits.
 *
 * @returns the first of the runs, as many as fit into `togetherBytesMax`, but at least one; null
 *   for a run that is too large
 */
export async function readStepsOfRuns(
  database: Database,
  runs: readonly RunToRead[],
  limits: Partial<ReadLimits> = {},
  report: ReportBlock = () => {},
): Promise<(StepsOfRun | null)[]> {
  const all = { ...LIMITS, ...limits };
  const found = await findPlaces(database, runs, all.stepsMax);
  const reading = new RunsReading(
    found.map((places) => new RunReading(places, all, all.keepsRecords)),
    all,
  );
  const missing: BlockKey[] = [];
  for await (const block of readBlocks(database, reading.neededBlocks())) {
    if ('error' in block) {
      report(block.blockId, block.error);
      if (block.error instanceof MissingBlockError) missing.push(block);
    }
    await inTurns(reading.take(block, report));
  }
  if ((await placementOf(database)) === 'distributed') {
    const lacking = runs.filter((_, index) => reading.runs[index]?.lacksPlaces === true);
    await requireFinished(database, lacking, missing);
  }
  return await reading.finish();
}

interface PlaceOfRun {
  readonly index: number;
  readonly run: RunReading;
  readonly place: RunPlace;
}

class RunsReading {
  readonly runs: readonly RunReading[];
  readonly #limits: ReadLimits;
  readonly #places = new Map<string, PlaceOfRun[]>();
  readonly #tooLarge = new Set<number>();
  /** how many of the runs fit together, as far as is known */
  #fitting: number;

  constructor(runs: readonly RunReading[], limits: ReadLimits) {
    this.runs = runs;
    this.#limits = limits;
    this.#fitting = runs.length;
    for (const [index, run] of runs.entries()) {
      for (const place of run.places) {
        const { blockId } = place.stored;
        const known = this.#places.get(blockId);
        if (known === undefined) this.#places.set(blockId, [{ index, run, place }]);
        else known.push({ index, run, place });
      }
    }
  }

  /** The blocks of the runs, run by run, each once; none for a run whose limit is reached. */
  *neededBlocks(): Generator<BlockKey> {
    const begun = new Set<string>();
    for (const [index, { places }] of this.runs.entries()) {
      for (const place of places) {
        if (!this.#isRead(index)) break;
        if (begun.has(place.stored.blockId)) continue;
        begun.add(place.stored.blockId);
        yield place.stored;
      }
    }
  }

  #isRead(index: number): boolean {
    return index < this.#fitting && !this.#tooLarge.has(index) && !this.runs[index]?.isFull;
  }

  *take(block: BlockText, report: ReportBlock): Pieces<void> {
    const places = this.#places.get(block.blockId) ?? [];
    const wanted = places.filter(({ index }) => this.#isRead(index));
    const left = new Map(wanted.map((of) => [of, countRecords(of.place.records)]));
    if ('text' in block && block.signal !== 'metrics') {
      const before = new Map(left);
      try {
        yield* takeRecords(block.text, block.signal, left);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        report(block.blockId, error);
        for (const [of, records] of before) left.set(of, records);
      }
    }
    loseRecords(left);
    this.#limit();
  }

  /** Gives up runs that are too large, then the last ones that do not fit beside the others. */
  #limit(): void {
    const { runBytesMax, togetherBytesMax } = this.#limits;
    let together = 0;
    for (const [index, { bytes }] of this.runs.entries()) {
      if (index >= this.#fitting) return;
      if (bytes > runBytesMax) this.#tooLarge.add(index);
      if (bytes === 0 || this.#tooLarge.has(index)) continue;
      if (together > 0 && together + bytes > togetherBytesMax) this.#fitting = index;
      together += bytes;
    }
  }

  async finish(): Promise<(StepsOfRun | null)[]> {
    const read: (StepsOfRun | null)[] = [];
    for (const [index, run] of this.runs.slice(0, this.#fitting).entries()) {
      read.push(this.#tooLarge.has(index) ? null : await run.finish());
    }
    return read;
  }
}

/** Counts records of each run that a block should have, and that were not read. */
function loseRecords(left: ReadonlyMap<PlaceOfRun, number>): void {
  const lost = new Map<RunReading, number>();
  for (const [{ run, place }, records] of left) {
    if (place.isInPart) lost.set(run, (lost.get(run) ?? 0) + records);
  }
  for (const [run, records] of lost) run.lose(records);
}

/** Gives each record of a block to its run. @param left how many records of each place are not read yet */
function* takeRecords(
  text: Buffer,
  signal: StepSignal,
  left: Map<PlaceOfRun, number>,
): Pieces<void> {
  const placed = new PlacedRecords([...left.keys()]);
  let bytes = 0;
  for (const record of detached(text, yield* recordsOf(signal, text, placed.wanted))) {
    const of = placed.ownerOf(record.ordinal);
    if (of === null) break;
    of.run.take(record, signal, of.place);
    left.set(of, (left.get(of) ?? 0) - 1);
    bytes += record.bytes.length;
    if (bytes < PIECE_BYTES) continue;
    bytes = 0;
    yield;
  }
}

/** Copies records that are a small part of their block, so that they do not hold all of its text. */
function detached(text: Buffer, records: readonly BlockRecord[]): readonly BlockRecord[] {
  const length = records.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (length > text.length / 2) return records;
  const own = Buffer.allocUnsafeSlow(length);
  let at = 0;
  return records.map((record) => {
    const start = at;
    at += record.bytes.copy(own, at);
    return { ...record, bytes: own.subarray(start, at) };
  });
}
