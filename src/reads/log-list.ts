/** Lists the log records of a workspace, those that arrived last first, from hot and packed blocks. */
import { findWorkspaceById } from '../db/people/workspaces.ts';
import type { ReadChoice } from '../db/replica/read-choice.ts';
import { findRunsByIds } from '../db/runs/exported-runs.ts';
import { UnreadableBlockError } from '../db/telemetry/block-codec.ts';
import type { DayBlock } from '../db/telemetry/day-blocks.ts';
import { findPlaces, type RunPlace } from '../db/telemetry/stored-places.ts';
import { SluiceError } from '../errors.ts';
import type { Hex16, JsonObject, JsonValue } from '../model/json.ts';
import { hashesOf } from '../model/packed/text-filter.ts';
import { TextMatcher } from '../model/packed/text-match.ts';
import { addRanges, type RecordRanges } from '../model/record-ranges.ts';
import {
  type BlockCursor,
  type ListLogs,
  LOG_LEVEL_NAMES,
  LOGS_NOT_SEARCHED,
  type LogFilter,
  type LogLine,
  levelOf,
  type RecordLevel,
} from '../model/shown/logs.ts';
import { type BlockRecord, recordsOf } from '../otlp/lines/block-records.ts';
import { cutRecord } from '../otlp/lines/cut-record.ts';
import { sessionOf } from '../otlp/log-session.ts';
import type { Pieces } from '../otlp/pieces.ts';
import { newestSlices, PageBudget } from './newest-blocks.ts';
import type { PieceWork } from './piece-work.ts';
import type { ReportBlock } from './read-records.ts';
import { parseRecord, type StepHead, stepHead, toStep } from './read-step.ts';

/** Characters of a body, and of all attributes, that a line has. */
const TEXT_CHARS_MAX = 2000;
/** A longer record is not parsed whole. */
const RECORD_BYTES_MAX = 48 * 1024;
/** Records that are parsed without a pause. */
const PIECE_RECORDS = 50;
/** Places of a run whose records are listed. */
const PLACES_MAX = 20_000;

interface Match {
  readonly record: BlockRecord;
  readonly time: bigint;
}

/** The records of a block to look at: all, or those of a run. */
type Wanted = (isHot: boolean, block: DayBlock) => RecordRanges;

const ALL: Wanted = (_isHot, { records }) => [0, records];

const newestFirst = (one: bigint, other: bigint): number =>
  one === other ? 0 : one < other ? 1 : -1;

interface LinesOfBlock {
  readonly lines: readonly DraftLine[];
  readonly isMore: boolean;
}

interface BlockQuery {
  readonly filter: LogFilter;
  readonly matcher: TextMatcher | null;
  readonly isRedacted: boolean;
  readonly skip: number;
  readonly room: number;
}

function* linesIn(text: Buffer, wanted: RecordRanges, query: BlockQuery): Pieces<LinesOfBlock> {
  const { filter, matcher, isRedacted, skip, room } = query;
  if (matcher !== null && !(yield* matcher.mayBeIn(text))) return { lines: [], isMore: false };
  const found: Match[] = [];
  let read = 0;
  for (const record of yield* recordsOf('logs', text, wanted)) {
    read += 1;
    if (read % PIECE_RECORDS === 0) yield;
    const { resource, scope } = record.origin;
    const isOfText =
      matcher === null ||
      (yield* matcher.findIn(record.bytes)) !== null ||
      matcher.findInValue([resource, scope]) !== null;
    if (!isOfText) continue;
    const json = yield* parsed(record);
    const time = BigInt(stepHead('logs', json).startUnixNano);
    if (fits(filter, json, record, time)) found.push({ record, time });
  }
  found.sort(
    (one, other) => newestFirst(one.time, other.time) || other.record.ordinal - one.record.ordinal,
  );
  const lines: DraftLine[] = [];
  for (const { record } of found.slice(skip, skip + room)) {
    lines.push(toLine(record, yield* parsed(record), isRedacted, filter.runId));
    yield;
  }
  return { lines, isMore: found.length > skip + room };
}

