/**
 * Reads records of blocks, one block after the other. A block that is damaged or missing is counted, and the
 * others are read.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Database } from '../db/database.ts';
import { type BlockKey, type BlockText, readBlocks } from '../db/telemetry/stored-places.ts';
import { countRecords, type RecordRanges } from '../model/record-ranges.ts';
import type { UnreadableBlocks } from '../model/runs.ts';
import { type BlockRecord, recordsOf } from '../otlp/lines/block-records.ts';
import type { Pieces } from '../otlp/pieces.ts';
import type { StepSignal } from './read-step.ts';

/** Records of a block that are to be read. */
export interface RecordsOfBlock extends BlockKey {
  readonly records: RecordRanges;
}

/** Takes the records of a block that were found. */
export type TakeRecords = (
  records: readonly BlockRecord[],
  signal: StepSignal,
  block: BlockKey,
) => Pieces<void>;

/** @param wanted each block once */
export async function readRecords(
  database: Database,
  wanted: readonly RecordsOfBlock[],
  take: TakeRecords,
): Promise<UnreadableBlocks> {
  let blocks = 0;
  let steps = 0;
  let index = 0;
  for await (const block of readBlocks(database, wanted)) {
    const { records } = wanted[index] as RecordsOfBlock;
    index += 1;
    const found = await inTurns(recordsIn(block, records, take));
    if (found < countRecords(records)) {
      blocks += 1;
      steps += countRecords(records) - found;
    }
  }
  return { blocks, steps };
}

/** Returns how many records were found. */
function* recordsIn(block: BlockText, wanted: RecordRanges, take: TakeRecords): Pieces<number> {
  if ('error' in block || block.signal === 'metrics') return 0;
  const { signal, text } = block;
  let found: readonly BlockRecord[];
  try {
    found = yield* recordsOf(signal, text, wanted);
  } catch (error) {
    if (error instanceof RangeError) return 0;
    throw error;
  }
  yield* take(found, signal, block);
  return found.length;
}

/** Does work in pieces, each in a turn of the event loop. */
async function inTurns<T>(pieces: Pieces<T>): Promise<T> {
  for (let piece = pieces.next(); ; piece = pieces.next()) {
    if (piece.done === true) return piece.value;
    await nextTurn();
  }
}
