/**
 * A simple server that one could write in an afternoon, for comparison: Fastify parses the body,
 * `pg` inserts its spans in one statement and commits, then the request is answered. It stores the
 * rows that raw COPY copies, and nothing else: no keys, limits, runs, resources, logs or
 * metrics, and no validation.
 *
 * One statement with a parameter per value is the fastest of the usual ways: arrays through
 * `unnest` took 1.4 times the CPU time of this process; one JSON text through `json_to_recordset`
 * 1.3 times, and 1.6 times PostgreSQL's (2026-11, 100 spans per body).
 *
 * `INSERT_BATCH_MS=10` collects the requests of ten milliseconds into one statement.
 *
 * Started by the benchmark (`bench/ingest/stage.ts`) as a separate process; sends its address to
 * its parent.
 */
import Fastify from 'fastify';
import pg from 'pg';

import type { JsonObject } from '../../src/model/json.ts';
import { rowsOf, type Value } from '../row-tables/rows.ts';
import { ROW_TABLES } from '../row-tables/tables.ts';

const BODY_BYTES_MAX = 64 * 1024 * 1024;
const POOL_CONNECTIONS = 10;

const { name: TABLE, columns: TYPES } = ROW_TABLES.traces;
const COLUMNS = Object.keys(TYPES);
const WIDTH = COLUMNS.length;
/** PostgreSQL counts parameters in 16 bits. */
const ROWS_PER_STATEMENT = Math.floor(65_535 / WIDTH);
const BYTES_COLUMNS = Object.values(TYPES).flatMap((type, place) =>
  type === 'bytea' ? [place] : [],
);

/** The values of all rows, one after the other, in the order of the columns. */
type Rows = (Value | Buffer)[];

function valuesOf(request: JsonObject): Rows {
  const values: Rows = [];
  const arrivedOn = new Date().toISOString().slice(0, 10);
  for (const row of rowsOf('traces', request, arrivedOn)) {
    const first = values.length;
    values.push(...row);
    for (const place of BYTES_COLUMNS) {
      const digits = row[place];
      if (typeof digits === 'string') values[first + place] = Buffer.from(digits, 'hex');
    }
  }
  return values;
}

const statements = new Map<number, pg.QueryConfig>();

/** Prepared once per connection for each count of rows. */
function statementFor(count: number): pg.QueryConfig {
  const known = statements.get(count);
  if (known !== undefined) return known;
  const row = (index: number): string =>
    `(${Array.from({ length: WIDTH }, (_, column) => `$${index * WIDTH + column + 1}`).join(',')})`;
  const values = Array.from({ length: count }, (_, index) => row(index)).join(',');
  const columns = COLUMNS.join(', ');
  const made = {
    name: `insert-${count}`,
    text: `INSERT INTO ${TABLE} (${columns}) VALUES ${values}`,
  };
  statements.set(count, made);
  return made;
}

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: POOL_CONNECTIONS,
});

/** One statement is a transaction of its own; more than fit into one are put into one. */
async function insert(rows: Rows): Promise<void> {
  const step = ROWS_PER_STATEMENT * WIDTH;
  if (rows.length <= step) {
    await pool.query({ ...statementFor(rows.length / WIDTH), values: rows });
    return;
  }
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    for (let at = 0; at < rows.length; at += step) {
      const part = rows.slice(at, at + step);
      await client.query({ ...statementFor(part.length / WIDTH), values: part });
    }
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}

let batch: { readonly rows: Rows; readonly stored: Promise<void> } | null = null;

/** Joins the batch that is open, or opens one that closes after `milliseconds`. */
async function insertBatched(rows: Rows, milliseconds: number): Promise<void> {
  if (batch === null) {
    const collected: Rows = [];
    const stored = new Promise<void>((resolve, reject) => {
      setTimeout(() => {
        batch = null;
        insert(collected).then(resolve, reject);
      }, milliseconds);
    });
    batch = { rows: collected, stored };
  }
  for (const value of rows) batch.rows.push(value);
  await batch.stored;
}

const batchMs = Number(process.env.INSERT_BATCH_MS ?? 0);
const server = Fastify({ bodyLimit: BODY_BYTES_MAX });
server.post('/v1/traces', async (request) => {
  const rows = valuesOf(request.body as JsonObject);
  if (batchMs > 0) await insertBatched(rows, batchMs);
  else await insert(rows);
  return {};
});
const address = await server.listen({ host: '127.0.0.1', port: 0 });
process.send?.(address);
process.on('disconnect', () => process.exit());
