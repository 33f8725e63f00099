/**
 * `npm run bench -- <name>`: one question per name; results are printed and written to
 * bench/results/.
 */
import { Command, Option } from 'commander';
import { RUN_DATA } from './agent-runs/data.ts';
import type { CapacityOptions } from './capacity/result.ts';
import { capacityBench } from './capacity.ts';
import { type CitusBenchOptions, citusBench } from './citus.ts';
import { type DashboardBenchOptions, dashboardBench } from './dashboard.ts';
import { type ExportBenchOptions, exportBench } from './export.ts';
import { fairnessBench } from './fairness/ingest.ts';
import { fairnessPass } from './fairness/pass.ts';
import { fairnessReads } from './fairness/reads.ts';
import { log } from './harness.ts';
import { type BesideOptions, besideBench, besideSustained } from './ingest/beside.ts';
import { ingestMemory } from './ingest/memory.ts';
import { ingest } from './ingest.ts';
import { limitsBench } from './limits.ts';
import { loopDelayBench } from './loop-delay.ts';
import { isCommitted } from './machine.ts';
import { type MatchOptions, matchBench, quickMatchBench, worstBench } from './match.ts';
import { positive, setting } from './options.ts';
import { packBench } from './pack.ts';
import { type PassOptions, passBench, passBeside, USUAL_RUNS } from './pass.ts';
import { type PeersOptions, peersBench } from './peers.ts';
import { type PreviewBenchOptions, previewBench } from './preview.ts';
import { printOnly, printResult, publish } from './publish.ts';
import { BUSY_SHARE_MAX, busyNow, useOf } from './quiet.ts';
import { type RelayBenchOptions, relayBench } from './relay.ts';
import { type RunRowsOptions, runRowsBench } from './run-rows.ts';
import { type StagesOptions, stagesBench } from './stages.ts';
import { staleBench } from './stale.ts';

interface FairnessCommandOptions {
  readonly only?: 'ingest' | 'pass' | 'reads';
  readonly rounds: number;
  readonly seconds: number;
  readonly beside?: string;
  readonly runs: number;
}

interface BesideCommandOptions extends BesideOptions {
  readonly pass?: boolean;
  readonly sustained?: number;
}

/** Commands that only print. */
const WITHOUT_RESULTS = [
  'beside',
  'citus',
  'export',
  'pack',
  'run-rows',
  'stages',
  'stale',
  'worst-text',
];

/** Figures of a busy machine, or of what nobody can check out, are worth nothing to others. */
async function reasonsNotToWrite(): Promise<string[]> {
  const busy = await busyNow();
  const percent = (share: number): string => `${Math.round(share * 100)} %`;
  return [
    ...(busy > BUSY_SHARE_MAX
      ? [
          `Other programs use ${percent(busy)} of the cores; at most ${percent(BUSY_SHARE_MAX)} may be.`,
        ]
      : []),
    ...(isCommitted() ? [] : ['What is measured is not committed: figures name their commit.']),
  ];
}

const program = new Command('bench')
  .description('Measures against a server and database of its own, on this machine only.')
  .option(
    '--force',
    'measure in any case, also on a busy machine or what is not committed; nothing is written',
  )
  .hook('preAction', async (_, command) => {
    if (WITHOUT_RESULTS.includes(command.name())) return;
    const { force = false } = program.opts<{ force?: boolean }>();
    const reasons = await reasonsNotToWrite();
    for (const reason of reasons) log(reason);
    const use = useOf(reasons, force);
    if (use === null) program.error('Nothing is measured. --force measures and only prints.');
    if (use === 'print') printOnly();
  });
