/**
 * Containers on one volume, of which one serves: commands and a second server in others are refused, and
 * cost the first one nothing. Root runs a command on the folder of the service's user.
 */
import { execFileSync } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';

import { runProgram } from '../../src/db/embedded/process.ts';
import { copyCluster } from '../support/cluster.ts';
import { ask, IN_CONTAINER, runInside } from '../support/embedded-lab.ts';
import { mustRunAll } from '../support/programs.ts';
import {
  createDataDirectory,
  type DataDirectory,
  launchServer,
  ROOT,
  startServer,
  type TestServer,
} from '../support/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { post, rawSpan, traceBody } from './gateway.ts';

const isRoot = process.getuid?.() === 0;
const NOBODY = { uid: 65_534, gid: 65_534 };
const WITHIN_MS = 120_000;
const SENDERS = 4;
/** Below the limit of the first key. */
const PAUSE_MS = 250;
const COMMANDS = [['key', 'list'], ['workspace', 'list'], ['pass', 'run'], ['doctor']] as const;

let folder: DataDirectory;
beforeEach(async () => {
  folder = await createDataDirectory();
});
afterEach(() => folder.remove());

const { PATH = '', HOME = '' } = process.env;
const environment = (): NodeJS.ProcessEnv => ({ PATH, HOME, DATA_DIR: folder.path });
const sluice = (args: readonly string[]) => [
  process.execPath,
  join(ROOT, 'bin/sluice.js'),
  ...args,
];

/** Sends spans until it is stopped, and counts the acknowledged ones. */
function startLoad({ observeUrl, firstKeys }: TestServer) {
  let isStopping = false;
  let acknowledged = 0;
  const send = async (): Promise<void> => {
    while (!isStopping) {
      const spans = Array.from({ length: 20 }, () => rawSpan());
      const { status, text } = await post(
        `${observeUrl}/v1/traces`,
        firstKeys?.agent ?? '',
        traceBody(spans),
      );
      if (status === 200) acknowledged += spans.length;
      else expect([status, text]).toEqual([429, expect.anything()]);
      await sleep(PAUSE_MS);
    }
  };
  const senders = Array.from({ length: SENDERS }, send);
  return {
    acknowledged: () => acknowledged,
    stop: async () => {
      isStopping = true;
      await Promise.all(senders);
      return acknowledged;
    },
  };
}

describe.skipIf(!isRoot && !mustRunAll)('a server in one container', () => {
  test('loses nothing to commands and a second server in others, which say what to do', async () => {
    await copyCluster(inject('clusterFolder'), folder.path);
    const settings = { DATA_DIR: folder.path };
    const server = await startServer(settings, ROOT, IN_CONTAINER);
    const pidFile = join(folder.home, 'cluster', 'postmaster.pid');
    const before = await readFile(pidFile, 'utf8');
    const load = startLoad(server);
    const expectRefused = (code: number | null, output: string): void => {
      expect(output).toContain(`${folder.home} is in use by process 1 of host or container`);
      expect(output).toContain('docker exec');
      expect(code).toBe(1);
    };
    // Each waits for a moment, in case that the first one is about to end: at the same time.
    const refusedCommand = async (prefix: readonly string[], args: readonly string[]) => {
      const { code, output } = await runInside(prefix, sluice(args), environment(), ROOT);
      expectRefused(code, output);
    };
    const refusedServer = async () => {
      const second = launchServer(settings, ROOT, IN_CONTAINER);
      const { code } = await second.exited;
      expectRefused(code, second.stderr());
    };
    try {
      await Promise.all([
        ...COMMANDS.map((args) => refusedCommand(IN_CONTAINER, args)),
        // From the machine itself, too.
        refusedCommand([], ['key', 'list']),
        refusedServer(),
      ]);
      await waitFor(() => load.acknowledged() > 1000, { withinMs: WITHIN_MS, what: 'more rows' });
    } finally {
      await load.stop();
      expect(await readFile(pidFile, 'utf8')).toBe(before);
      // Everything in the container ends at once.
      await server.kill();
    }
    const third = await startServer(settings, ROOT, IN_CONTAINER);
    await third.kill();
    const last = await startServer(settings);
    const url = new URL(`postgres://sluice@localhost/sluice`);
    url.password = (await readFile(join(folder.home, 'password'), 'utf8')).trim();
    url.port = (await readFile(join(folder.home, 'port'), 'utf8')).trim();
    url.hostname = '127.0.0.1';
    expect(await ask(url.href, 'SELECT sum(records)::int FROM hot_blocks')).toEqual([
      load.acknowledged(),
    ]);
    expect(await readFile(join(folder.home, 'server.log'), 'utf8')).not.toContain('PANIC');
    expect(await last.stop()).toEqual({ code: 0, signal: null });
  });
});

const nobodyReaches =
  (await runProgram('/bin/ls', [join(ROOT, 'dist')], { account: NOBODY, timeoutMs: 10_000 }))
    .code === 0;

describe.skipIf(!(isRoot && nobodyReaches) && !mustRunAll)("the folder of a service's user", () => {
  test('root runs commands on it as that user, beside its server and alone', async () => {
    execFileSync('chown', ['-R', `${NOBODY.uid}:${NOBODY.gid}`, folder.path]);
    const asNobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];
    const server = await startServer({ DATA_DIR: folder.path }, ROOT, asNobody);
    const expectListed = async (): Promise<void> => {
      const { code, output } = await runInside([], sluice(['key', 'list']), environment(), ROOT);
      expect(output).toContain('first agent key');
      expect(code).toBe(0);
    };
    await expectListed();
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    await expectListed();
    const foreign = execFileSync('find', [folder.path, '!', '-uid', String(NOBODY.uid)]);
    expect(String(foreign)).toBe('');
    expect((await stat(folder.home)).uid).toBe(NOBODY.uid);
  });
});
