/**
 * Reads the steps of runs, in time order, within limits for each run and for each statement.
 *
 * A run may have a million steps, so they are sorted without their documents, and documents are
 * fetched for the first ones only: reading a document costs more than everything else together.
 * One statement reads several runs, because planning, which opens every partition and index, takes
 * longer than reading a short run. Runs that are short together are read by a simpler one
 * (`src/db/runs/short-steps.ts`).
 */

import type { Database } from '../db/database.ts';
import { placementOf } from '../db/placement.ts';
import { findRepeats, type PlacedStep } from '../db/runs/repeated-spans.ts';
import { parametersOf, type RunToRead, type StepLimits } from '../db/runs/run-to-read.ts';
import { readTree } from '../db/runs/run-tree.ts';
import { byShard, requireFinished } from '../db/runs/shards.ts';
import { parseRow, readShortRuns, type ShortRow, type ShortRun } from '../db/runs/short-steps.ts';
import { withOrigins } from '../db/runs/step-rows.ts';
import { type AnswerRow, readStepRows } from '../db/runs/steps-statement.ts';
import { type PlacedStepRow, toStep } from '../db/runs/to-step.ts';
import { inTimeOrder, type Numbered, numberSteps } from '../model/step-order.ts';
import type { Step } from '../model/steps.ts';

const MIB = 1024 * 1024;
/**
 * Most such bytes of several runs read at a time: some seconds of matching at its slowest. If the
 * first run has more, it is read alone.
 */
export const TOGETHER_BYTES_MAX = 8 * MIB;

/** Limits of each run, and of the runs that are read together. */
export interface ReadLimits extends StepLimits {
  readonly togetherBytesMax: number;
  /** a larger run is not read together with others */
  readonly runBytesMax: number;
}
const LIMITS: ReadLimits = {
  stepsMax: 20_000,
  bytesMax: 64 * MIB,
  togetherBytesMax: TOGETHER_BYTES_MAX,
  runBytesMax: Number.MAX_SAFE_INTEGER,
};

/** Rows of spans that repeat another. */
type Repeats = Pick<ReadonlyMap<unknown, unknown>, 'has'>;

export interface StepsOfRun {
  /** each access parses those of a short run */
  readonly steps: readonly Step[];
  /** most bytes of the steps' names, messages, attributes, events and bodies */
  readonly bytes: number;
  /** steps stored but not read: past the limits, or no longer kept */
  readonly unread: number;
  /** spans that were read and left out, because they repeat another */
  readonly repeats: number;
}

/**
 * Checks whether steps are stored of which none could be read, whatever the reason: nothing can be said
 * about the run.
 */
export const isUnreadable = ({ steps, unread }: Pick<StepsOfRun, 'steps' | 'unread'>): boolean =>
  steps.length === 0 && unread > 0;

/** A run that retention has removed since it was claimed. */
const REMOVED_RUN = { hasSteps: false, total: 0 };

/**
 * The steps of runs: each run's spans and log records, which carry its trace id or were put into it
 * (`log-runs.ts`). A run's first step is read whatever its size, so that a run is never empty
 * because of its limits.
 *
 * Not a prepared statement: a generic plan opens every partition and knows no sizes.
 *
 * @param runs at least one; each is looked for on the days of its arrival, with a day to spare on
 *   either side for clocks that differ
 * @param limits those that differ from the limits of an evaluation
 * @returns the first of the runs, as many as fit into `togetherBytesMax`, but at least one; null
 *   for a run that is too large
 */
export async function readStepsOfRuns(
  database: Database,
  runs: readonly RunToRead[],
  limits: Partial<ReadLimits> = {},
): Promise<(StepsOfRun | null)[]> {
  const placement = await placementOf(database);
  const read = placement === 'local' ? readTogether : readByShard;
  return await read(database, runs, { ...LIMITS, ...limits });
}

type Reading = (
  database: Database,
  runs: readonly RunToRead[],
  limits: ReadLimits,
) => Promise<(StepsOfRun | null)[]>;

