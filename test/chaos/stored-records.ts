/**
 * Compares every stored record with the record that was sent: by a digest of each line, and record by
 * record where digests differ. Then checks that the places of each run name exactly its records. Holds
 * the records of some bodies, the digests of all, and the run of each stored record.
 */
import { isDeepStrictEqual } from 'node:util';

import { UnreadableBlockError } from '../../src/db/telemetry/block-codec.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { type BlockRow, eachBlock, linesOf, type Reader } from '../support/stored-blocks.ts';
import { bodyOf, ROWS_PER_BODY } from './bodies.ts';
import type { Cluster } from './cluster.ts';
import { digestOf, digestOfLine, placeOf, recordsOf, WORKSPACE } from './sent-records.ts';

type Source = Pick<Cluster, 'ask'>;

/** Differences that are described. */
const DESCRIBED_MAX = 5;
/** Characters of a value that are. */
const SHOWN_CHARACTERS = 200;
/** Of the first record of a line: its time, and its run, which all spans of a body share. */
const TIME = /"(?:startT|t)imeUnixNano":"(\d+)"/;
const TRACE_ID = /"traceId":"([0-9a-f]{32})"/;
const NEVER_SENT = 'such a record was never sent';
const SIGNALS: readonly Signal[] = ['traces', 'logs', 'metrics'];

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
  /** records that no place of their run names, and others that one names */
  readonly misplaced: number;
  /** the first of them */
  readonly differences: readonly string[];
}

/** The run of each record of a block; null for a record without a run, and once a place named it. */
type RunsOfBlock = (string | null)[];

/** Counts what is stored. */
class Tally implements StoredRecords {
  readonly bodies = new Map<number, StoredBody>();
  readonly differences: string[] = [];
  changed = 0;
  misplaced = 0;
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
    this.#describe(difference);
  }

  /** Counts records that are not where places say. */
  noteMisplaced(difference: string, records: number): void {
    if (records === 0) return;
    this.misplaced += records;
    this.#describe(`${records} records: ${difference}`);
  }

  #describe(difference: string): void {
    if (this.differences.length < DESCRIBED_MAX) this.differences.push(difference);
  }
}

/** Digests of bodies by number (`digestOf`); one that is missing is made. */
type Digests = ReadonlyMap<number, string>;

/** Whether a line is the body of this number. */
function isWhole(digests: Digests, number: number, text: string): boolean {
  return number >= 0 && digestOfLine(text) === (digests.get(number) ?? digestOf(bodyOf(number)));
}

interface Reading extends Source {
  readonly digests: Digests;
  readonly tally: Tally;
}

const readerOf = ({ ask }: Source): Reader =>
  ({
    query: async (sql: string, values: readonly unknown[]) => ({ rows: await ask(sql, values) }),
  }) as unknown as Reader;

/**
 * Adds the records of a block.
 *
 * @returns the run of each; null when not all of its lines can be read
 */
async function addBlock(
  signal: Signal,
  block: BlockRow,
  { digests, tally }: Reading,
): Promise<RunsOfBlock | null> {
  if (block.workspaceId !== WORKSPACE) {
    tally.note(`workspace ${block.workspaceId} has block ${block.id}`, block.records);
  }
  const runs: RunsOfBlock = [];
  let isRead = true;
  try {
    for (const { text } of await linesOf(block)) {
      try {
        runs.push(...addLine(signal, text, digests, tally));
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        tally.note(`a line of block ${block.id} is not what was sent: ${error.message}`);
        isRead = false;
      }
    }
  } catch (error) {
    if (!(error instanceof UnreadableBlockError)) throw error;
    tally.note(error.message, block.records);
    return null;
  }
  return isRead ? runs : null;
}

/**
 * Adds the records of a line.
 *
 * @returns the run of each
 * @throws SyntaxError when it is no JSON, or a time is no number
 */
