/** `sluice export`: its options. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { HEX_16 } from '../../http/transport/input.ts';
import { wholeNumber } from '../command.ts';
import { COMPRESSIONS, SIGNALS } from './export-output.ts';
import type { ExportOptions } from './start-export.ts';

const LATE_DAYS_DEFAULT = 2;
const LATE_DAYS_MAX = 3650;

const HELP = `
Reads the local database while a server may use it. Lines are OTLP/JSON as it was sent, in the order of
arrival; each is a request that sluice replay, a Collector or any OTLP/HTTP endpoint takes.

--since and --until are times of the records: when a span began, when a log record or data point was taken.
--arrived is about when they were received: a day that is over never changes, so it is exact for archives.
An export into a file or folder that was interrupted continues when the same command is run again. Into a
folder, the same command later adds what has arrived since.
Exit codes: 0 everything was exported, 2 blocks could not be read (they are named), 1 any other error.

Examples:
  sluice export --signal traces --since 24h | jq -c '.resourceSpans[]'
  sluice export -o today.jsonl.gz --service shop-agent --since 2026-11-27
  sluice export -o archive/ --arrived 2026-11-01..2026-11-30
  sluice export -o run.jsonl --run 4bf92f3577b34da6a3ce929d0e0e4736`;

const DAYS = /^(\d{4}-\d\d-\d\d)(?:\.\.(\d{4}-\d\d-\d\d))?$/;

function isDay(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

function parseDays(text: string): { readonly first: string; readonly last: string } {
  const [, first = '', last = first] = DAYS.exec(text) ?? [];
  if (isDay(first) && isDay(last) && first <= last) return { first, last };
  throw new InvalidArgumentError(
    'It must be a UTC day such as 2026-11-20, or 2026-11-01..2026-11-30.',
  );
}

function addRun(text: string, before: readonly string[] = []): readonly string[] {
  const id = text.toLowerCase().replaceAll('-', '');
  if (HEX_16.test(id)) return [...before, id];
  throw new InvalidArgumentError('It must be an id from sluice runs list: 32 hexadecimal digits.');
}

export function addExportCommand(program: Command): void {
  program
    .command('export')
    .description('write stored telemetry as lines of OTLP/JSON')
    .option(
      '-o, --out <path>',
      'a file; or a folder (one that exists, or a name with / at its end), with one file an hour for each ' +
        'signal; otherwise standard output',
    )
    .addOption(new Option('--signal <signals...>', 'all of them by default').choices(SIGNALS))
    .option(
      '--since <time>',
      'records of this time or later: 24h, 7d, or an ISO 8601 date, or date and time',
    )
    .option('--until <time>', 'records before this time')
    .option('--arrived <days>', 'what was received on a UTC day, or on FROM..TO', parseDays)
    .option(
      '--late-days <n>',
      'records are looked for that arrived up to so many days after --until',
      wholeNumber(LATE_DAYS_MAX),
      LATE_DAYS_DEFAULT,
    )
    .option('--service <name>', 'records whose resource has this service.name')
    .option('--agent <name>', 'whole evaluated runs of this agent')
    .option('--run <id>', 'a whole run; may be repeated', addRun)
    .addOption(
      new Option(
        '--compress <how>',
        "by default as the file's name ends (.gz, .zst), gzip in a folder; zstd needs Node.js 22.15",
      ).choices(COMPRESSIONS),
    )
    .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
    .option('--despite-redaction', 'also in a workspace that redacts excerpts')
    .option(
      '--full-speed',
      'read without pauses; by default reading takes at most half of the time',
    )
    .option('--json', 'print a summary as JSON; with --out only')
    .addHelpText('after', HELP)
    .action(async (options: ExportOptions) => {
      // No other command needs what exports.
      const { startExport } = await import('./start-export.ts');
      await startExport(options);
    });
}
