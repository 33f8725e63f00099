/**
 * Where does the CPU time of an evaluation go? This process claims, reads, matches and stores the pass
 * bench's runs, as a match thread does, while V8 samples it: each sample counts for the stage of the
 * innermost file that has one. Only prints.
 *
 *   fill ──► warm up ──► tasks, timed ──► tasks, sampled ──► µs per run of each stage, with a bar
 *
 * Sampling takes CPU time itself, so it says how the time is shared, and not how much it is.
 *
 * tsx, which runs benchmarks, sets the name of every function that is made; the built program does not, so
 * that is a stage of its own, and the others are those of the built program.
 *
 * Blocks are decompressed by libuv's threads, which V8 does not sample: that is the process's CPU time
 * less the thread's, V8's own helpers included.
 */
import { type Profiler, Session } from 'node:inspector';
import pLimit from 'p-limit';
import { createDatabase } from '../src/db/database.ts';
import { claimRuns } from '../src/db/runs/evaluation-queue.ts';
import { loadManifest, verifyCorpus } from '../src/engine/corpus/corpus.ts';
import { createPatternCompiler } from '../src/engine/matcher/pattern.ts';
import { createFastMatcher, tablesOf } from '../src/engine/prefilter/fast-matcher.ts';
import { createCatalog } from '../src/engine/rules/catalog.ts';
import { runnableRules } from '../src/engine/rules/effective-set.ts';
import { corpusPackageDir, MANIFEST_PATH } from '../src/main/corpus-location.ts';
import { evaluateTask, type TaskContext } from '../src/pool/evaluate-task.ts';
import { RuleMeter } from '../src/pool/rule-meter.ts';
import { ruleSetOf } from '../src/pool/rule-set.ts';
import { createFlow, SliceScheduler } from '../src/pool/slice-scheduler.ts';
import { createThreadClock, ThreadPulse } from '../src/pool/thread-cpu.ts';
import type { RunData } from './agent-runs/data.ts';
import { log, VoidRun } from './harness.ts';
import { familyCpuSeconds, parentOf } from './ingest/cpu.ts';
import { agentRuns, shareOf } from './pass/agent-runs.ts';
import { type BenchRuns, benchRuns } from './pass/runs.ts';
import { fill, onPassBench, type PassBench } from './pass.ts';

const RUNS_PER_TASK = 256;
/** Runs of a conversation are larger. */
const AGENT_RUNS_PER_TASK = 8;
/** They compile the code and the patterns that such runs need. */
const WARM_UP_TASKS = 4;
const SAMPLE_MICROS = 200;
const BAR_CHARS = 40;
/** A new workspace's. */
const RULE_SETTINGS = { experimental: false, overrides: new Map<string, boolean>() };
const RUN_SETTINGS = { surfaceCapBytes: 65_536, excerptChars: 160, runCpuBudgetMs: 60_000 };

