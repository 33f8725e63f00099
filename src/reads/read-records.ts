/**
 * Reads records of blocks, one block after the other. A block that is damaged or missing is counted and reported,
 * and the others are read.
 */
import type { Database } from '../db/database.ts';
import { UnreadableBlockError } from '../db/telemetry/block-codec.ts';
import type { PackedText } from '../db/telemetry/packed/packed-block.ts';
import { type RecordsOfBlock, readBlocks, type TextForm } from '../db/telemetry/stored-blocks.ts';
import type { Holes } from '../model/packed/narrow-text.ts';
import { countRecords, withoutRecords } from '../model/record-ranges.ts';
import type { UnreadableBlocks } from '../model/runs.ts';
import { findRecords } from '../otlp/lines/block-records.ts';
import type { Pieces } from '../otlp/pieces.ts';
import { inTurns } from './piece-work.ts';
import type { StepSignal } from './read-step.ts';

export interface ReadBlock extends RecordsOfBlock {
  readonly signal: StepSignal;
  readonly text: Buffer;
  /** of a narrow text */
  readonly holes?: Holes;
  readonly widen?: PackedText['widen'];
}

/** Takes records of a block; returns how many it has. @throws {RangeError} when the text is not valid */
export type TakeRecords = (block: ReadBlock) => Pieces<number>;

export type ReportBlock = (blockId: string, error: Error) => void;

/** @param wanted each block once */
export async function readRecords(
  database: Database,
  wanted: readonly RecordsOfBlock[],
  take: TakeRecords,
  report: ReportBlock,
  form: Exclude<TextForm, 'whole'> = 'apart',
): Promise<UnreadableBlocks> {
  let blocks = 0;
  let steps = 0;
  let index = 0;
  for await (const block of readBlocks(database, wanted, form)) {
    const { records } = wanted[index] as RecordsOfBlock;
    index += 1;
    let found = 0;
    if ('text' in block && block.signal !== 'metrics') {
      const { signal } = block;
      found = await foundOf(takeWidened({ ...block, signal, records }, take));
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

/** Attributes and bodies that are less than so many times the narrow text are all added: leaving them out takes as long. */
const WIDE_PART = 4;

function* takeWidened(block: ReadBlock, take: TakeRecords): Pieces<number> {
  const { signal, text, holes, records, widen } = block;
  if (widen === undefined || holes === undefined) return yield* take(block);
  if (holes.bytes < WIDE_PART * text.length) return yield* take({ ...block, text: widen() });
  const others = yield* findRecords(signal, text, withoutRecords(records));
  const open = others.flatMap(({ start, end }) => [start, end]);
  return yield* take({ ...block, text: widen(open) });
}

async function foundOf(pieces: Pieces<number>): Promise<number> {
  try {
    return await inTurns(pieces);
  } catch (error) {
    if (error instanceof RangeError || error instanceof UnreadableBlockError) return 0;
    throw error;
  }
}
