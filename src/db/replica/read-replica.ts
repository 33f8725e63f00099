/**
 * A standby of the primary (`DATABASE_READ_URL`), read while its rows are recent enough; otherwise the
 * primary is.
 *
 *   away ──it has replayed a sample that is younger than the limit──► used
 *   used ──older than the limit, away, or no standby any more──► away; reads under way move to the primary
 *
 * So a read never shows a state older than the limit. A read that fails on the standby, as one that
 * replay has cancelled (SQLSTATE 40001), is made once more, on the primary.
 */
import { SluiceError, UnavailableError } from '../../errors.ts';
import type { ReplicaState } from '../../model/overview.ts';
import {
  ConnectionTurns,
  type DatabaseFor,
  type TurnLimits,
  type WorkspaceReader,
} from '../connection-turns.ts';
import { createDatabase, type Database, limitedStatement } from '../database.ts';
import { settledBefore } from '../findings/findings.ts';
import { IDENTITY } from '../server-facts.ts';
import type { ReadChoice } from './read-choice.ts';

/** Of a replica, beside those for reads. */
export const MEASURING_CONNECTIONS = 1;
/** Of the statements that measure the standby's age. */
const MEASURE_TIMEOUT_MS = 3000;
/** The age is measured this many times within the limit … */
const MEASURES_PER_LIMIT = 10;
/** … and at least so often. */
const MEASURE_EVERY_MAX_MS = 1000;
/** query_canceled: by its own time limit; the primary would take as long. */
const CANCELED = '57014';
/** Replay removes rows that the statement may still need ("conflict with recovery"). */
const CONFLICT = '40001';

const POSITION = `SELECT (pg_current_wal_flush_lsn() - '0/0')::text AS position, ${IDENTITY} AS cluster`;
const REPLAYED = `SELECT pg_is_in_recovery() AS "isStandby", ${IDENTITY} AS cluster,
  (pg_last_wal_replay_lsn() - '0/0')::text AS position,
  concat_ws(' ', inet_server_addr(), inet_server_port(),
            extract(epoch FROM pg_postmaster_start_time())) AS server`;

export type FallbackReason = 'behind' | 'conflict' | 'failed';

export interface ReplicaEvents {
  readonly replicaUsed: () => void;
  readonly replicaUnused: (error: unknown) => void;
  readonly replicaMeasured: (seconds: number, isUsed: boolean) => void;
  readonly replicaFellBack: (reason: FallbackReason) => void;
  readonly connectionLost: (error: Error) => void;
}

export interface ReplicaSettings {
  readonly url: string;
  /** a read never shows a state older than this */
  readonly lagMaxMs: number;
  readonly turns: TurnLimits;
}

interface ReplayState {
  readonly isStandby: boolean;
  readonly cluster: string;
  readonly position: string | null;
  /** another one after a restart */
  readonly server: string;
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error ? Reflect.get(error, 'code') : undefined;

export class ReplicaLate extends Error {}

/** Thrown into reads of a standby that is not used any more. */
class ReplicaLeft extends Error {}

export class ReadReplica {
  readonly #primary: Database;
  readonly #replica: ConnectionTurns;
  /** apart from the reads, which may all be busy */
  readonly #measured: Database;
  readonly #settings: ReplicaSettings;
  readonly #events: ReplicaEvents;
  readonly #age = new ReplicaAge(performance.now());
  readonly #timer: NodeJS.Timeout;
  readonly #underWay = new Set<(left: ReplicaLeft) => void>();
  #isUsed = false;
  /** to the last measurement */
  #answers = false;
  #isClosing = false;
  #failure: unknown = new Error('it was not measured yet');
  #measure: Promise<void> | null = null;

