/**
 * A database with the migrations' tables for one variant, what is stored into it and read from it. The
 * rows go in by `storeBatch`, as in the server, and are counted after every measurement.
 */
import pg from 'pg';
import { createDatabase, type Database, withConnection } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { type RunToRead, readStepsOfRuns } from '../../src/db/runs/steps.ts';
import { KnownContents, storeBatch } from '../../src/db/telemetry/copy-transaction.ts';
import type { EncodedRequest } from '../../src/db/telemetry/encoded-request.ts';
import { ensureDay, utcDay } from '../../src/db/telemetry/partitions.ts';
import { VoidRun } from '../harness.ts';
import type { StoreServer } from './server.ts';

const POOL_MAX = 6;
const BATCH_TIMEOUT_MS = 60_000;
/** as many as a task of the pass has */
const RUNS_AT_A_TIME = 64;

export interface Stored {
  readonly seconds: number;
  readonly walBytes: number;
}

export class StoreDatabase {
  readonly database: Database;
  /** today's table of spans */
  readonly spans: string;

  private constructor(url: string) {
    this.database = createDatabase(url, POOL_MAX, { connectionLost: () => undefined });
    this.spans = `spans_${utcDay(Date.now()).replaceAll('-', '_')}`;
  }

  /**
   * Makes a database with the whole schema and today's partitions.
   *
   * @param adapt statements of the variant; `SPANS` stands for today's table of spans
   * @param template a database to copy instead, which nobody is connected to
   */
  static async make(
    server: StoreServer,
    name: string,
    adapt: readonly string[] = [],
    template: string | null = null,
  ): Promise<StoreDatabase> {
    const client = new pg.Client({ connectionString: server.url('postgres') });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query(
        `CREATE DATABASE ${name}${template === null ? '' : ` TEMPLATE ${template}`}`,
      );
    } finally {
      await client.end();
    }
    const made = new StoreDatabase(server.url(name));
    await migrate(made.database);
    await ensureDay(made.database, Date.now());
    for (const statement of adapt) await made.query(statement.replaceAll('SPANS', made.spans));
    return made;
  }

  async query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
    return (await this.database.query<Row>(sql)).rows;
  }

  async number(expression: string): Promise<number> {
    const [row] = await this.query<{ value: string }>(`SELECT (${expression})::text AS value`);
    return Number(row?.value);
  }

  /** Takes all rows away and lets the server finish what it does about the ones before. */
  async empty(): Promise<void> {
    await this.query(`TRUNCATE spans, log_records, metric_points, runs, resources`);
    await this.query('CHECKPOINT');
  }

  /**
   * Stores batches over one connection, one after the other.
   *
   * @throws {VoidRun} when other than `rows` rows are there afterwards beside those of before
   */
  async store(batches: readonly (readonly EncodedRequest[])[], rows: number): Promise<Stored> {
    const before = await this.number('SELECT count(*) FROM spans');
    const wal = await this.number(`SELECT pg_current_wal_insert_lsn() - '0/0'`);
    const known = new KnownContents();
    const startedAt = performance.now();
    await withConnection(this.database, BATCH_TIMEOUT_MS, async (connection) => {
      for (const batch of batches) await storeBatch(connection, batch, known);
    });
    const seconds = (performance.now() - startedAt) / 1000;
    const walBytes = (await this.number(`SELECT pg_current_wal_insert_lsn() - '0/0'`)) - wal;
    await this.requireRows(before + rows);
    return { seconds, walBytes };
  }

  async requireRows(expected: number): Promise<void> {
    const stored = await this.number('SELECT count(*) FROM spans');
    if (stored !== expected) throw new VoidRun(`${stored} of ${expected} rows are stored`);
  }

  /** Bytes of today's spans on disk, with TOAST and indexes. */
  bytesOnDisk(): Promise<number> {
    return this.number(`SELECT pg_total_relation_size('${this.spans}')`);
  }

  /**
   * Reads all runs as the pass does.
   *
   * @returns seconds
   * @throws {VoidRun} when other than `rows` steps were read
   */
  async readAll(rows: number): Promise<number> {
    let runs = await this.query<RunToRead>(
      `SELECT workspace_id AS "workspaceId", run_id AS "runId",
              first_arrival_at::date::text AS "firstArrivalOn",
              last_arrival_at::date::text AS "lastArrivalOn" FROM runs ORDER BY run_id`,
    );
    let steps = 0;
    const startedAt = performance.now();
    while (runs.length > 0) {
      const read = await readStepsOfRuns(this.database, runs.slice(0, RUNS_AT_A_TIME));
      for (const one of read) steps += one?.steps.length ?? 0;
      if (read.length === 0) break;
      runs = runs.slice(read.length);
    }
    const seconds = (performance.now() - startedAt) / 1000;
    if (steps !== rows) throw new VoidRun(`${steps} of ${rows} steps were read`);
    return seconds;
  }

  async close(): Promise<void> {
    await this.database.end();
  }
}

/** Requests in batches of at most so many bytes, as the writer takes them. */
export function batchesOf(
  requests: readonly EncodedRequest[],
  bytesMax: number,
): EncodedRequest[][] {
  const batches: EncodedRequest[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const request of requests) {
    if (bytes + request.bytes > bytesMax) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)?.push(request);
    bytes += request.bytes;
  }
  return batches;
}
