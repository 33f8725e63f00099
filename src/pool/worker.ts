/**
 * What runs inside a worker thread: building the catalogue, and evaluating runs, one at a time, over
 * a database connection of its own. It never decides what becomes of a run that it could not
 * evaluate: it says why, and the pass settles it.
 */
import { workerData } from 'piscina';

import { createDatabase, type Database, ping } from '../db/database.ts';
import { completeRun } from '../db/evaluation-queue.ts';
import { isOutage } from '../db/outage.ts';
import { readSteps } from '../db/steps.ts';
import { type Catalog, createCatalog } from '../engine/catalog.ts';
import { loadManifest, verifyCorpus } from '../engine/corpus.ts';
import { evaluateRun } from '../engine/evaluate.ts';
import { createFastMatcher } from '../engine/fast/fast-matcher.ts';
import type { Matcher } from '../engine/matcher.ts';
import { runFactsOf } from '../engine/run-facts.ts';
import { reasonOf, shortReason } from './reason.ts';
import type { CatalogTask, EvaluateOutcome, EvaluateTask, WorkerSettings } from './tasks.ts';

/** one to read and write; a worker does one thing at a time */
const CONNECTIONS = 1;

interface WorkerState {
  readonly database: Database;
  readonly matcher: Matcher;
}

let state: WorkerState | null = null;

/** Made at the first run and kept: compiled patterns are what makes the next run fast. */
function stateOf(settings: WorkerSettings): WorkerState {
  // A lost idle connection needs no words here: the next query makes a new one or fails and says
  // so.
  state ??= {
    database: createDatabase(settings.databaseUrl, CONNECTIONS, { connectionLost: () => {} }),
    matcher: createFastMatcher(settings.rules),
  };
  return state;
}

/** Verifies the corpus and classifies its rules. */
export function buildCatalog({ packageDir, manifestPath }: CatalogTask): Catalog {
  return createCatalog(verifyCorpus(packageDir, loadManifest(manifestPath)));
}

/** Compares the files on disk with the manifest once more. */
export function checkCorpus({ packageDir, manifestPath }: CatalogTask): void {
  verifyCorpus(packageDir, loadManifest(manifestPath));
}

/** The database did not even take a question; `cause` says why. */
class Unreachable extends Error {}

/** Asked first, so that a database that is away is told from a run that cannot be read. */
async function reach(database: Database): Promise<void> {
  await ping(database).catch((cause: unknown) => {
    throw new Unreachable(reasonOf(cause), { cause });
  });
}

async function evaluateAndStore(
  { run, mask, ruleSetSha256, redactExcerpts }: EvaluateTask,
  { database, matcher }: WorkerState,
  settings: WorkerSettings,
): Promise<EvaluateOutcome> {
  await reach(database);
  const { steps, unread } = await readSteps(database, run);
  const { findings, undecided, surfaces, truncated, kinds } = evaluateRun(
    steps,
    matcher,
    (ruleIndex) => mask[ruleIndex] === 1,
    settings,
  );
  const [first] = undecided;
  if (first !== undefined) {
    const why = `${undecided.length} rules undecided, first ${first.ruleId}: ${first.message}`;
    return { kind: 'undecided', why: shortReason(why) };
  }
  await reach(database);
  const stored = await completeRun(
    database,
    {
      run,
      facts: runFactsOf(steps, kinds, run.state),
      findings,
      redactExcerpts,
      steps: steps.length + unread,
      unreadSteps: unread,
      texts: surfaces,
      truncatedTexts: truncated,
    },
    { corpusVersion: settings.snapshot.version, ruleSetSha256 },
  );
  return stored === null
    ? { kind: 'lost' }
    : { kind: 'evaluated', findings: stored, texts: surfaces };
}

/** Evaluates a run and stores what was found; whoever asked settles what was not decided. */
export async function evaluate(task: EvaluateTask): Promise<EvaluateOutcome> {
  const settings = workerData as WorkerSettings;
  try {
    return await evaluateAndStore(task, stateOf(settings), settings);
  } catch (error) {
    if (error instanceof Unreachable) return { kind: 'unreachable', why: error.message };
    return { kind: isOutage(error) ? 'unreachable' : 'undecided', why: reasonOf(error) };
  }
}
