/**
 * The processes in which a server, or a test, decodes large bodies. A stopped one (SIGSTOP) holds its
 * body, as a body does that takes long to decode.
 */
import { execFileSync } from 'node:child_process';

const ENTRY = 'ingest/decode-process.js';

/** Process ids of the decode processes that `parent` started. */
export function decodeProcessesOf(parent: number): number[] {
  const listed = execFileSync('ps', ['-e', '-ww', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return listed.split('\n').flatMap((line) => {
    const [pid, ppid] = line.trim().split(/\s+/).map(Number);
    return ppid === parent && pid !== undefined && line.endsWith(ENTRY) ? [pid] : [];
  });
}

/** Stops processes; what they were sent stays undecoded until `resume`. */
export function stop(pids: readonly number[]): { readonly resume: () => void } {
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  return {
    resume: () => {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    },
  };
}
