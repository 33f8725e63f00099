/** One turn of the upkeep of partitions: coming ones are created, outdated ones dropped. */

import type { Events } from '../../observe/events.ts';
import type { Database } from '../database.ts';
import type { DatabaseClock } from '../database-clock.ts';
import { dropOutdated, ensureDays, ensureReceipts } from './partitions.ts';

/**
 * Dropping is irreversible: PostgreSQL's clock is read first, and while it and this machine's differ,
 * nothing is dropped, whichever of them is wrong.
 *
 * @param retentionDays whole days kept beside today; 0 keeps everything
 * @throws the database's error
 */
export async function upkeepPartitions(
  database: Database,
  clock: DatabaseClock,
  retentionDays: number,
  events: Pick<Events, 'partitionsChanged'>,
): Promise<void> {
  await clock.read();
  await ensureDays(database, clock.nowMs(), events);
  await ensureReceipts(database, clock.nowMs(), events);
  if (!clock.differs) await dropOutdated(database, clock.nowMs(), retentionDays, events);
}
