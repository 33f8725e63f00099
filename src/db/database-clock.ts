/**
 * PostgreSQL's clock in this process. It decides a row's arrival time, its daily partition, and
 * what retention drops.
 *
 * A run's arrival is PostgreSQL's `now()`, and its steps are looked up on the days around it. If
 * rows were stored by this process's own clock and that were days off, they would be in the wrong
 * partitions and never found. Reading PostgreSQL's clock for every request would cost a round trip,
 * so it is read every minute and advanced by a monotonic clock in between. That clock stops while the
 * machine sleeps, so the transaction that stores a request compares (`telemetry/batch-store.ts`).
 */
import type { Events } from '../observe/events.ts';
import type { Queryable } from './database.ts';

/** A reading that took longer is too imprecise, unless it proves the previous one wrong. */
const ROUND_TRIP_MAX_MS = 2000;
/** A larger difference between the two clocks makes the process not ready, and nothing is dropped. */
export const CLOCK_DIFFERENCE_MAX_MS = 30_000;

export class DatabaseClock {
  readonly #database: Queryable;
  readonly #events: Pick<Events, 'clockCompared'>;
  readonly #wallMs: () => number;
  /** PostgreSQL's clock when `performance.now()` was 0 */
  #originMs: number | null = null;
  #differs = false;

  /** @param wallMs this process's own clock, in milliseconds since 1970 */
  constructor(
    database: Queryable,
    events: Pick<Events, 'clockCompared'>,
    wallMs: () => number = Date.now,
  ) {
    this.#database = database;
    this.#events = events;
    this.#wallMs = wallMs;
  }

  get differs(): boolean {
    return this.#differs;
  }

  /** The `clock` probe: rejects while the clocks differ. */
  readonly check = async (): Promise<void> => {
    if (this.#differs) throw new Error("this machine's clock differs from PostgreSQL's");
  };

  /** Reads the clock: before `nowMs`, every minute, and when a transaction finds the reading wrong. */
  async read(): Promise<void> {
    const startedMs = performance.now();
    const { rows } = await this.#database.query<{ ms: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
    );
    const endedMs = performance.now();
    const [row] = rows;
    if (row === undefined) throw new Error('PostgreSQL did not return its time');
    const roundTripMs = endedMs - startedMs;
    const [earliestMs, latestMs] = [row.ms - endedMs, row.ms - startedMs];
    const before = this.#originMs ?? Number.NaN;
    const isPossible = before >= earliestMs && before <= latestMs;
    if (roundTripMs > ROUND_TRIP_MAX_MS && isPossible) return;
    this.#originMs = (earliestMs + latestMs) / 2;
    const differenceMs = Math.round(this.#wallMs() - this.nowMs());
    // The reading is exact to half a round trip.
    this.#differs = Math.abs(differenceMs) - roundTripMs / 2 > CLOCK_DIFFERENCE_MAX_MS;
    this.#events.clockCompared(differenceMs, this.#differs);
  }

  /** Whole milliseconds since 1970, by PostgreSQL's clock. Throws before the first reading. */
  readonly nowMs = (): number => {
    if (this.#originMs === null) throw new Error("PostgreSQL's clock was not read yet");
    return Math.floor(this.#originMs + performance.now());
  };
}
