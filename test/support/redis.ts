/** A real redis-server of a test's own, on a free port, that keeps nothing on disk. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Redis } from 'ioredis';

import { findFreePort } from './sockets.ts';
import { waitFor } from './wait-for.ts';

/** A sentinel asks its master for replicas, and these for their state, every ten seconds. */
const REPLICA_WITHIN_MS = 60_000;

export interface TestRedis {
  readonly url: string;
  /** Ends it by SIGKILL; what it held is gone. */
  readonly kill: () => Promise<void>;
  /** Starts it again on the same port, empty; for one that was killed. */
  readonly restart: () => Promise<void>;
  /** Lets its clients hang: connections stay and nothing is answered. */
  readonly freeze: () => void;
  readonly thaw: () => void;
}

/** The processes, and the folder of each. */
const running = new Map<ChildProcess, string>();
process.once('exit', () => {
  for (const [child, folder] of running) {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Ends with the tests at the latest; its folder is removed then. */
function endWithTests(child: ChildProcess, folder: string): void {
  running.set(child, folder);
  child.once('exit', () => {
    running.delete(child);
    rmSync(folder, { recursive: true, force: true });
  });
}

async function spawnRedis(port: number, masterPort?: string): Promise<ChildProcess> {
  // A master waits five seconds for further replicas before it sends its data, if nothing is said.
  const replication =
    masterPort === undefined
      ? ['--repl-diskless-sync-delay', '0']
      : ['--replicaof', `127.0.0.1 ${masterPort}`];
  const startedText =
    masterPort === undefined ? 'Ready to accept connections' : 'sync: Finished with success';
  // Its own: a replica keeps what its master sent in a file there, which the next one would load.
  const folder = await mkdtemp(join(tmpdir(), 'sluice-redis-'));
  const settings = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, ...replication];
  const child = spawn('redis-server', [...settings, '--save', '', '--appendonly', 'no'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endWithTests(child, folder);
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
    child.stdout.on('data', (text: Buffer) => {
      if (text.includes(startedText)) resolve();
    });
  });
  return child;
}

/**
 * Starts a sentinel of one master, which it calls `limits`, and waits until it knows a replica that
 * follows: without one it cannot replace the master. It ends with the tests.
 *
 * @returns its url
 */
export async function startSentinel(masterUrl: string): Promise<string> {
  const port = await findFreePort();
  const { hostname, port: masterPort } = new URL(masterUrl);
  const folder = await mkdtemp(join(tmpdir(), 'sluice-sentinel-'));
  const file = join(folder, 'sentinel.conf');
  const settings = [
    `port ${port}`,
    'bind 127.0.0.1',
    `sentinel monitor limits ${hostname} ${masterPort} 1`,
    'sentinel down-after-milliseconds limits 500',
    // The next try comes after twice this; three minutes if nothing is said.
    'sentinel failover-timeout limits 2000',
  ];
  await writeFile(file, `${settings.join('\n')}\n`);
  const child = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
  endWithTests(child, folder);
  await replicaKnown(port);
  return `redis+sentinel://127.0.0.1:${port}/limits`;
}

async function replicaKnown(sentinelPort: number): Promise<void> {
  const sentinel = new Redis({ host: '127.0.0.1', port: sentinelPort });
  // Refused until the sentinel listens; it connects again by itself.
  sentinel.on('error', () => {});
  try {
    await waitFor(
      async () => {
        const replicas = (await sentinel.call('SENTINEL', 'replicas', 'limits')) as string[][];
        return replicas.some((facts) => facts[facts.indexOf('master-link-status') + 1] === 'ok');
      },
      { withinMs: REPLICA_WITHIN_MS, what: 'the sentinel knows a replica' },
    );
  } finally {
    sentinel.disconnect();
  }
}

/** Ends all servers and sentinels; for the end of a test file. */
export async function endRedis(): Promise<void> {
  for (const child of running.keys()) {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

/**
 * Starts a server and waits until it takes connections, or follows its master.
 *
 * @param masterUrl of the server that it is to be a replica of
 */
export async function startRedis(masterUrl?: string): Promise<TestRedis> {
  const port = await findFreePort();
  const masterPort = masterUrl === undefined ? undefined : new URL(masterUrl).port;
  let child = await spawnRedis(port, masterPort);
  return {
    url: `redis://127.0.0.1:${port}`,
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
    restart: async () => {
      child = await spawnRedis(port);
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
  };
}
