/**
 * Where the records of a packed place arrived: the hot blocks, all of one day, and the numbers of the records in
 * them, in the order of the packed records. So a step keeps its address when its run is packed.
 *
 *   places.sources         hot block ids
 *   places.source_records  for each: count of ranges, distances of their bounds
 */
import { NumberReader, Numbers } from '../../../model/packed/varints.ts';
import type { RecordRanges } from '../../../model/record-ranges.ts';

/** Used again by each call. */
const numbers = new Numbers();

export function encodeSources(sources: readonly RecordRanges[]): Buffer {
  numbers.clear();
  for (const records of sources) {
    numbers.put(records.length / 2);
    let before = 0;
    for (const bound of records) {
      numbers.put(bound - before);
      before = bound;
    }
  }
  return numbers.copy();
}

/** @throws {RangeError} if the bytes are damaged */
export function decodeSources(count: number, bytes: Buffer): readonly RecordRanges[] {
  const reader = new NumberReader(bytes);
  const sources = Array.from({ length: count }, () => {
    const records: number[] = [];
    let bound = 0;
    for (let left = 2 * reader.next(); left > 0; left -= 1) {
      const distance = reader.next();
      // Ranges are not empty, and are apart.
      if (distance === 0 && records.length > 0) throw new RangeError(DAMAGED);
      bound += distance;
      records.push(bound);
    }
    return records;
  });
  if (!reader.isAtEnd) throw new RangeError(DAMAGED);
  return sources;
}

const DAMAGED = 'damaged sources of records';
