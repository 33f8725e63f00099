/**
 * Programs of the machine that some tests need: a redis-server, jq, PgBouncer, libfaketime, promtool, a Chromium,
 * shells. Where one is missing, those tests are skipped and the last lines of the run say so (run-summary.ts); with REQUIRE_ALL=1,
 * as in CI, they fail.
 */
import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

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

const CHROMIUM = [
  process.env.CHROMIUM_PATH ?? '',
  // The same engine without a window, for a fifth less CPU time.
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Prometheus' own checker of rules. */
export const canRunPromtool: boolean = isOnPath('promtool');

export const canRunJq: boolean = isOnPath('jq');

export const canStartRedis: boolean = isOnPath('redis-server');

/** A program that Debian installs where only root looks; null when there is none. */
function findProgram(name: string, given = ''): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  const paths = [given, ...folders.map((folder) => join(folder, name))];
  return paths.find((path) => path !== '' && existsSync(path)) ?? null;
}

/** PgBouncer, as `PGBOUNCER` names it or as Debian installs it. */
export const pgbouncerPath: string | null = findProgram('pgbouncer', process.env.PGBOUNCER);

export const haproxyPath: string | null = findProgram('haproxy');

const LIBRARY_FOLDERS = ['x86_64-linux-gnu', 'aarch64-linux-gnu'];
/** libfaketime, for processes with threads, as Debian installs it. */
export const faketimePath: string | null =
  LIBRARY_FOLDERS.map((folder) => `/usr/lib/${folder}/faketime/libfaketimeMT.so.1`).find((path) =>
    existsSync(path),
  ) ?? null;

/** Where the browser is; null when there is none. */
export const chromiumPath: string | null =
  CHROMIUM.find((path) => path !== '' && existsSync(path)) ?? null;

const SHELLS = ['bash', 'zsh', 'fish'];
/** The shells whose completion can be tried here. */
export const shellsFound: readonly string[] = SHELLS.filter(isOnPath);

/** What is missing here, and what then is not tested. */
export const missingPrograms: readonly string[] = [
  ...(canStartRedis ? [] : ['no redis-server on the PATH: limits shared over Redis']),
  ...(canRunJq ? [] : ['no jq on the PATH: the commands of docs/export.md with it']),
  ...(pgbouncerPath === null ? ['no pgbouncer on the PATH: connections through a pooler'] : []),
  ...(faketimePath === null ? ['no libfaketime: what a suspended machine stores'] : []),
  ...(haproxyPath === null ? ['no haproxy on the PATH: rolling restarts'] : []),
  ...(canRunPromtool ? [] : ['no promtool on the PATH: whether the alerts of deploy/ fire']),
  ...(chromiumPath === null ? ['no Chromium, nor CHROMIUM_PATH: the pages in a real browser'] : []),
  ...SHELLS.filter((shell) => !shellsFound.includes(shell)).map(
    (shell) => `no ${shell} on the PATH: its completion`,
  ),
];

/** What is on no machine of its own: it is tested where somebody has set it up (docs/citus.md). */
export const missingClusters: readonly string[] = [
  ...(process.env.CITUS_DATABASE_URL === undefined
    ? ['NOT TESTED: Citus, because CITUS_DATABASE_URL names no cluster']
    : []),
  ...(canMount
    ? []
    : ['NOT TESTED: a relay on a full disk, because no file system may be mounted']),
];

/** Must every test run? */
export const mustRunAll: boolean = process.env.REQUIRE_ALL === '1';
