/** A real redis-server of a test's own, on a free port, that keeps nothing on disk. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';

import { findFreePort } from './server.ts';

function hasRedisServer(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Is there a redis-server on the PATH? */
export const canStartRedis = hasRedisServer();

/** In CI the tests against a real Redis must run; elsewhere it is told that they did not. */
export function demandRedis(what: string): void {
  if (canStartRedis) return;
  if (process.env.REQUIRE_REDIS !== undefined) throw new Error('redis-server is not on the PATH');
  // biome-ignore lint/suspicious/noConsole: a part of the suite that did not run must not go unseen
  console.warn(`NOT TESTED: ${what}. Put redis-server on the PATH.`);
}

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

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

async function spawnRedis(port: number): Promise<ChildProcess> {
  const settings = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', tmpdir()];
  const child = spawn('redis-server', [...settings, '--save', '', '--appendonly', 'no'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
    child.stdout.on('data', (text: Buffer) => {
      if (text.includes('Ready to accept connections')) resolve();
    });
  });
  return child;
}

/** Starts a server and waits until it takes connections. */
export async function startRedis(): Promise<TestRedis> {
  const port = await findFreePort();
  let child = await spawnRedis(port);
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
