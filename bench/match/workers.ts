/**
 * What a worker costs to start and to keep, and what a second one brings. Workers are processes
 * here, so that the memory of each is its own; in the server they are threads and share the tables.
 */
import { tablesOf } from '../../src/engine/prefilter/fast-matcher.ts';
import type { PrefilterTables } from '../../src/engine/prefilter/prefilter-tables.ts';
import type { RequirementsReader } from '../../src/engine/prefilter/requirements.ts';
import type { Rule } from '../../src/model/rules.ts';
import { Child } from '../child.ts';
import { median } from '../harness.ts';

export type WorkerRequest =
  | {
      readonly type: 'start';
      readonly rules: readonly Rule[];
      readonly tables: PrefilterTables;
      readonly texts: readonly string[];
    }
  | { readonly type: 'match'; readonly forMs: number };

export type WorkerReply =
  | { readonly type: 'ready'; readonly buildMs: number; readonly residentMb: number }
  | { readonly type: 'matched'; readonly mbPerSecond: number };

export interface WorkerFacts {
  /** the tables: once, beside the catalogue, for all workers */
  readonly tablesMs: number;
  /** a worker's own, median and every value */
  readonly buildMs: number;
  readonly rawBuildMs: readonly number[];
  /** the larger one's, after all texts were matched */
  readonly residentMb: number;
  /** megabytes of text per second, in all: medians and every value */
  readonly alone: number;
  readonly together: number;
  readonly rawAlone: readonly number[];
  readonly rawTogether: readonly number[];
  readonly scaling: number;
}

const WORKER = new URL('worker.ts', import.meta.url);
const WORKERS = 2;
const ROUNDS = 8;
const ROUND_MS = 1000;

/**
 * Measures workers: alone, the one or the other in turns, and both at once, alternating.
 * @param read what has read the patterns already, as in the process that builds the catalogue
 */
export async function measureWorkers(
  rules: readonly Rule[],
  read: RequirementsReader,
  texts: readonly string[],
): Promise<WorkerFacts> {
  const startedAt = performance.now();
  const tables = tablesOf(rules, read);
  const tablesMs = Math.round(performance.now() - startedAt);
  const workers = Array.from(
    { length: WORKERS },
    () => new Child<WorkerRequest, WorkerReply>(WORKER),
  );
  const match = async (worker: (typeof workers)[number]): Promise<number> =>
    (await worker.request({ type: 'match', forMs: ROUND_MS }, 'matched')).mbPerSecond;
  try {
    // One after the other: each start is measured alone.
    const ready: Extract<WorkerReply, { type: 'ready' }>[] = [];
    for (const worker of workers) {
      ready.push(await worker.request({ type: 'start', rules, tables, texts }, 'ready'));
    }
    const rawAlone: number[] = [];
    const rawTogether: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const one = workers[round % WORKERS];
      if (one !== undefined) rawAlone.push(await match(one));
      const each = await Promise.all(workers.map(match));
      rawTogether.push(each.reduce((sum, value) => sum + value, 0));
    }
    const [alone, together] = [median(rawAlone), median(rawTogether)];
    const rounded = (values: readonly number[]) => values.map((value) => Number(value.toFixed(2)));
    return {
      tablesMs,
      buildMs: Math.round(median(ready.map(({ buildMs }) => buildMs))),
      rawBuildMs: ready.map(({ buildMs }) => Math.round(buildMs)),
      residentMb: Math.round(Math.max(...ready.map(({ residentMb }) => residentMb))),
      alone: Number(alone.toFixed(2)),
      together: Number(together.toFixed(2)),
      rawAlone: rounded(rawAlone),
      rawTogether: rounded(rawTogether),
      scaling: Number((together / alone).toFixed(2)),
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.close()));
  }
}
