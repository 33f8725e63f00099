/**
 * For comparison: the records of a load as rows (`bench/row-tables/`), copied by a bare client in binary
 * form. Each connection copies its rows and the rows of their runs in one transaction.
 *
 * It does not listen, read HTTP, inflate, decode, check keys and limits, store resources, join runs to those
 * that are there (it inserts them), commit more than once, acknowledge anything before all of it is stored.
 */

import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';

import { VoidRun } from '../harness.ts';
import { COPY_HEADER, COPY_TRAILER, encodeRow, fieldOf, rowsIn } from '../row-tables/copy-bytes.ts';
import { rowsOf } from '../row-tables/rows.ts';
import {
  emptyRowTables,
  ROW_RUNS,
  ROW_TABLES,
  type RowTable,
  rowContents,
} from '../row-tables/tables.ts';
import type { Contents } from '../stored-records.ts';
import type { Measured } from './measured.ts';
import { type BodyKind, bodyOf } from './requests.ts';
import { clear, measureWork, type Stage } from './stage.ts';

/** More than a socket takes at once, so that the client is not the bottleneck. */
const CHUNK_BYTES = 256 * 1024;
/** Any day: one partition takes all of them. */
const ARRIVED_ON = '2026-01-01';

interface Part {
  readonly statement: string;
  readonly bytes: Buffer;
  /** where the ids of runs are in it: the first four bytes of each */
  readonly stamps: readonly Buffer[];
}

/**
 * Rows in COPY form, by how many connections they are split over: `parts[n]` is for one of them.
 */
export interface RawRows {
  readonly table: RowTable;
  /** as they are in the table into which they are copied */
  readonly contents: Contents;
  readonly bytes: number;
  readonly parts: readonly (readonly Part[])[];
}

const copyStatement = (table: string, columns: readonly string[]): string =>
  `COPY ${table} (${columns.join(', ')}) FROM STDIN (FORMAT binary)`;

/** Splits rows over connections by the id of their run. @param place of the id; -1: there is none */
function partsOf(
  statement: string,
  rows: readonly Buffer[],
  place: number,
  connections: number,
): Part[] {
  return Array.from({ length: connections }, (_, connection) => {
    const own = rows.filter(
      (row) => connections === 1 || (fieldOf(row, place)[0] ?? 0) % connections === connection,
    );
    const bytes = Buffer.concat([COPY_HEADER, ...own, COPY_TRAILER]);
    const stamps = place === -1 ? [] : [...rowsIn(bytes)].map((row) => fieldOf(row, place));
    return { statement, bytes, stamps: stamps.map((id) => id.subarray(0, 4)) };
  });
}

/** The runs that are stored. */
async function runParts(client: pg.Client, connections: number): Promise<Part[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT attname::text AS name FROM pg_attribute
      WHERE attrelid = 'runs'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
  );
  const names = rows.map(({ name }) => name);
  const select = `COPY (SELECT ${names.join(', ')} FROM runs) TO STDOUT (FORMAT binary)`;
  const copied = Buffer.concat(await client.query(copyTo(select)).toArray());
  const statement = copyStatement(ROW_RUNS, names);
  return partsOf(statement, [...rowsIn(copied)], names.indexOf('run_id'), connections);
}

/** Encodes the records of a load whose runs are stored. */
export async function encodeRows(
  { client }: Stage,
  kind: BodyKind,
  bodies: number,
  connections: number,
): Promise<RawRows> {
  const table = ROW_TABLES[kind.signal];
  const columns = Object.keys(table.columns);
  const rows: Buffer[] = [];
  for (let seed = 1; seed <= bodies; seed += 1) {
    const request = JSON.parse(bodyOf(kind, seed).toString());
    for (const row of rowsOf(kind.signal, request, ARRIVED_ON)) rows.push(encodeRow(table, row));
  }
  const statement = copyStatement(table.name, columns);
  const own = partsOf(statement, rows, columns.indexOf('trace_id'), connections);
  const ofRuns = kind.signal === 'metrics' ? [] : await runParts(client, connections);
  const parts = own.map((part, connection) => [part, ...ofRuns.slice(connection, connection + 1)]);
  const bytes = parts.flat().reduce((sum, part) => sum + part.bytes.length, 0);
  await emptyRowTables(client);
  for (const part of parts) await copyPart(client, part);
  const contents = await rowContents(client, table);
  await emptyRowTables(client);
  if (contents.rows !== rows.length) {
    throw new VoidRun(`${contents.rows} rows stored, ${rows.length} copied`);
  }
  return { table, contents, bytes, parts };
}

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

async function copyPart(client: pg.Client, parts: readonly Part[]): Promise<void> {
  await client.query('BEGIN');
  for (const { statement, bytes } of parts) {
    await pipeline(chunksOf(bytes), client.query(copyFrom(statement)));
  }
  await client.query('COMMIT');
}

async function withClients<T>(
  stage: Stage,
  count: number,
  work: (clients: readonly pg.Client[]) => Promise<T>,
): Promise<T> {
  const clients = Array.from(
    { length: count },
    () => new pg.Client({ connectionString: stage.server.databaseUrl }),
  );
  try {
    for (const client of clients) await client.connect();
    return await work(clients);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

/** Copies the rows into empty tables. @throws {VoidRun} when other rows are stored */
export async function measureRaw(stage: Stage, raw: RawRows): Promise<Measured> {
  await clear(stage);
  const measured = await withClients(stage, raw.parts.length, (clients) => {
    const pids = { serverPid: null, clientPid: process.pid };
    return measureWork(stage, [raw.table.name], pids, async () => {
      const startedAt = performance.now();
      await Promise.all(clients.map((client, place) => copyPart(client, raw.parts[place] ?? [])));
      const seconds = (performance.now() - startedAt) / 1000;
      return { rows: raw.contents.rows, bytes: raw.bytes, seconds };
    });
  });
  const stored = await rowContents(stage.client, raw.table);
  if (stored.rows !== raw.contents.rows || stored.sum !== raw.contents.sum) {
    throw new VoidRun(`${stored.rows} rows stored, ${raw.contents.rows} copied, or others`);
  }
  return measured;
}

/** Gives all rows other runs, the same one where it was the same. */
function stampParts(parts: readonly Part[], number: number): void {
  for (const { stamps } of parts) for (const id of stamps) id.writeUInt32BE(number >>> 0);
}

/**
 * Copies the rows again and again for so long, each time as other runs and in one transaction.
 *
 * @throws {VoidRun} when another number of rows is stored
 */
export async function measureRawSustained(
  stage: Stage,
  raw: RawRows,
  seconds: number,
): Promise<Measured> {
  await clear(stage);
  let copies = 0;
  const measured = await withClients(stage, raw.parts.length, (clients) => {
    const pids = { serverPid: null, clientPid: process.pid };
    return measureWork(stage, [raw.table.name], pids, async () => {
      const startedAt = performance.now();
      const elapsed = (): number => (performance.now() - startedAt) / 1000;
      while (elapsed() < seconds) {
        copies += 1;
        for (const parts of raw.parts) stampParts(parts, copies);
        await Promise.all(clients.map((client, place) => copyPart(client, raw.parts[place] ?? [])));
      }
      const rows = copies * raw.contents.rows;
      return { rows, bytes: copies * raw.bytes, seconds: elapsed() };
    });
  });
  const { rows } = await stage.client.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM ${raw.table.name}`,
  );
  if (rows[0]?.n !== measured.rows) {
    throw new VoidRun(`${rows[0]?.n} rows stored, ${measured.rows} copied`);
  }
  return measured;
}
