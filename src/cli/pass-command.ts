/** `sluice pass run` and `sluice migrate`: background work of the server, done once on demand. */
import type { Command } from 'commander';

import {
  describeDistribution,
  distribute,
  SHARDS_MAX,
  SHARDS_PER_WORKER,
} from '../db/distribute.ts';
import { answer, type OutputOptions } from './answer.ts';
import { wholeNumber } from './command.ts';
import { withDatabase } from './with-database.ts';

interface MigrateOptions extends OutputOptions {
  readonly citus?: true;
  readonly shards?: number;
}

async function migrateDatabase(options: MigrateOptions): Promise<void> {
  await withDatabase(async ({ database, migrations }) => {
    const distribution =
      options.citus === true ? await distribute(database, options.shards) : undefined;
    answer(options, { applied: migrations, distribution }, () =>
      [
        migrations.length === 0
          ? 'The database schema is up to date.'
          : `Applied ${migrations.join(', ')}.`,
        ...(distribution === undefined ? [] : [describeDistribution(distribution)]),
      ].join('\n'),
    );
  });
}

export function addUpkeepCommands(program: Command): void {
  program
    .command('pass')
    .description('evaluation of finished runs')
    .command('run')
    .description('evaluate all runs that are due now, then exit')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  RUN_SETTLE_MS=0 sluice pass run')
    .action(async (options: OutputOptions) => {
      // Matching and metrics take a tenth of a second to load.
      const { runPass } = await import('./run-pass.ts');
      await runPass(options);
    });
  program
    .command('migrate')
    .description('update the database schema (the server also does this when it starts)')
    .option('--citus', 'then distribute telemetry over the workers of the Citus cluster')
    .option(
      '--shards <n>',
      `with --citus: shards of each table (default: ${SHARDS_PER_WORKER} for each worker)`,
      wholeNumber(SHARDS_MAX),
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  DATABASE_URL=postgres://… sluice migrate')
    .action(migrateDatabase);
}
