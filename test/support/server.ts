/**
 * The real server as a process of its own, started as `npm start` starts it, on free ports.
 *
 * Of the environment in which the tests run it gets only the path and the home folder.
 * What it wrote is kept and shown when it does not do what a test expects.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stopServer } from '../../src/db/embedded/server.ts';
import { QUICK_SCRYPT, throughPooler } from './child-settings.ts';
import { CATALOGUE_FOLDER, handCatalogueTo } from './kept-catalogue.ts';
import { waitFor } from './wait-for.ts';

/** the folder of the checkout */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const START_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 60_000;

/** Fast turns, little noise: what a test does not set for itself. */
const SETTINGS: Readonly<Record<string, string>> = {
  HOST: '127.0.0.1',
  PORT: '0',
  OBSERVE_PORT: '0',
  ADMIN_PORT: '0',
  MATCH_THREADS: '1',
  RUN_SETTLE_MS: '500',
  // A server with nothing to do takes 4 % of a core at 200 ms, 2 % at 500.
  PASS_INTERVAL_MS: '500',
  LOG_LEVEL: 'info',
};

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServerProcess {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly exited: Promise<Exit>;
  readonly hasExited: () => boolean;
  readonly signal: (name: NodeJS.Signals) => void;
}

interface Summary {
  readonly baseUrl: string;
  readonly observeUrl: string;
  readonly metricsUrl: string;
  /** of the first workspace; null when the database had one already */
  readonly firstKeys: {
    readonly agent: string;
    readonly workspace: string;
    readonly owner: { readonly email: string; readonly password: string };
  } | null;
}

export interface TestServer extends ServerProcess, Summary {
  /** Ends it by SIGTERM and tells how it ended; kills it when it does not end. */
  readonly stop: () => Promise<Exit>;
  /** Ends it by SIGKILL. */
  readonly kill: () => Promise<void>;
}

type Settings = Readonly<Record<string, string>>;

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/**
 * Starts the server's process; it may fail to start, which its exit tells.
 *
 * @param root the checkout to start, when it is not this one
 * @param prefix a program and its arguments that start it, such as unshare
 */
export function launchServer(
  settings: Settings,
  root: string = ROOT,
  prefix: readonly string[] = [],
): ServerProcess {
  const { PATH = '', HOME = '' } = process.env;
  const kept = settings.DATABASE_URL === undefined ? {} : { DATA_DIR: CATALOGUE_FOLDER };
  const command = [process.execPath, '--v8-pool-size=0', ...QUICK_SCRYPT, 'dist/main.js'];
  const [file = '', ...args] = [...prefix, ...command];
  const child = spawn(file, args, {
    cwd: root,
    env: { PATH, HOME, ...SETTINGS, ...kept, ...throughPooler(settings) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  let ended = false;
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    // `close`, not `exit`: everything it wrote has been read then.
    child.once('close', (code, signal) => {
      ended = true;
      children.delete(child);
      resolve({ code, signal });
    });
  });
  return {
    pid: child.pid ?? 0,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    exited,
    hasExited: () => ended,
    signal: (name) => void child.kill(name),
  };
}

/** What the summary says, once it is there in full. */
function readSummary(text: string): Summary {
  const entry = (label: string): string | undefined =>
    new RegExp(`^ {2}${label} +(\\S+)`, 'm').exec(text)?.[1];
  const agent = entry('agent');
  const workspace = entry('workspace');
  const owner = { email: entry('owner') ?? '', password: entry('password') ?? '' };
  return {
    baseUrl: entry('base') ?? '',
    observeUrl: entry('observe') ?? '',
    metricsUrl: entry('metrics') ?? '',
    firstKeys: agent !== undefined && workspace !== undefined ? { agent, workspace, owner } : null,
  };
}

function story(server: ServerProcess): string {
  return `\n── standard output\n${server.stdout()}\n── standard error\n${server.stderr()}`;
}

/**
 * Starts the server and waits until it has said that it is ready.
 *
 * @param settings DATABASE_URL or DATA_DIR, and whatever differs from the fast settings above
 * @param root the checkout to start, when it is not this one
 * @throws with all it wrote when it ends instead, or takes too long
 */
export async function startServer(
  settings: Settings,
  root: string = ROOT,
  prefix: readonly string[] = [],
): Promise<TestServer> {
  const server = launchServer(settings, root, prefix);
  const isReady = (): boolean => server.stdout().includes('Stop: Ctrl-C.');
  try {
    await waitFor(() => isReady() || server.hasExited(), {
      withinMs: START_WITHIN_MS,
      what: () => `the server says that it is ready${story(server)}`,
    });
    if (!isReady()) throw new Error(`the server did not start${story(server)}`);
  } catch (error) {
    server.signal('SIGKILL');
    throw error;
  }
  return {
    ...server,
    ...readSummary(server.stdout()),
    stop: async () => {
      server.signal('SIGTERM');
      try {
        await waitFor(server.hasExited, {
          withinMs: STOP_WITHIN_MS,
          what: () => `the server ends after SIGTERM${story(server)}`,
        });
      } finally {
        server.signal('SIGKILL');
      }
      return await server.exited;
    },
    kill: async () => {
      server.signal('SIGKILL');
      await server.exited;
    },
  };
}

export interface DataDirectory {
  readonly path: string;
  /** where the embedded PostgreSQL of `path` lives */
  readonly home: string;
  /** Stops an embedded server that was left behind and removes the folder. */
  readonly remove: () => Promise<void>;
}

/**
 * A folder for DATA_DIR with the kept catalogue, and empty but for that. Its name is the one that test/support/global-database.ts clears
 * away when a run was killed.
 */
export async function createDataDirectory(): Promise<DataDirectory> {
  const path = await realpath(await mkdtemp(join(tmpdir(), `sluice-test-${process.pid}-`)));
  // When root runs the tests, PostgreSQL runs as another user and must be able to pass.
  await chmod(path, 0o755);
  await handCatalogueTo(path);
  const home = join(path, 'postgres');
  return {
    path,
    home,
    remove: async () => {
      await stopServer(home);
      await rm(path, { recursive: true, force: true });
    },
  };
}

const BIN = fileURLToPath(new URL('../../bin/sluice.js', import.meta.url));
const WITHIN_MS = 60_000;

/** `sluice relay` as a process, on a free port. */
export interface RelayProcess {
  readonly pid: number;
  readonly url: string;
  /** everything it has written */
  readonly output: () => string;
  /** Ends it by a signal; returns its exit code, null when the signal ended it. */
  readonly end: (signal: NodeJS.Signals) => Promise<number | null>;
}

/** @throws with all it wrote when it ends instead of starting */
export async function startRelay(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<RelayProcess> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [BIN, 'relay', '--listen', '127.0.0.1:0', ...args], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  await waitFor(() => output.includes('Stop: Ctrl-C.') || hasEnded(), {
    withinMs: WITHIN_MS,
    what: () => `the relay starts: ${output}`,
  });
  if (hasEnded()) throw new Error(`the relay did not start: ${output}`);
  return {
    pid: child.pid ?? 0,
    url: /takes +(http:\/\/[^/]+)\//.exec(output)?.[1] ?? '',
    output: () => output,
    end: async (signal) => {
      child.kill(signal);
      return await ended;
    },
  };
}
