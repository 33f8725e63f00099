/**
 * This process's heartbeat while it has runs leased, and its look at the others: it ends the leases of
 * those that are dead, and records zstd for new blocks when all read it.
 *
 * After an outage every process looks dead to the first that is back. So one that could not beat itself
 * judges nobody until it has beaten for a while again.
 */
import { randomUUID } from 'node:crypto';
import type { Database } from '../db/database.ts';
import { type Beat, beat, endLeasesOfDead, leave } from '../db/runs/processes.ts';
import { READS_ZSTD, ZSTD } from '../db/telemetry/codecs.ts';
import { switchToZstd } from '../db/telemetry/new-blocks.ts';
import type { Events } from '../observe/events.ts';

export interface HeartbeatTiming {
  /** a fifth of the silence after which a process counts as dead (`processes.ts`) */
  readonly beatMs: number;
  /** how long this process has beaten without a gap before it judges others */
  readonly judgesAfterMs: number;
}

type HeartbeatEvents = Pick<Events, 'deadProcessesFound' | 'passFailed' | 'zstdRecorded'>;

export class Heartbeat {
  readonly processId = randomUUID();
  readonly #database: Database;
  readonly #events: HeartbeatEvents;
  readonly #timing: HeartbeatTiming;
  readonly #onCodec: (codec: number) => void;
  readonly #readsZstd: boolean;
  #timer: NodeJS.Timeout | null = null;
  #beating: Promise<void> | null = null;
  /** `performance.now()`; null before the first beat and after one that failed */
  #beatsSince: number | null = null;
  #lastAtMs = Number.NEGATIVE_INFINITY;

  /** @param onCodec receives the codec of new blocks with every beat */
  constructor(
    database: Database,
    events: HeartbeatEvents,
    timing: HeartbeatTiming,
    onCodec: (codec: number) => void = () => {},
    readsZstd = READS_ZSTD,
  ) {
    this.#database = database;
    this.#events = events;
    this.#timing = timing;
    this.#onCodec = onCodec;
    this.#readsZstd = readsZstd;
  }

  /** Beats from now on. The first claim awaits the first beat. */
  start(): void {
    this.#timer ??= setInterval(() => void this.#beat().catch(() => {}), this.#timing.beatMs);
  }

  /**
   * Resolves when a recent beat has been stored: what is claimed then is not taken for a dead
   * process's.
   *
   * @throws the database's error
   */
  async isHeard(): Promise<void> {
    if (performance.now() - this.#lastAtMs > 2 * this.#timing.beatMs) await this.#beat();
  }

  /** Ends, when nothing is leased any more. Never rejects: others remove the row of who is silent. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#beating?.catch(() => {});
    const isKnown = performance.now() - this.#lastAtMs <= 2 * this.#timing.beatMs;
    if (isKnown) await leave(this.#database, this.processId).catch(() => {});
    this.#lastAtMs = Number.NEGATIVE_INFINITY;
  }

  #beat(): Promise<void> {
    this.#beating ??= this.#beatOnce().finally(() => {
      this.#beating = null;
    });
    return this.#beating;
  }

  async #beatOnce(): Promise<void> {
    const { beatMs, judgesAfterMs } = this.#timing;
    const now = performance.now();
    let found: Beat;
    try {
      found = await beat(this.#database, this.processId, this.#readsZstd);
    } catch (error) {
      this.#beatsSince = null;
      throw error;
    }
    // The first beat, or it was paused or cut off meanwhile.
    if (now - this.#lastAtMs > 3 * beatMs) this.#beatsSince = now;
    this.#beatsSince ??= now;
    this.#lastAtMs = performance.now();
    this.#onCodec(found.codec);
    try {
      if (found.hasDead && now - this.#beatsSince >= judgesAfterMs) await this.#endLeasesOfDead();
      if (found.maySwitch && (await switchToZstd(this.#database))) {
        this.#events.zstdRecorded();
        this.#onCodec(ZSTD);
      }
    } catch (error) {
      this.#events.passFailed(error);
    }
  }

  async #endLeasesOfDead(): Promise<void> {
    const { processes, runs } = await endLeasesOfDead(this.#database);
    if (processes > 0) this.#events.deadProcessesFound(processes, runs);
  }
}
