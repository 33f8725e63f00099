/** The long turns of a server's event loop, as written by `turn-probe.cjs`. */
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface TurnWatch {
  readonly settings: Readonly<Record<string, string>>;
  /** CPU time of the longest turn since the last call, in milliseconds; 0 when none took 10 ms */
  readonly longestMs: () => number;
  readonly close: () => void;
}

/** Whether turns can be watched on this machine: the kernel's counter exists on Linux only. */
export const canWatchTurns = existsSync('/proc/thread-self/schedstat');

export function watchTurns(): TurnWatch {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-turns-'));
  const path = join(folder, 'turns');
  writeFileSync(path, '');
  const probe = fileURLToPath(new URL('turn-probe.cjs', import.meta.url));
  return {
    settings: { LOOP_PROBE_FILE: path, NODE_OPTIONS: `--require ${probe}` },
    longestMs: () => {
      const turns = readFileSync(path, 'utf8').split('\n').map(Number);
      truncateSync(path);
      return Math.max(...turns);
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
