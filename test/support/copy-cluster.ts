/**
 * Copies of a cluster that initdb made once: an initdb takes a second of CPU and waits for the disk
 * far longer, a copy some tenths.
 */
import { execFileSync } from 'node:child_process';

import {
  clusterOf,
  passwordFileOf,
  prepareInstallation,
} from '../../src/db/embedded/installation.ts';

/** Gives `dataDir` the cluster of `from`, as if its own first start had made it. */
export async function copyCluster(from: string, dataDir: string): Promise<void> {
  const { home: source } = await prepareInstallation(from);
  const { home } = await prepareInstallation(dataDir);
  // `-a` keeps owners and modes, which differ where root runs the tests.
  const options = ['-a', clusterOf(source), passwordFileOf(source), home];
  execFileSync('cp', options);
}
