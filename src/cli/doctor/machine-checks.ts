/** Checks of this machine: Node.js and its C library, native modules, memory, disk, files, ports. */
import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, totalmem } from 'node:os';
import { dirname } from 'node:path';
import type { Config } from '../../config/config.ts';
import {
  type NodeRuntime,
  RECOMMENDED_NODE,
  runtimeFault,
  runtimeProblem,
  TESTED_MAJORS,
} from '../../terminal/node-runtime.ts';
import { bytesText } from '../answer.ts';
import { type Check, checksOf } from './check.ts';

const { ok, warning, problem } = checksOf('machine');

/** Above this, bodies under way leave too little for everything else. */
const INFLIGHT_SHARE_MAX = 0.5;
const DISK_BYTES_MIN = 1024 ** 3;
const DISK_SHARE_MIN = 0.1;
/** Connections of clients, files of threads. */
const OPEN_FILES_MIN = 4096;
const HEALTH_MS_MAX = 10_000;

export function runtimeCheck(runtime: NodeRuntime): Check {
  const { version, glibc, platform, arch } = runtime;
  const where = glibc === null ? `${platform} ${arch}` : `glibc ${glibc}, ${arch}`;
  const found = `${version}, ${where}`;
  const change = runtimeProblem(runtime);
  if (change !== null) return problem('Node.js', found, change);
  const major = Number(version.split('.')[0]);
  if (!TESTED_MAJORS.includes(major)) {
    return warning('Node.js', found, `This version is not tested. Use ${RECOMMENDED_NODE}.`);
  }
  const fault = runtimeFault(runtime);
  if (fault !== null) return warning('Node.js', found, fault);
  if (major === 20) {
    return warning('Node.js', found, `Its support ended in April 2026. Use ${RECOMMENDED_NODE}.`);
  }
  return ok('Node.js', found);
}

const NATIVE: readonly (readonly [name: string, load: () => Promise<unknown>])[] = [
  ['uWebSockets.js', () => import('../../http/transport/server.ts')],
  ['re2', () => import('../../engine/matcher/pattern.ts')],
];

export async function nativeModuleChecks(): Promise<Check[]> {
  return await Promise.all(
    NATIVE.map(async ([name, load]) => {
      try {
        await load();
        return ok(name, 'loads');
      } catch (error) {
        const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
        const change = `Run npm ci with this Node.js (${process.versions.node}), so that its binary fits.`;
        return problem(name, line, change);
      }
    }),
  );
}

export function resourceChecks(
  { matchThreads, maxInflightBytes }: Config,
  cores: number = availableParallelism(),
  memoryBytes: number = Math.min(process.constrainedMemory() || Infinity, totalmem()),
): Check[] {
  const cpu = `${cores} cores; MATCH_THREADS ${matchThreads}`;
  const memory = `${bytesText(memoryBytes)}; MAX_INFLIGHT_BYTES ${bytesText(maxInflightBytes)}`;
  return [
    matchThreads > cores
      ? warning('Cores', cpu, `Lower MATCH_THREADS to ${Math.max(1, cores - 1)}.`)
      : ok('Cores', cpu),
    maxInflightBytes > memoryBytes * INFLIGHT_SHARE_MAX
      ? warning('Memory', memory, 'Lower MAX_INFLIGHT_BYTES to half of the memory, or less.')
      : ok('Memory', memory),
  ];
}

/** The folder itself, or the nearest one above that exists. */
function existingFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existingFolder(dirname(path));
}

