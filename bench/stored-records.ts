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

/** The tables that hold records, and their receipts, without runs. */
export const RECORD_TABLES = ['hot_blocks', 'hot_places', 'blocks', 'places', 'receipts'];

export async function countRecords(
  client: pg.Client,
  signal: Signal,
  workspaceId: number | null = null,
): Promise<number> {
  const table = signal === 'metrics' ? 'blocks' : 'hot_blocks';
  const { rows } = await client.query<{ records: number }>(
    `SELECT coalesce(sum(records), 0)::int AS records FROM ${table}
      WHERE signal = $1 AND ($2::int IS NULL OR workspace_id = $2)`,
    [SIGNAL_NUMBERS[signal], workspaceId],
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

export async function storedContents(client: pg.Client, signal: Signal): Promise<Contents> {
  const sum = new Sum();
  for await (const block of eachBlock(client, signal)) {
    for (const { text } of await linesOf(block)) sum.add(signal, JSON.parse(text));
  }
  return sum.contents;
}

/** Collects the planner's statistics of everything that reads of runs use. */
export async function analyzeRecords(client: pg.Client): Promise<void> {
  await client.query(`ANALYZE ${RECORD_TABLES.join(', ')}`);
}
