/**
 * The embedded server's addresses: a port on 127.0.0.1 for COPY and, where its path is short
 * enough, a Unix socket in a folder that no other user can enter for everything else.
 *
 *   <home>/socket/.s.PGSQL.<port>   folder mode 0700, owned by PostgreSQL's account
 *
 * COPY uses the port because a Unix socket takes 208 KiB at a time, TCP megabytes: 15 % more rows
 * per second (decision 0001). Any program of the machine can listen on the port while the server
 * is down, so clients require SCRAM (scram-client.ts), on the socket as well.
 */
import { once } from 'node:events';
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type Installation, portFileOf, socketFolderOf } from './installation.ts';
import { errorCode } from './process.ts';
import { requireScram } from './scram-client.ts';

export interface Address {
  /** also the number in the socket's name */
  readonly port: number;
  readonly socketFolder: string | null;
}

export interface DatabaseUrls {
  /** by the socket where there is one */
  readonly url: string;
  /** by the port: for COPY */
  readonly copyUrl: string;
}

/** `sun_path` with its closing zero: 108 bytes on Linux (unix(7)), 104 on macOS. */
const SOCKET_PATH_BYTES_MAX = process.platform === 'linux' ? 107 : 103;
const LONGEST_SOCKET_NAME = '.s.PGSQL.65535';

export async function chooseAddress(home: string): Promise<Address> {
  const folder = socketFolderOf(home);
  const isShort = Buffer.byteLength(join(folder, LONGEST_SOCKET_NAME)) <= SOCKET_PATH_BYTES_MAX;
  const port = await choosePort(home);
  return { port, socketFolder: isShort ? folder : null };
}

export async function otherAddress(address: Address): Promise<Address> {
  return { ...address, port: await freePort(0) };
}

export async function prepareAddress(
  { socketFolder }: Address,
  { account }: Installation,
): Promise<void> {
  if (socketFolder === null) return;
  await mkdir(socketFolder, { recursive: true, mode: 0o700 });
  await chmod(socketFolder, 0o700);
  if (account !== null) await chown(socketFolder, account.uid, account.gid);
}

/**
 * Removes what a killed server left in the socket's folder: PostgreSQL refuses to start when
 * another process has the pid of a lock file now. Only while no server runs.
 */
export async function removeSocket(home: string): Promise<void> {
  await rm(socketFolderOf(home), { recursive: true, force: true });
}

export async function noteAddress(home: string, { port }: Address): Promise<void> {
  await writeFile(portFileOf(home), `${port}\n`, { mode: 0o600 });
}

export function addressSettings({ port, socketFolder }: Address): Readonly<Record<string, string>> {
  return {
    listen_addresses: '127.0.0.1',
    port: String(port),
    // A list: quoted, a comma or a space is part of the name.
    unix_socket_directories: socketFolder === null ? '' : `"${socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
  };
}

/** The address of a running server, from the lines of its postmaster.pid. */
export function addressOf(home: string, lines: readonly string[]): Address {
  return {
    port: Number(lines[3]),
    socketFolder: lines[4]?.trim() ? socketFolderOf(home) : null,
  };
}

/** A socket's folder is the host, percent-encoded. */
export function addressUrls(
  { port, socketFolder }: Address,
  login: { readonly role: string; readonly password: string; readonly database: string },
): DatabaseUrls {
  const { role, password, database } = login;
  const urlOf = (host: string): string =>
    requireScram(`postgres://${role}:${encodeURIComponent(password)}@${host}:${port}/${database}`);
  const byPort = urlOf('127.0.0.1');
  if (socketFolder === null) return { url: byPort, copyUrl: byPort };
  return { url: urlOf(encodeURIComponent(socketFolder)), copyUrl: byPort };
}

export function addressText({ port, socketFolder }: Address): string {
  const byPort = `127.0.0.1:${port}`;
  return socketFolder === null ? byPort : `socket in ${socketFolder}, ${byPort}`;
}

/** The port of the last start while it is free, so that noted addresses stay true; else another. */
async function choosePort(home: string): Promise<number> {
  const remembered = await readPort(home);
  if (remembered === null) return freePort(0);
  try {
    return await freePort(remembered);
  } catch (error) {
    if (errorCode(error) === 'EADDRINUSE' || errorCode(error) === 'EACCES') return freePort(0);
    throw error;
  }
}

async function readPort(home: string): Promise<number | null> {
  try {
    const port = Number(await readFile(portFileOf(home), 'utf8'));
    return Number.isInteger(port) && port >= 1024 && port <= 65_535 ? port : null;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Binds `port` (0: any) on 127.0.0.1 and closes it again. */
async function freePort(port: number): Promise<number> {
  const listener = createServer();
  listener.listen({ port, host: '127.0.0.1', exclusive: true });
  await once(listener, 'listening');
  const address = listener.address();
  listener.close();
  await once(listener, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP port without number');
  return address.port;
}
