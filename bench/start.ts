/**
 * How long does `npm start` take, from the command to the first 200 of /ready? The first start creates
 * the database and keeps the rules' tables; later ones find both, and what was built.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { log, pause } from './harness.ts';
import { type MachineFacts, machineFacts } from './machine.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LOOK_EVERY_MS = 5;
const READY_WITHIN_MS = 120_000;

export interface StartResult {
  readonly name: 'start';
  readonly machine: MachineFacts;
  readonly firstMs: number;
  readonly laterMs: readonly number[];
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** @returns 0 while nothing listens */
async function statusOf(port: number): Promise<number> {
  return await new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/ready', agent: false }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0));
    }).once('error', () => resolve(0));
  });
}

/** npm starts a shell, which starts the server: the signal goes to all of them. */
async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'close');
  if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
  await ended;
}

async function startOnce(dataDir: string): Promise<number> {
  const port = await freePort();
  const env = {
    ...process.env,
    DATA_DIR: dataDir,
    HOST: '127.0.0.1',
    PORT: String(port),
    OBSERVE_PORT: '0',
    ADMIN_PORT: '0',
    LOG_LEVEL: 'warn',
  };
  const startedAt = performance.now();
  const child = spawn('npm', ['start'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  child.stdout?.resume();
  try {
    while ((await statusOf(port)) !== 200) {
      if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}`);
      if (performance.now() - startedAt > READY_WITHIN_MS) throw new Error('never ready');
      await pause(LOOK_EVERY_MS);
    }
    return Math.round(performance.now() - startedAt);
  } finally {
    if (child.exitCode === null) await stop(child);
  }
}

/** Runs the benchmark. @param rounds how many starts after the first */
export async function startBench(rounds: number): Promise<StartResult> {
  const machine = machineFacts();
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  chmodSync(dataDir, 0o755);
  try {
    const firstMs = await startOnce(dataDir);
    const laterMs: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      laterMs.push(await startOnce(dataDir));
      log(`${round + 1}/${rounds}  ready after ${laterMs.at(-1)} ms`);
    }
    return { name: 'start', machine, firstMs, laterMs };
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
