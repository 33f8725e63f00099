/** What blocks hold, read as any reader would. */
import type pg from 'pg';

import { readBlock, type StoredBlock } from '../../src/db/telemetry/block-codec.ts';
import { SIGNAL_NUMBERS } from '../../src/db/telemetry/blocks.ts';
import type { JsonObject } from '../../src/model/json.ts';
import type { Signal } from '../../src/model/telemetry.ts';

export interface BlockRow extends StoredBlock {
  readonly workspaceId: number;
  readonly signal: number;
  readonly records: number;
}

export interface StoredLine {
  readonly workspaceId: number;
  /** an export request */
  readonly text: string;
}

export type Reader = Pick<pg.Pool, 'query'>;

/** Blocks read at a time. */
const PAGE_BLOCKS = 16;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/** The blocks of a signal, in the order of their ids, with a page of them in memory. */
export async function* eachBlock(database: Reader, signal: Signal): AsyncGenerator<BlockRow> {
  let after = BEFORE_ALL;
  for (;;) {
    const { rows } = await database.query<BlockRow>(
      `SELECT block_id::text AS id, workspace_id AS "workspaceId", signal, codec, bytes, records,
              checksum, data
         FROM blocks WHERE signal = $1 AND block_id > $2 ORDER BY block_id LIMIT ${PAGE_BLOCKS}`,
      [SIGNAL_NUMBERS[signal], after],
    );
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_BLOCKS) return;
    after = last.id;
  }
}

/** The blocks of a signal, in the order of their ids. */
export async function storedBlocks(database: Reader, signal: Signal): Promise<BlockRow[]> {
  const blocks: BlockRow[] = [];
  for await (const block of eachBlock(database, signal)) blocks.push(block);
  return blocks;
}

/** The lines of a block. @throws UnreadableBlockError */
export async function linesOf(block: BlockRow): Promise<StoredLine[]> {
  const text = (await readBlock(block)).toString();
  if (!text.endsWith('\n')) throw new Error('a line without its end');
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => ({ workspaceId: block.workspaceId, text: line }));
}

/** The lines of a signal. @throws UnreadableBlockError */
export async function storedLines(database: Reader, signal: Signal): Promise<StoredLine[]> {
  const lines: StoredLine[] = [];
  for await (const block of eachBlock(database, signal)) lines.push(...(await linesOf(block)));
  return lines;
}

/** The number of records in all blocks of a signal. */
export async function storedRecords(database: Reader, signal: Signal): Promise<number> {
  return (await storedBlocks(database, signal)).reduce((sum, { records }) => sum + records, 0);
}

/** A data point with what encloses it. */
export interface StoredPoint {
  readonly workspaceId: number;
  readonly service: string | null;
  readonly scope: string;
  /** without its data */
  readonly metric: JsonObject;
  /** the member of the metric that has its data */
  readonly kind: string;
  /** without its points */
  readonly data: JsonObject;
  readonly point: JsonObject;
}

const KINDS = ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary'];

/** Every stored data point. Numbers are those of `JSON.parse`. */
export async function storedPoints(database: Reader): Promise<StoredPoint[]> {
  const points: StoredPoint[] = [];
  for (const { workspaceId, text } of await storedLines(database, 'metrics')) {
    for (const { resource, scopeMetrics } of JSON.parse(text).resourceMetrics) {
      const attributes: { key: string; value: JsonObject }[] = resource?.attributes ?? [];
      const name = attributes.find(({ key }) => key === 'service.name')?.value.stringValue;
      for (const { scope, metrics } of scopeMetrics) {
        for (const item of metrics) {
          const kind = KINDS.find((one) => item[one]) ?? '';
          const { [kind]: values, ...metric } = item;
          const { dataPoints, ...data } = values;
          for (const point of dataPoints) {
            const service = typeof name === 'string' ? name : null;
            const within = { workspaceId, service, scope: scope?.name ?? '' };
            points.push({ ...within, metric, kind, data, point });
          }
        }
      }
    }
  }
  return points;
}
