/**
 * Ends hot days: packs what is left of them, then drops their places and later their blocks
 * (docs/decisions/0009-hot-and-packed-blocks.md).
 */
import { randomUUID } from 'node:crypto';

import type { Database } from '../db/database.ts';
import {
  dropHotBlocks,
  dropHotPlaces,
  HotDay,
  hotDaysOf,
  isHotDayOver,
} from '../db/telemetry/packed/hot-days.ts';
import type { PackedCounts } from '../db/telemetry/packed/store-packed.ts';
import { packHotGroup } from './pack-hot-day.ts';

/** A turn ends before the next one is due, which continues. */
const TURN_MS_MAX = 50 * 60_000;

interface HotDayEvents {
  readonly runsPacked: (packed: PackedCounts) => void;
  readonly hotDayPacked: (day: string) => void;
  readonly hotDaysWait: (days: number, oldest: string | null) => void;
  readonly partitionsChanged: (created: readonly string[], dropped: readonly string[]) => void;
}

export interface HotDaySettings {
  /** whole days that stay hot beside today */
  readonly hotDays: number;
  /** milliseconds since 1970, by PostgreSQL's clock */
  readonly nowMs: number;
  /** aborted when the server stops; the turn then ends after the group under way */
  readonly signal: AbortSignal;
}

export async function endHotDays(
  database: Database,
  { hotDays, nowMs, signal }: HotDaySettings,
  events: HotDayEvents,
): Promise<void> {
  const endsAtMs = performance.now() + TURN_MS_MAX;
  const token = randomUUID();
  const isOver = (): boolean => signal.aborted || performance.now() >= endsAtMs;
  const all = await hotDaysOf(database, 'hot_places');
  const days = all.filter((day) => isHotDayOver(day, nowMs, hotDays));
  events.hotDaysWait(days.length, all[0] ?? null);
  for (const [index, day] of days.entries()) {
    const isPacked = await packDay(database, day, token, isOver, events);
    if (!isPacked) break;
    const dropped = await dropHotPlaces(database, day);
    events.partitionsChanged([], dropped);
    events.hotDaysWait(days.length - index - 1, all[index + 1] ?? null);
  }
  const dropped = await dropHotBlocks(database);
  if (dropped.length > 0) events.partitionsChanged([], dropped);
}

/** @returns whether nothing of the day is left to pack; false if another process packs it */
async function packDay(
  database: Database,
  day: string,
  token: string,
  isOver: () => boolean,
  events: HotDayEvents,
): Promise<boolean> {
  let own = await HotDay.begin(database, day, token);
  if (own === null || own.isPacked) return own !== null;
  while (!isOver()) {
    const packed = await packHotGroup(database, own);
    if (packed !== null) events.runsPacked(packed);
    // The pass was faster, or another process has taken over.
    else own = await HotDay.begin(database, day, token);
    if (own === null) return false;
    if (!own.isPacked) continue;
    events.hotDayPacked(day);
    return true;
  }
  return false;
}
