/** `sluice relay`: takes OTLP in protobuf beside an agent and sends it to a Sluice server as JSON. */
import type { Command } from 'commander';

import {
  LISTEN_DEFAULT,
  QUEUE_MAX_DEFAULT,
  type RelayOptions,
  relaySetup,
} from './relay-options.ts';

export function addRelayCommand(program: Command): void {
  program
    .command('relay')
    .description(
      'take OTLP/HTTP in protobuf or JSON beside an agent, and send it to a Sluice server',
    )
    .option('--listen <address>', 'host and port to listen on', LISTEN_DEFAULT)
    .option('--url <url>', 'the Sluice server; otherwise SLUICE_URL')
    .option('--key-file <file>', 'a file with an agent key; otherwise SLUICE_API_KEY')
    .option('--queue-dir <folder>', 'where requests wait while the server is away')
    .option('--queue-max <size>', 'most bytes of the queue', QUEUE_MAX_DEFAULT)
    .option(
      '--allow-host <name>',
      'a further name in requests, such as host.docker.internal; may be repeated',
      (name: string, names: readonly string[]) => [...names, name],
      [],
    )
    .option('--allow-http', 'send to a server on another machine without TLS')
    .addHelpText(
      'after',
      '\nThe key is read from the environment or a file, never from an argument.\n' +
        '\nExamples:\n  SLUICE_URL=https://sluice.example.org SLUICE_API_KEY=sluice_live_… sluice relay\n' +
        '  sluice relay --url https://sluice.example.org --key-file /run/secrets/sluice-key\n' +
        '  sluice relay --listen 127.0.0.1:4319 --queue-dir /var/lib/sluice-relay --queue-max 1GiB',
    )
    .action(async (options: RelayOptions) => {
      const setup = relaySetup(options, process.env);
      const { runRelay } = await import('../../main/run-relay.ts');
      await runRelay(setup);
    });
}