/** Stages by file, the first that fits; functions of V8 and Node.js count for what called them. */
const STAGES: readonly (readonly [stage: string, files: RegExp])[] = [
  ['RE2', /src\/engine\/matcher\/(?:pattern|relaxed-pattern)\.ts|\/re2\//],
  ['literals', /src\/engine\/prefilter\/(?:literal-scan|non-ascii-|incremental-)|^wasm:/],
  ['fold: UTF-8, normalised text', /src\/engine\/matcher\/(?:normalised-|prepared-|text-cut)/],
  ['windows', /src\/engine\/prefilter\//],
  ['key: texts seen before', /src\/engine\/matcher\/(?:text-key|run-texts|surface-)/],
  ['rules, hits, places', /src\/engine\/(?:matcher\/|evaluate\.ts)/],
  ['facts of the run', /src\/engine\/surfaces\/reader\/run-facts|src\/engine\/[-\w]+\.ts/],
  ['surfaces', /src\/engine\/surfaces\//],
  ['parse records', /src\/(?:otlp|reads)\//],
  ['read: places, blocks', /src\/db\/telemetry\//],
  ['store', /src\/db\/(?:runs\/complete-runs|findings\/)/],
  ['claim', /src\/db\/runs\//],
  ['talk to PostgreSQL', /\/pg[-\w]*\/|src\/db\/|node:(?:net|internal\/stream|stream)/],
  ['task', /src\/pool\//],
];
const GARBAGE = 'garbage collection';
const NAMES = 'tsx: names of functions';
const OTHER = 'other';
const THREADS = 'decompress, and V8 beside it';

export interface Stage {
  readonly name: string;
  readonly micros: number;
}

type Frame = Profiler.ProfileNode['callFrame'];

function stageOf({ functionName, url }: Frame): string | null {
  if (functionName === '(garbage collector)') return GARBAGE;
  if (functionName === '__name') return NAMES;
  return STAGES.find(([, files]) => files.test(url))?.[0] ?? null;
}

/** The samples of each stage; `(idle)` counts for none. */
export function samplesByStage({ nodes, samples = [] }: Profiler.Profile): Map<string, number> {
  const stages = new Map<number, string | null>();
  // A node's parent comes before it.
  const parents = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((one) => [one, id])),
  );
  for (const { id, callFrame } of nodes) {
    const isIdle = callFrame.functionName === '(idle)';
    const inherited = stages.get(parents.get(id) ?? 0) ?? OTHER;
    stages.set(id, isIdle ? null : (stageOf(callFrame) ?? inherited));
  }
  const found = new Map<string, number>();
  for (const sample of samples) {
    const stage = stages.get(sample) ?? null;
    if (stage !== null) found.set(stage, (found.get(stage) ?? 0) + 1);
  }
  return found;
}

/** One line for each stage, the most expensive first. */
export function barsOf(stages: readonly Stage[]): string {
  const most = Math.max(...stages.map(({ micros }) => micros));
  const lines = stages
    .toSorted((a, b) => b.micros - a.micros)
    .map(({ name, micros }) => {
      const bar = '█'.repeat(Math.max(1, Math.round((micros / most) * BAR_CHARS)));
      return `${name.padEnd(30)} ${micros.toFixed(1).padStart(7)} µs  ${bar}`;
    });
  return `${lines.join('\n')}\n`;
}

function startProfiler(): () => Profiler.Profile {
  const session = new Session();
  session.connect();
  // Answers come before the call returns.
  const post = <Result>(method: string, parameters: object = {}): Result => {
    let answer: Result | undefined;
    session.post(method, parameters, (error, result) => {
      if (error !== null) throw error;
      answer = result as Result;
    });
    return answer as Result;
  };
  post('Profiler.enable');
  post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROS });
  post('Profiler.start');
  return () => {
    const { profile } = post<{ profile: Profiler.Profile }>('Profiler.stop');
    session.disconnect();
    return profile;
  };
}

function contextOf({ server }: PassBench): TaskContext {
  const corpus = verifyCorpus(corpusPackageDir(), loadManifest(MANIFEST_PATH));
  const rules = runnableRules(createCatalog(corpus).rules);
  const tables = tablesOf(rules);
  return {
    database: createDatabase(server.databaseUrl, 1, { connectionLost: () => undefined }),
    matcher: createFastMatcher(rules, createPatternCompiler(), tables),
    scheduler: new SliceScheduler(),
    quick: createFlow(1),
    quickTasks: pLimit(1),
    cpuMs: createThreadClock(),
    pulse: new ThreadPulse(ThreadPulse.createMemory()),
    settings: {
      ...RUN_SETTINGS,
      databaseUrl: server.databaseUrl,
      readUrl: null,
      snapshot: corpus.snapshot,
      rules,
      tables,
    },
    meter: new RuleMeter(),
  };
}

/** Evaluates the next runs. @returns how many were evaluated */
async function evaluateNext(context: TaskContext, limit: number): Promise<number> {
  const { database, settings } = context;
  const runs = await claimRuns(database, { settleMs: 0, timeoutMs: 3_600_000, limit });
  const rules = ruleSetOf(settings.rules, settings.snapshot, RULE_SETTINGS);
  const workspaces = new Map(
    runs.map(({ workspaceId }) => [workspaceId, { ...rules, redactExcerpts: false }]),
  );
  if (runs.length === 0) return 0;
  const outcome = await evaluateTask({ pace: 'quick', isLarge: false, runs, workspaces }, context);
  if (outcome.kind !== 'done') throw new VoidRun(`a task was ${outcome.kind}: ${outcome.why}`);
  return outcome.runs.filter(({ kind }) => kind === 'evaluated').length;
}

export interface StagesOptions {
  /** that are timed, and as many that are sampled */
  readonly tasks: number;
  /** absent: the runs of the pass bench */
  readonly data?: RunData;
}

const loadOf = (runs: number, data: RunData | undefined): BenchRuns =>
  data === undefined ? benchRuns(runs) : agentRuns(data, shareOf(data, runs));

/** Prints the stages. */
export async function stagesBench({ tasks, data }: StagesOptions): Promise<void> {
  const perTask = data === undefined ? RUNS_PER_TASK : AGENT_RUNS_PER_TASK;
  const runs = tasks * perTask;
  const load = loadOf(2 * runs + WARM_UP_TASKS * perTask, data);
  await onPassBench(load, async (bench) => {
    await fill(bench);
    const { rows } = await bench.client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const postmaster = parentOf(rows[0]?.pid ?? 0);
    const context = contextOf(bench);
    try {
      const evaluate = async (tasks: number): Promise<void> => {
        for (let task = 0; task < tasks; task += 1) {
          const evaluated = await evaluateNext(context, perTask);
          if (evaluated !== perTask) throw new VoidRun(`${evaluated} runs in a task`);
        }
      };
      // A run that waits for patterns to be compiled may take too long for its task.
      for (let task = 0; task < WARM_UP_TASKS; task += 1) await evaluateNext(context, perTask);
      const before = [process.cpuUsage(), context.cpuMs(), familyCpuSeconds(postmaster)] as const;
      await evaluate(tasks);
      const threadMicros = ((context.cpuMs() - before[1]) * 1000) / runs;
      const { user, system } = process.cpuUsage(before[0]);
      const postgresMicros = ((familyCpuSeconds(postmaster) - before[2]) * 1e6) / runs;
      const stop = startProfiler();
      await evaluate(tasks);
      const samples = samplesByStage(stop());
      const all = [...samples.values()].reduce((sum, one) => sum + one, 0);
      const stages = [...samples].map(([name, count]) => ({
        name,
        micros: (count / all) * threadMicros,
      }));
      const together = (user + system) / runs;
      log(`${runs} runs of ${load.spans / load.runs} spans, ${all} samples`);
      process.stdout.write(
        barsOf([...stages, { name: THREADS, micros: Math.max(0, together - threadMicros) }]),
      );
      process.stdout.write(
        `together ${together.toFixed(0)} µs of CPU per run, ` +
          `and ${postgresMicros.toFixed(0)} µs of PostgreSQL\n`,
      );
    } finally {
      await context.database.end();
    }
  });
}
