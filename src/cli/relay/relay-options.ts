/** The options of `sluice relay` with the environment behind them. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readRelayEnvironment } from '../../config/command-settings.ts';
import { ConfigError } from '../../config/settings.ts';
import { OperatorError } from '../../errors.ts';
import { isPrivateUrl, parseAddress } from '../../local-host.ts';
import type { RelaySettings } from '../../relay/relay.ts';

export const LISTEN_DEFAULT = '127.0.0.1:4318';
export const QUEUE_MAX_DEFAULT = '256MiB';
/** Below it, a usual request would not fit. */
const QUEUE_BYTES_MIN = 1024 * 1024;

export interface ServerOptions {
  readonly url?: string;
  readonly keyFile?: string;
  readonly allowHttp?: boolean;
  /** false: none is needed */
  readonly key?: boolean;
}

export interface RelayOptions extends ServerOptions {
  readonly listen: string;
  readonly queueDir?: string;
  readonly queueMax: string;
  readonly allowHost: readonly string[];
}

type RelaySetup = Omit<RelaySettings, 'version'>;

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  kB: 1000,
  MB: 1000 ** 2,
  GB: 1000 ** 3,
};

/** `256MiB` and the like in bytes; null when it is no size. */
export function parseBytes(text: string): number | null {
  const [, digits, unit = ''] = /^(\d{1,12}) ?([kKMG]?i?B)?$/.exec(text.trim()) ?? [];
  const factor = UNITS[unit];
  return digits === undefined || factor === undefined ? null : Number(digits) * factor;
}

/** `host:port` or `[::1]:port`; null when it is neither. */
export function parseListen(text: string): { host: string; port: number } | null {
  const [, v6, name, digits] = /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = v6 ?? name;
  const port = Number(digits);
  return host === undefined || port > 65_535 ? null : { host, port };
}

/** @throws {OperatorError} when the file cannot be read, or holds anything but one key */
export function readKeyFile(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw new OperatorError(`The key file cannot be read: ${path}`, { cause });
  }
  if (!isKey(text)) throw new OperatorError(`The key file must hold one agent key: ${path}`);
  return text;
}

/** Checks whether a text can be a key: one word that a header can carry. */
function isKey(text: string): boolean {
  return /^[!-~]{1,512}$/.test(text);
}

function urlProblem(text: string | null, allowHttp: boolean): string | null {
  if (text === null) return 'SLUICE_URL or --url must name your Sluice server';
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    return 'the URL of the server must start with https:// or http://';
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return 'the URL of the server must have no credentials, query or fragment';
  }
  if (isPrivateUrl(url) || allowHttp) return null;
  return 'the URL of the server must start with https://: the key and the telemetry would be sent unencrypted (--allow-http does so)';
}

/** @param problems receives what is wrong with either */
export function serverAndKey(
  { url, keyFile, allowHttp, key }: ServerOptions,
  environment: { readonly url: string | null; readonly apiKey: string | null },
  problems: string[],
): { readonly url: string; readonly readKey: () => string } {
  const server = url ?? environment.url;
  const wrongUrl = urlProblem(server, allowHttp === true);
  if (wrongUrl !== null) problems.push(wrongUrl);
  const { apiKey } = environment;
  if (key === false) return { url: withoutSlash(server), readKey: () => '' };
  if (keyFile === undefined && apiKey === null) {
    problems.push('SLUICE_API_KEY or --key-file must give an agent key (sluice key create)');
  }
  if (keyFile === undefined && apiKey !== null && !isKey(apiKey)) {
    problems.push('SLUICE_API_KEY must be one agent key');
  }
  return {
    url: withoutSlash(server),
    readKey: keyFile === undefined ? () => apiKey ?? '' : () => readKeyFile(keyFile),
  };
}

const withoutSlash = (url: string | null): string => (url ?? '').replace(/\/+$/, '');

/** @throws {ConfigError} with all problems */
export function relaySetup(
  options: RelayOptions,
  env: Readonly<Record<string, string | undefined>>,
): RelaySetup {
  const { queueFolder, logLevel, ...environment } = readRelayEnvironment(env);
  const problems: string[] = [];
  const server = serverAndKey(options, environment, problems);
  const listen = parseListen(options.listen);
  if (listen === null) problems.push(`--listen must be an address such as ${LISTEN_DEFAULT}`);
  const queueBytesMax = parseBytes(options.queueMax);
  if (queueBytesMax === null || queueBytesMax < QUEUE_BYTES_MIN) {
    problems.push('--queue-max must be a size of at least 1MiB, such as 256MiB');
  }
  const allowedHosts = options.allowHost.map((name) => {
    const parsed = parseAddress(name);
    if (parsed === null) problems.push(`--allow-host must be a name without a port, not "${name}"`);
    return parsed ?? name;
  });
  if (problems.length > 0 || listen === null || queueBytesMax === null) {
    throw new ConfigError(problems);
  }
  return {
    ...listen,
    ...server,
    allowedHosts,
    queueFolder: resolve(options.queueDir ?? queueFolder),
    queueBytesMax,
    logLevel,
  };
}

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
