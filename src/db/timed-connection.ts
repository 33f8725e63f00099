/**
 * A connection out of the pool, for a limited time: past that it is cut, whatever it is doing, so
 * that whoever waits for it gets an error instead of nothing.
 *
 *   lent ──end──► back in the pool        lent ──time is up, ROLLBACK fails──► closed
 */
import type pg from 'pg';

const ROLLBACK_TIMEOUT_MS = 2000;

/** Begins with the connection's hand-over; ends by `end`, once. */
export class Loan {
  readonly connection: pg.PoolClient;
  #timer: NodeJS.Timeout;
  #expired: Error | null = null;
  #isOver = false;

  constructor(connection: pg.PoolClient, limitMs: number) {
    this.connection = connection;
    this.#timer = this.#startTimer(limitMs);
  }

  /** What ended it before its time; null while it has not. */
  get expired(): Error | null {
    return this.#expired;
  }

  /** Undoes an open transaction, if there is one, or throws the connection away. */
  async rollBack(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = this.#startTimer(ROLLBACK_TIMEOUT_MS);
    try {
      await this.connection.query('ROLLBACK');
    } catch (error) {
      this.end(error instanceof Error ? error : new Error('ROLLBACK failed'));
    }
  }

  /**
   * Gives the connection back; a second call does nothing.
   *
   * @param broken why it must not be used again: it is closed then, and its query rejects
   */
  end(broken?: Error): void {
    clearTimeout(this.#timer);
    if (this.#isOver) return;
    this.#isOver = true;
    this.connection.release(broken);
  }

  #startTimer(limitMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#expired = new Error(`The database took longer than ${limitMs} ms.`);
      this.end(this.#expired);
    }, limitMs);
  }
}
