/** A real redis-server of a test's own, on a free port, that keeps nothing on disk. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';

import { findFreePort } from './free-port.ts';

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
