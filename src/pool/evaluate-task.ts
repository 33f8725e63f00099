/**
 * One task in a worker: its runs read in one query, matched one by one in slices, stored in one
 * statement. Several tasks are under way in a thread; one of them matches, the others wait for the
 * database or for their turn (slice-scheduler.ts):
 *
 *   quick 1   read ▒▒▒ match ██████ store ▒▒
 *   quick 2        read ▒▒▒ ······· match ██ ·· ███ store ▒▒
 *   long      read ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒     ██     ████████ ·······
 *
 * A run that a quick task cannot finish soon becomes a long one; a long run that has used up its
 * CPU time is stored with its findings so far.
 */

import type { LimitFunction } from 'p-limit';
import { type Database, ping } from '../db/database.ts';
import { isOutage } from '../db/outage.ts';
import type { EvaluatedRun } from '../db/runs/complete-runs.ts';
import type { ClaimedRun } from '../db/runs/evaluation-queue.ts';
import { toolListOf } from '../db/tools/store-tools.ts';
import { RunEvaluation } from '../engine/evaluate.ts';
import type { Matcher } from '../engine/matcher/matcher.ts';
import { totalUsage } from '../engine/step-usage.ts';
import { runFactsOf } from '../engine/surfaces/reader/run-facts.ts';
import { toolsOfRun } from '../engine/tools/run-tools.ts';
import { checkOf } from '../model/run-check.ts';
import type { Checked } from '../model/runs.ts';
import type { StepsOfRun } from '../reads/run-reading.ts';
import { isUnreadable, readStepsOfRuns, TOGETHER_BYTES_MAX } from '../reads/steps-of-runs.ts';
import { reasonOf, shortReason } from './reason.ts';
import { rescueFindings } from './rescue.ts';
import type { RuleMeter } from './rule-meter.ts';
import { createFlow, type Flow, type SliceDependencies, workInSlices } from './slice-scheduler.ts';
import { type StoredEvaluations, storeEvaluations } from './store-evaluations.ts';
import type {
  EvaluateTask,
  RunOutcome,
  TaskOutcome,
  UnreadableBlock,
  WorkerSettings,
  WorkspaceRules,
} from './tasks.ts';

/** Most CPU time of a run in a quick task: half a megabyte of ordinary text. */
const QUICK_RUN_CPU_MS = 100;
/**
 * CPU time after which a quick task starts no further run, so that its findings are stored soon.
 */
const QUICK_TASK_CPU_MS = 500;

type Evaluated = Extract<RunOutcome, { kind: 'evaluated' }>;
type Decided = Pick<Evaluated, 'isOverBudget'> & {
  readonly kind: 'decided';
  readonly evaluation: EvaluatedRun;
};
/** A run's outcome before it is stored. */
type Judged = Decided | Exclude<RunOutcome, { kind: 'evaluated' | 'lost' }>;

/** State that the tasks of a thread share. */
export interface TaskContext extends SliceDependencies {
  readonly database: Database;
  readonly matcher: Matcher;
  /** the flow of all quick tasks */
  readonly quick: Flow;
  /** one quick task matches at a time */
  readonly quickTasks: LimitFunction;
  readonly settings: WorkerSettings;
  readonly meter: RuleMeter;
}

/** The database did not answer a ping; `cause` says why. */
class Unreachable extends Error {}

/** Pings first, so that an outage is distinguished from runs that cannot be read or stored. */
async function reach(database: Database): Promise<void> {
  await ping(database).catch((cause: unknown) => {
    throw new Unreachable(reasonOf(cause), { cause });
  });
}

export async function evaluateTask(task: EvaluateTask, context: TaskContext): Promise<TaskOutcome> {
  const { database, quickTasks } = context;
  try {
    await reach(database);
    const isAnySize = task.isLarge || (task.pace === 'apart' && task.runs.length === 1);
    const limits = isAnySize
      ? { keepsRecords: true }
      : { keepsRecords: true, runBytesMax: TOGETHER_BYTES_MAX };
    const unreadableBlocks: UnreadableBlock[] = [];
    const read = await readStepsOfRuns(database, task.runs, limits, (blockId, { message }) => {
      unreadableBlocks.push({ blockId, why: message });
    });
    await rescue(read, task, context);
    const judged =
      task.pace === 'quick'
        ? await quickTasks(() => judgeQuick(read, task, context))
        : await judgeAll(read, task, context);
    const { outcomes, ...stored } = await store(judged, read, context);
    const costs = context.meter.take();
    return { kind: 'done', runs: outcomes, costs, unreadableBlocks, ...stored };
  } catch (error) {
    if (error instanceof Unreachable) return { kind: 'unreachable', why: error.message };
    return { kind: isOutage(error) ? 'unreachable' : 'failed', why: reasonOf(error) };
  }
}

type ReadRuns = readonly (StepsOfRun | null)[];

/** Of a run that is retried, the findings of its steps are stored first. */
async function rescue(
  [read]: ReadRuns,
  { runs: [run], workspaces, trail }: EvaluateTask,
  context: TaskContext,
): Promise<void> {
  const rules = run === undefined ? undefined : workspaces.get(run.workspaceId);
  if (trail === undefined || run === undefined || rules === undefined) return;
  await rescueFindings(run, read?.steps ?? [], rules, trail, context);
}

const bytesOf = (steps: StepsOfRun | null | undefined): number => steps?.bytes ?? 0;