  constructor(primary: Database, settings: ReplicaSettings, events: ReplicaEvents) {
    this.#primary = primary;
    this.#settings = settings;
    this.#events = events;
    const { url, lagMaxMs, turns } = settings;
    const connectionLost = (error: Error): void => {
      if (!this.#isClosing) events.connectionLost(error);
    };
    const { connections, waitMs } = turns;
    const pool = createDatabase(url, connections, { connectionLost }, { waitMs });
    this.#replica = new ConnectionTurns(pool, turns);
    this.#measured = createDatabase(url, MEASURING_CONNECTIONS, { connectionLost });
    const everyMs = Math.min(MEASURE_EVERY_MAX_MS, lagMaxMs / MEASURES_PER_LIMIT);
    this.#timer = setInterval(() => this.#turn(), everyMs).unref();
    this.#turn();
  }

  /** The `replica` probe: rejects while reads go to the primary. */
  readonly check = async (): Promise<void> => {
    if (!this.isUsable()) throw new UnavailableError('the read replica is away or behind');
  };

  /** Checks whether reads go to the standby now, with what was committed before `sinceMs`. */
  isUsable(sinceMs = Number.NEGATIVE_INFINITY): boolean {
    const { replayed } = this.#age;
    if (!this.#isUsed || replayed === null || replayed.atMs < sinceMs) return false;
    return this.#age.ageMs(performance.now()) <= this.#settings.lagMaxMs;
  }

  readonly state = (): ReplicaState => ({
    isUsed: this.isUsable(),
    lagMs: this.#age.ageMs(performance.now()),
  });

  over(primary: DatabaseFor): ReadChoice {
    const fallBack = <T>(
      reason: FallbackReason,
      reader: WorkspaceReader,
      work: (database: Database) => Promise<T>,
    ) => {
      this.#events.replicaFellBack(reason);
      return work(primary(reader));
    };
    const read: ReadChoice['read'] = async (reader, work) => {
      if (!this.isUsable()) return await fallBack('behind', reader, work);
      try {
        return await this.#untilLeft(work(this.#replica.of(reader)));
      } catch (error) {
        const isOwn = error instanceof SluiceError && error.code !== 'overloaded';
        const code = codeOf(error);
        if (isOwn || code === CANCELED) throw error;
        return await fallBack(code === CONFLICT ? 'conflict' : 'failed', reader, work);
      }
    };
    return {
      read,
      find: async (reader, work) => {
        if (!this.isUsable()) return await fallBack('behind', reader, work);
        return (await read(reader, work)) ?? (await work(primary(reader)));
      },
      // Pages that follow are of the state of this sample, or of a later one.
      settledBefore: async (reader) => {
        const { replayed } = this.#age;
        const isKnown = this.isUsable() && replayed !== null;
        return isKnown ? replayed.settledMicros : await settledBefore(primary(reader));
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#timer);
    this.#leave();
    await Promise.all([this.#replica.end(), this.#measured.end()]);
    await this.#measure;
  }

  /** Rejects when the standby is given up meanwhile; the statement ends by its own time limit. */
  async #untilLeft<T>(reading: Promise<T>): Promise<T> {
    let leave: ((left: ReplicaLeft) => void) | undefined;
    const left = new Promise<never>((_, reject) => {
      leave = reject;
      this.#underWay.add(reject);
    });
    try {
      return await Promise.race([reading, left]);
    } finally {
      if (leave !== undefined) this.#underWay.delete(leave);
    }
  }

  #leave(): void {
    for (const leave of this.#underWay) leave(new ReplicaLeft('the read replica was given up'));
    this.#underWay.clear();
  }

  #turn(): void {
    this.#measure ??= this.#measureOnce()
      .catch((error: unknown) => {
        this.#failure = error;
      })
      .then(() => this.#decide())
      .finally(() => {
        this.#measure = null;
      });
    // A measurement that hangs must not keep a standby in use.
    if (this.#isUsed && !this.isUsable()) this.#decide();
  }

  /** @throws the database's error; when it is the primary's, what is known of the standby stays */
  async #measureOnce(): Promise<void> {
    const atMs = performance.now();
    const settledMicros = await settledBefore(this.#primary);
    const sampled = await this.#primary.query<{ position: string; cluster: string }>(
      limitedStatement(POSITION, MEASURE_TIMEOUT_MS),
    );
    const [primary] = sampled.rows;
    if (primary === undefined) throw new Error('the primary did not return its position');
    this.#age.sampled({ atMs, position: BigInt(primary.position), settledMicros });
    try {
      await this.#measureReplica(primary.cluster);
      this.#answers = true;
    } catch (error) {
      this.#answers = false;
      throw error;
    }
  }

  async #measureReplica(cluster: string): Promise<void> {
    const { rows } = await this.#measured.query<ReplayState>(
      limitedStatement(REPLAYED, MEASURE_TIMEOUT_MS),
    );
    const [row] = rows;
    if (row?.cluster !== cluster || !row.isStandby || row.position === null) {
      this.#age.forget();
      throw new Error('DATABASE_READ_URL does not lead to a standby of the database');
    }
    this.#age.reached(BigInt(row.position), row.server);
  }

  #decide(): void {
    if (this.#isClosing) return;
    const { lagMaxMs } = this.#settings;
    const ageMs = this.#age.ageMs(performance.now());
    const isUsed = this.#answers && this.#age.replayed !== null && ageMs <= lagMaxMs;
    const isLate = ageMs > lagMaxMs;
    if (this.#answers && isLate) {
      this.#failure = new ReplicaLate(`it is ${Math.round(ageMs / 1000)} s behind`);
    }
    if (isUsed && !this.#isUsed) this.#events.replicaUsed();
    if (!isUsed && (!this.#answers || isLate)) this.#events.replicaUnused(this.#failure);
    if (!isUsed) this.#leave();
    this.#isUsed = isUsed;
    this.#events.replicaMeasured(ageMs / 1000, isUsed);
  }
}

// How old the data of a standby is, from positions of the primary's write-ahead log (WAL).
//
// At intervals the primary's position is sampled. Once the standby has replayed up to a sample, it has
// every transaction that was committed before the sample was taken: its age is the sample's. Unlike
// `pg_last_xact_replay_timestamp()`, this is also right while nothing is written, and while the standby
// is cut off; and it grows while no measurement succeeds. Knows no database and no clock.

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

  /** The standby has replayed up to `position`. After a restart a server begins before what it had replayed. */
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
