/**
 * Remembers the steps of large runs for a short time, without names and documents: every page of a run
 * needs all of them, for its tree and to find the records of those it shows.
 */
import { LRUCache } from 'lru-cache';

import type { Database } from '../db/database.ts';
import type { RunToRead } from '../db/runs/run-to-read.ts';
import { RUN_STEPS_MAX } from '../model/run-page.ts';
import type { StoredTree } from '../model/run-tree.ts';
import type { RunSummary } from '../model/runs.ts';
import type { ReportBlock } from './read-records.ts';
import { readTree } from './run-tree.ts';

/** Runs that are remembered, of at most 20,000 steps: some 8 MB each. */
const RUNS_MAX = 4;
/** Smaller ones are read again. */
const LARGE_STEPS = 1_000;
/** Retention may remove blocks without a change of the run. */
const KEPT_MS = 60_000;

interface Kept {
  /** changes with every step that arrives */
  readonly version: string;
  readonly tree: StoredTree;
}

export class RunTrees {
  readonly #kept = new LRUCache<string, Kept>({ max: RUNS_MAX, ttl: KEPT_MS });
  /** under way, by run and version: a page and the search in it begin at the same time */
  readonly #reading = new Map<string, Promise<StoredTree>>();
  readonly #report: ReportBlock;

  constructor(report: ReportBlock) {
    this.#report = report;
  }

  /** Reads the run again next time: some of its blocks are no longer stored, or damaged. */
  forget({ workspaceId, runId }: RunToRead): void {
    this.#kept.delete(`${workspaceId} ${runId}`);
  }

  async read(database: Database, ref: RunToRead, run: RunSummary): Promise<StoredTree> {
    const key = `${ref.workspaceId} ${ref.runId}`;
    const version = `${run.spans + run.repeatedSpans} ${run.logRecords} ${run.lastArrivalAt.getTime()}`;
    const known = this.#kept.get(key);
    if (known?.version === version) return known.tree;
    this.#kept.delete(key);
    const name = `${key} ${version}`;
    const reading =
      this.#reading.get(name) ??
      this.#readAndKeep(database, ref, key, version).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return await reading;
  }

  async #readAndKeep(
    database: Database,
    ref: RunToRead,
    key: string,
    version: string,
  ): Promise<StoredTree> {
    const tree = await readTree(database, ref, RUN_STEPS_MAX, this.#report);
    if (tree.steps.length >= LARGE_STEPS) this.#kept.set(key, { version, tree });
    return tree;
  }
}
