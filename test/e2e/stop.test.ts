/**
 * Stopping when it is inconvenient: in the middle of the first start, in the middle of a command.
 * Nothing is left running, and everything has an end.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';

import { claimOwnership } from '../../src/db/embedded/owner.ts';
import { findServer } from '../../src/db/embedded/server.ts';
import { copyCluster } from '../support/cluster.ts';
import { createDataDirectory, type DataDirectory, launchServer, ROOT } from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';

const HAPPENS_WITHIN_MS = 60_000;
const STEP_FAILED = 'a shutdown step failed';

let folder: DataDirectory;
beforeEach(async () => {
  folder = await createDataDirectory();
});
afterEach(() => folder.remove());

const isMakingCluster = async (): Promise<boolean> => {
  const names = await readdir(folder.home).catch(() => []);
  return names.some((name) => name.startsWith('cluster.new.'));
};
const isServerRunning = async (): Promise<boolean> => (await findServer(folder.home)) !== null;

async function expectNothingLeft(): Promise<void> {
  expect(await findServer(folder.home)).toBeNull();
  const names = await readdir(folder.home);
  expect(names).not.toContainEqual(expect.stringMatching(/guest|stopping|cluster\.new/));
}

const MOMENTS = [
  ['while the cluster is made', isMakingCluster],
  ['while PostgreSQL starts', isServerRunning],
] as const;

test.each(MOMENTS)('a server that is stopped %s undoes its start', async (what, moment) => {
  const server = launchServer({ DATA_DIR: folder.path });
  await waitFor(moment, { withinMs: HAPPENS_WITHIN_MS, what });
  server.signal('SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
  expect(server.stdout()).toBe('');
  expect(server.stderr()).not.toContain(STEP_FAILED);
  await expectNothingLeft();
});

test('a server whose terminal is closed stops, and its PostgreSQL with it', async () => {
  await copyCluster(inject('clusterFolder'), folder.path);
  const { PATH = '', HOME = '' } = process.env;
  // Gives the server a terminal, which is hung up when this process ends.
  const terminal = spawn(
    'script',
    ['--quiet', '--command', `exec '${process.execPath}' dist/main.js`, '/dev/null'],
    {
      cwd: ROOT,
      env: { PATH, HOME, DATA_DIR: folder.path, PORT: '0', OBSERVE_PORT: '0', ADMIN_PORT: '0' },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  let shown = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const ended = once(terminal, 'exit');
  try {
    await waitFor(() => shown.includes('Stop: Ctrl-C.'), {
      withinMs: 2 * HAPPENS_WITHIN_MS,
      what: () => `the server says that it is ready: ${shown}`,
    });
  } finally {
    terminal.kill('SIGKILL');
    await ended;
  }
  await waitFor(async () => !(await isServerRunning()), {
    withinMs: HAPPENS_WITHIN_MS,
    what: 'PostgreSQL is stopped',
  });
  expect(await readFile(join(folder.home, 'server.log'), 'utf8')).toContain(
    'database system is shut down',
  );
  await waitFor(async () => (await claimOwnership(folder.home)) !== null, {
    withinMs: HAPPENS_WITHIN_MS,
    what: 'the server ends',
  });
});

describe('a command', () => {
  let child: ChildProcess;
  afterEach(() => child.kill('SIGKILL'));

  function startCommand(args: readonly string[]): ChildProcess {
    const { PATH = '', HOME = '' } = process.env;
    child = spawn(process.execPath, [join(ROOT, 'bin', 'sluice.js'), ...args], {
      env: { PATH, HOME, DATA_DIR: folder.path },
      stdio: 'ignore',
    });
    return child;
  }

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)(
    'ended by %s while PostgreSQL starts exits with %i, its database closed',
    async (signal, code) => {
      await copyCluster(inject('clusterFolder'), folder.path);
      const command = startCommand(['pass', 'run']);
      const exited = once(command, 'exit');
      await waitFor(isServerRunning, { withinMs: HAPPENS_WITHIN_MS, what: 'PostgreSQL starts' });
      command.kill(signal);
      expect(await exited).toEqual([code, null]);
      await expectNothingLeft();
    },
  );
});
