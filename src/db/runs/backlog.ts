/** The runs that wait for the pass, over all workspaces: for `/metrics`, alerts and autoscaling. */
import { type Database, onlyRow } from '../database.ts';
import { backlogOf } from './due-runs.ts';

/** Most due runs that are counted of each kind: one statement reads no more entries of an index. */
const BACKLOG_MAX = 100_000;

export interface Backlog {
  /** finished, settled and not leased; at most twice `BACKLOG_MAX` */
  readonly runs: number;
  /** how long the first of them has been due; 0 when none is */
  readonly oldestSeconds: number;
}

/** @param settleMs as the pass has it (`RunTimes`) */
export async function readBacklog(database: Database, settleMs: number): Promise<Backlog> {
  return onlyRow(await database.query<Backlog>(backlogOf(BACKLOG_MAX), [settleMs]));
}