/** Why DATA_DIR, or the folder above it that exists, cannot be written to; null when it can. */
function writeFault(folder: string): string | null {
  try {
    if (!statSync(folder).isDirectory()) return 'is not a folder';
    accessSync(folder, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return `cannot be written to: ${(error as NodeJS.ErrnoException).code}`;
  }
}

/** @param faultOf for tests: root may write anywhere */
export function dataDirCheck(
  dataDir: string,
  holdsDatabase: boolean,
  faultOf: (folder: string) => string | null = writeFault,
): Check {
  const folder = existingFolder(dataDir);
  const fault = faultOf(folder);
  const name = 'DATA_DIR';
  if (fault === null) return ok(name, dataDir);
  const found = `${folder} ${fault}`;
  return holdsDatabase
    ? problem(name, found, 'Let the user of the server own it, or set DATA_DIR to another folder.')
    : warning(
        name,
        found,
        'Let the user of the server own it: the catalogue of rules is made again at every start.',
      );
}

export function diskCheck(dataDir: string, holdsDatabase: boolean): Check {
  const { bavail, blocks, bsize } = statfsSync(existingFolder(dataDir));
  const free = bavail * bsize;
  const share = blocks === 0 ? 1 : bavail / blocks;
  const found = `${bytesText(free)} free (${Math.round(share * 100)} %) for DATA_DIR ${dataDir}`;
  const change = holdsDatabase
    ? 'Free some, enlarge the disk, or lower RETENTION_DAYS: PostgreSQL stops when it is full.'
    : 'Free some: the catalogue of rules is kept there.';
  if (holdsDatabase && free < DISK_BYTES_MIN) return problem('Disk', found, change);
  if (free < DISK_BYTES_MIN || (holdsDatabase && share < DISK_SHARE_MIN)) {
    return warning('Disk', found, change);
  }
  return ok('Disk', found);
}

/** How many files and sockets this process may have open; null where the system does not say. */
export function openFilesCheck(): Check | null {
  const limits = '/proc/self/limits';
  if (!existsSync(limits)) return null;
  const [, soft = ''] = /^Max open files\s+(\S+)/m.exec(readFileSync(limits, 'utf8')) ?? [];
  const found = `${soft} at most`;
  if (soft === 'unlimited' || Number(soft) >= OPEN_FILES_MIN) return ok('Open files', found);
  const change = `Raise the limit to ${OPEN_FILES_MIN} or more (ulimit -n, LimitNOFILE= of systemd).`;
  return warning('Open files', found, change);
}

/** The error code of listening on an address; null when it can be used. */
function listenFault(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}

async function listenerAt(host: string, port: number): Promise<'sluice' | 'other' | 'silent'> {
  const local = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host;
  try {
    const signal = AbortSignal.timeout(HEALTH_MS_MAX);
    const response = await fetch(`http://${local}:${port}/health`, { signal });
    const body = (await response.json()) as { status?: unknown } | null;
    return body?.status === 'healthy' ? 'sluice' : 'other';
  } catch (error) {
    return (error as Error).name === 'TimeoutError' ? 'silent' : 'other';
  }
}

async function portCheck(name: string, host: string, port: number): Promise<Check> {
  if (port === 0) return ok(name, 'any free port');
  const where = `${host}:${port}`;
  const fault = await listenFault(host, port);
  if (fault === null) return ok(name, `${where} is free`);
  if (fault === 'EADDRINUSE') {
    const listener = await listenerAt(host, port);
    if (listener === 'sluice') return ok(name, `${where}: a Sluice server is running there`);
    if (listener === 'silent') {
      const found = `${where} is in use, and /health did not answer in ${HEALTH_MS_MAX / 1000} s`;
      const change = `See whether the program that uses the port hangs, or set ${name} to another one.`;
      return warning(name, found, change);
    }
    const change = `End the program that uses the port, or set ${name} to another one.`;
    return problem(name, `${where} is used by another program`, change);
  }
  const change =
    fault === 'EACCES'
      ? `Set ${name} to a port above 1023, or give the process CAP_NET_BIND_SERVICE.`
      : `Set ${name === 'ADMIN_PORT' ? 'ADMIN_HOST' : 'HOST'} to an address of this machine.`;
  return problem(name, `${where} cannot be used: ${fault}`, change);
}

export async function portChecks(config: Config): Promise<Check[]> {
  const { port, observePort, adminPort, host, adminHost } = config;
  const ports: (readonly [string, string, number])[] = [['PORT', host, port]];
  if (observePort !== port || port === 0) ports.push(['OBSERVE_PORT', host, observePort]);
  ports.push(['ADMIN_PORT', adminHost, adminPort]);
  return await Promise.all(ports.map(([name, where, number]) => portCheck(name, where, number)));
}
