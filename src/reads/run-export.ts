/**
 * A run as lines of OTLP/JSON, each a request that another Sluice, or any OTLP endpoint, takes: cut from the
 * run's blocks in the order of arrival, byte for byte as they were sent. Streamed block by block; cut on the
 * thread that takes requests, a few milliseconds at a time.
 */
import { createHash } from 'node:crypto';

import { redactsExcerpts } from '../db/people/workspaces.ts';
import type { ReadChoice } from '../db/replica/read-choice.ts';
import { UnreadableBlockError } from '../db/telemetry/block-codec.ts';
import { type BlockKey, type BlockText, readBlocks } from '../db/telemetry/stored-blocks.ts';
import { findPlaces, type RunPlace } from '../db/telemetry/stored-places.ts';
import { SluiceError } from '../errors.ts';
import type { Hex16 } from '../model/json.ts';
import {
  addRanges,
  countRecords,
  firstRecords,
  type RecordRanges,
} from '../model/record-ranges.ts';
import { EXPORTED_STEPS_MAX, RUN_NOT_EXPORTED } from '../model/runs.ts';
import { findRecords } from '../otlp/lines/block-records.ts';
import { cutLines } from '../otlp/lines/lines.ts';
import type { FoundRecord } from '../otlp/lines/record-finder.ts';
import { PIECE_BYTES, type Pieces } from '../otlp/pieces.ts';
import type { PieceWork } from './piece-work.ts';
import type { ReportBlock } from './read-records.ts';
import type { FoundRun, RunSteps } from './run-steps.ts';

export type ExportedSignal = 'traces' | 'logs';

/** Most places of a run, of both signals, that an export looks at. */
const PLACES_MAX = 40_000;
/** Blocks that are read together, until their texts are longer than this, and the most places in them. */
const SLICE = { blocks: 4, bytes: 2 * 1024 * 1024, places: 1000 };

const LINE_FEED = Buffer.from('\n');

type ReadableBlock = Extract<BlockText, { text: Buffer }>;

/** Notices spans that repeat one before (src/model/repeated-spans.ts). */
class ExportedSpans {
  readonly #digests = new Set<string>();

