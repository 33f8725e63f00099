/** The command `sluice` with all its subcommands. */
import { Command } from 'commander';
import { programVersion } from '../main/program-version.ts';
import { addAlertCommands } from './alerts/alert-commands.ts';
import { addAuditCommands } from './audit-commands.ts';
import { addCompletionCommand } from './completion.ts';
import { addCorpusCommands } from './corpus-commands.ts';
import { addDoctorCommand } from './doctor/doctor-command.ts';
import { addEvidenceCommands } from './evidence/evidence-commands.ts';
import { addExportCommand } from './export/export-command.ts';
import {
  addExceptionCommands,
  addFindingCommands,
  addIncidentCommands,
} from './findings/finding-commands.ts';
import { addKeyCommands } from './key-commands.ts';
import { addUpkeepCommands } from './pass-command.ts';
import { addRelayCommand } from './relay/relay-options.ts';
import { addLoginCommands } from './remote/login-commands.ts';
import { addReplayCommand } from './replay/replay-command.ts';
import { addRuleCommands } from './rule-commands.ts';
import { addRunCommands } from './run-commands.ts';
import { addScanCommand } from './scan-command.ts';
import { addToolCommands } from './tool-commands.ts';
import { addUserCommands } from './user-commands.ts';
import { addWorkspaceCommands } from './workspace-commands.ts';

/** A new `sluice`; nothing runs before it parses arguments. */
export function createProgram(): Command {
  const program = new Command('sluice')
    .description('receive telemetry of AI agents and check it against agent threat rules')
    .version(programVersion())
    .showHelpAfterError('(run with --help for usage)')
    .addHelpText(
      'after',
      '\nSettings are environment variables, the same for the server and all commands; ' +
        'see docs/configuration.md.',
    );
  program
    .command('serve')
    .description('start the server (same as npm start)')
    .addHelpText('after', '\nExample:\n  PORT=9090 sluice serve')
    .action(async () => {
      // The server's modules take a quarter of a second to load; no other command needs them.
      const { runServer } = await import('../main/run-server.ts');
      await runServer();
    });
  addRelayCommand(program);
  addReplayCommand(program);
  addExportCommand(program);
  addLoginCommands(program);
  addKeyCommands(program);
  addWorkspaceCommands(program);
  addUserCommands(program);
  addAuditCommands(program);
  addCorpusCommands(program);
  addRuleCommands(program);
  addFindingCommands(program);
  addIncidentCommands(program);
  addEvidenceCommands(program);
  addExceptionCommands(program);
  addAlertCommands(program);
  addRunCommands(program);
  addToolCommands(program);
  addScanCommand(program);
  addUpkeepCommands(program);
  addDoctorCommand(program);
  addCompletionCommand(program);
  return program;
}
