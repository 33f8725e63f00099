/**
 * PostgreSQL's clock, here: by it a row arrives, a day's partition is chosen, and retention drops.
 *
 * Runs take their arrival from `now()`, and their steps are looked for on the days around it. Were
 * rows filed by this process's own clock, one that is days off would put them where nobody looks.
 * Asking for every request would cost a round trip: so the clock is read now and then, and a monotonic
 * one counts on from there, which nobody can set.
 */
import type { Events } from '../observe/events.ts';
import type { Queryable } from './database.ts';

/** A reading that took longer says too little; the one before is kept. */
const ROUND_TRIP_MAX_MS = 2000;
/** This process's own clock may differ so much before an operator is told. */
export const CLOCK_DIFFERENCE_MAX_MS = 30_000;

export class DatabaseClock {
  readonly #database: Queryable;
  readonly #events: Pick<Events, 'clockDiffers'>;
  readonly #wallMs: () => number;
  /** PostgreSQL's clock when `performance.now()` was 0 */
  #originMs: number | null = null;
  #hasTold = false;

  /** @param wallMs this process's own clock, in milliseconds since 1970 */
  constructor(
    database: Queryable,
    events: Pick<Events, 'clockDiffers'>,
    wallMs: () => number = Date.now,
  ) {
    this.#database = database;
    this.#events = events;
    this.#wallMs = wallMs;
  }

  /**
   * Reads PostgreSQL's clock; before `nowMs`, and every minute.
   *
   * @throws what the database said; what was read before is kept
   */
  async read(): Promise<void> {
    const asked = performance.now();
    const { rows } = await this.#database.query<{ ms: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
    );
    const answered = performance.now();
    const [row] = rows;
    if (row === undefined) throw new Error('PostgreSQL did not say what time it is');
    if (answered - asked > ROUND_TRIP_MAX_MS && this.#originMs !== null) return;
    this.#originMs = row.ms - (asked + answered) / 2;
    const differenceMs = Math.round(this.#wallMs() - this.nowMs());
    if (Math.abs(differenceMs) <= CLOCK_DIFFERENCE_MAX_MS || this.#hasTold) return;
    this.#hasTold = true;
    this.#events.clockDiffers(differenceMs);
  }

  /**
   * Whole milliseconds since 1970, by PostgreSQL's clock.
   *
   * @throws {Error} before the first reading
   */
  readonly nowMs = (): number => {
    if (this.#originMs === null) throw new Error("PostgreSQL's clock was not read yet");
    return Math.floor(this.#originMs + performance.now());
  };
}
