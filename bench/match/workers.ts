/**
 * What a worker costs to start and to keep, and what a second one brings. Workers are processes here,
 * so that the memory of each is its own; in the server they are threads and share the tables.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { tablesOf } from '../../src/engine/prefilter/fast-matcher.ts';
import type { PrefilterTables } from '../../src/engine/prefilter/prefilter-tables.ts';
import type { RequirementsReader } from '../../src/engine/prefilter/requirements.ts';
import type { Rule } from '../../src/model.ts';
import { median } from '../harness.ts';

export type Order =
  | {
      readonly kind: 'start';
      readonly rules: readonly Rule[];
      readonly tables: PrefilterTables;
      readonly texts: readonly string[];
    }
  | { readonly kind: 'match'; readonly forMs: number };

export type Report =
  | { readonly kind: 'ready'; readonly buildMs: number; readonly residentMb: number }
  | { readonly kind: 'matched'; readonly mbPerSecond: number };

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

const WORKERS = 2;
const ROUNDS = 8;
const ROUND_MS = 1000;

class Worker {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  constructor() {
    const path = fileURLToPath(new URL('worker.ts', import.meta.url));
    this.#child = fork(path, { execArgv: ['--import', 'tsx'], serialization: 'advanced' });
    this.#ended = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`a worker ended with ${code}`);
    });
    // In the end it does, and nobody asks.
    this.#ended.catch(() => {});
  }

  async ask<K extends Report['kind']>(
    order: Order,
    kind: K,
  ): Promise<Extract<Report, { kind: K }>> {
    const answered = once(this.#child, 'message') as Promise<[Report]>;
    this.#child.send(order);
    const [report] = await Promise.race([answered, this.#ended]);
    if (report.kind !== kind) throw new Error(`a worker answered ${report.kind}, not ${kind}`);
    return report as Extract<Report, { kind: K }>;
  }

  async matched(): Promise<number> {
    return (await this.ask({ kind: 'match', forMs: ROUND_MS }, 'matched')).mbPerSecond;
  }

  end(): void {
    this.#child.disconnect();
  }
}

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
  const workers = Array.from({ length: WORKERS }, () => new Worker());
  try {
    // One after the other: each start is measured alone.
    const ready: Extract<Report, { kind: 'ready' }>[] = [];
    for (const worker of workers) {
      ready.push(await worker.ask({ kind: 'start', rules, tables, texts }, 'ready'));
    }
    const rawAlone: number[] = [];
    const rawTogether: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const one = workers[round % WORKERS];
      if (one !== undefined) rawAlone.push(await one.matched());
      const each = await Promise.all(workers.map((worker) => worker.matched()));
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
    for (const worker of workers) worker.end();
  }
}
