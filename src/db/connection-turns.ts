/**
 * Gives the connections of a pool to workspaces in turn, so that slow reads of one workspace leave
 * connections to the others. A caller gets a `Database`, whose statements and connections wait for
 * their turn:
 *
 *   waiting ── its workspace's turn, within the limits ──► has a connection ── released ──► over
 *      └── waited too long, too many wait, the reader has left ──► refused
 *
 * A caller must not hold one connection while it waits for another one.
 */
import type { QueryResult } from 'pg';

import { unawaited } from '../errors.ts';
import { WorkspaceQueue } from '../workspace-queue.ts';
import { allInUse } from './bounded-pool.ts';
import type { Connection, Database } from './database.ts';

export interface WorkspaceReader {
  readonly workspaceId: number;
  /** for pages of an export, which follow each other for minutes */
  readonly isExport?: boolean;
  /** aborted when nobody waits for the result any more */
  readonly signal?: AbortSignal | undefined;
}

export type DatabaseFor = (reader: WorkspaceReader) => Database;

export interface TurnLimits {
  readonly connections: number;
  readonly workspaceMax: number;
  /** connections of all exports, and of the exports of one workspace */
  readonly exportsMax: number;
  readonly workspaceExportsMax: number;
  readonly waitMs: number;
  /** waiting readers; one more, and one of the workspace with the most is refused */
  readonly waitingMax: number;
  /** waiting readers of one workspace; a further one is refused */
  readonly workspaceWaitingMax: number;
}

interface Waiting {
  readonly reader: WorkspaceReader;
  readonly begin: () => void;
  readonly refuse: (error: Error) => void;
}

const pools = new WeakMap<Database, Database>();

/** Returns the pool behind a database: all readers of a pool share it. */
export function poolOf(database: Database): Database {
  return pools.get(database) ?? database;
}

export class ConnectionTurns {
  readonly #pool: Database;
  readonly #limits: TurnLimits;
  readonly #queue: WorkspaceQueue<Waiting>;
  readonly #exports: number[] = [];

  constructor(pool: Database, limits: TurnLimits) {
    this.#pool = pool;
    this.#limits = limits;
    this.#queue = new WorkspaceQueue(limits.connections, limits.workspaceMax);
  }

  /** Returns the pool for one reader. It rejects with `overloaded` when there is no connection in time. */
  readonly of: DatabaseFor = (reader) => {
    const query = (...statement: unknown[]): Promise<QueryResult> =>
      this.#inTurn(reader, () => Reflect.apply(this.#pool.query, this.#pool, statement));
    const connect = (): Promise<Connection> => this.#connect(reader);
    const database: Database = {
      query: query as Database['query'],
      connect: connect as Database['connect'],
      end: this.end as Database['end'],
    };
    pools.set(database, this.#pool);
    return database;
  };

  readonly end = (): Promise<void> => this.#pool.end();

  async #inTurn<T>(reader: WorkspaceReader, work: () => Promise<T>): Promise<T> {
    await this.#turn(reader);
    try {
      return await work();
    } finally {
      this.#over(reader);
    }
  }

  async #connect(reader: WorkspaceReader): Promise<Connection> {
    await this.#turn(reader);
    try {
      const connection = await this.#pool.connect();
      const { release } = connection;
      // `pg` sets `release` again each time it hands out the connection.
      connection.release = (broken) => {
        release.call(connection, broken);
        this.#over(reader);
      };
      return connection;
    } catch (error) {
      this.#over(reader);
      throw error;
    }
  }

  #over({ workspaceId, isExport = false }: WorkspaceReader): void {
    if (isExport) this.#exports.splice(this.#exports.indexOf(workspaceId), 1);
    this.#queue.end(workspaceId);
    this.#beginNext();
  }

  #beginNext(): void {
    const mayBegin = ({ reader }: Waiting): boolean => this.#hasRoomFor(reader);
    for (
      let next = this.#queue.begin(mayBegin);
      next !== null;
      next = this.#queue.begin(mayBegin)
    ) {
      const { workspaceId, isExport = false } = next.reader;
      if (isExport) this.#exports.push(workspaceId);
      next.begin();
    }
  }

  #hasRoomFor({ workspaceId, isExport = false }: WorkspaceReader): boolean {
    if (!isExport) return true;
    const { exportsMax, workspaceExportsMax } = this.#limits;
    const own = this.#exports.filter((one) => one === workspaceId);
    return this.#exports.length < exportsMax && own.length < workspaceExportsMax;
  }

  async #turn(reader: WorkspaceReader): Promise<void> {
    const { workspaceId, signal } = reader;
    if (signal?.aborted === true) throw unawaited();
    const { waitMs } = this.#limits;
    await new Promise<void>((resolve, reject) => {
      const settle = (settled: () => void): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
        settled();
      };
      const waiting: Waiting = {
        reader,
        begin: () => settle(resolve),
        refuse: (error) => settle(() => reject(error)),
      };
      const giveUp = (error: Error): void => {
        this.#queue.remove(workspaceId, waiting);
        waiting.refuse(error);
      };
      const leave = (): void => giveUp(unawaited());
      const timer = setTimeout(() => giveUp(allInUse()), waitMs);
      signal?.addEventListener('abort', leave);
      this.#queue.add(workspaceId, waiting);
      this.#beginNext();
      this.#limitWaiting(waiting);
    });
  }

  /** If too many wait, refuses the newest reader, or one of the workspace with the most. */
  #limitWaiting(newest: Waiting): void {
    const { workspaceId } = newest.reader;
    const { waitingMax, workspaceWaitingMax } = this.#limits;
    const isTooMany = this.#queue.countOf(workspaceId) > workspaceWaitingMax;
    if (!isTooMany && this.#queue.size <= waitingMax) return;
    this.#queue.remove(workspaceId, newest);
    const other = isTooMany ? null : this.#queue.removeForOther(workspaceId);
    if (other !== null) this.#queue.add(workspaceId, newest);
    (other ?? newest).refuse(allInUse());
  }
}
