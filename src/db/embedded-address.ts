/**
 * The embedded server's address: a Unix socket in a folder that no other user can enter or, where
 * the socket's path would be too long, a port on 127.0.0.1.
 *
 *   <home>/socket/.s.PGSQL.5432   folder mode 0700, owned by PostgreSQL's account
 *
 * Any program of the machine can listen on the port while the server is down, so clients require
 * SCRAM (scram-client.ts), on the socket as well.
 */
import { once } from 'node:events';
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type Place, portFileOf, socketFolderOf } from './embedded-place.ts';
import { errorCode } from './embedded-process.ts';
import { requireScram } from './scram-client.ts';

export type Address =
  | { readonly kind: 'socket'; readonly folder: string }
  | { readonly kind: 'tcp'; readonly port: number };

/** The number in the socket's name; nothing listens on a port of that number. */
const SOCKET_PORT = 5432;
const SOCKET_NAME = `.s.PGSQL.${SOCKET_PORT}`;
/** `sun_path` with its closing zero: 108 bytes on Linux (unix(7)), 104 on macOS. */
const SOCKET_PATH_BYTES_MAX = process.platform === 'linux' ? 107 : 103;

/** The address for the next start of the server in `home`. */
export async function chooseAddress(home: string): Promise<Address> {
  const folder = socketFolderOf(home);
  const path = join(folder, SOCKET_NAME);
  if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX) return { kind: 'socket', folder };
  return { kind: 'tcp', port: await choosePort(home) };
}

/** The address to try next when the port was taken. */
export async function otherAddress(address: Address): Promise<Address> {
  return address.kind === 'socket' ? address : { kind: 'tcp', port: await freePort(0) };
}

/** Creates the socket's folder, owned by PostgreSQL's account. */
export async function prepareAddress(address: Address, { account }: Place): Promise<void> {
  if (address.kind === 'tcp') return;
  await mkdir(address.folder, { recursive: true, mode: 0o700 });
  await chmod(address.folder, 0o700);
  if (account !== null) await chown(address.folder, account.uid, account.gid);
}

/**
 * Removes the lock file of a killed server's socket: PostgreSQL refuses to start when another
 * process has that pid now. Only while no server runs.
 */
export async function removeSocketLock(home: string): Promise<void> {
  await rm(join(socketFolderOf(home), `${SOCKET_NAME}.lock`), { force: true });
}

/** Remembers the port for the next start. */
export async function noteAddress(home: string, address: Address): Promise<void> {
  if (address.kind === 'tcp')
    await writeFile(portFileOf(home), `${address.port}\n`, { mode: 0o600 });
  else await rm(portFileOf(home), { force: true });
}

/** The server's settings for this address. */
export function addressSettings(address: Address): Readonly<Record<string, string>> {
  if (address.kind === 'tcp') {
    return {
      listen_addresses: '127.0.0.1',
      port: String(address.port),
      unix_socket_directories: '',
    };
  }
  return {
    listen_addresses: '',
    port: String(SOCKET_PORT),
    // A list: quoted, a comma or a space is part of the name.
    unix_socket_directories: `"${address.folder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
  };
}

/**
 * The address of a running server, from the lines of its postmaster.pid.
 *
 * @param lines the fourth is the port, the fifth the folder of its socket, empty when it has none
 */
export function addressOf(home: string, lines: readonly string[]): Address {
  if (lines[4]?.trim()) return { kind: 'socket', folder: socketFolderOf(home) };
  return { kind: 'tcp', port: Number(lines[3]) };
}

/**
 * The url for `pg` and psql, with `require_auth`; a socket's folder is the host, percent-encoded.
 */
export function addressUrl(
  address: Address,
  login: { readonly role: string; readonly password: string; readonly database: string },
): string {
  const host =
    address.kind === 'socket'
      ? `${encodeURIComponent(address.folder)}:${SOCKET_PORT}`
      : `127.0.0.1:${address.port}`;
  const { role, password, database } = login;
  return requireScram(`postgres://${role}:${encodeURIComponent(password)}@${host}/${database}`);
}

/** For messages. */
export function addressText(address: Address): string {
  return address.kind === 'socket' ? `socket in ${address.folder}` : `127.0.0.1:${address.port}`;
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

/** Binds `port` (0: any) on 127.0.0.1 and lets go of it again. */
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
