/**
 * Packs what is left of a hot day that is over: records of runs that were not packed when they were evaluated, and
 * log records without a run. Blocks are read one group after another, each once.
 */
import type { Database } from '../db/database.ts';
import type {
  HotBlock,
  HotDay,
  HotGroup,
  HotPlace,
  PackedGroup,
} from '../db/telemetry/packed/hot-days.ts';
import type { PackedCounts } from '../db/telemetry/packed/store-packed.ts';
import { readBlocks } from '../db/telemetry/stored-blocks.ts';
import { groupBy } from '../model/groups.ts';
import {
  countRecords,
  decodeRanges,
  type RecordRanges,
  withoutRecords,
} from '../model/record-ranges.ts';
import { type BlockRecord, recordsOf } from '../otlp/lines/block-records.ts';
import { packRuns, type RunToPack } from './pack-runs.ts';
import { inTurns } from './piece-work.ts';
import type { StepSignal } from './read-step.ts';
import type { HotRecords } from './run-reading.ts';

/** Packs the next group of a day. @returns null if somebody else has packed some of it meanwhile */
export async function packHotGroup(database: Database, day: HotDay): Promise<PackedCounts | null> {
  const group = await day.next();
  const unpacked = await day.unpacked(group.places);
  const packing = new GroupPacking(day.day, group, unpacked);
  for await (const block of readBlocks(database, packing.neededBlocks())) {
    const isReadable = 'text' in block && block.signal !== 'metrics';
    if (isReadable) await packing.take(block.blockId, block.signal as StepSignal, block.text);
    else packing.lose(block.blockId);
  }
  return await day.store(group, unpacked, await packing.end());
}

interface WantedPlace {
  readonly place: HotPlace;
  readonly ranges: RecordRanges;
}

interface WantedBlock {
  readonly block: HotBlock;
  readonly places: readonly WantedPlace[];
  /** records without a run */
  readonly others: RecordRanges;
}

class GroupPacking {
  readonly #day: string;
  /** of records without a place, which has the time of arrival */
  readonly #dayMicros: number;
  readonly #wanted = new Map<string, WantedBlock>();
  /** by run and time of arrival: a packed place has one time */
  readonly #runs = new Map<string, RunToPack & { readonly hot: HotRecords[] }>();
  readonly #unreadable = new Set<string>();
  readonly #unreadablePlaces: (HotPlace & { readonly ranges: RecordRanges })[] = [];

  constructor(day: string, { blocks, places }: HotGroup, unpacked: readonly HotPlace[]) {
    this.#day = day;
    this.#dayMicros = Date.parse(day) * 1000;
    const isUnpacked = new Set(unpacked);
    const byBlock = groupBy(places, ({ blockId }) => blockId);
    for (const block of blocks) {
      const all = (byBlock.get(block.blockId) ?? []).map((place) => ({
        place,
        ranges: rangesOf(place),
      }));
      byBlock.delete(block.blockId);
      const own = all.filter(({ place }) => isUnpacked.has(place));
      for (const one of own) if (one.ranges.length === 0) this.#keepAsItIs(one);
      const readable = own.filter(({ ranges }) => ranges.length > 0);
      const others = without(
        block.records,
        all.map(({ ranges }) => ranges),
      );
      if (readable.length === 0 && others.length === 0) continue;
      this.#wanted.set(block.blockId, { block, places: readable, others });
    }
    for (const place of [...byBlock.values()].flat()) {
      if (isUnpacked.has(place)) this.#keepAsItIs({ place, ranges: rangesOf(place) });
    }
  }

  neededBlocks() {
    return [...this.#wanted.keys()].map((blockId) => ({ blockId, arrivedOn: this.#day }));
  }

  /** A block that cannot be read is kept as it is, with its places. */
  lose(blockId: string): void {
    this.#unreadable.add(blockId);
    for (const one of this.#wanted.get(blockId)?.places ?? []) this.#keepAsItIs(one);
  }

  #keepAsItIs({ place, ranges }: WantedPlace): void {
    this.#unreadablePlaces.push({ ...place, ranges });
  }

  async take(blockId: string, signal: StepSignal, text: Buffer): Promise<void> {
    const wanted = this.#wanted.get(blockId);
    if (wanted === undefined) return;
    const { block, places, others } = wanted;
    const records = new Map<number, BlockRecord>();
    try {
      for (const record of await inTurns(recordsOf(signal, text, [0, block.records]))) {
        records.set(record.ordinal, record);
      }
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.lose(blockId);
      return;
    }
    for (const { place, ranges } of places) {
      const own = pick(records, ranges);
      if (own.length === countRecords(ranges)) {
        this.#add(place, `${place.runId} ${place.arrivedAtMicros}`, signal, own);
        continue;
      }
      this.#unreadable.add(blockId);
      this.#keepAsItIs({ place, ranges });
    }
    if (others.length === 0) return;
    const own = pick(records, others);
    if (own.length < countRecords(others)) this.#unreadable.add(blockId);
    else this.#add({ ...block, runId: null, arrivedAtMicros: this.#dayMicros }, '', signal, own);
  }

  #add(
    { workspaceId, runId, blockId, arrivedAtMicros }: AddedPlace,
    name: string,
    signal: StepSignal,
    records: BlockRecord[],
  ): void {
    const stored = { blockId, arrivedOn: this.#day, records: [] };
    const place = { ...stored, stored, isHot: true, isInPart: true, arrivedAtMicros };
    const key = `${workspaceId} ${name}`;
    const run = this.#runs.get(key) ?? { workspaceId, runId, hot: [] };
    this.#runs.set(key, run);
    run.hot.push({ place, signal, records });
  }

  async end(): Promise<PackedGroup> {
    return {
      blocks: await packRuns([...this.#runs.values()]),
      unreadable: [...this.#unreadable],
      unreadablePlaces: this.#unreadablePlaces,
    };
  }
}

type AddedPlace = Omit<HotPlace, 'records' | 'runId'> & { readonly runId: string | null };

function rangesOf({ records }: HotPlace): RecordRanges {
  try {
    return decodeRanges(records);
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

function without(records: number, lists: readonly RecordRanges[]): RecordRanges {
  const placed: [number, number][] = [];
  for (const ranges of lists) {
    for (let at = 0; at < ranges.length; at += 2) {
      placed.push([ranges[at] as number, ranges[at + 1] as number]);
    }
  }
  placed.sort(([one], [other]) => one - other);
  return withoutRecords(placed.flat(), records);
}

function pick(records: ReadonlyMap<number, BlockRecord>, ranges: RecordRanges): BlockRecord[] {
  const own: BlockRecord[] = [];
  for (let at = 0; at < ranges.length; at += 2) {
    for (let ordinal = ranges[at] as number; ordinal < (ranges[at + 1] as number); ordinal += 1) {
      const record = records.get(ordinal);
      if (record !== undefined) own.push(record);
    }
  }
  return own;
}
