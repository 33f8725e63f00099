/** A real server in a process of its own, on its own embedded database in a temporary folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { connectEmbedded } from '../src/db/embedded/connect.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Runs are stored but never due: the pass must not share the cores with what is measured. */
const NEVER_MS = String(24 * 3_600_000);

export interface ServerUnderTest {
  readonly pid: number;
  readonly observeUrl: string;
  readonly agentKey: string;
  readonly databaseUrl: string;
  readonly close: () => Promise<void>;
}

function firstMatch(text: string, pattern: RegExp): string {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`the server did not say ${pattern}:\n${text}`);
  return found;
}

async function summaryOf(child: ChildProcess): Promise<string> {
  let shown = '';
  for await (const chunk of child.stdout ?? []) {
    shown += String(chunk);
    if (shown.includes('Stop: Ctrl-C')) return shown;
  }
  throw new Error(`the server ended before it was ready:\n${shown}`);
}

interface Program {
  readonly root: string;
  readonly node: string;
}

async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { root, node }: Program,
): Promise<string> {
  const child = spawn(node, ['bin/sluice.js', ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.on('data', (chunk) => {
    shown += String(chunk);
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`sluice ${args.join(' ')} ended with ${code}`);
  return shown;
}

export interface ServerPlace {
  /** the folder of the checkout to start, if it is not this one */
  readonly root?: string | undefined;
  /** the Node.js that runs it, if it is not this one */
  readonly node?: string | undefined;
  /** the only core that the server and its database may use; null: all */
  readonly core?: string | null;
}

/**
 * Starts a server and makes an agent key whose limit is out of the way.
 *
 * @param settings other than the benchmarks' own, by the names of `docs/configuration.md`
 */
export async function startServer(
  settings: Readonly<Record<string, string>> = {},
  { root = ROOT, node = process.execPath, core = null }: ServerPlace = {},
): Promise<ServerUnderTest> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  chmodSync(dataDir, 0o755);
  const env = {
    ...process.env,
    DATA_DIR: dataDir,
    PORT: '0',
    OBSERVE_PORT: '0',
    ADMIN_PORT: '0',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'warn',
    RUN_SETTLE_MS: NEVER_MS,
    RUN_TIMEOUT_MS: NEVER_MS,
    ...settings,
  };
  // As `npm start` has Node started.
  const serve = [node, '--v8-pool-size=0', 'bin/sluice.js', 'serve'];
  // `taskset` becomes the server: its process is the same.
  const [program = '', ...args] = core === null ? serve : ['taskset', '-c', core, ...serve];
  const child = spawn(program, args, {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const summary = await summaryOf(child);
  child.stdout?.resume();
  const made = await run(
    ['key', 'create', '--kind', 'agent', '--name', 'bench', '--limit', '100000', '--json'],
    env,
    { root, node },
  );
  const databaseUrl = settings.DATABASE_URL ?? (await connectEmbedded(dataDir));
  if (databaseUrl === null) throw new Error('the embedded database is not running');
  return {
    pid: child.pid ?? 0,
    observeUrl: firstMatch(summary, /ENDPOINT=(\S+)/),
    agentKey: (JSON.parse(made) as { key: string }).key,
    databaseUrl,
    close: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        await ended;
      }
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