const readTogether: Reading = async (database, runs, limits) => {
  const { stepsMax, bytesMax, togetherBytesMax, runBytesMax } = limits;
  const parameters = parametersOf(runs, limits);
  const short = await readShortRuns(
    database,
    parametersOf(runs, { stepsMax, bytesMax: Math.min(bytesMax, togetherBytesMax, runBytesMax) }),
    claimedOf(runs),
  );
  if (short !== null) {
    const read = short.flatMap((run) => run.rows);
    const repeats = await findRepeats(database, parameters, read, toPlaced);
    const late = await numbersOfLate(database, runs, stepsMax);
    return short.map((run, place) => toShort(run, repeats, late.get(place)));
  }
  const rows = await readStepRows(database, 'local', [
    ...parameters,
    togetherBytesMax,
    runBytesMax,
    claimedOf(runs),
  ]);
  return withoutRest(await stepsOf(database, parameters, rows, runs, stepsMax));
};

/** How many rows the claim of each run is for; null for a run that is read as it is. */
const claimedOf = (runs: readonly RunToRead[]): (number | null)[] =>
  runs.map(({ steps }) => steps ?? null);

/**
 * Runs that are distributed: those of a shard together, shard after shard, because planning on the
 * coordinator and again on the worker takes longer than reading a short run. Each shard gets its part of
 * the bytes, so that the runs that were read are the first ones, or nearly.
 */
const readByShard: Reading = async (database, runs, limits) => {
  const { togetherBytesMax, runBytesMax } = limits;
  const read = new Map<number, StepsOfRun | null>();
  let bytes = 0;
  let waiting = runs.length;
  for (const { places, totals, parts } of await byShard(database, runs)) {
    const part = places.length / waiting;
    const own = places.flatMap((place) => runs[place] ?? []);
    const parameters = parametersOf(own, limits);
    const rows = await readStepRows(database, 'distributed', [
      ...parameters,
      Math.floor((togetherBytesMax - bytes) * part),
      runBytesMax,
      totals,
      ...parts,
    ]);
    const inFull = await withOrigins(database, ({ place }) => own[place]?.workspaceId, rows);
    const found = await stepsOf(database, parameters, inFull, own, limits.stepsMax);
    for (const [index, steps] of withoutRest(found).entries()) {
      const run = own[index];
      if (run !== undefined && steps !== null && steps.unread > 0) {
        await requireFinished(database, run, totals[index] ?? 0);
      }
      read.set(places[index] ?? 0, steps);
      bytes += steps?.bytes ?? 0;
    }
    waiting -= places.length;
    if (bytes >= togetherBytesMax) break;
  }
  return withoutRest(firstTogether(read, togetherBytesMax));
};

/** The first of the runs by their places, as many as were read and fit together. */
function firstTogether(
  read: ReadonlyMap<number, StepsOfRun | null>,
  togetherBytesMax: number,
): (StepsOfRun | null)[] {
  const first: (StepsOfRun | null)[] = [];
  let bytes = 0;
  for (let place = 0; ; place += 1) {
    const steps = read.get(place);
    if (steps === undefined) break;
    const own = steps?.bytes ?? 0;
    if (own > 0 && bytes > 0 && bytes + own > togetherBytesMax) break;
    bytes += own;
    first.push(steps);
  }
  return first;
}

const isOfStep = (row: AnswerRow): row is PlacedStepRow => row.source !== null;

/**
 * @param parameters of the statement that read the rows
 * @returns null for a run that has steps of which none was read
 */
async function stepsOf(
  database: Database,
  parameters: readonly unknown[],
  rows: readonly AnswerRow[],
  runs: readonly RunToRead[],
  stepsMax: number,
): Promise<(StepsOfRun | null)[]> {
  const repeats = await findRepeats(database, parameters, rows.filter(isOfStep), toPlaced);
  const late = await numbersOfLate(database, runs, stepsMax);
  const answers: AnswerRow[][] = runs.map(() => []);
  for (const row of rows) answers[row.place]?.push(row);
  return answers.map(([run, ...its], place): StepsOfRun | null => {
    const { hasSteps, total } = run?.source === null ? run : REMOVED_RUN;
    if (hasSteps && its.length === 0) return null;
    return toSteps(its.filter(isOfStep), total, repeats, late.get(place));
  });
}