program
  .command('ingest')
  .description(
    'rows stored and acknowledged per second, compared with raw COPY and Fastify + INSERT',
  )
  .option('--rounds <number>', 'rounds of everything that is measured in turn', positive, 3)
  .option('--quick', 'a look of three minutes: one round, less of everything, nothing is written')
  .addHelpText(
    'after',
    [
      '',
      'Takes about sixteen minutes; writes bench/results/ingest.json, docs/performance.md and its charts.',
      'Stored rows that differ from what was acknowledged make the run void: nothing is written then.',
      '',
      'Examples:',
      '  npm run bench -- ingest',
      '  npm run bench -- ingest --quick',
    ].join('\n'),
  )
  .action(async ({ rounds, quick = false }: { rounds: number; quick?: boolean }) => {
    const result = await ingest({ rounds: quick ? 1 : rounds, quick });
    // The figures of a quick run are too few to be kept.
    if (quick) printResult('ingest', result);
    else publish('ingest', result);
  });
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
    publish('ingest-memory', await ingestMemory(memoryMinutes)),
  );
program
  .command('beside')
  .description('this checkout and another in turn, to see what a change costs')
  .argument('<folder>', 'the other checkout, built and with its modules installed')
  .option('--rounds <number>', 'rounds of every load on both servers', positive, 8)
  .option('--kinds <number>', 'of bodies of 100 spans, of 1 span, of 100 log records', positive, 3)
  .option('--set <setting>', 'a setting of the other server, as NAME=value', setting, {})
  .option('--node <path>', 'the Node.js that runs the other checkout, whose modules fit it')
  .addHelpText(
    'after',
    '\nOnly prints.\n\nExamples:\n  npm run bench -- beside ../sluice-before\n' +
      '  npm run bench -- beside ../sluice-before --sustained 60 --rounds 3\n' +
      '  npm run bench -- beside . --set INGEST_DEDUPLICATE=off\n' +
      '  npm run bench -- beside ../sluice-node22 --node /opt/node22/bin/node',
  )
  .option('--pass', 'the pass over 3,000 runs instead of ingest')
  .option('--sustained <seconds>', 'loads of so many seconds instead, and raw COPY', positive)
  .action((folder: string, { pass = false, sustained, ...options }: BesideCommandOptions) => {
    const { rounds, node, set } = options;
    if (pass) return passBeside(folder, { runs: 3000, rounds, node });
    if (sustained === undefined) return besideBench(folder, options);
    return besideSustained(folder, {
      rounds,
      seconds: sustained,
      set,
      ...(node === undefined ? {} : { node }),
    });
  });
program
  .command('fairness')
  .description("what one workspace's flood and backlog cost another that sends little")
  .addOption(
    new Option(
      '--only <part>',
      'one part: requests that send, runs waiting for the pass, or reads',
    ).choices(['ingest', 'pass', 'reads']),
  )
  .option('--rounds <number>', 'rounds of each server, ingest and reads', positive, 3)
  .option(
    '--seconds <number>',
    'how long the quiet one is measured each time, ingest and reads',
    positive,
    15,
  )
  .option('--beside <folder>', 'another checkout, whose ingest is measured in turn with this one')
  .option('--runs <number>', 'small runs, one after the other, beside each load', positive, 10)
  .addHelpText(
    'after',
    '\nTakes about nine minutes, twelve with --beside; writes bench/results/fairness.json, ' +
      'fairness-pass.json and fairness-reads.json, and their parts of docs/performance.md.\n\n' +
      'Examples:\n  npm run bench -- fairness\n' +
      '  npm run bench -- fairness --only ingest --beside ../sluice-before',
  )
  .action(async ({ only, runs, ...options }: FairnessCommandOptions) => {
    const isWanted = (part: 'ingest' | 'pass' | 'reads'): boolean => (only ?? part) === part;
    if (isWanted('ingest')) {
      publish('fairness', await fairnessBench({ beside: null, ...options }));
    }
    if (isWanted('pass')) publish('fairness-pass', await fairnessPass({ runs }));
    const { rounds, seconds } = options;
    if (isWanted('reads')) publish('fairness-reads', await fairnessReads({ rounds, seconds }));
  });
