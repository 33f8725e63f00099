/**
 * Starts a server on a cluster: address, process, and waiting until it accepts logins.
 *
 * Only the owner of the home may launch. Stops a server that does not become ready.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../../errors.ts';
import {
  type Address,
  chooseAddress,
  noteAddress,
  otherAddress,
  prepareAddress,
  removeSocket,
} from './address.ts';
import { serverArguments } from './cluster.ts';
import { clusterOf, type HeldInstallation, socketFolderOf } from './installation.ts';
import { openServerLog, serverLogTail } from './log.ts';
import { asAccount, CHILD_ENVIRONMENT, processIdentity } from './process.ts';
import {
  findServer,
  POLL_MS,
  readPidFile,
  type Server,
  START_TIMEOUT_MS,
  settledServer,
  stopServer,
} from './server.ts';

const PORT_ATTEMPTS = 5;
/** How long processes of a killed server, or one a killed Sluice has just started, may block a start. */
const LINGER_TIMEOUT_MS = 30_000;
const LINGER_POLL_MS = 200;
/** Children of a killed server hold its shared memory; a server just started holds the lock file. */
const LINGERING = /pre-existing shared memory block|lock file "postmaster\.pid"/;
/** Between creating postmaster.pid and writing to it a server takes microseconds. */
const EMPTY_PID_FILE_AGE_MS = 2000;
const SOCKET_TIMEOUT_MS = 5000;

/**
 * Starts a server and waits until it accepts logins. If one is running after all, that one is returned.
 * @param again.address the address it must have
 */
export async function launchServer(
  installation: HeldInstallation,
  connectionsMax: number,
  again: { readonly address?: Address; readonly signal?: AbortSignal } = {},
): Promise<Server> {
  const lingerDeadline = performance.now() + LINGER_TIMEOUT_MS;
  let address = again.address ?? (await chooseAddress(installation.home));
  let portAttempts = again.address === undefined ? 1 : PORT_ATTEMPTS;
  for (;;) {
    again.signal?.throwIfAborted();
    await removeRecycledPidFile(installation.home);
    await prepareAddress(address, installation);
    const launch = await spawnServer(installation, serverArguments(address, connectionsMax));
    const server = await awaitLaunch(installation.home, launch.pid, again.signal);
    if (server !== null) {
      await noteAddress(installation.home, server.address);
      return server;
    }
    const other = await settledServer(installation.home);
    if (other !== null) return other;
    const said = await serverLogTail(installation.home, launch.logStart);
    if (portAttempts < PORT_ATTEMPTS && /could not create any TCP\/IP sockets/.test(said)) {
      address = await otherAddress(address);
      portAttempts += 1;
    } else if (performance.now() < lingerDeadline && LINGERING.test(said)) {
      await sleep(LINGER_POLL_MS);
    } else {
      throw new OperatorError(`PostgreSQL in ${installation.home} did not start: ${said}`);
    }
  }
}

/**
 * In a separate session: Ctrl-C in the terminal must not reach the server before this process has
 * drained. Its output goes to a file, because the server may outlive this process.
 */
async function spawnServer(
  installation: HeldInstallation,
  settings: readonly string[],
): Promise<{ pid: number; logStart: number }> {
  const { lockFd } = installation;
  const { file, start } = await openServerLog(installation.home);
  try {
    const child = spawn(
      installation.runtime.postgres,
      ['-D', clusterOf(installation.home), ...settings],
      {
        ...asAccount(installation.account),
        cwd: '/',
        env: CHILD_ENVIRONMENT,
        detached: true,
        // The lock belongs to the server and its children too, as long as one of them lives.
        stdio: ['ignore', file.fd, file.fd, ...(lockFd === null ? [] : [lockFd])],
      },
    );
    await once(child, 'spawn');
    child.unref();
    if (child.pid === undefined) throw new Error('a process was spawned without a pid');
    return { pid: child.pid, logStart: start };
  } finally {
    await file.close();
  }
}

/** The server once it is ready; null when its process ended before. */
async function awaitLaunch(
  home: string,
  pid: number,
  signal?: AbortSignal,
): Promise<Server | null> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const server = await findServer(home);
    if (server?.pid === pid && server.status === 'ready') return server;
    if ((await processIdentity(pid)) === null) return null;
    if (signal?.aborted) await stopServer(home);
    signal?.throwIfAborted();
    if (performance.now() > deadline) {
      await stopServer(home);
      const said = await serverLogTail(home, 0);
      throw new OperatorError(
        `PostgreSQL in ${home} was not ready after ${START_TIMEOUT_MS / 1000} s: ${said}`,
      );
    }
    await sleep(POLL_MS);
  }
}

/**
 * A killed server leaves postmaster.pid behind. PostgreSQL itself clears it away when the pid is
 * dead, but refuses when another of the account's programs has got the number since. Its own check
 * for left-over children does not need the file (shared memory is found by the cluster's inode).
 */
async function removeRecycledPidFile(home: string): Promise<void> {
  const lines = await readPidFile(home);
  if (lines === null || (await findServer(home)) !== null) return;
  await requireSilentSocket(home, Number(lines[3]));
  const path = join(clusterOf(home), 'postmaster.pid');
  const ageMs = Date.now() - (await stat(path)).mtimeMs;
  if (lines[0] === '' && ageMs < EMPTY_PID_FILE_AGE_MS) return;
  await unlink(path);
  await removeSocket(home);
}

/** Checks that no server answers on the socket, which is the same in every container. @throws OperatorError */
async function requireSilentSocket(home: string, port: number): Promise<void> {
  const socket = connect(join(socketFolderOf(home), `.s.PGSQL.${port}`));
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(SOCKET_TIMEOUT_MS) });
  } catch {
    // No socket, or nobody listens any more.
    return;
  } finally {
    socket.destroy();
  }
  throw new OperatorError(
    `a PostgreSQL that is not visible here runs in ${home}: another container has the same folder. Run ` +
      'commands in that container (docker exec CONTAINER node bin/sluice.js …), or stop it first. ' +
      'No second PostgreSQL was started',
  );
}
