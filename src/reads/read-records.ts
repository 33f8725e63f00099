/**
 * Reads records of blocks, one block after the other. A block that is damaged or missing is counted and reported,
 * and the others are read.
 */
import type { Database } from '../db/database.ts';
import { UnreadableBlockError } from '../db/telemetry/block-codec.ts';
import { type RecordsOfBlock, readBlocks, type TextForm } from '../db/telemetry/stored-blocks.ts';
import type { Holes } from '../model/packed/narrow-text.ts';
import { countRecords } from '../model/record-ranges.ts';
import type { UnreadableBlocks } from '../model/runs.ts';
import type { Pieces } from '../otlp/pieces.ts';
import { inTurns } from './piece-work.ts';
import type { StepSignal } from './read-step.ts';

/** A block that could be read. */
export interface ReadBlock extends RecordsOfBlock {
  readonly signal: StepSignal;
  readonly text: Buffer;
  /** of a narrow text */
  readonly holes?: Holes;
}

/**
 * Takes records of a block.
 *
 * @returns how many of them the block has
 * @throws {RangeError} when the text is not valid
 */
export type TakeRecords = (block: ReadBlock) => Pieces<number>;

/** Takes the error of a block that cannot be read. */
export type ReportBlock = (blockId: string, error: Error) => void;

/** @param wanted each block once */
export async function readRecords(
  database: Database,
  wanted: readonly RecordsOfBlock[],
  take: TakeRecords,
  report: ReportBlock,
  form: TextForm = 'whole',
): Promise<UnreadableBlocks> {
  let blocks = 0;
  let steps = 0;
  let index = 0;
  for await (const block of readBlocks(database, wanted, undefined, form)) {
    const { records } = wanted[index] as RecordsOfBlock;
    index += 1;
    let found = 0;
    if ('text' in block && block.signal !== 'metrics') {
      const { signal } = block;
      found = await foundOf(take({ ...block, signal, records }));
    }
    const lost = countRecords(records) - found;
    steps += lost;
    if (lost <= 0) continue;
    blocks += 1;
    report(
      block.blockId,
      'error' in block
        ? block.error
        : new UnreadableBlockError(block.blockId, `${lost} records are missing`),
    );
  }
  return { blocks, steps };
}

/** Takes records; none of a text that is not valid. */
async function foundOf(pieces: Pieces<number>): Promise<number> {
  try {
    return await inTurns(pieces);
  } catch (error) {
    if (error instanceof RangeError) return 0;
    throw error;
  }
}
