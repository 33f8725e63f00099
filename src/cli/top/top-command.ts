/** `sluice top [URL…]`: its arguments and options. */
import { type Command, InvalidArgumentError } from 'commander';

import { defaultUrl, readConfig } from '../../config/config.ts';
import { wholeNumber } from '../values/whole-number.ts';
import type { TopOptions } from './run-top.ts';

const INTERVAL_DEFAULT = 2;
const INTERVAL_MAX = 3600;
const COUNT_MAX = 1_000_000;
const SERVERS_MAX = 100;

/** Collects arguments, at most so many. */
function server(text: string, before: readonly string[] = []): readonly string[] {
  if (before.length >= SERVERS_MAX) {
    throw new InvalidArgumentError(`At most ${SERVERS_MAX} servers.`);
  }
  return [...before, text];
}

/** Adds `top`. */
export function addTopCommand(program: Command): void {
  program
    .command('top')
    .description('show live rates of one or several servers')
    .argument('[urls...]', 'addresses of metrics; by default ADMIN_HOST and ADMIN_PORT', server)
    .option(
      '--interval <seconds>',
      'between two readings',
      wholeNumber(INTERVAL_MAX),
      INTERVAL_DEFAULT,
    )
    .option('--count <n>', 'end after so many intervals', wholeNumber(COUNT_MAX))
    .option('--json', 'print a line of JSON for each interval')
    .addHelpText(
      'after',
      '\nRefreshes the screen of a terminal; without a terminal it prints one line for each interval.\n' +
        '\nExamples:\n  sluice top\n  sluice top 10.0.0.5:9464 10.0.0.6:9464 --interval 5\n' +
        '  sluice top --count 60 > rates.txt',
    )
    .action(async (given: readonly string[], options: TopOptions) => {
      const { metricsUrl, runTop } = await import('./run-top.ts');
      const urls = given.length > 0 ? given : [ownMetrics()];
      await runTop(urls.map(metricsUrl), options);
    });
}

function ownMetrics(): string {
  const { adminHost, adminPort } = readConfig(process.env);
  return defaultUrl(adminHost, adminPort);
}
