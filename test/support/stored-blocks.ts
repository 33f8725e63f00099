/** What blocks hold, read as any reader would. */
import type pg from 'pg';

import { readBlock, type StoredBlock } from '../../src/db/telemetry/block-codec.ts';
import { SIGNAL_NUMBERS } from '../../src/db/telemetry/blocks.ts';
import type { JsonObject } from '../../src/model/json.ts';
import type { Signal } from '../../src/model/telemetry.ts';

interface BlockRow extends StoredBlock {
  readonly workspaceId: number;
  readonly signal: number;
  readonly records: number;
}

export interface StoredLine {
  readonly workspaceId: number;
  /** an export request */
  readonly text: string;
}

type Reader = Pick<pg.Pool, 'query'>;

/** The blocks of a signal, in the order of their ids. */
export async function storedBlocks(database: Reader, signal: Signal): Promise<BlockRow[]> {
  const { rows } = await database.query<BlockRow>(
    `SELECT block_id::text AS id, workspace_id AS "workspaceId", signal, codec, bytes, records,
            checksum, data
       FROM blocks WHERE signal = $1 ORDER BY block_id`,
    [SIGNAL_NUMBERS[signal]],
  );
  return rows;
}

/** The lines of a signal. @throws UnreadableBlockError */
export async function storedLines(database: Reader, signal: Signal): Promise<StoredLine[]> {
  const lines: StoredLine[] = [];
  for (const block of await storedBlocks(database, signal)) {
    const text = (await readBlock(block)).toString();
    if (!text.endsWith('\n')) throw new Error('a line without its end');
    for (const line of text.slice(0, -1).split('\n')) {
      lines.push({ workspaceId: block.workspaceId, text: line });
    }
  }
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