/** Parses a record; of a large one the beginnings of its texts. */
function* parsed({ bytes }: BlockRecord): Pieces<JsonObject> {
  return bytes.length > RECORD_BYTES_MAX
    ? yield* cutRecord(bytes, RECORD_BYTES_MAX)
    : parseRecord(bytes);
}

const NANOS_OF_MS = 1_000_000n;
const nanosOf = (at: Date): bigint => BigInt(at.getTime()) * NANOS_OF_MS;

function fits(
  { since, until, level, service }: LogFilter,
  json: JsonObject,
  record: BlockRecord,
  time: bigint,
): boolean {
  if (since !== undefined && time < nanosOf(since)) return false;
  if (until !== undefined && time >= nanosOf(until)) return false;
  if (level !== undefined) {
    const own = levelIn(json);
    if (own === null || LOG_LEVEL_NAMES.indexOf(own) < LOG_LEVEL_NAMES.indexOf(level)) return false;
  }
  if (service === undefined) return true;
  const { serviceName } = toStep('logs', {}, record.origin);
  return serviceName?.toLowerCase().includes(service.toLowerCase()) === true;
}

const levelIn = ({ severityNumber, severityText }: JsonObject): RecordLevel | null =>
  levelOf(Number(severityNumber ?? 0), typeof severityText === 'string' ? severityText : '');

/** A line, and the runs that its record may belong to, the likely one first. */
interface DraftLine extends Omit<LogLine, 'runId'> {
  readonly runs: readonly Hex16[];
}

function toLine(
  record: BlockRecord,
  json: JsonObject,
  isRedacted: boolean,
  runId: Hex16 | undefined,
): DraftLine {
  const step = toStep('logs', json, record.origin);
  const { traceId } = stepHead('logs', json);
  const text = cut(textOf(step.body));
  const attributes = cut(
    Object.entries(step.attributes)
      .map(([key, value]) => `${key}=${textOf(value)}`)
      .join(' '),
  );
  return {
    timeUnixNano: step.startUnixNano,
    level: levelIn(json),
    service: step.serviceName,
    eventName: isRedacted || step.name === '' ? null : step.name,
    text: isRedacted ? null : text.shown,
    attributes: isRedacted ? null : attributes.shown,
    isCut:
      !isRedacted && (text.isCut || attributes.isCut || record.bytes.length > RECORD_BYTES_MAX),
    runs: runId === undefined ? runsOf(step, json, traceId) : [runId],
  };
}

/** The runs of its prompt and of its trace, which may not be stored. */
function runsOf(
  { scopeName, serviceName }: Pick<ReturnType<typeof toStep>, 'scopeName' | 'serviceName'>,
  json: JsonObject,
  traceId: StepHead['traceId'],
): Hex16[] {
  const named = sessionOf({ scopeName, serviceName }, json, traceId !== null);
  return [named?.session?.runId, traceId].filter((id) => typeof id === 'string');
}

const textOf = (value: JsonValue): string =>
  value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);

function cut(text: string): { readonly shown: string; readonly isCut: boolean } {
  if (text.length <= TEXT_CHARS_MAX) return { shown: text, isCut: false };
  return { shown: text.slice(0, TEXT_CHARS_MAX).toWellFormed(), isCut: true };
}

