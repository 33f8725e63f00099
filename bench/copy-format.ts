/**
 * Text or binary COPY, json or jsonb attributes? The same spans into tables that differ in nothing
 * else, in both forms, one connection, one transaction each.
 */
import pg from 'pg';

import { traceBody } from './bodies.ts';
import { compare, type Result, VoidRun } from './harness.ts';
import { sendAll } from './load.ts';
import { type CopyForm, copyIn, copyOut } from './raw-copy.ts';
import { startServer } from './server-under-test.ts';

const SPANS_PER_BODY = 100;
const BODIES = 300;
const ROUNDS = 5;
const SPANS = BODIES * SPANS_PER_BODY;

type AttributeType = 'json' | 'jsonb' | 'text';

const ATTRIBUTE_TYPES: readonly AttributeType[] = ['json', 'jsonb', 'text'];
const FORMS: readonly CopyForm[] = ['text', 'binary'];

/** A table like `spans`, index included, with another type for the attributes. */
async function makeTable(client: pg.Client, type: AttributeType): Promise<string> {
  const table = `bench_spans_${type}`;
  await client.query(`CREATE TABLE ${table} (LIKE spans INCLUDING DEFAULTS)`);
  for (const column of ['attributes', 'events', 'links']) {
    await client.query(
      `ALTER TABLE ${table} ALTER COLUMN ${column} TYPE ${type} USING ${column}::${type}`,
    );
  }
  await client.query(`CREATE INDEX ON ${table} (workspace_id, trace_id)`);
  await client.query(`INSERT INTO ${table} ${castSelect(type)}`);
  return table;
}

/** All columns of `spans`, the three document columns cast. */
function castSelect(type: AttributeType): string {
  return (
    'SELECT start_unix_nano, end_unix_nano, workspace_id, arrived_on, trace_id, resource_id, kind, ' +
    'status_code, flags, dropped_attributes, dropped_events, dropped_links, span_id, ' +
    'parent_span_id, name, status_message, trace_state, ' +
    `attributes::${type}, events::${type}, links::${type} FROM spans`
  );
}

async function measure(
  client: pg.Client,
  table: string,
  chunks: readonly Buffer[],
  form: CopyForm,
): Promise<number> {
  await client.query(`TRUNCATE ${table}`);
  await client.query('CHECKPOINT');
  const seconds = await copyIn(client, table, chunks, form);
  const { rows } = await client.query<{ count: string }>(`SELECT count(*) FROM ${table}`);
  if (Number(rows[0]?.count) !== SPANS) throw new VoidRun(`${rows[0]?.count} of ${SPANS} stored`);
  return SPANS / seconds;
}

async function compareForms(client: pg.Client): Promise<Result> {
  const variants = [];
  for (const type of ATTRIBUTE_TYPES) {
    const table = await makeTable(client, type);
    for (const form of FORMS) {
      const chunks = await copyOut(client, `SELECT * FROM ${table}`, form);
      variants.push({
        name: `${type}, ${form}`,
        measure: () => measure(client, table, chunks, form),
      });
    }
  }
  return await compare(
    {
      name: 'copy-format',
      question: 'Rows per second by COPY form and type of the attribute columns',
      unit: 'rows/s',
      yardstick: 'jsonb, text',
      rounds: ROUNDS,
    },
    variants,
  );
}

/** Runs the benchmark. */
export async function copyFormat(): Promise<Result> {
  const server = await startServer();
  const client = new pg.Client({ connectionString: server.databaseUrl });
  try {
    await client.connect();
    const bodies = Array.from({ length: BODIES }, (_, index) =>
      traceBody(index + 1, SPANS_PER_BODY),
    );
    await sendAll(new URL('/v1/traces', server.observeUrl), server.agentKey, bodies, 4);
    return await compareForms(client);
  } finally {
    await client.end();
    await server.close();
  }
}
