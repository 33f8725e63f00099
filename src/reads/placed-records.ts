/**
 * The records that places name in one block, in the order in which they are stored, and the addresses at which
 * they arrived: packed records have other numbers than at arrival.
 */
import type { RecordsOfBlock } from '../db/telemetry/stored-blocks.ts';
import type { RunPlace } from '../db/telemetry/stored-places.ts';
import { groupBy } from '../model/groups.ts';
import { addRange, nthRecord, type RecordRanges } from '../model/record-ranges.ts';

/** Records of one place in the block, from `start` to `end` (not included). */
interface Segment<O> {
  readonly start: number;
  readonly end: number;
  readonly of: O;
}

export class PlacedRecords<O extends { readonly place: RunPlace }> {
  /** numbers of all of them in the block */
  readonly wanted: RecordRanges;
  readonly #segments: readonly Segment<O>[];
  #at = 0;

  /** @param places with what they are of; all of them are stored in the same block */
  constructor(places: readonly O[]) {
    const segments = places.flatMap(segmentsOf).sort((one, other) => one.start - other.start);
    const wanted: number[] = [];
    for (const { start, end } of segments) {
      const from = Math.max(start, wanted.at(-1) ?? 0);
      if (from < end) addRange(wanted, from, end);
    }
    this.#segments = segments;
    this.wanted = wanted;
  }

  /** Returns what a record is of. @param ordinal in the block; the numbers of all calls rise */
  ownerOf(ordinal: number): O | null {
    while (ordinal >= (this.#segments[this.#at]?.end ?? Number.POSITIVE_INFINITY)) this.#at += 1;
    return this.#segments[this.#at]?.of ?? null;
  }
}

function segmentsOf<O extends { readonly place: RunPlace }>(of: O): Segment<O>[] {
  const { records } = of.place.stored;
  const segments: Segment<O>[] = [];
  for (let at = 0; at < records.length; at += 2) {
    segments.push({ start: records[at] as number, end: records[at + 1] as number, of });
  }
  return segments;
}

/** Returns the number with which a stored record arrived. @param ordinal in the block that stores it */
export function arrivedAs({ blockId, records, stored }: RunPlace, ordinal: number): number {
  if (stored.blockId === blockId) return ordinal;
  return nthRecord(records, ordinal - (stored.records[0] ?? 0));
}

export function byStoredBlock(
  places: readonly RunPlace[],
): ReadonlyMap<string, readonly { readonly place: RunPlace }[]> {
  const placed = places.map((place) => ({ place }));
  return groupBy(placed, ({ place }) => place.stored.blockId);
}

export function storedRecordsOf(places: readonly { readonly place: RunPlace }[]): RecordsOfBlock[] {
  const [first] = places;
  if (first === undefined) return [];
  const { blockId, arrivedOn } = first.place.stored;
  return [{ blockId, arrivedOn, records: new PlacedRecords(places).wanted }];
}
