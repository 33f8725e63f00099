/**
 * Searches the stored steps of a workspace for a text, the newest first (docs/decisions/0026-text-search.md):
 *
 *   runs that are not evaluated ─► their blocks ────────────► records with the text ─► runs
 *   packed blocks ─► filters ─► those that may contain it ──►
 *
 * A page ends when it has enough runs, or has read or waited enough; a cursor continues it. Text is searched on the
 * thread that takes requests, a few milliseconds at a time.
 */
import { findWorkspaceById } from '../db/people/workspaces.ts';
import type { ReadChoice } from '../db/replica/read-choice.ts';
import { listRuns } from '../db/runs/runs.ts';
import { idAt, LAST_ID, timeOfId } from '../db/telemetry/day-blocks.ts';
import {
  FILTERS_MAX,
  filterBlocks,
  PENDING_RUNS_MAX,
  pendingRuns,
  type RunRecords,
  runsOfBlock,
} from '../db/telemetry/packed/block-search.ts';
import { utcDay } from '../db/telemetry/partitions.ts';
import {
  type BlockKey,
  type BlockText,
  MissingBlockError,
  readBlocks,
} from '../db/telemetry/stored-blocks.ts';
import { findPlaces } from '../db/telemetry/stored-places.ts';
import { SluiceError } from '../errors.ts';
import type { Hex16 } from '../model/json.ts';
import { hashesOf } from '../model/packed/text-filter.ts';
import { TextMatcher } from '../model/packed/text-match.ts';
import { addRanges, type RecordRanges } from '../model/record-ranges.ts';
import {
  RUNS_NOT_SEARCHED,
  type SearchRuns,
  type TextMatch,
  type TextQuery,
} from '../model/runs.ts';
import { type RecordOrigin, recordsOf } from '../otlp/lines/block-records.ts';
import type { Pieces } from '../otlp/pieces.ts';
import type { PieceWork } from './piece-work.ts';
import type { ReportBlock } from './read-records.ts';
import type { StepSignal } from './read-step.ts';

/** One page of a search reads so many bytes, or takes so long, unless it is one block more. */
const BYTES_MAX = 64 * 1024 * 1024;
const TIME_MAX_MS = 2000;
/** Places of a run that is not packed. */
const PLACES_MAX = 200;
/** Runs of a block, which all are in the page. */
const RUNS_MAX = 10_000;
/** The blocks of a run can be newer than its first arrival by so much. */
const RUN_MS_MAX = 86_400_000;

function* matchesIn(
  block: Extract<BlockText, { text: Buffer }>,
  runs: readonly RunRecords[],
  matcher: TextMatcher,
): Pieces<ReadonlyMap<Hex16, TextMatch>> {
  const matches = new Map<Hex16, TextMatch>();
  if (block.signal === 'metrics' || !(yield* matcher.mayBeIn(block.text))) return matches;
  const signal: StepSignal = block.signal;
  const origins = new Map<RecordOrigin, TextMatch | null>();
  for (const { runId, records } of runs) {
    for (const { bytes, origin } of yield* recordsOf(signal, block.text, records)) {
      let match = origins.get(origin);
      if (match === undefined) {
        match = matcher.findInValue([origin.resource, origin.scope]);
        origins.set(origin, match);
      }
      match ??= yield* matcher.findIn(bytes);
      if (match === null) continue;
      matches.set(runId, match);
      break;
    }
    yield;
  }
  return matches;
}

interface SearchParts {
  readonly turns: PieceWork;
  readonly report: ReportBlock;
}

class Search {
  readonly matches = new Map<Hex16, TextMatch>();
  blocks = 0;
  blocksRead = 0;
  blocksUnreadable = 0;
  pendingLeftOut = false;
  #bytes = 0;
  readonly #endMs: number;
  readonly #turns: PieceWork;
  readonly #workspaceId: number;
  readonly #matcher: TextMatcher;
  readonly #report: ReportBlock;

  constructor(workspaceId: number, text: string, { turns, report }: SearchParts) {
    this.#workspaceId = workspaceId;
    this.#matcher = new TextMatcher(text);
    this.#turns = turns;
    this.#report = report;
    this.#endMs = performance.now() + TIME_MAX_MS;
  }

  get isOver(): boolean {
    return this.#bytes >= BYTES_MAX || performance.now() >= this.#endMs;
  }