function addLine(signal: Signal, text: string, digests: Digests, tally: Tally): RunsOfBlock {
  const { body: first } = placeOf(TIME.exec(text)?.[1] ?? '0');
  if (isWhole(digests, first, text)) {
    for (let row = 0; row < ROWS_PER_BODY; row += 1) tally.add(first, row);
    const runId = (signal === 'traces' && TRACE_ID.exec(text)?.[1]) || null;
    return Array.from({ length: ROWS_PER_BODY }, () => runId);
  }
  const contents = new Map<number, readonly object[]>();
  return recordsOf(signal, text).map(({ time, runId, content }) => {
    const { body, row } = placeOf(time);
    const sent = contents.get(body) ?? contentsSent(body, signal);
    contents.set(body, sent);
    const was = sent[row];
    const difference = was === undefined ? NEVER_SENT : differenceOf(was, content);
    if (was !== undefined) tally.add(body, row);
    if (difference !== null) tally.note(`${signal} ${body}/${row}: ${difference}`);
    return runId;
  });
}

function contentsSent(number: number, signal: Signal): readonly object[] {
  const body = number < 0 ? null : bodyOf(number);
  if (body?.signal !== signal) return [];
  return recordsOf(signal, body.bytes.toString()).map(({ content }) => content);
}

const shown = (value: unknown): string => String(JSON.stringify(value)).slice(0, SHOWN_CHARACTERS);

/** How a stored record differs from the one that was sent; null when it does not. */
function differenceOf(sent: object, stored: object, within = ''): string | null {
  if (isDeepStrictEqual(sent, stored)) return null;
  const names = new Set([...Object.keys(sent), ...Object.keys(stored)]);
  const differing = [...names].flatMap((name) => {
    const was: unknown = Reflect.get(sent, name);
    const is: unknown = Reflect.get(stored, name);
    if (isDeepStrictEqual(was, is)) return [];
    if (name === 'record') return differenceOf(Object(was), Object(is), 'record.') ?? [];
    return [`${within}${name} is ${shown(is)} and was ${shown(was)}`];
  });
  return differing.join('; ');
}

const PLACES = `
  SELECT block_id::text AS block, replace(run_id::text, '-', '') AS run, records,
         EXISTS (SELECT FROM hot_blocks AS blocks
                  WHERE blocks.block_id = places.block_id AND blocks.arrived_on = places.arrived_on
                    AND blocks.workspace_id = places.workspace_id) AS "hasBlock"
    FROM hot_places AS places`;

/** Checks that the places of each run name all of its records, and no others, once. */
async function checkPlaces(
  { ask, tally }: Reading,
  blocks: ReadonlyMap<string, RunsOfBlock | null>,
): Promise<void> {
  for (const { block, run, records, hasBlock } of await ask(PLACES)) {
    const runs = blocks.get(String(block));
    if (runs === null) continue;
    const named = ordinalsOf(records as Buffer);
    const about = `a place of run ${run} in block ${block}`;
    if (runs === undefined || hasBlock !== true) {
      tally.noteMisplaced(`${about}, which its workspace and day do not have`, named.length);
      continue;
    }
    let wrong = 0;
    for (const ordinal of named) {
      if (runs[ordinal] === run) runs[ordinal] = null;
      else wrong += 1;
    }
    tally.noteMisplaced(`${about} names them, and they are not of the run`, wrong);
  }
  for (const [block, runs] of blocks) {
    const left = runs?.filter((run) => run !== null) ?? [];
    tally.noteMisplaced(`no place names those of run ${left[0]} in block ${block}`, left.length);
  }
}

/** Decodes the numbers that a place holds: a gap and a length for each range, as varints. */
function ordinalsOf(bytes: Buffer): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const byte of bytes) {
    value += (byte & 0x7f) * 2 ** shift;
    shift += 7;
    if (byte < 0x80) {
      numbers.push(value);
      value = 0;
      shift = 0;
    }
  }
  const ordinals: number[] = [];
  let at = 0;
  for (let index = 0; index + 1 < numbers.length; index += 2) {
    at += numbers[index] as number;
    for (let left = numbers[index + 1] as number; left > 0; left -= 1, at += 1) ordinals.push(at);
  }
  return ordinals;
}

/** Reads all stored records, compares each with what was sent, and checks the places of runs. */
export async function readRecords({ ask }: Source, digests: Digests): Promise<StoredRecords> {
  const reading = { ask, digests, tally: new Tally() };
  const blocks = new Map<string, RunsOfBlock | null>();
  for (const signal of SIGNALS) {
    for await (const block of eachBlock(readerOf(reading), signal)) {
      blocks.set(block.id, await addBlock(signal, block, reading));
    }
  }
  await checkPlaces(reading, blocks);
  return reading.tally;
}
