/** What blocks hold, read as any reader would. */
import type pg from 'pg';

import { SIGNAL_NUMBERS } from '../../src/db/telemetry/blocks.ts';
import {
  HOT_TEXT_COLUMNS,
  readText,
  TEXT_COLUMNS,
  type TextRow,
} from '../../src/db/telemetry/stored-blocks.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { decodeRanges } from '../../src/model/record-ranges.ts';
import type { Signal } from '../../src/model/telemetry.ts';

export interface BlockRow extends TextRow {
  readonly workspaceId: number;
  readonly signal: number;
  readonly records: number;
  readonly arrivedOn: string;
}

export interface StoredLine {
  readonly workspaceId: number;
  /** an export request */
  readonly text: string;
}

export type Reader = Pick<pg.Pool, 'query'>;

type BlockTable = 'hot_blocks' | 'blocks';
const COLUMNS: Readonly<Record<BlockTable, string>> = {
  hot_blocks: `${HOT_TEXT_COLUMNS}, NULL::bytea AS narrow`,
  blocks: `${TEXT_COLUMNS}, narrow`,
};

/** The table that gets a signal. */
const arrivalTable = (signal: Signal): BlockTable =>
  signal === 'metrics' ? 'blocks' : 'hot_blocks';

/** Blocks read at a time. */
const PAGE_BLOCKS = 16;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/** The blocks of a signal, by default as it arrived, in the order of their ids, with a page of them in memory. */
export async function* eachBlock(
  database: Reader,
  signal: Signal,
  table: BlockTable = arrivalTable(signal),
): AsyncGenerator<BlockRow> {
  let after = BEFORE_ALL;
  for (;;) {
    const { rows } = await database.query<BlockRow>(
      `SELECT block_id::text AS id, workspace_id AS "workspaceId", signal, records,
              arrived_on::text AS "arrivedOn", ${COLUMNS[table]}, data
         FROM ${table} WHERE signal = $1 AND block_id > $2 ORDER BY block_id LIMIT ${PAGE_BLOCKS}`,
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
  const text = (await readText(block)).toString();
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

/** The number of records in all blocks of a signal, as the rows of the blocks say. */
export async function storedRecords(
  database: Reader,
  signal: Signal,
  workspaceId?: number,
): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    `SELECT coalesce(sum(records), 0)::int AS n FROM ${arrivalTable(signal)}
      WHERE signal = $1 AND workspace_id = coalesce($2, workspace_id)`,
    [SIGNAL_NUMBERS[signal], workspaceId ?? null],
  );
  return rows[0]?.n ?? 0;
}

/** Text members of spans and log records that tests look at; a record has others, too. */
export interface SentMembers {
  readonly name?: string;
  readonly eventName?: string;
  readonly traceId?: string;
  readonly spanId?: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano?: string;
  readonly timeUnixNano?: string;
  readonly severityText?: string;
}

/** A span or log record with its origin. Numbers are those of `JSON.parse`. */
export interface StoredRecord {
  readonly workspaceId: number;
  readonly blockId: string;
  readonly ordinal: number;
  readonly arrivedOn: string;
  /** null for a log record without a run */
  readonly runId: string | null;
  readonly service: string | null;
  readonly resource: JsonObject;
  readonly scope: JsonObject;
  readonly record: JsonObject & SentMembers;
}

const LISTS = {
  traces: ['resourceSpans', 'scopeSpans', 'spans'],
  logs: ['resourceLogs', 'scopeLogs', 'logRecords'],
} as const;

type Origin = Pick<StoredRecord, 'service' | 'resource' | 'scope'>;

function* recordsOfLine(
  text: string,
  [resources, scopes, records]: (typeof LISTS)[keyof typeof LISTS],
): Generator<Origin & Pick<StoredRecord, 'record'>> {
  for (const { resource, [scopes]: own } of JSON.parse(text)[resources] ?? []) {
    const service = textAttribute(resource ?? {}, 'service.name') ?? null;
    for (const { scope, [records]: list } of own ?? []) {
      for (const record of list ?? []) {
        yield { service, resource: resource ?? {}, scope: scope ?? {}, record };
      }
    }
  }
}

/** The text of an attribute of a record, resource or scope. */
export function textAttribute(of: JsonObject, key: string): string | undefined {
  const attributes = (of.attributes ?? []) as { key: string; value?: { stringValue?: string } }[];
  return attributes.find((one) => one.key === key)?.value?.stringValue;
}

/** A block and the ordinal of a record. */
export type Address = `${string}/${number}`;

/** The run of each record that has one. */
export async function runsOfRecords(database: Reader): Promise<Map<Address, string>> {
  const { rows } = await database.query<{ blockId: string; runId: string; records: Buffer }>(
    `SELECT block_id::text AS "blockId", replace(run_id::text, '-', '') AS "runId", records
       FROM hot_places`,
  );
  const runs = new Map<Address, string>();
  for (const { blockId, runId, records } of rows) {
    const ranges = decodeRanges(records);
    for (let at = 0; at < ranges.length; at += 2) {
      const [start = 0, end = 0] = ranges.slice(at, at + 2);
      for (let ordinal = start; ordinal < end; ordinal += 1) {
        runs.set(`${blockId}/${ordinal}`, runId);
      }
    }
  }
  return runs;
}

async function storedRecordsOf(
  database: Reader,
  signal: keyof typeof LISTS,
): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  const runs = await runsOfRecords(database);
  for await (const block of eachBlock(database, signal)) {
    const { id: blockId, workspaceId, arrivedOn } = block;
    let ordinal = 0;
    for (const { text } of await linesOf(block)) {
      for (const found of recordsOfLine(text, LISTS[signal])) {
        const runId = runs.get(`${blockId}/${ordinal}`) ?? null;
        records.push({ workspaceId, blockId, ordinal, arrivedOn, runId, ...found });
        ordinal += 1;
      }
    }
  }
  return records;
}

/** Every stored span, in the order of block and ordinal. @throws UnreadableBlockError */
export function storedSpans(database: Reader): Promise<StoredRecord[]> {
  return storedRecordsOf(database, 'traces');
}

/** Every stored log record, in the order of block and ordinal. @throws UnreadableBlockError */
export function storedLogs(database: Reader): Promise<StoredRecord[]> {
  return storedRecordsOf(database, 'logs');
}

/** The stored spans that have one of these ids; a span that is stored twice is there twice. */
export async function spansWithIds(
  database: Reader,
  spanIds: readonly unknown[],
): Promise<StoredRecord[]> {
  const wanted = new Set(spanIds);
  return (await storedSpans(database)).filter(({ record }) => wanted.has(record.spanId));
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
      const service = textAttribute(resource ?? {}, 'service.name') ?? null;
      for (const { scope, metrics } of scopeMetrics) {
        for (const item of metrics) {
          const kind = KINDS.find((one) => item[one]) ?? '';
          const { [kind]: values, ...metric } = item;
          const { dataPoints, ...data } = values;
          for (const point of dataPoints) {
            const within = { workspaceId, service, scope: scope?.name ?? '' };
            points.push({ ...within, metric, kind, data, point });
          }
        }
      }
    }
  }
  return points;
}
