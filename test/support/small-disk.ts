/** A disk that is really full: a small file system of its own, where this process may mount one. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly folder: string;
  readonly close: () => void;
}

/** @throws where this process may not mount */
export function openSmallDisk(bytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
  try {
    const options = ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder];
    execFileSync('mount', options, { stdio: 'ignore' });
  } catch (cause) {
    rmSync(folder, { recursive: true });
    throw cause;
  }
  return {
    folder,
    close: () => {
      execFileSync('umount', [folder]);
      rmSync(folder, { recursive: true });
    },
  };
}

/** Only root may mount, and not in every container. */
export const canMount: boolean = ((): boolean => {
  try {
    openSmallDisk(65_536).close();
    return true;
  } catch {
    return false;
  }
})();
