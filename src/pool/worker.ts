/**
 * What runs inside a worker thread: building the catalogue, and evaluating runs over a database
 * connection of its own. Errors of one run cost that run an attempt, and no other.
 */
import { workerData } from 'piscina';

import { createDatabase, type Database } from '../db/database.ts';
import {
  type ClaimedRun,
  completeRuns,
  type Evaluation,
  releaseRun,
} from '../db/evaluation-queue.ts';
import { readSteps } from '../db/steps.ts';
import { type Catalog, createCatalog } from '../engine/catalog.ts';
import { loadManifest, verifyCorpus } from '../engine/corpus.ts';
import { evaluateRun } from '../engine/evaluate.ts';
import { createMatcher, type Matcher } from '../engine/matcher.ts';
import { errorFacts } from '../observe/error-facts.ts';
import type { CatalogTask, EvaluateOutcome, EvaluateTask, WorkerSettings } from './tasks.ts';

/** one to read and write; a worker does one thing at a time */
const CONNECTIONS = 1;
const RULE_IDS_NAMED_MAX = 5;

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
    matcher: createMatcher(settings.rules),
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

type Outcome =
  | { readonly kind: 'decided'; readonly evaluation: Evaluation }
  | { readonly kind: 'undecided'; readonly why: string };

async function evaluateOne(
  run: ClaimedRun,
  mask: Uint8Array,
  { database, matcher }: WorkerState,
  settings: WorkerSettings,
): Promise<Outcome> {
  const { steps, unread } = await readSteps(database, run);
  const { findings, undecided, truncated } = evaluateRun(
    steps,
    matcher,
    (ruleIndex) => mask[ruleIndex] === 1,
    settings,
  );
  if (undecided.length > 0) {
    const named = undecided.slice(0, RULE_IDS_NAMED_MAX).map(({ ruleId }) => ruleId);
    return { kind: 'undecided', why: `${undecided.length} rules undecided: ${named.join(', ')}` };
  }
  return {
    kind: 'decided',
    evaluation: {
      run,
      findings,
      steps: steps.length + unread,
      unreadSteps: unread,
      truncatedTexts: truncated,
    },
  };
}

/** Evaluates runs of one workspace and stores what was found. */
export async function evaluate({
  runs,
  mask,
  ruleSetSha256,
}: EvaluateTask): Promise<EvaluateOutcome> {
  const settings = workerData as WorkerSettings;
  const worker = stateOf(settings);
  const decided: Evaluation[] = [];
  for (const run of runs) {
    const outcome = await evaluateOne(run, mask, worker, settings).catch(
      (error: unknown): Outcome => {
        const { error: name, code = '' } = errorFacts(error);
        return { kind: 'undecided', why: `evaluation failed: ${name} ${code}`.trim() };
      },
    );
    if (outcome.kind === 'decided') decided.push(outcome.evaluation);
    else await releaseRun(worker.database, run, outcome.why);
  }
  const corpusVersion = settings.snapshot.version;
  if (decided.length > 0) {
    await completeRuns(worker.database, decided, { corpusVersion, ruleSetSha256 });
  }
  const findings: EvaluateOutcome['findings'] = {};
  for (const { severity } of decided.flatMap((one) => one.findings)) {
    findings[severity] = (findings[severity] ?? 0) + 1;
  }
  return { evaluated: decided.length, undecided: runs.length - decided.length, findings };
}
