/**
 * Clusters of PostgreSQL for tests: the folder in which they lie, and copies of the one that initdb made once.
 *
 * The folder is in memory where the machine has plenty, else on its disk. Copying, filling and removing clusters takes half
 * the CPU time there, and nothing waits for the disk. Folders are named for the process that made them, so that the next
 * run removes what a killed one has left (global-database.ts). An initdb takes a second of CPU time and waits for the disk
 * far longer; a copy takes some tenths.
 */
import { execFileSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import {
  clusterOf,
  passwordFileOf,
  prepareInstallation,
} from '../../src/db/embedded/installation.ts';

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

/** Gives `dataDir` the cluster of `from`, as if its own first start had made it. */
export async function copyCluster(from: string, dataDir: string): Promise<void> {
  const { home: source } = await prepareInstallation(from);
  const { home } = await prepareInstallation(dataDir);
  // `-a` keeps owners and modes, which differ where root runs the tests.
  const options = ['-a', clusterOf(source), passwordFileOf(source), home];
  execFileSync('cp', options);
}
