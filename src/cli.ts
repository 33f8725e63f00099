/**
 * The command line: `sluice <command>`. Answers go to standard output, faults to standard error;
 * exit code 0 or 1.
 */
import { Command } from 'commander';

import { addAuditCommands } from './cli/audit-commands.ts';
import { addCorpusCommands } from './cli/corpus-commands.ts';
import { addFindingCommands } from './cli/finding-commands.ts';
import { addKeyCommands } from './cli/key-commands.ts';
import { addUpkeepCommands } from './cli/pass-command.ts';
import { addLoginCommands } from './cli/remote/login-commands.ts';
import { addRuleCommands } from './cli/rule-commands.ts';
import { addRunCommands } from './cli/run-commands.ts';
import { addScanCommand } from './cli/scan-command.ts';
import { addUserCommands } from './cli/user-commands.ts';
import { addWorkspaceCommands } from './cli/workspace-commands.ts';
import { programVersion } from './main/program-version.ts';
import { runServer } from './main/run-server.ts';
import { reportFailure } from './terminal/failure.ts';

const program = new Command('sluice')
  .description('OTLP/HTTP JSON into PostgreSQL, agent threat rules over finished runs')
  .version(programVersion())
  .showHelpAfterError('(--help shows what is possible)')
  .addHelpText(
    'after',
    '\nSettings come from the environment, the same for the server and every command; ' +
      'docs/configuration.md lists them.',
  );

program
  .command('serve')
  .description('run the server until a signal stops it (the same as npm start)')
  .addHelpText('after', '\nExample:\n  PORT=9090 sluice serve')
  .action(runServer);
addLoginCommands(program);
addKeyCommands(program);
addWorkspaceCommands(program);
addUserCommands(program);
addAuditCommands(program);
addCorpusCommands(program);
addRuleCommands(program);
addFindingCommands(program);
addRunCommands(program);
addScanCommand(program);
addUpkeepCommands(program);

try {
  await program.parseAsync();
} catch (error) {
  reportFailure(error);
  process.exitCode = 1;
}
