/**
 * For comparison: the rows that Sluice stored for a load, copied again by a bare client, in binary
 * form, with Sluice's statement, into the same tables; data points as rows (`point-rows.ts`). Each connection copies its rows and the rows
 * of their runs in one transaction.
 *
 * It does not listen, read HTTP, inflate, decode, check keys and limits, store resources, join runs to those that are there (it inserts them), commit more than once,
 * acknowledge anything before all of it is stored.
 */

import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';

import { copyStatement } from '../../src/db/telemetry/copy-statement.ts';
import { TABLE_COLUMNS } from '../../src/model/columns.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { VoidRun } from '../harness.ts';
import type { Measured } from './measured.ts';
import { fillPointRows, POINT_ROWS, rowContents } from './point-rows.ts';
import { type Contents, clear, contentsOf, measureWork, type Stage, TABLES } from './stage.ts';

/** More than a socket takes at once, so that the client is not the bottleneck. */
const CHUNK_BYTES = 256 * 1024;

interface Part {
  readonly statement: string;
  readonly chunks: readonly Buffer[];
}

/**
 * Rows in COPY form, by how many connections they are split over: `parts[n]` is for one of them.
 */
export interface RawRows {
  readonly signal: Signal;
  /** as Sluice stores them */
  readonly contents: Contents;
  /** as they are in the table into which they are copied */
  readonly copied: Contents;
  readonly bytes: number;
  readonly parts: readonly (readonly Part[])[];
}

/** The rows of a query as binary COPY, in pieces of CHUNK_BYTES. */
async function copyOut(client: pg.Client, query: string): Promise<Buffer[]> {
  const stream = client.query(copyTo(`COPY (${query}) TO STDOUT (FORMAT binary)`));
  const all = Buffer.concat(await stream.toArray());
  const count = Math.ceil(all.length / CHUNK_BYTES);
  return Array.from({ length: count }, (_, index) =>
    all.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
  );
}

/** Reads the stored rows into memory, with whole runs for each connection. */
export async function captureRows(
  stage: Stage,
  signal: Signal,
  connections: number,
): Promise<RawRows> {
  if (signal === 'metrics') return await capturePoints(stage);
  const table = TABLES[signal];
  const parts: Part[][] = [];
  let bytes = 0;
  for (let part = 0; part < connections; part += 1) {
    const only = (id: string): string =>
      connections === 1 ? '' : ` WHERE abs(hashtext(${id}::text)) % ${connections} = ${part}`;
    const rows = `SELECT ${Object.keys(TABLE_COLUMNS[table]).join(', ')} FROM ${table}${only('trace_id')}`;
    const runs = `SELECT * FROM runs${only('run_id')}`;
    const made = [
      {
        statement: copyStatement(table),
        chunks: await copyOut(stage.client, rows),
      },
      {
        statement: 'COPY runs FROM STDIN (FORMAT binary)',
        chunks: await copyOut(stage.client, runs),
      },
    ];
    for (const { chunks } of made) for (const { length } of chunks) bytes += length;
    parts.push(made);
  }
  const contents = await contentsOf(stage, signal);
  return { signal, contents, copied: contents, bytes, parts };
}

/** The data points in blocks, as rows. */
async function capturePoints(stage: Stage): Promise<RawRows> {
  const { client } = stage;
  await fillPointRows(client);
  const chunks = await copyOut(client, `SELECT * FROM ${POINT_ROWS}`);
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  const statement = `COPY ${POINT_ROWS} FROM STDIN (FORMAT binary)`;
  const contents = await contentsOf(stage, 'metrics');
  const copied = await rowContents(client, POINT_ROWS);
  return { signal: 'metrics', contents, copied, bytes, parts: [[{ statement, chunks }]] };
}

async function copyPart(client: pg.Client, parts: readonly Part[]): Promise<void> {
  await client.query('BEGIN');
  for (const { statement, chunks } of parts) {
    await pipeline(chunks, client.query(copyFrom(statement)));
  }
  await client.query('COMMIT');
}

/** Copies the rows into empty tables. @throws {VoidRun} when other rows are stored */
export async function measureRaw(stage: Stage, raw: RawRows): Promise<Measured> {
  const isOfPoints = raw.signal === 'metrics';
  if (isOfPoints) await stage.client.query(`TRUNCATE ${POINT_ROWS}`);
  await clear(stage);
  const clients = raw.parts.map(
    () => new pg.Client({ connectionString: stage.server.databaseUrl }),
  );
  try {
    for (const client of clients) await client.connect();
    const pids = { serverPid: null, clientPid: process.pid };
    const table = isOfPoints ? POINT_ROWS : TABLES[raw.signal];
    const measured = await measureWork(stage, table, pids, async () => {
      const startedAt = performance.now();
      await Promise.all(clients.map((client, place) => copyPart(client, raw.parts[place] ?? [])));
      const seconds = (performance.now() - startedAt) / 1000;
      return { rows: raw.contents.rows, bytes: raw.bytes, seconds };
    });
    const stored = isOfPoints
      ? await rowContents(stage.client, POINT_ROWS)
      : await contentsOf(stage, raw.signal);
    if (stored.rows !== raw.copied.rows || stored.sum !== raw.copied.sum) {
      throw new VoidRun(`${stored.rows} rows stored, ${raw.contents.rows} copied, or others`);
    }
    return measured;
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}
