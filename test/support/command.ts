/**
 * The real `sluice` command: in a process that runs one after another, or in a process of its own
 * where that is what a test is about.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import pLimit from 'p-limit';
import { QUICK_SCRYPT, throughPooler } from './child-settings.ts';
import { CATALOGUE_FOLDER } from './kept-catalogue.ts';

const BIN = fileURLToPath(new URL('../../bin/sluice.js', import.meta.url));
const HOST = fileURLToPath(new URL('./command-host.js', import.meta.url));

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Settings = Readonly<Record<string, string>>;

interface CommandOptions {
  /** text for its standard input */
  readonly input?: string;
  /** the folder it is started in */
  readonly cwd?: string;
  /** called with everything that it has written to standard error so far */
  readonly onErrorOutput?: (text: string) => void;
}

/** What test/support/command-host.js sends: a piece of output, or the end. */
type Message =
  | { readonly name: 'stdout' | 'stderr'; readonly text: string }
  | { readonly code: number; readonly isReusable: boolean };

/** Processes that wait for a command; there are at most two. */
const idle: ChildProcess[] = [];
const turn = pLimit(2);

function environment(settings: Settings): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME, DATA_DIR: CATALOGUE_FOLDER, ...throughPooler(settings) };
}

function startHost(): ChildProcess {
  const host = fork(HOST, {
    env: environment({}),
    execArgv: [...QUICK_SCRYPT],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  // It ends with the tests' process, and does not keep that one alive.
  host.unref();
  host.channel?.unref();
  return host;
}

/**
 * Runs `sluice` to its end.
 *
 * @param settings environment beside the path, the home folder and a DATA_DIR with the catalogue
 */
export function runCommand(
  args: readonly string[],
  settings: Settings = {},
  options: CommandOptions = {},
): Promise<CommandResult> {
  return turn(() => runIn(idle.pop() ?? startHost(), args, settings, options));
}

function runIn(
  host: ChildProcess,
  args: readonly string[],
  settings: Settings,
  { input, cwd, onErrorOutput }: CommandOptions,
): Promise<CommandResult> {
  const output = { stdout: '', stderr: '' };
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error(`sluice ${args.join(' ')}: its process ended`));
    const onMessage = (message: Message): void => {
      if ('name' in message) {
        output[message.name] += message.text;
        if (message.name === 'stderr') onErrorOutput?.(output.stderr);
        return;
      }
      host.off('message', onMessage).off('exit', onExit);
      if (message.isReusable) idle.push(host);
      else host.disconnect();
      resolve({ code: message.code, ...output });
    };
    host.on('message', onMessage).once('exit', onExit);
    host.send({ args, env: environment(settings), cwd, input });
  });
}

/** Runs `sluice` to its end in a process of its own. */
export function runProcess(
  args: readonly string[],
  settings: Settings = {},
  { input, cwd, onErrorOutput }: CommandOptions = {},
): Promise<CommandResult> {
  const child = spawn(process.execPath, [...QUICK_SCRYPT, BIN, ...args], {
    env: environment(settings),
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      if (name === 'stderr') onErrorOutput?.(output.stderr);
    });
  }
  child.stdin.end(input ?? '');
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...output }));
  });
}
