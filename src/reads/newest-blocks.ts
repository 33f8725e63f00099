/**
 * Reads the newest log records or metrics of a workspace block by block, until a page has enough or has read or waited
 * enough:
 *
 *   days, the newest first ─► slices of a day ─► blocks, the newest first
 */
import type { ReadChoice } from '../db/replica/read-choice.ts';
import {
  type DayBlock,
  idAt,
  LAST_ID,
  listDays,
  type NewestOfDay,
  readNewest,
} from '../db/telemetry/day-blocks.ts';
import { utcDay } from '../db/telemetry/partitions.ts';
import type { BlockCursor, UnreadableDayBlock } from '../model/shown/logs.ts';
import type { ReportBlock } from './read-records.ts';

/** One page reads so many bytes, or takes so long, unless it is one slice more. */
const BYTES_MAX = 32 * 1024 * 1024;
const TIME_MAX_MS = 2000;
/** A record may arrive so much later than its time, and so much earlier by a clock that is ahead. */
const LATE_MS_MAX = 86_400_000;
const EARLY_MS_MAX = 3_600_000;

export class PageBudget {
  blocksRead = 0;
  readonly unreadable: UnreadableDayBlock[] = [];
  #bytes = 0;
  readonly #endMs = performance.now() + TIME_MAX_MS;
  readonly #report: ReportBlock;

  constructor(report: ReportBlock) {
    this.#report = report;
  }

  get isOver(): boolean {
    return this.#bytes >= BYTES_MAX || performance.now() >= this.#endMs;
  }

  /** Counts a block. @returns its text; null if it cannot be read */
  take(day: string, block: DayBlock): Buffer | null {
    this.blocksRead += 1;
    if ('error' in block) {
      this.lose(day, block, block.error);
      return null;
    }
    this.#bytes += block.text.length;
    return block.text;
  }

  lose(day: string, { blockId, records }: DayBlock, error: Error): void {
    this.unreadable.push({ day, records });
    this.#report(blockId, error);
  }
}

export interface NewestRange extends Pick<NewestOfDay, 'workspaceId' | 'signal' | 'hashes'> {
  /** of the records' times */
  readonly since: Date | undefined;
  readonly until: Date | undefined;
  readonly cursor: BlockCursor | null;
  /** the blocks to read of a day; null: all */
  readonly only: ((day: string, isHot: boolean) => readonly string[]) | null;
}

export interface NewestSlice {
  readonly day: string;
  readonly isHot: boolean;
  readonly blocks: readonly DayBlock[];
  /** where the next slice begins; null after the last one */
  readonly next: BlockCursor | null;
}

export async function* newestSlices(
  read: ReadChoice['read'],
  { since, until, cursor, only, ...range }: NewestRange,
  signal?: AbortSignal | undefined,
): AsyncGenerator<NewestSlice, void, void> {
  const reader = { workspaceId: range.workspaceId, signal };
  const sinceMs = since === undefined ? 0 : since.getTime() - EARLY_MS_MAX;
  const untilMs = until === undefined ? Number.POSITIVE_INFINITY : until.getTime() + LATE_MS_MAX;
  const lastDay = cursor?.day ?? (Number.isFinite(untilMs) ? utcDay(untilMs) : '9999');
  const all = await read(reader, listDays);
  const days = all.filter(({ day }) => day <= lastDay && day >= utcDay(sinceMs));
  for (const [index, { day, isHot }] of days.entries()) {
    const nextDay = days[index + 1];
    const blocks = only?.(day, isHot) ?? null;
    if (blocks?.length === 0) continue;
    // The id of a packed block has the time of its last record.
    const isPacked = range.signal === 'logs' && !isHot;
    const last = isPacked || !Number.isFinite(untilMs) ? LAST_ID : idAt(untilMs);
    const isSame = day === cursor?.day && isHot === cursor.isHot;
    let to: string | null = isSame ? endOf(cursor) : last;
    while (to !== null) {
      const part: NewestOfDay = { ...range, day, isHot, from: idAt(sinceMs), to, only: blocks };
      const found = await read(reader, (database) => readNewest(database, part));
      to = found.next;
      const next =
        to !== null
          ? { day, isHot, blockId: to, skip: 0 }
          : nextDay === undefined
            ? null
            : { ...nextDay, blockId: LAST_ID, skip: 0 };
      yield { day, isHot, blocks: found.blocks, next };
    }
  }
}

/** The id that all blocks from a cursor on are less than. */
function endOf({ blockId, skip }: BlockCursor): string {
  if (skip === 0) return blockId;
  return (BigInt(`0x${blockId}`) + 1n).toString(16).padStart(32, '0');
}
