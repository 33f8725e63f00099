/**
 * How old the data of a standby is, from positions of the primary's write-ahead log (WAL).
 *
 * At intervals the primary's position is sampled. Once the standby has replayed up to a sample, it has
 * every transaction that was committed before the sample was taken: its age is the sample's. Unlike
 * `pg_last_xact_replay_timestamp()`, this is also right while nothing is written, and while the standby
 * is cut off; and it grows while no measurement succeeds. Knows no database and no clock.
 */

/** Most samples that the standby has not replayed yet; beyond it, the older ones are thinned out. */
const SAMPLES_MAX = 128;

interface ReplicaSample {
  /** when the primary was read, in milliseconds of any clock */
  readonly atMs: number;
  /** the end of its flushed WAL then */
  readonly position: bigint;
  /** read before the position: no finding before it can appear any more (`settledBefore`) */
  readonly settledMicros: string;
}

export class ReplicaAge {
  /** oldest first; positions never fall */
  #waiting: ReplicaSample[] = [];
  #replayed: ReplicaSample | null = null;
  #server: string | null = null;
  /** of the last sample that was known to be replayed, or of the start */
  #knownMs: number;

  constructor(nowMs: number) {
    this.#knownMs = nowMs;
  }

  /** The newest sample that the standby has replayed; null before the first. */
  get replayed(): ReplicaSample | null {
    return this.#replayed;
  }

  /** The primary's position now. A lower one than before is a new primary's: older samples are void. */
  sampled(sample: ReplicaSample): void {
    const last = this.#waiting.at(-1) ?? this.#replayed;
    if (last !== null && sample.position < last.position) {
      this.#waiting = [];
      this.forget();
    }
    this.#waiting.push(sample);
    if (this.#waiting.length > SAMPLES_MAX) {
      this.#waiting = this.#waiting.filter((_, index) => index % 2 === 1);
    }
  }

  /**
   * The standby has replayed up to `position`.
   *
   * @param server another one after a restart: a standby then begins before what it had replayed
   */
  reached(position: bigint, server: string): void {
    if (server !== this.#server) this.forget();
    this.#server = server;
    const behind = this.#waiting.findIndex((sample) => sample.position > position);
    const passed = behind === -1 ? this.#waiting.length : behind;
    this.#replayed = this.#waiting[passed - 1] ?? this.#replayed;
    this.#knownMs = this.#replayed?.atMs ?? this.#knownMs;
    this.#waiting = this.#waiting.slice(passed);
  }

  /** Forgets the position of the standby: it was restarted, or is another server. */
  forget(): void {
    this.#replayed = null;
  }

  /** Most milliseconds by which the standby is behind, or since that was known. */
  ageMs(nowMs: number): number {
    return nowMs - this.#knownMs;
  }
}
