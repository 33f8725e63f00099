/** The embedded server that dies is started again, a bounded number of times in a row. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { startEmbedded } from '../../../src/db/embedded/connect.ts';
import type { Server } from '../../../src/db/embedded/server.ts';
import { findServer } from '../../../src/db/embedded/server.ts';
import { Supervisor, type SupervisorEvents } from '../../../src/db/embedded/supervisor.ts';
import { ask, type Lab, openLab } from '../../support/embedded-lab.ts';
import { waitFor } from '../../support/wait-for.ts';

const SOON = { withinMs: 60_000 };

let logged: string[] = [];
const events: SupervisorEvents = {
  embeddedDied: () => logged.push('died'),
  embeddedRestarted: ({ starts }) => logged.push(`runs again after ${starts}`),
  embeddedRestartFailed: (start, error) =>
    logged.push(`start ${start}: ${error instanceof Error ? error.message : error}`),
  embeddedGivenUp: (starts) => logged.push(`given up after ${starts}`),
};
const never = (): void => {
  throw new Error('given up');
};
afterEach(() => {
  logged = [];
});

describe('a real server', () => {
  let lab: Lab;
  beforeAll(() => {
    lab = openLab();
  });
  afterAll(() => lab.close());

  async function killServer(home: string): Promise<number> {
    const { pid = 0 } = (await findServer(home)) ?? {};
    process.kill(pid, 'SIGKILL');
    return pid;
  }

  const runsAgain = (times: number) =>
    waitFor(() => logged.filter((one) => one.startsWith('runs again')).length === times, {
      ...SOON,
      what: () => `it runs again: ${logged}`,
    });

  test('runs again at the same address, with all that was committed, and can be stopped', async () => {
    const dataDir = await lab.madeFolder();
    const database = await lab.start(dataDir);
    database.supervise(events, never);
    await ask(database.url, 'CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n');
    for (const times of [1, 2]) {
      const pid = await killServer(database.home);
      await runsAgain(times);
      expect((await findServer(database.home))?.pid).not.toBe(pid);
      for (const url of [database.url, database.copyUrl]) {
        expect(await ask(url, 'SELECT count(*)::int FROM kept')).toEqual([1000]);
      }
    }
    expect(logged).toEqual(['died', 'runs again after 1', 'died', 'runs again after 2']);
    await database.stop();
    expect(await findServer(database.home)).toBeNull();
    expect(logged).toHaveLength(4);
  });

  test('a stop while it is started again leaves no server behind', async () => {
    const dataDir = await lab.madeFolder();
    const database = await lab.start(dataDir);
    database.supervise(events, never);
    await killServer(database.home);
    await waitFor(() => logged.length > 0, { ...SOON, what: 'its death is seen' });
    await database.stop();
    expect(await findServer(database.home)).toBeNull();
  });

  test('a command does not wait for ever for a server that neither starts nor stops', async () => {
    const dataDir = await lab.madeFolder();
    const { home, stop } = await lab.start(dataDir);
    const { pid = 0 } = (await findServer(home)) ?? {};
    const pidFile = join(home, 'cluster', 'postmaster.pid');
    const text = await readFile(pidFile, 'utf8');
    process.kill(pid, 'SIGSTOP');
    try {
      await writeFile(pidFile, text.replace('ready', 'starting'));
      const log = { info: () => {}, warn: () => {} };
      const options = { dataDir, log, readyWaitMs: 100, serves: false };
      await expect(startEmbedded(options)).rejects.toThrow('is not running or not ready');
    } finally {
      await writeFile(pidFile, text);
      process.kill(pid, 'SIGCONT');
    }
    await stop();
  });
});

describe('a server that does not start', () => {
  /** A process that ends at once, in the place of a server. */
  async function mortal(): Promise<Server> {
    const child = spawn('sleep', ['0.01'], { stdio: 'ignore' });
    await once(child, 'spawn');
    const address = { port: 1, socketFolder: null };
    return { pid: child.pid ?? 0, status: 'ready', address };
  }
  const timing = { watchMs: 1, pauseMs: 1 };

  test.each([
    ['at all', () => Promise.reject(new Error('no space')), 'start 8: no space'],
    ['for long', mortal, 'died'],
  ])('%s: is given up after eight starts in a row, once', async (_how, start, last) => {
    let givenUp = 0;
    const supervisor = new Supervisor(await mortal(), start, events, () => (givenUp += 1), timing);
    await waitFor(() => givenUp > 0, { ...SOON, what: () => `it is given up: ${logged}` });
    await supervisor.stop();
    expect(givenUp).toBe(1);
    expect(logged.at(-1)).toBe('given up after 8');
    expect(logged.at(-2)).toBe(last);
  });
});