program
  .command('match')
  .description('megabytes of text per second, the fast matcher compared with the plain one')
  .option('--beside <program>', "another engine's program, measured on the same texts in turn")
  .option('--worst <seconds>', 'how long to search for the slowest text, twice', positive, 60)
  .option('--quick', 'a look of half a minute: the fast matcher alone, nothing is written')
  .addHelpText(
    'after',
    '\nTakes about nine minutes; writes bench/results/match.json and docs/matching.md. The other ' +
      'program gets a file of texts, each ended by a NUL, and prints a line of JSON ' +
      '(bench/match/beside.ts).\n\nExample:\n  npm run bench -- match --beside "./scan patterns.db"',
  )
  .action(async ({ quick = false, ...options }: MatchOptions & { quick?: boolean }) => {
    if (quick) quickMatchBench();
    else publish('match', await matchBench(options));
  });
program
  .command('worst-text')
  .description('searches for the text that is slowest to match; only prints')
  .option('--seconds <number>', 'of each of two searches', positive, 60)
  .action(({ seconds }: { seconds: number }) => worstBench(seconds));
program
  .command('pass')
  .description('runs and text per second of a pass, its backlog, and ingest with a pass beside it')
  .option('--runs <number>', 'runs of four spans that are evaluated', positive, USUAL_RUNS)
  .option('--rounds <number>', 'rounds, each of a pass and of ingest with and without', positive, 3)
  .option(
    '--bodies <number>',
    'trace exports of 100 spans that ingest is measured with',
    positive,
    150,
  )
  .addHelpText(
    'after',
    '\nTakes about four minutes. Of agent runs some 50 MB of each kind are evaluated, fewer with fewer --runs.\n\n' +
      'Example:\n  MATCH_THREADS=2 npm run bench -- pass --runs 1000 --rounds 1',
  )
  .action(async (options: PassOptions) => publish('pass', await passBench(options)));
program
  .command('stages')
  .description('CPU time of evaluating runs, stage by stage, as bars; only prints')
  .option('--tasks <number>', 'tasks of 256 runs that are timed, and sampled', positive, 12)
  .addOption(new Option('--data <name>', 'agent runs instead, 8 in a task').choices([...RUN_DATA]))
  .addHelpText('after', '\nTakes half a minute.')
  .action((options: StagesOptions) => stagesBench(options));
program
  .command('run-rows')
  .description('disk and WAL of a run from its arrival to its evaluation, by stage; only prints')
  .option('--cycles <number>', 'cycles of 2,000 runs; the first half warms up', positive, 50)
  .option('--sessions', 'runs that name a session', false)
  .option('--no-titles', 'runs without a title')
  .addHelpText(
    'after',
    '\nTakes about a minute.\n\nExample:\n  npm run bench -- run-rows --cycles 20',
  )
  .action((options: RunRowsOptions) => runRowsBench(options));
program
  .command('pack')
  .description('bytes and CPU time of packed runs, compared with a Parquet file; only prints')
  .option('--rounds <number>', 'rounds of everything', positive, 7)
  .addHelpText('after', '\nTakes about a minute. Needs no database.')
  .action(({ rounds }: { rounds: number }) => packBench(rounds));
program
  .command('export')
  .description('ingest alone and beside `sluice export` of the same server; only prints')
  .option('--rounds <number>', 'rounds of both in turn', positive, 3)
  .option('--seconds <number>', 'of each load', positive, 10)
  .option('--bodies <number>', 'exports of 100 spans that are stored before', positive, 2000)
  .addHelpText('after', '\nTakes about three minutes.')
  .action((options: ExportBenchOptions) => exportBench(options));
program
  .command('peers')
  .description('the same spans into Sluice and into what one would build instead, killed as well')
  .option('--rounds <number>', 'rounds of everything in turn', positive, 3)
  .option('--bodies <number>', 'exports of 100 spans in each', positive, 1200)
  .option('--kills <number>', 'how often each server is killed under load', positive, 3)
  .addHelpText(
    'after',
    '\nTakes about five minutes.\n\nExample:\n  npm run bench -- peers --bodies 300 --rounds 1 --kills 1',
  )
  .action(async (options: PeersOptions) => publish('peers', await peersBench(options)));
