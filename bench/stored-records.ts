/** The records that a benchmark's database holds: spans, log records and data points. */
import { createHash } from 'node:crypto';
import type pg from 'pg';

import { SIGNAL_NUMBERS } from '../src/db/telemetry/blocks.ts';
import type { JsonObject } from '../src/model/json.ts';
import type { Signal } from '../src/model/telemetry.ts';
import { eachBlock, linesOf } from '../test/support/stored-blocks.ts';
import { recordsIn } from './request-records.ts';

/** How many records, and a sum over their contents in any order. */
export interface Contents {
  readonly rows: number;
  readonly sum: string;
}

/** Of older checkouts that are measured beside this one. */
const OLDER_TABLES = { traces: 'spans', logs: 'log_records', metrics: 'metric_points' } as const;
const BLOCK_TABLES = ['hot_blocks', 'hot_places', 'blocks', 'places', 'receipts'];

export async function presentTables(
  client: pg.Client,
  names: readonly string[],
): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL',
    [names],
  );
  return rows.map(({ name }) => name);
}

async function isInBlocks(client: pg.Client, signal: Signal): Promise<boolean> {
  // Data points are in blocks longer than places are there.
  const needed = signal === 'metrics' ? 'blocks' : 'places';
  return (await presentTables(client, [needed])).length > 0;
}

/** The tables that hold the records of a signal, and their receipts, without runs. */
export async function tablesOf(client: pg.Client, signal: Signal): Promise<string[]> {
  const inBlocks = await isInBlocks(client, signal);
  return await presentTables(client, inBlocks ? BLOCK_TABLES : [OLDER_TABLES[signal], 'receipts']);
}

export async function countRecords(
  client: pg.Client,
  signal: Signal,
  workspaceId: number | null = null,
): Promise<number> {
  const blocks = (await presentTables(client, ['hot_blocks'])).length > 0;
  const arrival = blocks && signal !== 'metrics' ? 'hot_blocks' : 'blocks';
  const [table, count, values] = (await isInBlocks(client, signal))
    ? [`${arrival} WHERE signal = $2`, 'coalesce(sum(records), 0)', [SIGNAL_NUMBERS[signal]]]
    : [`${OLDER_TABLES[signal]} WHERE true`, 'count(*)', []];
  const { rows } = await client.query<{ records: number }>(
    `SELECT ${count}::int AS records FROM ${table} AND ($1::int IS NULL OR workspace_id = $1)`,
    [workspaceId, ...values],
  );
  return rows[0]?.records ?? Number.NaN;
}

/** Adds up what requests hold, whichever of its records are in which request. */
class Sum {
  #rows = 0;
  #sum = 0n;

  add(signal: Signal, request: JsonObject): void {
    for (const record of recordsIn(signal, request)) {
      const hash = createHash('sha256').update(JSON.stringify(record)).digest();
      this.#sum += hash.readBigUInt64BE();
      this.#rows += 1;
    }
  }

  get contents(): Contents {
    return { rows: this.#rows, sum: String(this.#sum) };
  }
}

/** What requests hold. */
export function contentsOf(signal: Signal, bodies: Iterable<Buffer>): Contents {
  const sum = new Sum();
  for (const body of bodies) sum.add(signal, JSON.parse(body.toString()));
  return sum.contents;
}

/** What is stored; null in an older checkout's rows. */
export async function storedContents(client: pg.Client, signal: Signal): Promise<Contents | null> {
  if (!(await isInBlocks(client, signal))) return null;
  const sum = new Sum();
  for await (const block of eachBlock(client, signal)) {
    for (const { text } of await linesOf(block)) sum.add(signal, JSON.parse(text));
  }
  return sum.contents;
}

/** Collects the planner's statistics of everything that reads of runs use. */
export async function analyzeRecords(client: pg.Client): Promise<void> {
  const tables = [...(await tablesOf(client, 'traces')), ...(await tablesOf(client, 'logs'))];
  for (const table of new Set(tables)) await client.query(`ANALYZE ${table}`);
}
