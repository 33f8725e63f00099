/** Log records as a list shows them. Plain data. */
import type { Hex16, Int64 } from '../json.ts';

/** Levels of severity with the first number of each in OTLP. */
export const LOG_LEVELS = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 } as const;
export type RecordLevel = keyof typeof LOG_LEVELS;
export const LOG_LEVEL_NAMES = Object.keys(LOG_LEVELS) as RecordLevel[];

/** Which records a list has; undefined members do not narrow it. */
export interface LogFilter {
  /** by the record's time, else the time at which it was observed */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  /** this one and more severe ones */
  readonly level?: RecordLevel | undefined;
  /** a part of its name, in any case */
  readonly service?: string | undefined;
  readonly runId?: Hex16 | undefined;
  readonly text?: string | undefined;
}

export interface BlockCursor {
  /** UTC day of arrival, as `2026-11-20` */
  readonly day: string;
  /** the blocks of the day were read as they arrived; if they are packed by now, its records are listed again */
  readonly isHot: boolean;
  /** this block, if records of it were listed; else those before it */
  readonly blockId: Hex16;
  /** matching records of the block that were listed */
  readonly skip: number;
}

export interface LogLine {
  /** ns since 1970; `0` where the sender sent no time */
  readonly timeUnixNano: Int64;
  readonly level: RecordLevel | null;
  readonly service: string | null;
  /** These three are null where the workspace redacts. */
  readonly eventName: string | null;
  /** the beginning of the body */
  readonly text: string | null;
  /** the beginning of its attributes, as `key=value` */
  readonly attributes: string | null;
  /** text or attributes were cut */
  readonly isCut: boolean;
  /** null for a record without a run, and where its session alone shows it */
  readonly runId: Hex16 | null;
}

export interface UnreadableDayBlock {
  readonly day: string;
  /** its log records or data points */
  readonly records: number;
}

export interface LogList {
  /** newest arrival first; those of a page in the order of their times */
  readonly records: readonly LogLine[];
  /** null at the end */
  readonly next: BlockCursor | null;
  readonly blocksRead: number;
  readonly unreadable: readonly UnreadableDayBlock[];
}

export type ListLogs = (
  workspaceId: number,
  filter: LogFilter,
  cursor: BlockCursor | null,
  limit: number,
  signal?: AbortSignal | undefined,
) => Promise<LogList>;

export const LOGS_NOT_SEARCHED =
  'This workspace redacts excerpts: the texts of its log records are not searched.';

const NAMED: Readonly<Record<string, RecordLevel>> = {
  warning: 'warn',
  err: 'error',
  critical: 'fatal',
  notice: 'info',
  information: 'info',
};

/** The level of a record by its number or, without one, by its text. */
export function levelOf(number: number, text: string): RecordLevel | null {
  if (number > 0) return LOG_LEVEL_NAMES.findLast((level) => LOG_LEVELS[level] <= number) ?? null;
  const name = text.toLowerCase();
  return LOG_LEVEL_NAMES.find((level) => level === name) ?? NAMED[name] ?? null;
}
