/**
 * One turn of the upkeep of what is stored: coming partitions are created, outdated ones dropped, and
 * what nothing refers to any more is deleted.
 */

import type { Events } from '../../observe/events.ts';
import type { Database } from '../database.ts';
import type { DatabaseClock } from '../database-clock.ts';
import { removeOutdatedTitles } from '../runs/run-titles.ts';
import { dropOutdated, ensureDays, ensureReceipts } from '../telemetry/partitions.ts';
import { removeToolTexts } from '../tools/tool-writes.ts';
import type { Retention } from './retention.ts';

/**
 * Dropping is irreversible: PostgreSQL's clock is read first, and while it and this machine's differ,
 * nothing is dropped, whichever of them is wrong.
 */
export async function upkeepPartitions(
  database: Database,
  clock: DatabaseClock,
  retention: Retention,
  events: Pick<Events, 'partitionsChanged' | 'outdatedDeleted'>,
  endHotDays: (nowMs: number, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  await clock.read();
  await ensureDays(database, clock.nowMs(), events);
  await ensureReceipts(database, clock.nowMs(), events);
  if (clock.differs) return;
  const nowMs = clock.nowMs();
  const { telemetry } = retention.days;
  const results = [
    // First: this is what frees the disk.
    await settled(dropOutdated(database, nowMs, telemetry, events, signal)),
    await settled(endHotDays(nowMs, signal)),
    await settled(removeOutdatedTitles(database, nowMs, telemetry, signal)),
    await settled(signal.aborted ? Promise.resolve() : removeToolTexts(database, null)),
    await settled(retention.deleteOutdated(database, nowMs, events, signal)),
  ];
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

async function settled(work: Promise<void>): Promise<PromiseSettledResult<void>> {
  const [result] = await Promise.allSettled([work]);
  return result;
}