export function createLogList(
  { read, find }: Pick<ReadChoice, 'read' | 'find'>,
  { turns, report }: { readonly turns: PieceWork; readonly report: ReportBlock },
): ListLogs {
  const placesOf = async (workspaceId: number, runId: Hex16): Promise<readonly RunPlace[]> =>
    await read({ workspaceId }, async (database) => {
      const [run] = await findRunsByIds(database, workspaceId, [runId]);
      if (run === undefined) return [];
      return (await findPlaces(database, [run], PLACES_MAX))[0]?.places ?? [];
    });

  return async (workspaceId, filter, cursor, limit, signal) => {
    const workspace = await find({ workspaceId }, (db) => findWorkspaceById(db, workspaceId));
    const isRedacted = workspace?.redactExcerpts !== false;
    const { text, runId, since, until } = filter;
    if (isRedacted && text !== undefined) throw new SluiceError('conflict', LOGS_NOT_SEARCHED);
    const matcher = text === undefined ? null : new TextMatcher(text);
    const places = runId === undefined ? null : await placesOf(workspaceId, runId);
    const wanted = places === null ? ALL : rangesOf(places);
    const only =
      places === null ? null : (day: string, isHot: boolean) => blocksOf(places, day, isHot);
    const budget = new PageBudget(report);
    const lines: DraftLine[] = [];
    let next: BlockCursor | null = null;
    const hashes = text === undefined ? [] : hashesOf(text);
    const range = { workspaceId, signal: 'logs', since, until, cursor, hashes, only } as const;
    /** Lists the matches of a block. @returns how many of them were listed if there are more, else 0 */
    const take = async (day: string, isHot: boolean, block: DayBlock): Promise<number> => {
      const stored = budget.take(day, block);
      if (stored === null) return 0;
      const skip = cursor?.blockId === block.blockId ? cursor.skip : 0;
      const room = limit - lines.length;
      const query = { filter, matcher, isRedacted, skip, room };
      const work = linesIn(stored, wanted(isHot, block), query);
      const found = await turns
        .takeInPieces(workspaceId, work, stored.length)
        .catch((error: unknown) => {
          if (!(error instanceof RangeError)) throw error;
          budget.lose(day, block, new UnreadableBlockError(block.blockId, error.message));
          return { lines: [], isMore: false };
        });
      lines.push(...found.lines);
      return found.isMore ? skip + room : 0;
    };
    pages: for await (const slice of newestSlices(read, range, signal)) {
      const { day, isHot, blocks } = slice;
      for (const block of blocks) {
        const { blockId } = block;
        const skip = await take(day, isHot, block);
        const isLast = skip === 0 && block === blocks.at(-1);
        next = isLast ? slice.next : { day, isHot, blockId, skip };
        if (skip > 0 || lines.length >= limit || budget.isOver) break pages;
      }
      next = slice.next;
      if (budget.isOver) break;
    }
    const known = await knownRuns(workspaceId, lines, signal);
    const records = lines
      .map(({ runs, ...line }) => ({ ...line, runId: runs.find((id) => known.has(id)) ?? null }))
      .sort((one, other) => newestFirst(BigInt(one.timeUnixNano), BigInt(other.timeUnixNano)));
    return { records, next, blocksRead: budget.blocksRead, unreadable: budget.unreadable };
  };

  async function knownRuns(
    workspaceId: number,
    lines: readonly DraftLine[],
    signal: AbortSignal | undefined,
  ): Promise<ReadonlySet<Hex16>> {
    const ids = [...new Set(lines.flatMap(({ runs }) => runs))];
    if (ids.length === 0) return new Set();
    const runs = await read({ workspaceId, signal }, (db) => findRunsByIds(db, workspaceId, ids));
    return new Set(runs.map(({ runId }) => runId));
  }
}

/** Where the records of a place are read on its day. */
const storedOn = (place: RunPlace, isHot: boolean) => (isHot ? place : place.stored);

function blocksOf(places: readonly RunPlace[], day: string, isHot: boolean): readonly string[] {
  const own = places.filter(({ arrivedOn }) => arrivedOn === day);
  return [...new Set(own.map((place) => storedOn(place, isHot).blockId))];
}

const rangesOf =
  (places: readonly RunPlace[]): Wanted =>
  (isHot, { blockId }) => {
    const own: number[] = [];
    const parts = places
      .map((place) => storedOn(place, isHot))
      .filter((stored) => stored.blockId === blockId)
      .map(({ records }) => records)
      .sort((one, other) => (one[0] ?? 0) - (other[0] ?? 0));
    for (const part of parts) addRanges(own, part);
    return own;
  };
