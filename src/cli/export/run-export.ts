/**
 * The work of `sluice export`: reads blocks, selects records and writes their lines.
 *
 *   a day of arrival after the other ─► slices of blocks ─┐
 *   a run after the other ─► its blocks ──────────────────┴─► selected lines ─► files
 *
 * One statement at a time runs, over one connection, and no snapshot is held between two.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import type { DatabaseClock } from '../../db/database-clock.ts';
import {
  BEFORE_RUNS,
  type ExportedRun,
  findRunsByIds,
  findRunsOfAgent,
  type RunCursor,
} from '../../db/runs/exported-runs.ts';
import { UnsupportedCodecError } from '../../db/telemetry/block-codec.ts';
import {
  FIRST_ID,
  type FoundDay,
  findDay,
  readSlice,
  WINDOW_MS,
} from '../../db/telemetry/day-blocks.ts';
import { oldestDay, utcDay } from '../../db/telemetry/partitions.ts';
import type { BlockText } from '../../db/telemetry/stored-blocks.ts';
import { OperatorError } from '../../errors.ts';
import type { Hex16 } from '../../model/json.ts';
import type { RecordRanges } from '../../model/record-ranges.ts';
import type { Signal } from '../../model/telemetry.ts';
import { toEnd } from '../../otlp/pieces.ts';
import { blocksOfRun } from '../../reads/run-blocks.ts';
import { type RecordFilter, type SelectedLines, selectLines } from '../../reads/selected-lines.ts';
import { note } from '../../terminal/output.ts';
import type { ExportOutput } from './export-output.ts';
import type { ExportState } from './export-state.ts';
import type { ExportWriter } from './export-writer.ts';

const DAY_MS = 86_400_000;
/** After the end of a day, requests that arrived on it may still be stored for a moment. */
const DAY_SETTLES_MS = 2 * 60_000;
const REST_MS_MAX = 5000;
/** After a statement that found nothing in less, the next one looks through twice the time. */
const QUICK_MS = 50;
/** Unreadable blocks that are named; the export stops at more than `UNREADABLE_MAX`. */
const UNREADABLE_NAMED = 20;
const UNREADABLE_MAX = 10_000;

export interface ExportWork {
  readonly database: Database;
  readonly clock: DatabaseClock;
  readonly workspaceId: number;
  readonly signals: readonly Signal[];
  readonly filter: RecordFilter;
  /** days after `filter.untilMs` on which records are looked for */
  readonly lateDays: number;
  /** only what arrived on these UTC days; null: any */
  readonly arrived: { readonly first: string; readonly last: string } | null;
  /** null: not by run */
  readonly runs: { readonly agent: string } | { readonly ids: readonly Hex16[] } | null;
  /** without pauses */
  readonly isFullSpeed: boolean;
  readonly output: ExportOutput;
  readonly writer: ExportWriter;
  readonly state: ExportState;
  /** the part that this process did */
  readonly progress: ExportProgress;
}

export interface ExportProgress {
  records: number;
  blocks: number;
  /** of the blocks' texts */
  readBytes: number;
  days: number;
  daysInAll: number;
  runs: number;
  day: string | null;
  /** the last day is not over */
  endsLive: boolean;
}

export async function exportAll(work: ExportWork, isResumed: boolean): Promise<void> {
  if (work.runs === null) await exportDays(work, isResumed);
  else await exportRuns(work, isResumed);
}

async function exportDays(work: ExportWork, isResumed: boolean): Promise<void> {
  const { state, writer, progress } = work;
  let days = await daysOf(work);
  if (isResumed) {
    const { unit } = state;
    const fromStart = unit.is_live;
    await writer.resume(unit.name, fromStart);
    const isOpen = fromStart || !unit.is_done;
    days = days.filter((day) => day > unit.name || (isOpen && day === unit.name));
  }
  progress.daysInAll = days.length;
  for (const day of days) {
    progress.day = day;
    await exportDay(work, day, isResumed && day === state.unit.name);
    progress.days += 1;
  }
}

/** Returns the days of arrival on which selected records may have arrived. */
async function daysOf({
  database,
  clock,
  filter: { sinceMs, untilMs },
  lateDays,
  arrived,
}: ExportWork): Promise<string[]> {
  const oldest = await oldestDay(database);
  if (oldest === null) return [];
  const firsts = [oldest, arrived?.first, sinceMs === null ? undefined : utcDay(sinceMs - DAY_MS)];
  const until = untilMs === null ? undefined : utcDay(untilMs - 1 + lateDays * DAY_MS);
  const lasts = [utcDay(clock.nowMs()), arrived?.last, until];
  const first =
    firsts
      .filter((day) => day !== undefined)
      .sort()
      .at(-1) ?? oldest;
  const last = lasts.filter((day) => day !== undefined).sort()[0] ?? oldest;
  const days: string[] = [];
  for (let day = first; day <= last; day = utcDay(Date.parse(day) + DAY_MS)) days.push(day);
  return days;
}

/** @param continues the unit of the state is this day, and its files were cut to their sizes */
async function exportDay(work: ExportWork, day: string, continues: boolean): Promise<void> {
  const { database, writer, progress } = work;
  const isLive = work.clock.nowMs() < Date.parse(day) + DAY_MS + DAY_SETTLES_MS;
  progress.endsLive = isLive;
  const before = { ...progress };
  for (let isStarted = continues; ; isStarted = true) {
    const found = await findDay(database, day);
    const { is_live: wasLive, is_hot: wasHot } = writer.unit;
    if (!isStarted || wasLive !== isLive || wasHot !== found.isHot) {
      if (isStarted) await writer.resume(day, true);
      await writer.begin(day, day, { isLive, isHot: found.isHot });
    }
    if (await exportBlocksOf(work, day, found)) break;
    if (!work.output.canCut) {
      throw new OperatorError(`${day} was packed while it was read: export it again`);
    }
    Object.assign(progress, before);
  }
  await writer.checkpoint('', true);
}

