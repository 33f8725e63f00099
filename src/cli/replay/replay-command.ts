/** `sluice replay FILE…`: its arguments and options. */
import { type Command, InvalidArgumentError } from 'commander';

import { wholeNumber } from '../command.ts';
import type { ReplayOptions } from './run-replay.ts';

const CONCURRENCY_DEFAULT = 4;
const CONCURRENCY_MAX = 64;
const PER_SECOND_MAX = 10_000;

function headerName(text: string): string {
  if (/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be the name of a header.');
}

export function addReplayCommand(program: Command): void {
  program
    .command('replay')
    .description(
      'send stored OTLP/JSON to a server: an export, a downloaded run, or one body per line',
    )
    .argument(
      '<files...>',
      'files and folders, also compressed with gzip or zstd; - is standard input',
    )
    .option(
      '--url <url>',
      'the server, of Sluice or another one that takes OTLP/HTTP; otherwise SLUICE_URL',
    )
    .option('--key-file <file>', 'a file with an agent key; otherwise SLUICE_API_KEY')
    .option(
      '--key-header <name>',
      'send the key in this header, for other servers (api-key, for example)',
      headerName,
    )
    .option('--no-key', 'send no key, as to a Collector')
    .option(
      '--state <file>',
      'record in this file how far it came; the same command then continues',
    )
    .option('--new-ids', 'give traces and spans new ids, so that they are other runs')
    .option('--shift-to-now', 'move all times so that the latest one is now')
    .option('--rate <n>', 'most bodies a second', wholeNumber(PER_SECOND_MAX))
    .option(
      '--concurrency <n>',
      'bodies that are sent at the same time',
      wholeNumber(CONCURRENCY_MAX),
      CONCURRENCY_DEFAULT,
    )
    .option('--allow-http', 'send to a server on another machine without TLS')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nThe key is read from the environment or a file, never from an argument.\n' +
        'A body that the server stored within the last hour is not stored again, unless --new-ids\n' +
        'makes it another one.\n' +
        '\nExamples:\n  sluice replay archive/ --state replay.json --url http://localhost:4318 --key-file agent.key\n' +
        '  sluice replay run.json --url http://localhost:4318 --key-file agent.key\n' +
        '  sluice replay --new-ids --shift-to-now --rate 50 bodies.jsonl.gz',
    )
    .action(async (files: readonly string[], options: ReplayOptions) => {
      // No other command needs what sends.
      const { runReplay } = await import('./run-replay.ts');
      await runReplay(files, options);
    });
}
