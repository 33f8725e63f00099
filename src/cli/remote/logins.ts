/**
 * The logins of this command line, one per server, and where a command works. The logins are `logins.json` in the user's
 * configuration folder. It holds tokens, so it is a file of mode 0600, replaced as a whole. A file that others may read is
 * refused, and so is a folder that others may write to. A new folder has mode 0700.
 *
 *   --server URL                      that server
 *   DATABASE_URL or DATA_DIR is set,
 *     or the default folder exists    the local database
 *   signed in somewhere               the default server: the last `sluice login`
 *   else                              the local database
 *
 * Once there is a login, each command says on standard error which of them it uses.
 */
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Option } from 'commander';
import { z } from 'zod';
import { namesDatabase, readDataDir, readLoginFolder } from '../../config/command-settings.ts';
import { OperatorError } from '../../errors.ts';
import { isPrivateUrl } from '../../local-host.ts';
import { requireOwnFolder } from '../../own-folder.ts';
import { note, plain } from '../../terminal/output.ts';

const FILE = 'logins.json';
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const ANOTHER_FOLDER = 'set another XDG_CONFIG_HOME';
/** The permissions of group and others. */
const FOREIGN = 0o077;

const login = z.object({
  token: z.string(),
  email: z.string(),
  /** slug */
  workspace: z.string(),
  expires_at: z.string(),
});
const logins = z.object({
  /** the server that commands mean when none is named */
  default: z.string().nullable(),
  servers: z.record(z.string(), login),
});

export interface ServerLogin extends z.infer<typeof login> {
  /** base URL, without a trailing slash */
  readonly server: string;
}

interface ServerLogins {
  readonly default: ServerLogin | null;
  readonly all: readonly ServerLogin[];
}

/**
 * @param allowHttp also without TLS, and not on this machine
 * @throws {OperatorError} when it is no server's address, or the token would travel in clear
 */
export function serverUrl(text: string, allowHttp = true): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username + url.password !== '') {
    throw new OperatorError('A server is named by its URL, as https://sluice.example.org');
  }
  if (!allowHttp && !isPrivateUrl(url)) {
    throw new OperatorError(
      `${url.origin} has no TLS: everyone on the way could read your token. ` +
        'Use its https address, or accept that with --allow-http.',
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function readFile(folder: string): z.infer<typeof logins> {
  const path = join(folder, FILE);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return { default: null, servers: {} };
  requireOwnFolder(realpathSync(folder), ANOTHER_FOLDER);
  if ((stat.mode & FOREIGN) !== 0) {
    throw new OperatorError(`${path} holds tokens and others may read it: chmod 600 ${path}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new OperatorError(`${path} is not JSON: remove it and sign in again`, { cause });
  }
  const parsed = logins.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new OperatorError(`${path} is not usable: remove it and sign in again`);
}

function writeFile(folder: string, content: z.infer<typeof logins>): void {
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  requireOwnFolder(realpathSync(folder), ANOTHER_FOLDER);
  const temporary = join(folder, `${FILE}.${randomBytes(8).toString('hex')}`);
  writeFileSync(temporary, `${JSON.stringify(content, null, 2)}\n`, {
    mode: FILE_MODE,
    flag: 'wx',
  });
  renameSync(temporary, join(folder, FILE));
}

/** @throws {OperatorError} when the file is not usable */
export function readLogins(folder: string): ServerLogins {
  const { default: server, servers } = readFile(folder);
  const all = Object.entries(servers).map(([url, one]) => ({ server: url, ...one }));
  return { all, default: all.find((one) => one.server === server) ?? null };
}

function hasLogins(folder: string): boolean {
  return existsSync(join(folder, FILE));
}

/** Saves a login in place of an earlier one for the same server; it becomes the default. */
export function saveLogin(folder: string, { server, ...one }: ServerLogin): void {
  const { servers } = readFile(folder);
  writeFile(folder, { default: server, servers: { ...servers, [server]: one } });
}

/** Removes a login; the last one with its file. If one is left, that is the default from now on. */
export function removeLogin(folder: string, server: string): void {
  const { default: former, servers } = readFile(folder);
  const left = Object.fromEntries(Object.entries(servers).filter(([url]) => url !== server));
  const urls = Object.keys(left);
  if (urls.length === 0) {
    rmSync(join(folder, FILE), { force: true });
    return;
  }
  const only = urls.length === 1 ? (urls[0] ?? null) : null;
  writeFile(folder, { default: former === server ? only : former, servers: left });
}

export interface PlaceOptions {
  readonly server?: string;
  readonly workspace?: string;
}

export const serverOption = (): Option =>
  new Option('--server <url>', 'use this server instead of the local database (see sluice login)');

/** @throws {OperatorError} when the login is for another workspace than the one named */
function checkWorkspace({ server, workspace }: ServerLogin, named: string | undefined): void {
  if (named === undefined || named === workspace) return;
  throw new OperatorError(
    `Your login on ${server} is for the workspace "${plain(workspace)}". Switch to "${named}" in the ` +
      `dashboard, then: sluice login ${server}`,
  );
}

/**
 * Says what it has decided; null for the local database.
 *
 * @throws {OperatorError} when there is no login on the named server, or it is for another workspace
 */
export function chooseServer({ server, workspace }: PlaceOptions): ServerLogin | null {
  const env = process.env;
  const named = server === undefined ? null : serverUrl(server);
  const folder = readLoginFolder(env);
  if (named === null && (namesDatabase(env) || existsSync(readDataDir(env)))) {
    if (hasLogins(folder)) note('Using the local database.');
    return null;
  }
  const logins = readLogins(folder);
  const login = named === null ? logins.default : logins.all.find((one) => one.server === named);
  if (login === undefined) {
    throw new OperatorError(`You are not signed in to ${named}: sluice login ${named}`);
  }
  if (login === null) {
    if (logins.all.length > 0) note('Using the local database.');
    return null;
  }
  checkWorkspace(login, workspace);
  note(`Using ${login.server}, workspace "${plain(login.workspace)}", as ${plain(login.email)}.`);
  return login;
}