/** What `findRepeats` needs of a row. */
function toPlaced({ place, source, spanId, start, ...row }: PlacedStepRow | ShortRow): PlacedStep {
  const { arrivedOn, storedAt, stored } = row;
  return {
    run: place,
    source: source ?? 'log',
    spanId,
    startUnixNano: start,
    arrivedOn,
    storedAt,
    stored,
  };
}

/** Rows of steps by where they are stored. */
interface Stored {
  readonly source: PlacedStep['source'] | null;
  readonly arrivedOn: string;
  readonly storedAt: string;
}
const keyOf = ({ source, arrivedOn, storedAt }: Stored): string =>
  `${source} ${arrivedOn} ${storedAt}`;

/** What late steps are among all steps of their run. */
interface LateNumbers {
  readonly numbers: ReadonlyMap<string, Numbered>;
  /** the run has more steps than were numbered */
  readonly isCut: boolean;
}

/**
 * The numbers of the steps of runs whose late steps are read: findings need the numbers of the run's pages,
 * and a late span may repeat one that was evaluated.
 */
async function numbersOfLate(
  database: Database,
  runs: readonly RunToRead[],
  stepsMax: number,
): Promise<ReadonlyMap<number, LateNumbers>> {
  const late = new Map<number, LateNumbers>();
  for (const [place, run] of runs.entries()) {
    if (run.isLate !== true) continue;
    const tree = await readTree(database, run, stepsMax);
    const read = tree.reduce((sum, { repeats = 0 }) => sum + 1 + repeats, 0);
    const numbers = new Map(
      tree.map((step) => [keyOf(step), { number: step.number, twin: step.twin }]),
    );
    late.set(place, { numbers, isCut: read >= stepsMax });
  }
  return late;
}

/** The rows of a run without repeats, and the counts that follow from both. */
function countedOnce<Row extends Stored>(
  rows: readonly Row[],
  total: number,
  repeats: Repeats,
  late: LateNumbers | undefined,
) {
  const isKept = (row: Row): boolean =>
    !repeats.has(row) && (late === undefined || late.isCut || late.numbers.has(keyOf(row)));
  const kept = rows.filter(isKept);
  // Steps may have come since a total was read that was given to the statement.
  const unread = Math.max(0, total - rows.length);
  return { kept, unread, repeats: rows.length - kept.length };
}

/** The steps of rows in time order, with their numbers. */
function inOrder<Row extends Stored>(
  rows: readonly Row[],
  toOne: (row: Row) => Step,
  late: LateNumbers | undefined,
): Step[] {
  const steps = rows.map(toOne);
  if (late === undefined) return inTimeOrder(numberSteps(steps));
  for (const [index, step] of steps.entries()) {
    const row = rows[index];
    const numbered = row === undefined ? undefined : late.numbers.get(keyOf(row));
    Object.assign(step, numbered ?? { number: late.numbers.size + 1, twin: 0 });
  }
  return inTimeOrder(steps);
}

/** The steps of a short run; each access parses them. */
function toShort(
  { rows, total, bytes }: ShortRun,
  found: Repeats,
  late: LateNumbers | undefined,
): StepsOfRun {
  const { kept, ...counts } = countedOnce(rows, total, found, late);
  return {
    get steps() {
      return inOrder(kept, (row) => toStep(parseRow(row)), late);
    },
    bytes,
    ...counts,
  };
}

function toSteps(
  rows: readonly PlacedStepRow[],
  total: number,
  found: Repeats,
  late: LateNumbers | undefined,
): StepsOfRun {
  const { kept, ...counts } = countedOnce(rows, total, found, late);
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  return { steps: inOrder(kept, toStep, late), bytes, ...counts };
}

/**
 * A run without rows was too large by itself, or did not fit beside the others. Those that did not fit
 * come last, and the first run that is not too large is always read. So a run before one with rows was
 * too large, and so was the first run if none has rows.
 */
function withoutRest(read: (StepsOfRun | null)[]): (StepsOfRun | null)[] {
  const last = read.findLastIndex((one) => one !== null && one.steps.length > 0);
  const open = read.findIndex((one, place) => one === null && place > last);
  if (open === -1) return read;
  return read.slice(0, last === -1 ? open + 1 : open);
}
