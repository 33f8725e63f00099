/**
 * `npm run bench -- <name>`: one question per name; results are printed and written to
 * bench/results/.
 */
import { Command, InvalidArgumentError } from 'commander';

import { copyFormat } from './copy-format.ts';
import { decodeBench, reportDecode } from './decode.ts';
import { fairnessBench } from './fairness/ingest.ts';
import { reportFairness } from './fairness/ingest-report.ts';
import { type FairnessPassOptions, fairnessPass, reportFairnessPass } from './fairness/pass.ts';
import { report } from './harness.ts';
import { ingestMemory } from './ingest/memory.ts';
import { reportIngest, reportMemory } from './ingest/report.ts';
import type { IngestOptions } from './ingest/result.ts';
import { ingest } from './ingest.ts';
import { limitsBench } from './limits.ts';
import { loopDelayBench, reportLoopDelay } from './loop-delay.ts';
import { matchBench, reportMatch } from './match.ts';
import { type PassOptions, passBench } from './pass.ts';
import { reportPass } from './pass-report.ts';
import { reportStore } from './store/report.ts';
import { storeBench } from './store.ts';

function positive(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('A whole number above 0.');
  return Number(text);
}

const program = new Command('bench').description(
  'Measures against a server and database of its own, on this machine only.',
);
program
  .command('ingest')
  .description('rows stored and acknowledged per second, beside raw COPY and Fastify + INSERT')
  .option('--rounds <number>', 'rounds of everything that is measured in turn', positive, 5)
  .option('--quick', 'a look of about a minute: one round, less of everything, nothing is written')
  .addHelpText(
    'after',
    [
      '',
      'Takes about eight minutes; writes bench/results/ingest.json, docs/performance.md and its charts.',
      'Stored rows that differ from what was acknowledged make the run void: nothing is written then.',
      '',
      'Examples:',
      '  npm run bench -- ingest',
      '  npm run bench -- ingest --quick',
      '  HTTP_THREADS=2 npm run bench -- ingest --rounds 3',
    ].join('\n'),
  )
  .action(async ({ rounds, quick = false }: Partial<IngestOptions> & { rounds: number }) =>
    reportIngest(await ingest({ rounds: quick ? 1 : rounds, quick })),
  );
program
  .command('ingest-memory')
  .description('resident memory of the server over minutes at 80 % of what it can take')
  .option('--memory-minutes <number>', 'how long', positive, 10)
  .addHelpText(
    'after',
    '\nWrites bench/results/ingest-memory.json and its part of docs/performance.md.\n\n' +
      'Example:\n  npm run bench -- ingest-memory --memory-minutes 2',
  )
  .action(async ({ memoryMinutes }: { memoryMinutes: number }) =>
    reportMemory(await ingestMemory(memoryMinutes)),
  );
program
  .command('fairness')
  .description("what one workspace's flood costs another that sends little")
  .option('--rounds <number>', 'rounds of each server', positive, 3)
  .option('--seconds <number>', 'how long the quiet one is measured, each time', positive, 15)
  .option('--beside <folder>', 'another checkout, whose server is measured in turn with this one')
  .addHelpText(
    'after',
    '\nTakes about three minutes, twice that with --beside; writes bench/results/fairness.json and its ' +
      'part of docs/performance.md.\n\nExample:\n  npm run bench -- fairness --beside ../sluice-before',
  )
  .action(async (options: { rounds: number; seconds: number; beside?: string }) =>
    reportFairness(await fairnessBench({ beside: null, ...options })),
  );
program
  .command('match')
  .description('megabytes of text per second, the fast matcher beside the plain one')
  .action(async () => reportMatch(await matchBench()));
program
  .command('pass')
  .description('runs and text per second of a pass, its backlog, and ingest with a pass beside it')
  .option('--runs <number>', 'runs of four spans that are evaluated', positive, 3000)
  .option('--rounds <number>', 'rounds, each of a pass and of ingest with and without', positive, 3)
  .option(
    '--bodies <number>',
    'trace exports of 100 spans that ingest is measured with',
    positive,
    150,
  )
  .addHelpText(
    'after',
    '\nExample:\n  MATCH_THREADS=2 npm run bench -- pass --runs 1000 --rounds 1',
  )
  .action(async (options: PassOptions) => reportPass(await passBench(options)));
program
  .command('fairness-pass')
  .description('how long a small run waits beside long runs and a backlog of another workspace')
  .option('--runs <number>', 'small runs, one after the other, beside each load', positive, 10)
  .action(async (options: FairnessPassOptions) => reportFairnessPass(await fairnessPass(options)));
program
  .command('limits')
  .description('what counting requests costs ingest: not at all, in memory, in Redis')
  .option('--rounds <number>', 'rounds of each of two loads with one set of servers', positive, 4)
  .action(async ({ rounds }: { rounds: number }) => {
    for (const result of await limitsBench(rounds)) report(result);
  });
program
  .command('decode')
  .description('request bytes to COPY bytes, beside JSON.parse of the same body')
  .option('--rounds <number>', 'rounds of every body, way and JSON.parse in turn', positive, 151)
  .action(({ rounds }: { rounds: number }) => reportDecode(decodeBench(rounds)));
program
  .command('loop-delay')
  .description(
    'how long one request holds the event loop at most, by the worst bodies that are known',
  )
  .option('--rounds <number>', 'rounds of every body', positive, 3)
  .option('--mib <number>', 'size of the largest bodies', positive, 60)
  .action(async ({ rounds, mib }: { rounds: number; mib: number }) =>
    reportLoopDelay(await loopDelayBench(rounds, mib)),
  );
program
  .command('store')
  .description('how rows are kept: compression, indexes, batches, connections, settings')
  .option('--rounds <number>', 'rounds of every question', positive, 3)
  .action(async ({ rounds }: { rounds: number }) => reportStore(await storeBench(rounds)));
program
  .command('copy-format')
  .description('text or binary COPY, json or jsonb attributes')
  .action(async () => report(await copyFormat()));

await program.parseAsync();
