/** Events of the embedded server, and of the database's upkeep, blocks (decision 0008), clock, replica and audit logs. */
import type { Logger } from 'pino';

import { errorFacts } from './error-facts.ts';
import { type EventKinds, Facts } from './event-kinds.ts';

/** Maximum number of blocks whose log lines are remembered; then all are forgotten. */
const BLOCKS_MAX = 10_000;

interface PackedRuns {
  readonly runs: number;
  readonly blocks: number;
  /** before and after compression */
  readonly bytes: number;
  readonly storedBytes: number;
}

export function databaseEvents(log: Logger, kinds: EventKinds) {
  const { counter, counted, summed, shown, said, faults, outage } = kinds;
  const deleted = counter(
    'retention_rows_total',
    'Rows past retention that were deleted, by table; partitions are dropped uncounted.',
    ['table'],
  );
  const packedRuns = summed('packed_runs_total', 'Runs whose records were packed.');
  const refusedTools = summed(
    'tool_definitions_refused_total',
    'Definitions of tools that were not kept: their workspace has too many.',
  );
  const packedBlocks = summed('packed_blocks_total', 'Packed blocks that were stored.');
  const packedBytes = counter(
    'packed_bytes_total',
    'Bytes of packed blocks: text, and what is stored of it.',
    ['form'],
  );
  const hotDaysWaiting = shown(
    'hot_days_waiting',
    'Hot days past HOT_DAYS that are not packed yet.',
  );
  const oldestHotDay = shown(
    'oldest_hot_day_timestamp_seconds',
    'Start of the oldest day whose spans and log records are not all packed, since 1970.',
  );
  const clockDifference = shown(
    'clock_difference_seconds',
    "How far this machine's clock is ahead of PostgreSQL's.",
  );
  const replicaLag = shown(
    'replica_lag_seconds',
    "Most seconds by which the read replica's rows are behind the primary's.",
  );
  const replicaInUse = shown(
    'replica_used',
    '1 while reads go to the read replica, 0 while they go to the primary.',
  );
  const { clockDiffers, clockAgrees } = outage('clockDiffers', 'clockAgrees', {
    place: 'clock',
    level: 'error',
    fails:
      "this machine's clock differs from PostgreSQL's; /ready answers 503, and nothing is dropped",
    works: "this machine's clock agrees with PostgreSQL's again",
  });
  const clockReading = outage('clockUnread', 'clockRead', {
    place: 'clock_reading',
    fails: "PostgreSQL's clock could not be read; the last reading is used",
    works: "PostgreSQL's clock is read again",
  });
  const { auditLogCut, auditLogsWhole } = outage('auditLogCut', 'auditLogsWhole', {
    place: 'audit_log',
    level: 'error',
    fails:
      'audit logs no longer have entries that were kept: run sluice audit verify; after restoring an older backup, delete the file',
    works: 'audit logs have the entries that were kept',
  });
  const logged = new Set<string>();
  return {
    embeddedDied(pid: number): void {
      faults.inc({ place: 'embedded' });
      log.error({ pid }, 'the embedded PostgreSQL has died; it is started again');
    },
    /** `starts`: how often it was tried; `elapsedMs` since its death was seen */
    embeddedRestarted: said<{ pid: number; starts: number; elapsedMs: number }>(
      'info',
      'the embedded PostgreSQL runs again',
    ),
    embeddedRestartFailed(start: number, error: unknown): void {
      log.error({ start, ...errorFacts(error) }, 'the embedded PostgreSQL did not start');
    },
    embeddedGivenUp(starts: number): void {
      log.fatal({ starts }, 'the embedded PostgreSQL does not start any more; the server stops');
    },
    partitionsChanged(created: readonly string[], dropped: readonly string[]): void {
      log.debug({ created, dropped }, 'partitions changed');
    },
    /** @param table a table's name, never a sender's text */
    outdatedDeleted(table: string, rows: number): void {
      deleted.inc({ table }, rows);
      log.info({ table, rows }, 'rows past retention deleted');
    },
    ...outage('maintenanceFailed', 'maintenanceWorked', {
      place: 'maintenance',
      level: 'error',
      fails: 'maintenance failed; it will be retried',
      works: 'maintenance works again',
    }),
    /** Logged once, however many runs have steps in it. @param why names no stored text */
    blockUnreadable(blockId: string, why: string): void {
      if (logged.has(blockId)) return;
      if (logged.size >= BLOCKS_MAX) logged.clear();
      logged.add(blockId);
      faults.inc({ place: 'block' });
      log.error(
        { blockId, why },
        'a stored block cannot be read; its steps are not evaluated, shown or exported',
      );
    },
    runsPacked({ runs, blocks, bytes, storedBytes }: PackedRuns): void {
      packedRuns(runs);
      packedBlocks(blocks);
      packedBytes.inc({ form: 'text' }, bytes);
      packedBytes.inc({ form: 'stored' }, storedBytes);
    },
    /** Everything of a hot day is packed; its places are dropped next. */
    hotDayPacked(day: string): void {
      log.info({ day }, 'a hot day is packed');
    },
    /** @param oldest UTC day with hot blocks, today included, as `2026-11-20`; null without hot blocks */
    hotDaysWait(days: number, oldest: string | null): void {
      hotDaysWaiting(days);
      if (oldest !== null) oldestHotDay(Date.parse(oldest) / 1000);
    },
    /** The end of their hot day packs them. */
    runsNotPacked(why: string): void {
      faults.inc({ place: 'packing' });
      log.warn({ why }, 'evaluated runs could not be packed; that is tried again after HOT_DAYS');
    },
    /** Definitions of tools were not kept: their workspace has as many as it may. */
    toolsRefused(definitions: number): void {
      refusedTools(definitions);
    },
    zstdRecorded(): void {
      log.info('new blocks of telemetry are compressed with zstd: every process reads it');
    },
    /**
     * @param differenceMs how far this process's clock is ahead of PostgreSQL's
     * @param differs too far: one of them is wrong
     */
    clockCompared(differenceMs: number, differs: boolean): void {
      clockReading.clockRead();
      clockDifference(differenceMs / 1000);
      if (differs) clockDiffers(new Facts({ differenceMs }));
      else clockAgrees();
    },
    clockUnread: clockReading.clockUnread,
    ...outage('keyUseUnrecorded', 'keyUseRecorded', {
      place: 'key_use',
      fails: 'last use of keys could not be stored; it will be retried',
      works: 'last use of keys is stored again',
    }),
    ...outage('keyChangesUnheard', 'keyChangesHeard', {
      place: 'key_changes',
      fails: 'key changes are not received immediately; they take effect within 5 s',
      works: 'key changes are received immediately again',
    }),
    ...outage('replicaUnused', 'replicaUsed', {
      place: null,
      fails: 'the read replica is away or behind; reads go to the primary',
      works: 'the read replica is used again',
    }),
    replicaMeasured(seconds: number, isUsed: boolean): void {
      replicaLag(seconds);
      replicaInUse(isUsed ? 1 : 0);
    },
    replicaFellBack: counted<[reason: string]>(
      'replica_fallbacks_total',
      'Reads that went to the primary: replica behind or away, a recovery conflict, or a failure.',
      'reason',
    ),
    /** @param heads of workspaces: id, number of the last entry, and its hash */
    auditHeadsChanged(heads: readonly string[]): void {
      log.info({ heads }, 'last entries of audit logs');
    },
    ...outage('auditHeadsUnkept', 'auditHeadsKept', {
      place: 'audit_heads',
      fails: 'the last entries of audit logs could not be kept; it will be retried',
      works: 'the last entries of audit logs are kept again',
    }),
    auditLogsCut(workspaces: readonly number[], path: string): void {
      auditLogCut(new Facts({ workspaces, path }));
    },
    auditLogsWhole,
  };
}
