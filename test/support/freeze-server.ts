/**
 * A PostgreSQL that hangs: every process of an embedded server is stopped by SIGSTOP. Its sockets
 * stay open and the system still accepts connections for it, and nothing is ever answered.
 */
import { existsSync, readFileSync } from 'node:fs';

import { findServer } from '../../src/db/embedded/server.ts';
import { ask, serverPid } from './embedded-lab.ts';

/**
 * Freezes the server of `home`; one that is frozen cannot be stopped.
 *
 * @param url of a database of that server
 * @returns resumes it
 */
export async function freezeServer(home: string, url: string): Promise<() => void> {
  const backends = await ask(url, 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
  const pids = [await serverPid(home), ...backends.map(Number)];
  signalAll(pids, 'SIGSTOP');
  return () => signalAll(pids, 'SIGCONT');
}

/** Resumes the server of `home`, if there is one, which a test froze that was killed then. */
export async function resumeServer(home: string): Promise<void> {
  const server = await findServer(home);
  if (server === null) return;
  const list = `/proc/${server.pid}/task/${server.pid}/children`;
  const children = existsSync(list) ? readFileSync(list, 'utf8').trim().split(' ') : [];
  signalAll([server.pid, ...children.map(Number)], 'SIGCONT');
}

function signalAll(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      // One whose client has gone may end in between.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
}
