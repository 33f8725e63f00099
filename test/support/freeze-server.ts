/**
 * A PostgreSQL that hangs: every process of an embedded server is stopped by SIGSTOP. Its sockets
 * stay open and the system still accepts connections for it, and nothing is ever answered.
 */
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
  const signalAll = (name: NodeJS.Signals): void => {
    for (const pid of pids) {
      try {
        process.kill(pid, name);
      } catch (error) {
        // One whose client has gone may end in between.
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
      }
    }
  };
  signalAll('SIGSTOP');
  return () => signalAll('SIGCONT');
}
