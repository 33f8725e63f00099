/**
 * Retention of the rows that are in no daily partition: runs with their findings, definitions of tools.
 * docs/decisions/0019-retention.md
 */
import type { Events } from '../../observe/events.ts';
import type { Database } from '../database.ts';
import { oldestDay } from '../telemetry/partitions.ts';
import { deleteUnseenTools } from '../tools/tool-writes.ts';
import { DeletionTurn } from './deletion.ts';
import { OutdatedRuns } from './outdated-runs.ts';

const DAY_MS = 86_400_000;

/** Days that are kept; 0 keeps everything. */
export interface RetentionDays {
  readonly telemetry: number;
  readonly runs: number;
  readonly findings: number;
}

type RetentionEvents = Pick<Events, 'outdatedDeleted'>;

export class Retention {
  readonly days: RetentionDays;
  readonly #runs = new OutdatedRuns();

  constructor(days: RetentionDays) {
    this.days = days;
  }

  /** Deletes what is outdated, until nothing is left, the turn is over, or another process deletes. */
  async deleteOutdated(
    database: Database,
    nowMs: number,
    events: RetentionEvents,
    signal: AbortSignal,
  ): Promise<void> {
    const turn = new DeletionTurn(database, signal);
    const { runs, findings } = await this.#deleteRuns(turn, nowMs);
    if (runs > 0) events.outdatedDeleted('runs', runs);
    if (findings > 0) events.outdatedDeleted('findings', findings);
    if (this.days.runs === 0) return;
    const unseen = await deleteUnseenTools(turn, new Date(nowMs - this.days.runs * DAY_MS));
    if (unseen > 0) events.outdatedDeleted('tool_definitions', unseen);
  }

  async #deleteRuns(turn: DeletionTurn, nowMs: number) {
    const { runs, findings } = this.days;
    if (runs === 0 || turn.isOver) return { runs: 0, findings: 0 };
    // A day that is past retention is still there while somebody reads it. One day less, because a step
    // just after midnight may belong to a run whose last arrival is just before it.
    const oldest = await oldestDay(turn.database);
    const stepsFrom = oldest === null ? nowMs : Date.parse(oldest) - DAY_MS;
    const before = {
      runs: new Date(Math.min(nowMs - runs * DAY_MS, stepsFrom)),
      findings: findings === 0 ? null : new Date(nowMs - findings * DAY_MS),
    };
    return await this.#runs.delete(turn, before);
  }
}
