/**
 * A primary and its synchronous standby, of the embedded PostgreSQL's programs: started, killed, hung,
 * promoted, and left without space for the write-ahead log.
 *
 * Every COMMIT waits for the standby (`synchronous_standby_names = '*'`), so that what the primary has
 * confirmed is on the standby when the primary is killed.
 */
import { execFileSync, spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

import { ensureCluster, readPassword } from '../../src/db/embedded/cluster.ts';
import {
  clusterOf,
  type Installation,
  prepareInstallation,
} from '../../src/db/embedded/installation.ts';
import { asAccount, CHILD_ENVIRONMENT } from '../../src/db/embedded/process.ts';
import { DATABASE, ROLE, runAlone } from '../../src/db/embedded/roles.ts';
import { findFreePort } from '../support/sockets.ts';
import { waitFor } from '../support/wait-for.ts';

/** A superuser for faults and checks; the servers log in as the ordinary role. */
const OPERATOR = 'operator';
/** PostgreSQL says so while a backend lives that was forked when the others were killed. */
const STILL_IN_USE = 'pre-existing shared memory block';
const STARTS_WITHIN_MS = 60_000;
const WAL_DISK_BYTES = 768 * 1024 * 1024;
const COPY_LABEL = 'chaos';

interface Node {
  readonly name: string;
  readonly folder: string;
  readonly port: number;
  /** pid of the postmaster; 0 while it does not run */
  pid: number;
}

export interface Cluster {
  /** port of the primary, on 127.0.0.1 */
  readonly port: () => number;
  /** ports of both nodes; which one is the primary changes */
  readonly ports: readonly number[];
  /** @param port of the primary, or of a proxy before it */
  readonly url: (port: number) => string;
  /** whether the write-ahead log has a disk of its own that can be filled */
  readonly hasWalDisk: boolean;
  /** Asks the primary, as a superuser. */
  readonly ask: (sql: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>;
  /** Asks the standby, as a superuser. */
  readonly askStandby: Cluster['ask'];
  /** Kills the primary with all its processes. */
  readonly kill: () => Promise<void>;
  /** Starts the primary again; resolves when it takes statements. */
  readonly start: () => Promise<void>;
  readonly hang: () => () => void;
  /** Kills the process of one connection. */
  readonly killBackend: (random: () => number) => Promise<void>;
  readonly killStandby: () => Promise<void>;
  readonly startStandby: () => Promise<void>;
  /** Kills the primary, promotes the standby, and makes the old primary its standby. */
  readonly promote: (promoted: () => void) => Promise<void>;
  readonly fillDisk: () => Promise<void>;
  readonly freeDisk: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Opens a cluster in a temporary folder; `close` removes it. */
export async function openCluster(): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-chaos-'));
  await chmod(folder, 0o755);
  const installation = { ...(await prepareInstallation(folder)), lockFd: null };
  await ensureCluster(installation);
  const password = await readPassword(installation.home);
  await runAlone(installation, clusterOf(installation.home), 'postgres', [
    `CREATE ROLE ${OPERATOR} LOGIN SUPERUSER PASSWORD '${password}';`,
  ]);
  return await openNodes({ folder, installation, password });
}

interface Made {
  readonly folder: string;
  readonly installation: Installation;
  readonly password: string;
}

async function openNodes({ folder, installation, password }: Made): Promise<Cluster> {
  const urlOf = (role: string, port: number, database: string): string =>
    `postgres://${role}:${password}@127.0.0.1:${port}/${database}`;

  const makeNode = async (name: string): Promise<Node> => ({
    name,
    folder: join(folder, name),
    port: await findFreePort(),
    pid: 0,
  });
  let primary = await makeNode('one');
  let standby = await makeNode('two');
  execFileSync('cp', ['-a', clusterOf(installation.home), primary.folder]);
  execFileSync('cp', ['-a', clusterOf(installation.home), standby.folder]);
  const hasWalDisk = await mountWalDisks([primary, standby], installation);
  await becomeStandby(standby, installation);

  const statement = async (
    { port }: Node,
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({
      connectionString: urlOf(OPERATOR, port, DATABASE),
      connectionTimeoutMillis: 5_000,
    });
    // One that PostgreSQL ends is reported by the statement.
    client.on('error', () => {});
    await client.connect();
    try {
      const { rows } = await client.query<Record<string, unknown>>(sql, [...values]);
      return rows;
    } finally {
      await client.end().catch(() => {});
    }
  };
  /** @returns false when the answer has no row, or there is none: PostgreSQL starts or recovers */
  const answers = async (node: Node, sql = 'SELECT 1'): Promise<boolean> => {
    try {
      return (await statement(node, sql)).length > 0;
    } catch {
      return false;
    }
  };

  /** @returns false when a process of the one before still ends */
  const launchOnce = async (node: Node, of: Node | null): Promise<boolean> => {
    const settings = {
      port: node.port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      timezone: 'UTC',
      max_connections: 150,
      shared_buffers: '256MB',
      max_wal_size: '256MB',
      min_wal_size: '80MB',
      wal_keep_size: '160MB',
      wal_init_zero: 'off',
      jit: 'off',
      synchronous_standby_names: '*',
      wal_receiver_status_interval: '1s',
      wal_retrieve_retry_interval: '200ms',
      ...(of === null
        ? {}
        : {
            primary_conninfo: `host=127.0.0.1 port=${of.port} user=${OPERATOR} password=${password}`,
          }),
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(installation.runtime.postgres, ['-D', node.folder, ...args], {
      ...asAccount(installation.account),
      cwd: '/',
      env: CHILD_ENVIRONMENT,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4_000);
    });
    node.pid = child.pid ?? 0;
    child.once('exit', () => {
      if (node.pid === child.pid) node.pid = 0;
    });
    await waitFor(async () => node.pid === 0 || (await answers(node)), {
      withinMs: STARTS_WITHIN_MS,
      what: () => `PostgreSQL ${node.name} takes statements:\n${said}`,
    });
    if (node.pid !== 0) return true;
    if (said.includes(STILL_IN_USE)) return false;
    throw new Error(`PostgreSQL ${node.name} ended:\n${said}`);
  };
  const launch = (node: Node, of: Node | null): Promise<boolean> =>
    waitFor(() => launchOnce(node, of), {
      withinMs: STARTS_WITHIN_MS,
      what: `PostgreSQL ${node.name} has its shared memory`,
    });

  /** PostgreSQL's processes of a node; its backends are children of the postmaster. */
  const processesOf = ({ pid }: Node): number[] => {
    if (pid === 0) return [];
    const listed = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
    return [pid, ...listed.split('\n').map(Number).filter(Boolean)];
  };
  const signalAll = (pids: readonly number[], name: NodeJS.Signals): void => {
    for (const pid of pids) {
      try {
        process.kill(pid, name);
      } catch (error) {
        // It has ended since it was listed.
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
      }
    }
  };
  const killNode = async (node: Node): Promise<void> => {
    signalAll(processesOf(node), 'SIGKILL');
    await waitFor(() => node.pid === 0, {
      withinMs: STARTS_WITHIN_MS,
      what: `PostgreSQL ${node.name} has ended`,
    });
  };
  const standbyFollows = (): Promise<boolean> =>
    waitFor(() => answers(primary, "SELECT FROM pg_stat_replication WHERE state = 'streaming'"), {
      withinMs: STARTS_WITHIN_MS,
      what: 'the standby follows the primary',
    });

  /** Makes `node` a standby of the primary, from a copy of the primary's files. */
  const copyPrimaryTo = async (node: Node): Promise<void> => {
    await rm(node.folder, { recursive: true, force: true });
    const client = new pg.Client({ connectionString: urlOf(OPERATOR, primary.port, 'postgres') });
    await client.connect();
    try {
      await client.query('SELECT pg_backup_start($1, fast => true)', [COPY_LABEL]);
      copyFiles(primary.folder, node.folder);
      const { rows } = await client.query<{ labelfile: string }>(
        'SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)',
      );
      await writeFile(join(node.folder, 'backup_label'), rows[0]?.labelfile ?? '');
      own(installation, join(node.folder, 'backup_label'));
    } finally {
      await client.end();
    }
    if (hasWalDisk) await emptyWal(node, installation);
    else await mkdir(join(node.folder, 'pg_wal', 'archive_status'), { recursive: true });
    own(installation, node.folder);
    await becomeStandby(node, installation);
  };

  const filler = (): string => join(`${primary.folder}-wal`, 'filler');

  await launch(primary, null);
  await launch(standby, primary);
  await standbyFollows();

  return {
    port: () => primary.port,
    ports: [primary.port, standby.port],
    url: (port) => urlOf(ROLE, port, DATABASE),
    hasWalDisk,
    ask: (sql, values) => statement(primary, sql, values),
    askStandby: (sql, values) => statement(standby, sql, values),
    kill: () => killNode(primary),
    start: async () => {
      await launch(primary, null);
      await standbyFollows();
    },
    hang: () => {
      const pids = processesOf(primary);
      signalAll(pids, 'SIGSTOP');
      return () => signalAll(pids, 'SIGCONT');
    },
    killBackend: async (random) => {
      const rows = await statement(
        primary,
        'SELECT pid FROM pg_stat_activity WHERE usename = $1 ORDER BY pid',
        [ROLE],
      );
      const victim = rows[Math.floor(random() * rows.length)]?.pid;
      if (victim !== undefined) signalAll([Number(victim)], 'SIGKILL');
      await waitFor(() => answers(primary), {
        withinMs: STARTS_WITHIN_MS,
        what: 'PostgreSQL has recovered',
      });
      await standbyFollows();
    },
    killStandby: () => killNode(standby),
    startStandby: async () => {
      await launch(standby, primary);
      await standbyFollows();
    },
    promote: async (promoted) => {
      await killNode(primary);
      [primary, standby] = [standby, primary];
      await statement(primary, 'SELECT pg_promote(true, 60)');
      promoted();
      await copyPrimaryTo(standby);
      await launch(standby, primary);
      await standbyFollows();
    },
    fillDisk: async () => {
      // Ends when there is no space left, which is what it is for.
      execFileSync('sh', ['-c', 'cat /dev/zero > "$1" 2> /dev/null || true', 'sh', filler()]);
      // Segments that are kept for reuse have room still: it is used up by statements that are undone.
      const useUp = `DO $$ BEGIN FOR i IN 1..100 LOOP
        PERFORM pg_logical_emit_message(false, 'chaos', repeat('x', 1000000)); END LOOP; END $$`;
      await waitFor(
        async () => {
          // The statement that meets the full disk ends with the connection.
          await statement(primary, useUp).catch(() => {});
          return primary.pid === 0 || !(await answers(primary));
        },
        { withinMs: STARTS_WITHIN_MS, what: 'PostgreSQL has met the full disk' },
      );
    },
    freeDisk: async () => {
      await rm(filler(), { force: true });
      // It may be starting again by itself, or have ended when it could not.
      await waitFor(async () => primary.pid === 0 || (await answers(primary)), {
        withinMs: STARTS_WITHIN_MS,
        what: 'PostgreSQL runs again or has ended',
      });
      if (primary.pid === 0) await launch(primary, null);
      await standbyFollows();
    },
    close: async () => {
      for (const node of [primary, standby]) {
        await killNode(node);
        if (hasWalDisk) execFileSync('umount', [`${node.folder}-wal`]);
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const own = ({ account }: Installation, path: string): void => {
  if (account !== null) execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, path]);
};

/** All files of a running primary but its write-ahead log, which the standby fetches. */
function copyFiles(from: string, to: string): void {
  execFileSync('mkdir', ['-m', '0700', to]);
  // A file that PostgreSQL removes meanwhile makes tar warn and end with 1.
  execFileSync('sh', [
    '-c',
    'tar -C "$1" --exclude=./pg_wal --exclude=./postmaster.pid --exclude=./postmaster.opts ' +
      '--warning=no-file-changed --warning=no-file-removed -cf - . | tar -C "$2" -xpf -',
    'sh',
    from,
    to,
  ]);
}

/** A small file system in memory for each write-ahead log, where this process may mount one. */
async function mountWalDisks(nodes: readonly Node[], installation: Installation): Promise<boolean> {
  for (const node of nodes) {
    const disk = `${node.folder}-wal`;
    await mkdir(disk);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${WAL_DISK_BYTES}`, 'tmpfs', disk], {
        stdio: 'ignore',
      });
    } catch {
      // Only root may mount, and not in every container: the fault is left out, and said to be.
      return false;
    }
    execFileSync('cp', ['-a', `${join(node.folder, 'pg_wal')}/.`, disk]);
    own(installation, disk);
    await rm(join(node.folder, 'pg_wal'), { recursive: true });
    await symlink(disk, join(node.folder, 'pg_wal'));
  }
  return true;
}

async function emptyWal(node: Node, installation: Installation): Promise<void> {
  const disk = `${node.folder}-wal`;
  execFileSync('find', [disk, '-mindepth', '1', '-delete']);
  await mkdir(join(disk, 'archive_status'));
  own(installation, disk);
  await symlink(disk, join(node.folder, 'pg_wal'));
}

async function becomeStandby(node: Node, installation: Installation): Promise<void> {
  await writeFile(join(node.folder, 'standby.signal'), '');
  own(installation, join(node.folder, 'standby.signal'));
}
