/**
 * `sluice pass run` and `sluice migrate`: background work of the server, done once on demand.
 */
import type { Command } from 'commander';

import { pinnedCorpus } from '../main/corpus-location.ts';
import { createPass } from '../main/create-pass.ts';
import { createObserver } from '../observe/events.ts';
import { prepareMatching } from '../pool/workers.ts';
import { answer, type OutputOptions } from './answer.ts';
import { withDatabase } from './with-database.ts';

async function runPass(options: OutputOptions): Promise<void> {
  await withDatabase(async (open, config) => {
    const { events } = createObserver(config.logLevel);
    const matching = await prepareMatching(pinnedCorpus(), config.dataDir);
    const { pass, workers } = createPass(config, open, matching, events);
    try {
      const facts = await pass.runOnce();
      answer(
        options,
        facts,
        () =>
          `${facts.evaluated} runs evaluated, ${facts.findings} findings, ` +
          `${facts.undecided} to be retried, in ${facts.elapsedMs} ms`,
      );
    } finally {
      await pass.stop();
      await workers.close();
    }
  });
}

/** Adds `pass run` and `migrate`. */
export function addUpkeepCommands(program: Command): void {
  program
    .command('pass')
    .description('evaluation of finished runs')
    .command('run')
    .description('evaluate all runs that are due now, then exit')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  RUN_SETTLE_MS=0 sluice pass run')
    .action(runPass);
  program
    .command('migrate')
    .description('update the database schema (the server also does this when it starts)')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://… sluice migrate')
    .action(async (options: OutputOptions) => {
      await withDatabase(async ({ migrations }) => {
        answer(options, { applied: migrations }, () =>
          migrations.length === 0
            ? 'The database schema is up to date.'
            : `Applied ${migrations.join(', ')}.`,
        );
      });
    });
}