  async take(block: BlockText, runs: readonly RunRecords[]): Promise<void> {
    this.blocksRead += 1;
    if ('error' in block) {
      this.blocksUnreadable += 1;
      // Retention may have dropped the block since its filter was tested.
      if (!(block.error instanceof MissingBlockError)) this.#report(block.blockId, block.error);
      return;
    }
    this.#bytes += block.text.length;
    const work = matchesIn(block, runs, this.#matcher);
    const found = await this.#turns.takeInPieces(this.#workspaceId, work, block.text.length);
    for (const [runId, match] of found) {
      if (!this.matches.has(runId)) this.matches.set(runId, match);
    }
  }
}

/** Searches runs of workspaces that do not redact. */
export function createTextSearch(
  { read, find }: Pick<ReadChoice, 'read' | 'find'>,
  parts: SearchParts,
): SearchRuns {
  /** Searches what is not packed of runs that wait for their evaluation. */
  const searchPending = async (
    search: Search,
    workspaceId: number,
    signal?: AbortSignal | undefined,
  ) => {
    await read({ workspaceId, signal }, async (db) => {
      const all = await pendingRuns(db, workspaceId);
      const runs = all.slice(0, PENDING_RUNS_MAX);
      search.pendingLeftOut = runs.length < all.length;
      const found = runs.length === 0 ? [] : await findPlaces(db, runs, PLACES_MAX);
      const blocks = new Map<
        string,
        { key: BlockKey; runs: { runId: Hex16; records: number[] }[] }
      >();
      for (const [index, { places }] of found.entries()) {
        const { runId } = runs[index] as { runId: Hex16 };
        if (places.length === PLACES_MAX) search.pendingLeftOut = true;
        for (const { isHot, stored } of places) {
          if (!isHot) continue;
          const block = blocks.get(stored.blockId) ?? { key: stored, runs: [] };
          blocks.set(stored.blockId, block);
          block.runs.push({ runId, records: addedRanges(stored.records) });
        }
      }
      for await (const block of readBlocks(
        db,
        [...blocks.values()].map(({ key }) => key),
      )) {
        await search.take(block, blocks.get(block.blockId)?.runs ?? []);
        if (!search.isOver) continue;
        search.pendingLeftOut = true;
        break;
      }
    });
  };

  /** Searches packed blocks. @returns the last block that was searched; null at the end of the range */
  const searchPacked = async (
    search: Search,
    workspaceId: number,
    query: TextQuery,
    signal?: AbortSignal | undefined,
  ): Promise<string | null> => {
    const { since, until } = query.filter;
    const hashes = hashesOf(query.text);
    const last = until === undefined ? LAST_ID : idAt(until.getTime() + RUN_MS_MAX);
    let to = query.cursor ?? last;
    const from = idAt(since?.getTime() ?? 0);
    const fromDay = utcDay(since?.getTime() ?? 0);
    for (;;) {
      const blocks = await read({ workspaceId, signal }, (db) =>
        filterBlocks(db, { workspaceId, from, to, fromDay }, hashes),
      );
      for (const block of blocks) {
        search.blocks += 1;
        to = block.blockId;
        if (!block.mayContain) continue;
        await read({ workspaceId, signal }, async (db) => {
          const runs = await runsOfBlock(db, workspaceId, block);
          for await (const text of readBlocks(db, [block])) await search.take(text, runs);
        });
        if (search.isOver || search.matches.size >= query.limit) return to;
      }
      if (blocks.length < FILTERS_MAX) return null;
      if (search.isOver) return to;
    }
  };

  return async (workspaceId, query, signal) => {
    const workspace = await find({ workspaceId }, (db) => findWorkspaceById(db, workspaceId));
    if (workspace?.redactExcerpts !== false) throw new SluiceError('conflict', RUNS_NOT_SEARCHED);
    const search = new Search(workspaceId, query.text, parts);
    if (query.cursor === null) await searchPending(search, workspaceId, signal);
    const next = await searchPacked(search, workspaceId, query, signal);
    const ids = [...search.matches.keys()];
    const { runs } = await read({ workspaceId, signal }, (db) =>
      listRuns(db, workspaceId, { ...query.filter, ids }, null, RUNS_MAX),
    );
    const { blocks, blocksRead, blocksUnreadable, pendingLeftOut } = search;
    return {
      runs: runs.flatMap((run) => {
        const textMatch = search.matches.get(run.runId);
        return textMatch === undefined ? [] : [{ ...run, textMatch }];
      }),
      next,
      searchedTo: next === null ? null : timeOfId(next),
      blocks,
      blocksRead,
      blocksUnreadable,
      pendingLeftOut,
    };
  };
}

function addedRanges(ranges: RecordRanges): number[] {
  const own: number[] = [];
  addRanges(own, ranges);
  return own;
}
