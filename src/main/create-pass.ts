/** The pass with its workers, made from the settings; for the server and for `sluice pass run`. */
import type { Config } from '../config.ts';
import type { Catalog } from '../engine/catalog.ts';
import type { Events } from '../observe/events.ts';
import { Pass, runnableRules } from '../pool/pass.ts';
import { startWorkers, type Workers } from '../pool/workers.ts';
import type { OpenDatabase } from './open-database.ts';

/** Starts the workers; the pass itself waits to be started. Close the workers after the pass. */
export function createPass(
  config: Config,
  { database, url }: OpenDatabase,
  { snapshot, rules: all }: Catalog,
  events: Events,
): { pass: Pass; workers: Workers } {
  const rules = runnableRules(all);
  const { surfaceCapBytes, excerptChars } = config;
  const workers = startWorkers(
    config.matchThreads,
    { databaseUrl: url, snapshot, rules, surfaceCapBytes, excerptChars },
    events.passFailed,
  );
  const pass = new Pass(
    { database, workers, snapshot, rules, events },
    {
      intervalMs: config.passIntervalMs,
      settleMs: config.runSettleMs,
      timeoutMs: config.runTimeoutMs,
    },
  );
  return { pass, workers };
}
