/**
 * A simple server that one could write in an afternoon, for comparison: Fastify parses the body,
 * `pg` inserts its spans in one statement and commits, then the request is answered. It stores the
 * same rows into the same table, and nothing else: no keys, limits, runs, resources, logs or
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
import { createHash } from 'node:crypto';
import Fastify from 'fastify';
import pg from 'pg';

interface AnyValue {
  readonly stringValue?: string;
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
}
interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}
interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly droppedAttributesCount?: number;
  readonly events: readonly unknown[];
  readonly droppedEventsCount?: number;
  readonly links: readonly unknown[];
  readonly droppedLinksCount?: number;
  readonly status?: { readonly code?: number; readonly message?: string };
  readonly traceState?: string;
  readonly flags?: number;
}
interface TraceExport {
  readonly resourceSpans: readonly {
    readonly resource: unknown;
    readonly scopeSpans: readonly { readonly scope: unknown; readonly spans: readonly Span[] }[];
  }[];
}

const WORKSPACE_ID = 1;
const BODY_BYTES_MAX = 64 * 1024 * 1024;
const POOL_CONNECTIONS = 10;

const COLUMNS = [
  'start_unix_nano',
  'end_unix_nano',
  'workspace_id',
  'arrived_on',
  'trace_id',
  'resource_id',
  'kind',
  'status_code',
  'flags',
  'dropped_attributes',
  'dropped_events',
  'dropped_links',
  'span_id',
  'parent_span_id',
  'name',
  'status_message',
  'trace_state',
  'attributes',
  'events',
  'links',
];
const WIDTH = COLUMNS.length;
/** PostgreSQL counts parameters in 16 bits. */
const ROWS_PER_STATEMENT = Math.floor(65_535 / WIDTH);

type Value = string | number | Buffer | null;
/** The values of all rows, one after the other, in the order of the columns. */
type Rows = Value[];

function plainValue({ stringValue, intValue, doubleValue, boolValue }: AnyValue): unknown {
  if (intValue !== undefined) return Number(intValue);
  return stringValue ?? doubleValue ?? boolValue ?? null;
}

function attributesOf(attributes: readonly KeyValue[]): string {
  const object: Record<string, unknown> = {};
  for (const { key, value } of attributes) object[key] = plainValue(value);
  return JSON.stringify(object);
}

function listOf(list: readonly unknown[]): string | null {
  return list.length === 0 ? null : JSON.stringify(list);
}

function rowsOf(body: TraceExport): Rows {
  const rows: Rows = [];
  const arrivedOn = new Date().toISOString().slice(0, 10);
  for (const { resource, scopeSpans } of body.resourceSpans) {
    for (const { scope, spans } of scopeSpans) {
      const origin = JSON.stringify([resource, scope]);
      const resourceId = createHash('md5').update(origin).digest('hex');
      for (const span of spans) {
        rows.push(
          span.startTimeUnixNano,
          span.endTimeUnixNano,
          WORKSPACE_ID,
          arrivedOn,
          span.traceId,
          resourceId,
          span.kind,
          span.status?.code ?? 0,
          span.flags || null,
          span.droppedAttributesCount || null,
          span.droppedEventsCount || null,
          span.droppedLinksCount || null,
          Buffer.from(span.spanId, 'hex'),
          span.parentSpanId === undefined ? null : Buffer.from(span.parentSpanId, 'hex'),
          span.name,
          span.status?.message || null,
          span.traceState || null,
          attributesOf(span.attributes),
          listOf(span.events),
          listOf(span.links),
        );
      }
    }
  }
  return rows;
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
    text: `INSERT INTO spans (${columns}) VALUES ${values}`,
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
  const rows = rowsOf(request.body as TraceExport);
  if (batchMs > 0) await insertBatched(rows, batchMs);
  else await insert(rows);
  return {};
});
const address = await server.listen({ host: '127.0.0.1', port: 0 });
process.send?.(address);
process.on('disconnect', () => process.exit());
