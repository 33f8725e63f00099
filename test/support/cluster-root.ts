/**
 * The folder in which the tests' clusters of PostgreSQL lie: in memory where the machine has plenty,
 * else on its disk. Copying, filling and removing them takes half the CPU time there, and nothing waits
 * for the disk. Folders are named for the process that made them, so that the next run removes what a
 * killed one has left (global-database.ts).
 */
import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const MEMORY = '/dev/shm';
/** A run needs less than a tenth of it. */
const FREE_MIN_BYTES = 12 * 1024 ** 3;

/** Both may hold folders of killed runs. */
export const CLUSTER_ROOTS: readonly string[] = hasPlenty() ? [MEMORY, tmpdir()] : [tmpdir()];

/** What `mkdtemp` takes for a folder of this process. */
export const clusterPrefix = (): string => `${CLUSTER_ROOTS[0]}/sluice-test-${process.pid}-`;

function hasPlenty(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= FREE_MIN_BYTES;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
