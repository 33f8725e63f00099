/**
 * Deletes rows in small transactions, one process at a time: each locks the rows that it is about to
 * delete, skips those that others have locked, and then waits as long as it took, so that ingest keeps
 * half of the database's time at least.
 */
import { setTimeout as pause } from 'node:timers/promises';

import { type Connection, type Database, inTransaction } from '../database.ts';

export const BATCH_ROWS = 4000;
export const UPKEEP_EVERY_MS = 60 * 60_000;
/** Ends before upkeep's next turn is due, which deletes what is left. */
const TURN_MS_MAX = 55 * 60_000;
const LOCK_KEY = '0x736c756963652b32';

/** One turn of deleting, which ends early when it is stopped or has taken too long. */
export class DeletionTurn {
  readonly #database: Database;
  readonly #signal: AbortSignal;
  readonly #endsAtMs: number;

  constructor(database: Database, signal: AbortSignal, turnMs: number = TURN_MS_MAX) {
    this.#database = database;
    this.#signal = signal;
    this.#endsAtMs = performance.now() + turnMs;
  }

  get database(): Database {
    return this.#database;
  }

  get isOver(): boolean {
    return this.#signal.aborted || performance.now() >= this.#endsAtMs;
  }

  /** Runs one batch in a transaction; null when another process is deleting. */
  async batch<T>(work: (connection: Connection) => Promise<T>): Promise<T | null> {
    const startedMs = performance.now();
    const result = await inTransaction(this.#database, async (connection) => {
      const { rows } = await connection.query<{ locked: boolean }>(
        `SELECT pg_try_advisory_xact_lock(${BigInt(LOCK_KEY)}) AS locked`,
      );
      return rows[0]?.locked === true ? await work(connection) : null;
    });
    if (!this.isOver) await pause(performance.now() - startedMs);
    return result;
  }
}
