/**
 * Where a command works: on the local database, or through a login on a remote server.
 *
 *   --server URL                      that server
 *   DATABASE_URL or DATA_DIR is set,
 *     or the default folder exists    the local database
 *   signed in somewhere               the default server: the last `sluice login`
 *   else                              the local database
 *
 * Once there is a login, each command says on standard error which of them it uses.
 */
import { existsSync } from 'node:fs';
import { Option } from 'commander';

import { namesDatabase, readDataDir, readLoginFolder } from '../../config/command-settings.ts';
import { OperatorError } from '../../errors.ts';
import { note, plain } from '../../terminal/printable.ts';
import { hasLogins, readLogins, type ServerLogin, serverUrl } from './logins.ts';

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
