/** What a stored row consists of, in bytes: how much could be saved by narrower columns at all. */
import { batchesOf, StoreDatabase } from './database.ts';
import type { RowKind } from './prompts.ts';
import type { StoreServer } from './server.ts';

const BATCH_BYTES = 8 * 1024 * 1024;
const DOCUMENTS = ['attributes', 'events', 'links'];
const TEXTS = ['name', 'status_message', 'trace_state'];

/** Bytes per row. */
export interface RowParts {
  /** all of it, with its share of pages and indexes */
  readonly onDisk: number;
  readonly row: number;
  readonly documents: number;
  readonly texts: number;
  /** times, ids, numbers, and the row's header */
  readonly rest: number;
  readonly index: number;
  /** what a resource with its scope would take in each row if it were not stored once */
  readonly resource: number;
}

const sizes = (columns: readonly string[]): string =>
  columns.map((column) => `coalesce(pg_column_size(${column}), 0)`).join(' + ');

/** The parts of an ordinary span. */
export async function rowParts(
  server: StoreServer,
  { requests, rows }: RowKind,
): Promise<RowParts> {
  const database = await StoreDatabase.make(server, 'store_rows');
  await database.store(batchesOf(requests, BATCH_BYTES), rows);
  const perRow = async (value: string) =>
    Number(
      (await database.number(`SELECT avg(${value}) FROM ${database.spans} AS span`)).toFixed(1),
    );
  const row = await perRow('pg_column_size(span)');
  const documents = await perRow(sizes(DOCUMENTS));
  const texts = await perRow(sizes(TEXTS));
  const parts = {
    onDisk: Math.round((await database.bytesOnDisk()) / rows),
    row,
    documents,
    texts,
    rest: Number((row - documents - texts).toFixed(1)),
    index: Math.round(
      (await database.number(`SELECT pg_indexes_size('${database.spans}')`)) / rows,
    ),
    resource: await database.number('SELECT max(pg_column_size(resources)) FROM resources'),
  };
  await database.close();
  return parts;
}
