/**
 * Compares every stored record with the record that was sent: by a digest of each line, and record by
 * record where digests differ. Then checks that the places of each run name exactly its records. Holds
 * the records of some bodies, the digests of all, and the run of each stored record.
 *
 * Spans and log records of a hot day are counted as they arrived. Those of other days are counted in packed
 * blocks. Packed blocks of a hot day are compared with what was sent and with the hot blocks they are made of.
 */
import { isDeepStrictEqual } from 'node:util';

import { UnreadableBlockError } from '../../src/db/telemetry/block-codec.ts';
import { decodeSources } from '../../src/db/telemetry/packed/sources.ts';
import type { RecordRanges } from '../../src/model/record-ranges.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { type BlockRow, eachBlock, linesOf, type Reader } from '../support/stored-blocks.ts';
import { bodyOf, ROW_NUMBERS, ROWS_PER_BODY } from './bodies.ts';
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

/** The records of a block, in order. */
interface RecordsOfBlock {
  readonly day: string;
  /** the run of each; null for a record without a run, and once a place named it */
  readonly runs: (string | null)[];
  /** the body and row number of each, in one number */
  readonly rows: readonly number[];
}

/** By id; null for a block that cannot be read. */
type Blocks = Map<string, RecordsOfBlock | null>;

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

/** A record of a line. */
interface Recorded {
  readonly body: number;
  readonly row: number;
  readonly runId: string | null;
  /** how it differs from what was sent; null if it does not */
  readonly difference: string | null;
  readonly wasSent: boolean;
}

/**
 * Compares the records of a block with what was sent.
 *
 * @param counts whether they are counted: not if they are also in another block
 * @returns null when not all of its lines can be read
 */