/** @returns false if the day is stored in another way now, so that it must be read again from its start */
async function exportBlocksOf(work: ExportWork, day: string, found: FoundDay): Promise<boolean> {
  const { database, workspaceId, signals, writer, progress } = work;
  const { last, isHot } = found;
  if (last === null) return true;
  const blocks = { workspaceId, signals, day, last };
  let windowMs = WINDOW_MS;
  for (let after: string | null = writer.unit.after || FIRST_ID; after !== null; ) {
    const beganMs = performance.now();
    const slice = await readSlice(database, blocks, after, windowMs);
    const readMs = performance.now() - beganMs;
    windowMs = slice.blocks.length === 0 && readMs < QUICK_MS ? 2 * windowMs : WINDOW_MS;
    if (slice.isHot !== isHot) return false;
    for (const block of slice.blocks) {
      progress.blocks += 1;
      await exportBlock(work, block, block.signal, null, block.records);
    }
    after = slice.next;
    if (after !== null) await writer.advance(after);
    await rest(work, readMs, performance.now() - beganMs - readMs);
  }
  return true;
}

/** Pauses so that reading takes at most half of the time: a database that is busy answers later, and rests longer. */
async function rest(work: ExportWork, readMs: number, restedMs: number): Promise<void> {
  if (work.isFullSpeed) return;
  const ms = Math.min(readMs, REST_MS_MAX) - restedMs;
  if (ms >= 1) await sleep(ms);
}

async function exportRuns(work: ExportWork, isResumed: boolean): Promise<void> {
  const { state, writer, progress } = work;
  if (isResumed) {
    if (state.unit.is_done)
      throw new OperatorError('This export is complete: export to another place');
    await writer.resume(null, false);
  } else await writer.begin('runs', null, { isLive: false, isHot: true });
  const begin = toCursor(writer.unit.after);
  for await (const run of runsAfter(work, begin)) {
    const beganMs = performance.now();
    for await (const { block, wanted } of blocksOfRun(work.database, run)) {
      if (block.signal !== null && !work.signals.includes(block.signal)) continue;
      progress.blocks += 1;
      await exportBlock(work, block, block.signal, wanted, 0);
    }
    progress.runs += 1;
    await writer.advance(`${run.atMicros} ${run.runId}`);
    await rest(work, performance.now() - beganMs, 0);
  }
  await writer.checkpoint('', true);
}

function toCursor(text: string): RunCursor {
  const [atMicros, runId] = text.split(' ');
  return atMicros === undefined || runId === undefined ? BEFORE_RUNS : { atMicros, runId };
}

async function* runsAfter(work: ExportWork, begin: RunCursor): AsyncGenerator<ExportedRun> {
  const { database, workspaceId, runs, filter } = work;
  if (runs === null) return;
  if ('ids' in runs) {
    const found = await findRunsByIds(database, workspaceId, runs.ids);
    const known = new Set(found.map(({ runId }) => runId));
    const missing = runs.ids.filter((id) => !known.has(id));
    if (missing.length > 0) {
      throw new OperatorError(`This workspace has no run ${missing[0]}: see sluice runs list`);
    }
    yield* found.filter((run) => isAfter(run, begin));
    return;
  }
  const { sinceMs, untilMs } = filter;
  const wanted = { workspaceId, agent: runs.agent, sinceMs, untilMs };
  for (let after: RunCursor | null = begin; after !== null; ) {
    const page = await findRunsOfAgent(database, wanted, after);
    yield* page.runs;
    after = page.next;
  }
}

function isAfter(run: RunCursor, cursor: RunCursor): boolean {
  const [one, other] = [BigInt(run.atMicros), BigInt(cursor.atMicros)];
  return one > other || (one === other && run.runId > cursor.runId);
}

/** @param wanted numbers of the records to export; null for all @param records of the block, if all are */
async function exportBlock(
  work: ExportWork,
  block: BlockText,
  signal: Signal | null,
  wanted: RecordRanges | null,
  records: number,
): Promise<void> {
  const { output, writer, progress, filter } = work;
  const { blockId, arrivedOn } = block;
  if ('error' in block) {
    if (block.error instanceof UnsupportedCodecError) throw new OperatorError(block.error.message);
    reportUnreadable(work, blockId, block.error.message);
    return;
  }
  if (wanted?.length === 0) {
    reportUnreadable(work, blockId, `A place in block ${blockId} is damaged.`);
    return;
  }
  progress.readBytes += block.text.length;
  const lines = { signal: signal ?? block.signal, text: block.text, arrivedOn, records };
  let selected: readonly SelectedLines[];
  try {
    selected = toEnd(selectLines(lines, wanted, filter, output.byHour));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    reportUnreadable(work, blockId, `Block ${blockId} cannot be read: ${error.message}`);
    return;
  }
  for (const part of selected) {
    progress.records += part.records;
    await writer.put(output.fileOf(lines.signal, arrivedOn, part), part.text);
  }
}

function reportUnreadable({ state }: ExportWork, block: string, message: string): void {
  const { unreadable, unit } = state;
  if (unreadable.some((one) => one.block === block && one.unit === unit.name)) return;
  unreadable.push({ unit: unit.name, block });
  if (unreadable.length <= UNREADABLE_NAMED) note(`${message} Its records are left out.`);
  if (unreadable.length <= UNREADABLE_MAX) return;
  throw new OperatorError(
    `More than ${UNREADABLE_MAX} blocks cannot be read: sluice doctor checks the database`,
  );
}
