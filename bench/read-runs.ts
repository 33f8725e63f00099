/**
 * How much CPU time does the pass need to read short runs? Runs are sent to a server, and then read in the
 * order of their arrival by this process, as many at a time as a task of the pass has. Only prints.
 */
import type pg from 'pg';

import { createDatabase, type Database } from '../src/db/database.ts';
import type { RunToRead } from '../src/db/runs/run-to-read.ts';
import { readStepsOfRuns } from '../src/reads/steps-of-runs.ts';
import { log, median, VoidRun } from './harness.ts';
import { familyCpuSeconds, parentOf } from './ingest/cpu.ts';
import { benchRuns } from './pass/runs.ts';
import { fill, onPassBench } from './pass.ts';

const RUNS_PER_TASK = 256;
const TASKS = 12;
/** Linux counts CPU time in steps of 10 ms: all tasks are read so often in a round. */
const TIMES_PER_ROUND = 4;
const TOGETHER_MS_MAX = 25;

/** Of one task. */
interface Measured {
  readonly readerMs: number;
  readonly postgresMs: number;
  readonly elapsedMs: number;
}

async function tasksOf(client: pg.Client): Promise<RunToRead[][]> {
  const { rows } = await client.query<RunToRead>(
    `SELECT workspace_id AS "workspaceId", replace(run_id::text, '-', '') AS "runId",
            (first_arrival_at AT TIME ZONE 'UTC')::date::text AS "firstArrivalOn",
            (last_arrival_at AT TIME ZONE 'UTC')::date::text AS "lastArrivalOn"
       FROM runs ORDER BY last_arrival_at, run_id`,
  );
  return Array.from({ length: TASKS }, (_, task) =>
    rows.slice(task * RUNS_PER_TASK, (task + 1) * RUNS_PER_TASK),
  );
}

/** @returns how many steps the runs have */
async function readTask(database: Database, runs: readonly RunToRead[]): Promise<number> {
  const read = await readStepsOfRuns(database, runs);
  if (read.length !== runs.length) throw new VoidRun(`${read.length} runs were read together`);
  return read.reduce((sum, run) => sum + (run?.steps.length ?? 0), 0);
}

async function measure(
  database: Database,
  tasks: readonly (readonly RunToRead[])[],
  postmaster: number,
  steps: number,
): Promise<Measured> {
  const startedAt = performance.now();
  const own = process.cpuUsage();
  const postgres = familyCpuSeconds(postmaster);
  for (let time = 0; time < TIMES_PER_ROUND; time += 1) {
    let read = 0;
    for (const task of tasks) read += await readTask(database, task);
    if (read !== steps) throw new VoidRun(`${read} steps were read, ${steps} are stored`);
  }
  const { user, system } = process.cpuUsage(own);
  const count = tasks.length * TIMES_PER_ROUND;
  return {
    readerMs: (user + system) / 1000 / count,
    postgresMs: ((familyCpuSeconds(postmaster) - postgres) * 1000) / count,
    elapsedMs: (performance.now() - startedAt) / count,
  };
}

/** Prints the medians. */
export async function readRunsBench(rounds: number): Promise<void> {
  const load = benchRuns(TASKS * RUNS_PER_TASK);
  await onPassBench(load, async (bench) => {
    await fill(bench);
    const { client, server } = bench;
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const postmaster = parentOf(rows[0]?.pid ?? 0);
    const tasks = await tasksOf(client);
    const database = createDatabase(server.databaseUrl, 1, { connectionLost: () => undefined });
    try {
      const raw: Measured[] = [];
      // The first round includes code that V8 has not compiled yet.
      for (let round = -1; round < rounds; round += 1) {
        const one = await measure(database, tasks, postmaster, load.spans);
        log(`${one.readerMs.toFixed(1)} + ${one.postgresMs.toFixed(1)} ms of CPU`);
        if (round >= 0) raw.push(one);
      }
      const of = (pick: (one: Measured) => number): number => median(raw.map(pick));
      const [reader, postgres] = [of((one) => one.readerMs), of((one) => one.postgresMs)];
      const reached = reader + postgres <= TOGETHER_MS_MAX ? 'reached' : 'missed';
      process.stdout.write(
        `reading ${RUNS_PER_TASK} runs of ${load.spans / load.runs} spans: reader ${reader.toFixed(1)} ` +
          `+ PostgreSQL ${postgres.toFixed(1)} ms of CPU, ${of((one) => one.elapsedMs).toFixed(1)} ms ` +
          `elapsed. Target: at most ${TOGETHER_MS_MAX} ms of CPU together: ${reached}.\n`,
      );
    } finally {
      await database.end();
    }
  });
}