program
  .command('preview')
  .description(
    'how long a preview of rules takes, on one core and on all, and ingest with one beside it',
  )
  .option('--runs <number>', 'runs of four spans that are looked at', positive, 8000)
  .option('--rounds <number>', 'rounds of everything', positive, 3)
  .option('--seconds <number>', 'of ingest, alone and beside a preview, each time', positive, 10)
  .addHelpText(
    'after',
    '\nTakes about four minutes.\n\nExample:\n  npm run bench -- preview --rounds 1',
  )
  .action(async (options: PreviewBenchOptions) => publish('preview', await previewBench(options)));
program
  .command('limits')
  .description('what counting requests costs ingest: not at all, in memory, in Redis')
  .option('--rounds <number>', 'rounds of each of two loads with one set of servers', positive, 4)
  .action(async ({ rounds }: { rounds: number }) => {
    for (const result of await limitsBench(rounds)) publish(result.name, result);
  });
program
  .command('capacity')
  .description('what a row and an evaluated run cost: CPU time, disk, WAL, network')
  .option('--rounds <number>', 'rounds of each', positive, 5)
  .option('--bodies <number>', 'requests of 100 rows of each measurement', positive, 1000)
  .option('--runs <number>', 'runs of four spans that are evaluated', positive, 3000)
  .addHelpText(
    'after',
    '\nTakes about nine minutes; writes bench/results/capacity.json and docs/scaling.md.',
  )
  .action(async (options: CapacityOptions) => publish('capacity', await capacityBench(options)));
program
  .command('citus')
  .description(
    'CPU time per span on a Citus cluster of this machine, compared with plain PostgreSQL; only prints',
  )
  .option('--rounds <number>', 'rounds of every number of shards in turn', positive, 2)
  .option('--seconds <number>', 'of each load', positive, 5)
  .option('--spans <number>', 'in a request', positive, 100)
  .addHelpText(
    'after',
    '\nCITUS_DATABASE_URL names a database of the coordinator, as a superuser.\n\nExample:\n  npm run bench -- citus --spans 1000',
  )
  .action(async (options: CitusBenchOptions) => log(await citusBench(options)));
program
  .command('loop-delay')
  .description(
    'how long one request holds the event loop at most, by the worst bodies that are known',
  )
  .option('--rounds <number>', 'rounds of every body', positive, 3)
  .option('--mib <number>', 'size of the largest bodies', positive, 60)
  .action(async ({ rounds, mib }: { rounds: number; mib: number }) =>
    publish('loop-delay', await loopDelayBench(rounds, mib)),
  );
program
  .command('pages')
  .description('time of the pages of the dashboard, with very many runs and findings stored')
  .option('--runs <number>', 'runs that are stored', positive, 1_000_000)
  .option('--findings <number>', 'findings that are stored', positive, 200_000)
  .option('--times <number>', 'requests of each page', positive, 15)
  .option(
    '--path <path...>',
    'these pages only, such as /app/findings?severity=high; nothing is written',
  )
  .addHelpText(
    'after',
    '\nTakes some minutes, most of them to fill the database.\n\nExample:\n  npm run bench -- pages --path /app /app/runs/{run}',
  )
  .action(async (options: DashboardBenchOptions) => {
    const result = await dashboardBench(options);
    if (options.path === undefined) publish('dashboard', result);
    else printResult('dashboard', result);
  });
program
  .command('relay')
  .description('exports in protobuf through the relay, compared with exports in JSON without it')
  .option('--rounds <number>', 'rounds of both in turn', positive, 5)
  .option('--bodies <number>', 'exports of 100 spans in each', positive, 150)
  .addHelpText('after', '\nTakes about a minute.\n\nExample:\n  npm run bench -- relay --rounds 3')
  .action(async (options: RelayBenchOptions) => publish('relay', await relayBench(options)));
program
  .command('stale')
  .description(
    'results that are older than the code that they measure; exit code 1 if there are any',
  )
  .action(() => {
    process.exitCode = staleBench() ? 0 : 1;
  });

await program.parseAsync();
