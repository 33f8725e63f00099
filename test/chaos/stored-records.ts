/**
 * Compares every stored record with the record that was sent: by a digest of each body, which PostgreSQL
 * makes for rows, and record by record where digests differ. Holds the records of some bodies and the
 * digests of all.
 */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

import { UnreadableBlockError } from '../../src/db/telemetry/block-codec.ts';
import { TABLE_COLUMNS } from '../../src/model/columns.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { parseExactly } from '../support/exact-json.ts';
import { type BlockRow, eachBlock, linesOf, type Reader } from '../support/stored-blocks.ts';
import { type Body, bodyOf, ROW_NUMBERS, ROWS_PER_BODY, TIME_BASE } from './bodies.ts';
import type { Cluster } from './cluster.ts';
import {
  digestOf,
  placeOf,
  pointsOf,
  RESOURCE_COLUMNS,
  type RowSignal,
  SENT_COLUMNS,
  sentRows,
  TABLES,
  WORKSPACE,
} from './sent-records.ts';

type Source = Pick<Cluster, 'ask'>;

/** Bodies whose rows are fetched together. */
const FETCHED_BODIES = 20;
/** Differences that are described. */
const DESCRIBED_MAX = 5;
/** Characters of a value that are. */
const SHOWN_CHARACTERS = 200;
/** Of the first data point of a line. */
const TIME = /"timeUnixNano":"(\d+)"/;
const NEVER_SENT = 'such a record was never sent';

/** What is stored of a body. */
export interface StoredBody {
  /** all of its rows, also those that are there twice */
  readonly rows: number;
  /** its rows, each counted once */
  readonly kinds: number;
}

export interface StoredRecords {
  /** by number */
  readonly bodies: Map<number, StoredBody>;
  /** records that differ from what was sent, or were never sent */
  readonly changed: number;
  /** the first of them */
  readonly differences: readonly string[];
}

const WHOLE: StoredBody = { rows: ROWS_PER_BODY, kinds: ROWS_PER_BODY };

/** Counts what is stored. */
class Tally implements StoredRecords {
  readonly bodies = new Map<number, StoredBody>();
  readonly differences: string[] = [];
  changed = 0;
  /** of bodies that are not counted as whole */
  readonly #rows = new Map<number, Set<number>>();

  /** Counts a row that was sent. */
  add(body: number, row: number): void {
    const kinds = this.#rows.get(body) ?? new Set();
    this.#rows.set(body, kinds.add(row));
    const rows = (this.bodies.get(body)?.rows ?? 0) + 1;
    this.bodies.set(body, { rows, kinds: kinds.size });
  }

  /** Counts records that are not as they were sent. */
  note(difference: string, records = 1): void {
    this.changed += records;
    if (this.differences.length < DESCRIBED_MAX) this.differences.push(difference);
  }
}

/** A column as text that does not depend on settings of the session. */
function columnText(name: string, type: string): string {
  if (type === 'bytea') return `encode(${name}, 'hex')`;
  if (type === 'uuid') return `replace(${name}::text, '-', '')`;
  return type === 'bigint' ? `${name}::text` : name;
}

/** Rows of a table: the number of the body, the time, and all that was sent. */
function rowsOf(signal: RowSignal): string {
  const table = TABLES[signal];
  const columns = TABLE_COLUMNS[table];
  const time = signal === 'traces' ? 'start_unix_nano' : 'time_unix_nano';
  const own = SENT_COLUMNS[signal].map((name) =>
    columnText(`${table}.${name}`, columns[name]?.[0] ?? ''),
  );
  const origin = RESOURCE_COLUMNS.map((name) =>
    columnText(`origin.${name}`, name.endsWith('dropped_attributes') ? 'bigint' : ''),
  );
  return `SELECT floor((${time} - ${TIME_BASE}) / ${ROW_NUMBERS}.0)::bigint AS body, ${time} AS time,
                 json_build_array(${[...own, ...origin].join(', ')})::text AS content
            FROM ${table} LEFT JOIN resources AS origin
              ON origin.workspace_id = ${table}.workspace_id AND origin.id = resource_id`;
}

/** A body of the signal; null where there is none of that number. */
function sentBody<S extends Signal>(number: number, signal: S): (Body & { signal: S }) | null {
  const body = number < 0 ? null : bodyOf(number);
  return body?.signal === signal ? { ...body, signal } : null;
}

const rowsSent = (body: number, signal: RowSignal): readonly string[] => {
  const sent = sentBody(body, signal);
  return sent === null ? [] : sentRows(sent);
};

/** Digests of bodies by number (`digestOf`); one that is missing is made. */
type Digests = ReadonlyMap<number, string>;

/** Whether a body's digest is this one. */
function isWhole(digests: Digests, number: number, digest: unknown): boolean {
  return number >= 0 && digest === (digests.get(number) ?? digestOf(bodyOf(number)));
}

interface Reading extends Source {
  readonly digests: Digests;
  readonly tally: Tally;
}