async function addBlock(
  signal: Signal,
  block: BlockRow,
  { digests, tally }: Reading,
  counts: boolean,
): Promise<RecordsOfBlock | null> {
  if (block.workspaceId !== WORKSPACE) {
    tally.note(`workspace ${block.workspaceId} has block ${block.id}`, block.records);
  }
  const records: Recorded[] = [];
  let isRead = true;
  try {
    for (const { text } of await linesOf(block)) {
      try {
        for (const record of recordsOfLine(signal, text, digests)) records.push(record);
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
  for (const { body, row, wasSent, difference } of records) {
    if (wasSent && counts) tally.add(body, row);
    if (difference !== null) tally.note(`${signal} ${body}/${row}: ${difference}`);
  }
  if (!isRead) return null;
  return {
    day: block.arrivedOn,
    runs: records.map(({ runId }) => runId),
    rows: records.map(({ body, row }) => body * ROW_NUMBERS + row),
  };
}

/** @throws SyntaxError when it is no JSON, or a time is no number */
function recordsOfLine(signal: Signal, text: string, digests: Digests): Recorded[] {
  const { body: first } = placeOf(TIME.exec(text)?.[1] ?? '0');
  if (isWhole(digests, first, text)) {
    const runId = (signal === 'traces' && TRACE_ID.exec(text)?.[1]) || null;
    const common = { body: first, runId, difference: null, wasSent: true };
    return Array.from({ length: ROWS_PER_BODY }, (_, row) => ({ ...common, row }));
  }
  const contents = new Map<number, readonly object[]>();
  return recordsOf(signal, text).map(({ time, runId, content }) => {
    const { body, row } = placeOf(time);
    const sent = contents.get(body) ?? contentsSent(body, signal);
    contents.set(body, sent);
    const was = sent[row];
    const difference = was === undefined ? NEVER_SENT : differenceOf(was, content);
    return { body, row, runId, difference, wasSent: was !== undefined };
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

const placesIn = (places: string, blocks: string, sources: string): string => `
  SELECT block_id::text AS block, replace(run_id::text, '-', '') AS run, arrived_on::text AS day, records,
         EXISTS (SELECT FROM ${blocks} AS blocks
                  WHERE blocks.block_id = places.block_id AND blocks.arrived_on = places.arrived_on
                    AND blocks.workspace_id = places.workspace_id) AS "hasBlock", ${sources}
    FROM ${places} AS places`;
const HOT_PLACES = placesIn('hot_places', 'hot_blocks', 'NULL AS sources, NULL AS "sourceRecords"');
const PACKED_PLACES = placesIn(
  'places',
  'blocks',
  'sources::text[], source_records AS "sourceRecords"',
);

interface CheckedPlace {
  readonly about: string;
  readonly block: string;
  readonly run: string;
  readonly day: string;
  readonly named: readonly number[];
  readonly sources: readonly string[] | null;
  readonly sourceRecords: Buffer;
}

/** Checks that the places of each run name all of its records, and no others, once. */
async function checkPlaces(
  { ask, tally }: Reading,
  places: string,
  blocks: Blocks,
): Promise<CheckedPlace[]> {
  const checked: CheckedPlace[] = [];
  for (const { hasBlock, records, ...row } of await ask(places)) {
    const named = ordinalsOf(records as Buffer);
    const place = { ...row, named } as unknown as Omit<CheckedPlace, 'about'>;
    const about = `a place of run ${place.run} in block ${place.block}`;
    const block = blocks.get(place.block);
    if (block === null) continue;
    if (block === undefined || hasBlock !== true) {
      tally.noteMisplaced(`${about}, which its workspace and day do not have`, named.length);
      continue;
    }
    let wrong = 0;
    for (const ordinal of named) {
      if (block.runs[ordinal] === place.run) block.runs[ordinal] = null;
      else wrong += 1;
    }
    tally.noteMisplaced(`${about} names them, and they are not of the run`, wrong);
    checked.push({ ...place, about });
  }
  for (const [id, block] of blocks) {
    const left = block?.runs.filter((run) => run !== null) ?? [];
    tally.noteMisplaced(`no place names those of run ${left[0]} in block ${id}`, left.length);
  }
  return checked;
}

/**
 * Checks that each packed place names the hot blocks and records that it is made of, as long as these are there,
 * and that the records of a hot place are packed all or none, once.
 */
function checkSources(
  tally: Tally,
  { hot, packed }: { readonly hot: Blocks; readonly packed: Blocks },
  hotPlaces: readonly CheckedPlace[],
  packedPlaces: readonly CheckedPlace[],
): void {
  const packedOf = new Map<string, number[]>();
  for (const { about, block, run, named, sources, sourceRecords } of packedPlaces) {
    const ids = sources ?? [];
    const origins = decodeSources(ids.length, sourceRecords).flatMap((ranges, index) =>
      numbersIn(ranges).map((ordinal) => ({ id: ids[index] as string, ordinal })),
    );
    let wrong = Math.abs(origins.length - named.length);
    for (const [at, { id, ordinal }] of origins.entries()) {
      const of = packedOf.get(`${run} ${id}`) ?? [];
      packedOf.set(`${run} ${id}`, of);
      of.push(ordinal);
      const origin = hot.get(id);
      if (!origin) continue;
      const row = packed.get(block)?.rows[named[at] ?? -1];
      if (origin.rows[ordinal] !== row) wrong += 1;
    }
    tally.noteMisplaced(`${about} names other hot records than it has`, wrong);
  }
  for (const { about, block, run, named } of hotPlaces) {
    const own = packedOf.get(`${run} ${block}`)?.sort((one, other) => one - other);
    const isSame = own === undefined || isDeepStrictEqual(own, named);
    tally.noteMisplaced(`${about} is packed in part, or twice`, isSame ? 0 : named.length);
  }
}

function numbersIn(ranges: RecordRanges): number[] {
  const numbers: number[] = [];
  for (let at = 0; at < ranges.length; at += 2) {
    const [start = 0, end = 0] = ranges.slice(at, at + 2);
    for (let number = start; number < end; number += 1) numbers.push(number);
  }
  return numbers;
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

const HOT_DAYS = `
  SELECT replace(substr(relname, length('hot_places_') + 1), '_', '-') AS day
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
   WHERE inhparent = 'hot_places'::regclass`;

/** Reads all stored records, compares each with what was sent, and checks the places of runs. */
export async function readRecords({ ask }: Source, digests: Digests): Promise<StoredRecords> {
  const reading = { ask, digests, tally: new Tally() };
  const hotDays = new Set((await ask(HOT_DAYS)).map(({ day }) => day));
  const hot: Blocks = new Map();
  const packed: Blocks = new Map();
  for (const signal of SIGNALS) {
    for await (const block of eachBlock(readerOf(reading), signal, 'hot_blocks')) {
      // Nobody reads the others any more.
      if (!hotDays.has(block.arrivedOn)) continue;
      hot.set(block.id, await addBlock(signal, block, reading, true));
    }
    for await (const block of eachBlock(readerOf(reading), signal, 'blocks')) {
      const counts = signal === 'metrics' || !hotDays.has(block.arrivedOn);
      packed.set(block.id, await addBlock(signal, block, reading, counts));
    }
  }
  const hotPlaces = await checkPlaces(reading, HOT_PLACES, hot);
  const packedPlaces = await checkPlaces(reading, PACKED_PLACES, packed);
  checkSources(reading.tally, { hot, packed }, hotPlaces, packedPlaces);
  return reading.tally;
}
