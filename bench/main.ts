/**
 * `npm run bench -- <name>`: one question per name; results are printed and written to
 * bench/results/.
 */
import { Command } from 'commander';

import { copyFormat } from './copy-format.ts';
import { report } from './harness.ts';
import { ingest } from './ingest.ts';
import { matchBench, reportMatch } from './match.ts';

const program = new Command('bench').description(
  'Measures against a server and database of its own, on this machine only.',
);
program
  .command('ingest')
  .description('spans per second, end to end, beside raw COPY of the same rows')
  .action(async () => report(await ingest()));
program
  .command('match')
  .description('megabytes of text per second, the fast matcher beside the plain one')
  .action(async () => reportMatch(await matchBench()));
program
  .command('copy-format')
  .description('text or binary COPY, json or jsonb attributes')
  .action(async () => report(await copyFormat()));

await program.parseAsync();
