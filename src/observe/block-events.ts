/** Events of stored blocks (docs/decisions/0008-blocks.md). */
import type { Logger } from 'pino';

import type { Metrics } from './metrics.ts';

export interface PackedRuns {
  readonly runs: number;
  readonly blocks: number;
  /** before and after compression */
  readonly bytes: number;
  readonly storedBytes: number;
}

/** Maximum number of blocks whose log lines are remembered; then all are forgotten. */
const BLOCKS_MAX = 10_000;

export function blockEvents(log: Logger, metrics: Metrics) {
  const logged = new Set<string>();
  return {
    /**
     * A block is damaged or missing. It is logged once, however many runs have steps in it.
     *
     * @param why names no stored text
     */
    blockUnreadable(blockId: string, why: string): void {
      if (logged.has(blockId)) return;
      if (logged.size >= BLOCKS_MAX) logged.clear();
      logged.add(blockId);
      metrics.faults.inc({ place: 'block' });
      log.error(
        { blockId, why },
        'a stored block cannot be read; its steps are not evaluated, shown or exported',
      );
    },

    /** The records of runs were packed. */
    runsPacked({ runs, blocks, bytes, storedBytes }: PackedRuns): void {
      metrics.packedRuns.inc(runs);
      metrics.packedBlocks.inc(blocks);
      metrics.packedBytes.inc({ form: 'text' }, bytes);
      metrics.packedBytes.inc({ form: 'stored' }, storedBytes);
    },

    /** Everything of a hot day is packed; its places are dropped next. */
    hotDayPacked(day: string): void {
      log.info({ day }, 'a hot day is packed');
    },

    /**
     * Hot days are over and not packed yet.
     *
     * @param oldest UTC day with hot blocks, today included, as `2026-11-20`; null without hot blocks
     */
    hotDaysWait(days: number, oldest: string | null): void {
      metrics.hotDaysWaiting.set(days);
      if (oldest !== null) metrics.oldestHotDay.set(Date.parse(oldest) / 1000);
    },

    /** Runs were evaluated, and their records could not be packed; the end of their hot day packs them. */
    runsNotPacked(why: string): void {
      metrics.faults.inc({ place: 'packing' });
      log.warn({ why }, 'evaluated runs could not be packed; that is tried again after HOT_DAYS');
    },
  };
}
