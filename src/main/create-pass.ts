/** Creates the pass with its workers, for the server and for `sluice pass run`, and the server's previews. */
import type { Config } from '../config/config.ts';
import type { ReadReplica } from '../db/replica/read-replica.ts';
import { runnableRules } from '../engine/rules/effective-set.ts';
import type { Events } from '../observe/events.ts';
import type { MatchingData } from '../pool/matching-cache.ts';
import { Pass, type PassDependencies } from '../pool/pass.ts';
import { PreviewRunner } from '../pool/preview/preview-runner.ts';
import { startWorkers, type Workers } from '../pool/workers.ts';
import type { OpenDatabase } from './open-database.ts';
import { runTimesOf } from './run-reader.ts';

/** Starts the workers; the pass itself waits to be started. Close the workers after the pass. */
export function createPass(
  config: Config,
  { database, urls }: OpenDatabase,
  { catalog, tables }: MatchingData,
  events: Events,
  hooks: Pick<PassDependencies, 'onCosts' | 'onCodec'> = {},
): { pass: Pass; workers: Workers } {
  const { snapshot } = catalog;
  const rules = runnableRules(catalog.rules);
  const { surfaceCapBytes, excerptChars, runCpuBudgetMs } = config;
  const workers = startWorkers(
    config.matchThreads,
    {
      databaseUrl: urls.url,
      readUrl: config.databaseReadUrl,
      snapshot,
      rules,
      tables,
      surfaceCapBytes,
      excerptChars,
      runCpuBudgetMs,
    },
    events.matchThreadFailed,
  );
  const pass = new Pass(
    { database, workers, snapshot, rules, events, ...hooks },
    {
      intervalMs: config.passIntervalMs,
      ...runTimesOf(config),
    },
  );
  return { pass, workers };
}

/** Creates what works on previews, on the last of the match threads; it waits to be started. */
export function createPreviews(
  { database }: OpenDatabase,
  { threads }: Workers,
  { catalog: { snapshot } }: MatchingData,
  replica: Pick<ReadReplica, 'isUsable'> | null,
  events: Events,
): PreviewRunner {
  const thread = threads.at(-1);
  if (thread === undefined) throw new RangeError('no match thread');
  return new PreviewRunner({ database, thread, replica, snapshot, events });
}