  /** Returns the spans that are new. */
  *withoutRepeats(text: Buffer, spans: readonly FoundRecord[]): Pieces<readonly FoundRecord[]> {
    const own: FoundRecord[] = [];
    let bytes = 0;
    for (const span of spans) {
      const digest = yield* digestOf(text, span);
      bytes += span.end - span.start;
      if (bytes >= PIECE_BYTES) {
        bytes = 0;
        yield;
      }
      if (this.#digests.has(digest)) continue;
      this.#digests.add(digest);
      own.push(span);
    }
    return own;
  }
}

/** A digest of a record with its resource and scope. */
function* digestOf(text: Buffer, { frame, start, end }: FoundRecord): Pieces<string> {
  const digest = createHash('sha256');
  digest.update(frame.parent?.head ?? '').update(frame.head);
  for (let from = start; from < end; from += PIECE_BYTES) {
    if (from > start) yield;
    digest.update(text.subarray(from, Math.min(end, from + PIECE_BYTES)));
  }
  return digest.digest('base64');
}

function* linesOfRun(
  { blockId, signal, text }: ReadableBlock,
  wanted: RecordRanges,
  exported: ExportedSpans,
): Pieces<Buffer> {
  const found = yield* findRecords(signal, text, wanted);
  const missing = countRecords(wanted) - found.length;
  if (missing > 0) throw new UnreadableBlockError(blockId, `${missing} records are missing`);
  const own = signal === 'traces' ? yield* exported.withoutRepeats(text, found) : found;
  if (own.length === 0) return Buffer.alloc(0);
  const lines = yield* cutLines(text, own);
  return Buffer.concat(lines.flatMap(({ parts }) => [...parts, LINE_FEED]));
}

/**
 * Returns the records of a block in places that follow each other. Blocks of the other signal may come between
 * them: the packed spans and log records of a run are in two blocks, and their places take turns.
 *
 * @param at the first of these places
 * @param blocks those that were read
 */
function recordsIn(
  block: BlockText,
  places: readonly RunPlace[],
  at: number,
  blocks: ReadonlyMap<string, BlockText>,
): { readonly records: RecordRanges; readonly next: number } {
  const records: number[] = [];
  let next = at;
  for (; next < places.length; next += 1) {
    const { stored, isHot } = places[next] as RunPlace;
    const own = blocks.get(stored.blockId);
    if (own === block) {
      // A damaged place has none.
      if (stored.records.length === 0 && next > at) break;
      addRanges(records, stored.records);
      if (isHot) return { records, next: next + 1 };
    } else if (!isOfOtherSignal(own, block)) break;
  }
  return { records, next };
}

const isOfOtherSignal = (one: BlockText | undefined, other: BlockText): boolean =>
  one !== undefined && one.signal !== null && other.signal !== null && one.signal !== other.signal;

interface Shared {
  readonly report: ReportBlock;
  readonly turns: PieceWork;
  /** counts the running exports; `take` throws where another one is too much */
  readonly slots: Readonly<Record<'take' | 'release', (workspaceId: number) => void>>;
}

/** Exports runs of workspaces that do not redact. */
export function createRunExporter(
  { find, read }: Pick<ReadChoice, 'find' | 'read'>,
  steps: Pick<RunSteps, 'find'>,
  { turns, slots, report }: Shared,
) {
  /**
   * Reads the blocks of the first places, at least one.
   *
   * @param known the last blocks that were read: a packed block has the records of many places
   */
  const readSlice = (
    workspaceId: number,
    places: readonly RunPlace[],
    known: ReadonlyMap<string, BlockText>,
  ): Promise<Map<string, BlockText>> =>
    read({ workspaceId, isExport: true }, async (db) => {
      const blocks = new Map<string, BlockText>();
      const wanted = new Map<string, BlockKey>();
      for (const { stored } of places) {
        const block = known.get(stored.blockId);
        if (block !== undefined) blocks.set(stored.blockId, block);
        else if (wanted.size < SLICE.blocks) wanted.set(stored.blockId, stored);
        else break;
      }
      let bytes = 0;
      for await (const block of readBlocks(db, wanted.values())) {
        blocks.set(block.blockId, block);
        bytes += 'text' in block ? block.text.length : 0;
        if (bytes > SLICE.bytes) break;
      }
      return blocks;
    });

  /** Makes the lines of a run. @throws {UnreadableBlockError} at the first block that cannot be read */
  /** Makes the lines of a run. Throws at the first block that cannot be read: an export is never silently short. */
  async function* chunks(
    run: FoundRun,
    signal: ExportedSignal,
    isCounted: boolean,
  ): AsyncGenerator<Buffer> {
    const { workspaceId } = run;
    if (isCounted) slots.take(workspaceId);
    try {
      const [found] = await read({ workspaceId, isExport: true }, (db) =>
        findPlaces(db, [run], PLACES_MAX),
      );
      const places = found?.places ?? [];
      const exported = new ExportedSpans();
      let left = EXPORTED_STEPS_MAX;
      let blocks = new Map<string, BlockText>();
      for (let at = 0; at < places.length && left > 0; ) {
        blocks = await readSlice(workspaceId, places.slice(at, at + SLICE.places), blocks);
        while (at < places.length && left > 0) {
          const block = blocks.get(places[at]?.stored.blockId ?? '');
          if (block === undefined) break;
          if (block.signal !== null && block.signal !== signal) {
            at += 1;
            continue;
          }
          if ('error' in block) throw block.error;
          const { records, next } = recordsIn(block, places, at, blocks);
          at = next;
          if (records.length === 0)
            throw new UnreadableBlockError(block.blockId, 'its place is damaged');
          const wanted = firstRecords(records, left);
          left -= countRecords(wanted);
          const work = linesOfRun(block, wanted, exported);
          const lines = await turns.takeInPieces(workspaceId, work, block.text.length);
          if (lines.length > 0) yield lines;
        }
      }
      if (left > 0 && places.length === PLACES_MAX) {
        throw new Error(`a run with more than ${PLACES_MAX} places cannot be exported whole`);
      }
    } catch (error) {
      if (error instanceof UnreadableBlockError) report(error.blockId, error);
      throw error;
    } finally {
      if (isCounted) slots.release(workspaceId);
    }
  }

  return {
    /** counts the exports; a caller of several exports takes one slot for all */
    exportSlots: slots,
    exportOtlp: async (
      workspaceId: number,
      runId: Hex16,
      signal: ExportedSignal,
      isCounted = true,
    ) => {
      const found = await steps.find(workspaceId, runId);
      if (found === null) throw new SluiceError('not_found', 'This workspace has no such run.');
      if (await find({ workspaceId }, (db) => redactsExcerpts(db, workspaceId)))
        throw new SluiceError('conflict', RUN_NOT_EXPORTED);
      return chunks(found, signal, isCounted);
    },
  };
}