/** The smallest runs first, because large ones may be slow. */
async function judgeQuick(
  read: ReadRuns,
  task: EvaluateTask,
  context: TaskContext,
): Promise<Judged[]> {
  const { cpuMs, quick } = context;
  const judged = read.map((): Judged => ({ kind: 'not begun' }));
  const order = [...read.keys()].sort((a, b) => bytesOf(read[a]) - bytesOf(read[b]));
  const [cpuFrom, from] = [cpuMs(), performance.now()];
  // CPU time is never more than wall-clock time, which is cheaper to read.
  const isOver = (): boolean =>
    performance.now() - from > QUICK_TASK_CPU_MS && cpuMs() - cpuFrom > QUICK_TASK_CPU_MS;
  for (const index of order) {
    judged[index] = await judge(read[index] ?? null, index, task, context, quick);
    if (isOver()) break;
  }
  return judged;
}

async function judgeAll(
  read: ReadRuns,
  task: EvaluateTask,
  context: TaskContext,
): Promise<Judged[]> {
  const judged: Judged[] = [];
  const flow = createFlow(1);
  for (const [index, steps] of read.entries()) {
    judged.push(await judge(steps, index, task, context, flow));
  }
  return judged;
}

/** Evaluates one run; an error of the rules concerns this run only. */
async function judge(
  read: StepsOfRun | null,
  index: number,
  { runs, workspaces, pace }: EvaluateTask,
  context: TaskContext,
  flow: Flow,
): Promise<Judged> {
  if (read === null) return { kind: 'long', isLarge: true };
  const run = runs[index];
  const rules = run === undefined ? undefined : workspaces.get(run.workspaceId);
  if (run === undefined || rules === undefined) throw new RangeError('a run without rules');
  const { matcher, settings } = context;
  const enabled = (ruleIndex: number): boolean => rules.mask[ruleIndex] === 1;
  const cpuMaxMs = pace === 'quick' ? QUICK_RUN_CPU_MS : settings.runCpuBudgetMs;
  try {
    const timer = context.meter.next();
    const { steps, unread, repeats } = read;
    if (isUnreadable({ steps, unread })) {
      return { kind: 'undecided', why: `none of the run's ${unread} steps can be read` };
    }
    const every = { ...settings, everyPlace: true };
    const evaluation = new RunEvaluation(steps, matcher, enabled, every, timer);
    const isDone = await workInSlices(evaluation, flow, cpuMaxMs, context);
    if (!isDone && pace === 'quick') return { kind: 'long', isLarge: false };
    if (!isDone) evaluation.stop();
    return conclude(run, { steps, unread, repeats }, rules, evaluation, settings.surfaceCapBytes);
  } catch (error) {
    return { kind: 'undecided', why: reasonOf(error) };
  }
}

function conclude(
  run: ClaimedRun,
  { steps, unread, repeats }: Pick<StepsOfRun, 'steps' | 'unread' | 'repeats'>,
  { ruleSetSha256, redactExcerpts }: WorkspaceRules,
  { result }: RunEvaluation,
  textCapBytes: number,
): Judged {
  const { findings, undecided, surfaceNames, truncated, unparsed, kinds, unreadSteps } = result;
  const [first] = undecided;
  if (first !== undefined) {
    const why = `${undecided.length} rules undecided, first ${first.ruleId}: ${first.message}`;
    return { kind: 'undecided', why: shortReason(why) };
  }
  const facts = runFactsOf(steps, kinds, surfaceNames, run.state, result);
  const service = steps.find(({ serviceName }) => serviceName !== null)?.serviceName;
  const evaluation = {
    run,
    facts,
    findings,
    redactExcerpts,
    ruleSetSha256,
    steps: steps.length + unread,
    repeatedSpans: repeats,
    unreadSteps: unread + unreadSteps,
    texts: result.surfaces,
    surfaces: surfaceNames,
    truncatedTexts: truncated - unparsed,
    textCapBytes,
    unparsedValues: unparsed,
    usage: totalUsage(steps),
    title: result.title,
    tools: result.tools,
    toolList: toolListOf(toolsOfRun(steps), facts.agentName ?? service ?? ''),
  };
  return { kind: 'decided', evaluation, isOverBudget: unreadSteps > 0 };
}

async function store(
  judged: readonly Judged[],
  read: ReadRuns,
  { database, settings }: TaskContext,
): Promise<{ readonly outcomes: RunOutcome[] } & Omit<StoredEvaluations, 'severities'>> {
  const decided = judged.flatMap((one, index) =>
    one.kind === 'decided' ? [{ evaluation: one.evaluation, hot: read[index]?.hot ?? [] }] : [],
  );
  if (decided.length === 0) {
    const outcomes = judged.filter((one) => one.kind !== 'decided');
    return { outcomes, packed: null, notPacked: null, refusedTools: 0 };
  }
  await reach(database);
  const { severities, ...rest } = await storeEvaluations(database, decided, settings.snapshot);
  let next = 0;
  const outcomes = judged.map((one): RunOutcome => {
    if (one.kind !== 'decided') return one;
    const findings = severities[next++] ?? null;
    if (findings === null) return { kind: 'lost' };
    return {
      kind: 'evaluated',
      ...(one.evaluation.run.isLate === true && { isLate: true }),
      findings,
      steps: one.evaluation.steps,
      texts: one.evaluation.texts,
      checked: checkedOf(one.evaluation),
      unreadTexts: one.evaluation.facts.unreadTexts,
      unknownRoles: one.evaluation.facts.unknownRoles.length,
      isOverBudget: one.isOverBudget,
    };
  });
  return { outcomes, ...rest };
}

/** The checked part of a run, before any step can be late. */
function checkedOf({ facts, steps, ...evaluation }: EvaluatedRun): Checked {
  return checkOf({
    ...evaluation,
    evaluation: 'evaluated',
    spans: steps,
    logRecords: 0,
    evaluatedSteps: steps,
    textGaps: facts.textGaps,
    unreadTexts: facts.unreadTexts,
    unknownRoles: facts.unknownRoles,
  }).checked;
}
