/**
 * A connection of the pool with a time limit, after which it is destroyed whatever it is doing, so
 * that its pending query rejects.
 *
 *   in use ──release──► back in the pool      in use ──limit passed, ROLLBACK fails──► destroyed
 */
import type pg from 'pg';

import { UnavailableError } from '../errors.ts';

const ROLLBACK_TIMEOUT_MS = 2000;

export class TimedConnection {
  readonly connection: pg.PoolClient;
  #timer: NodeJS.Timeout;
  #expired: Error | null = null;
  #isReleased = false;

  constructor(connection: pg.PoolClient, limitMs: number) {
    this.connection = connection;
    this.#timer = this.#startTimer(limitMs);
  }

  /** The error of the time limit; null before it has passed. */
  get expired(): Error | null {
    return this.#expired;
  }

  /** Rolls an open transaction back, or destroys the connection. */
  async rollBack(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = this.#startTimer(ROLLBACK_TIMEOUT_MS);
    try {
      await this.connection.query('ROLLBACK');
    } catch (error) {
      this.release(error instanceof Error ? error : new Error('ROLLBACK failed'));
    }
  }

  /**
   * Returns the connection to the pool; a second call does nothing.
   *
   * @param broken destroys the connection with this error instead; its pending query rejects
   */
  release(broken?: Error): void {
    clearTimeout(this.#timer);
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.connection.release(broken);
  }

  #startTimer(limitMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#expired = new UnavailableError(`The database took longer than ${limitMs} ms.`);
      this.release(this.#expired);
    }, limitMs);
  }
}