async function addRows(signal: RowSignal, { ask, digests, tally }: Reading): Promise<void> {
  // OFFSET 0 has the digests sorted, not the rows.
  const stored = await ask(
    `SELECT body, md5(string_agg(digest, '' ORDER BY time)) AS digest
       FROM (SELECT body, time, md5(content) AS digest FROM (${rowsOf(signal)}) AS all_rows
             OFFSET 0) AS stored
      GROUP BY body`,
  );
  const others: number[] = [];
  for (const { body, digest } of stored) {
    if (isWhole(digests, Number(body), digest)) tally.bodies.set(Number(body), WHOLE);
    else others.push(Number(body));
  }
  for (let from = 0; from < others.length; from += FETCHED_BODIES) {
    const bodies = others.slice(from, from + FETCHED_BODIES);
    const rows = await ask(
      `SELECT body, time::text, content FROM (${rowsOf(signal)}) AS stored
        WHERE body = ANY ($1) ORDER BY body, time`,
      [bodies],
    );
    const sent = new Map(bodies.map((body) => [body, rowsSent(body, signal)]));
    for (const { time, content } of rows) {
      const { body, row } = placeOf(String(time));
      const text = sent.get(body)?.[row];
      const difference =
        text === undefined ? NEVER_SENT : rowDifference(signal, text, String(content));
      if (text !== undefined) tally.add(body, row);
      if (difference !== null) tally.note(`${TABLES[signal]} ${body}/${row}: ${difference}`);
    }
  }
}

const shown = (value: unknown): string => JSON.stringify(value).slice(0, SHOWN_CHARACTERS);

/** How a stored row differs from the one that was sent; null when it does not. */
function rowDifference(signal: RowSignal, sent: string, stored: string): string | null {
  if (sent === stored) return null;
  const [was, is] = [sent, stored].map((text) => parseExactly(text) as unknown[]);
  const names = [...SENT_COLUMNS[signal], ...RESOURCE_COLUMNS.map((name) => `resources.${name}`)];
  const differing = names.flatMap((name, at) =>
    isDeepStrictEqual(was?.[at], is?.[at])
      ? []
      : [`${name} is ${shown(is?.[at])} and was ${shown(was?.[at])}`],
  );
  return differing.length === 0 ? null : differing.join('; ');
}

async function addPoints({ ask, digests, tally }: Reading): Promise<void> {
  const query = async (sql: string, values: readonly unknown[]) => ({
    rows: await ask(sql, values),
  });
  for await (const block of eachBlock({ query } as Reader, 'metrics')) {
    if (block.workspaceId !== WORKSPACE) {
      tally.note(`workspace ${block.workspaceId} has block ${block.id}`, block.records);
    }
    for (const text of await textsOf(block, tally)) {
      try {
        addLine(text, digests, tally);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        tally.note(`a line of block ${block.id} is not what was sent: ${error.message}`);
      }
    }
  }
}

/** Adds the data points of a line. @throws SyntaxError when it is no JSON, or a time is no number */
function addLine(text: string, digests: Digests, tally: Tally): void {
  const { body: first } = placeOf(TIME.exec(text)?.[1] ?? '0');
  if (isWhole(digests, first, hash('md5', text))) {
    for (let row = 0; row < ROWS_PER_BODY; row += 1) tally.add(first, row);
    return;
  }
  const sent = new Map([[first, pointsSent(first)]]);
  for (const { time, content } of pointsOf(text)) {
    const { body, row } = placeOf(time);
    const points = sent.get(body) ?? pointsSent(body);
    sent.set(body, points);
    const point = points[row];
    const difference = point === undefined ? NEVER_SENT : pointDifference(point, content);
    if (point !== undefined) tally.add(body, row);
    if (difference !== null) tally.note(`data point ${body}/${row}: ${difference}`);
  }
}

/** The lines of a block; none of one that cannot be read, whose records are counted as changed. */
async function textsOf(block: BlockRow, tally: Tally): Promise<string[]> {
  try {
    return (await linesOf(block)).map(({ text }) => text);
  } catch (error) {
    if (!(error instanceof UnreadableBlockError)) throw error;
    tally.note(error.message, block.records);
    return [];
  }
}

function pointsSent(body: number): object[] {
  const sent = sentBody(body, 'metrics');
  return sent === null ? [] : pointsOf(sent.bytes.toString()).map(({ content }) => content);
}

function pointDifference(sent: object, stored: object): string | null {
  if (isDeepStrictEqual(sent, stored)) return null;
  const differing = Object.entries(sent).flatMap(([part, was]) => {
    const is: unknown = stored[part as keyof typeof stored];
    return isDeepStrictEqual(was, is) ? [] : [`${part} is ${shown(is)} and was ${shown(was)}`];
  });
  return differing.join('; ');
}

/** Reads all stored records and compares each with what was sent. */
export async function readRecords({ ask }: Source, digests: Digests): Promise<StoredRecords> {
  const tally = new Tally();
  for (const signal of Object.keys(TABLES) as RowSignal[]) {
    await addRows(signal, { ask, digests, tally });
  }
  await addPoints({ ask, digests, tally });
  return tally;
}
