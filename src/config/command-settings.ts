/** The environment variables that commands other than `serve` read. */
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

import { ConfigError, type Environment, given, type LogLevel, readSetting } from './settings.ts';

/** The data folder alone, for commands that need no other setting. */
export function readDataDir(env: Environment): string {
  return resolve(readSetting(env, 'DATA_DIR', []));
}

/** A folder of the user by the XDG Base Directory Specification, which says to ignore a relative path. */
function userFolder(env: Environment, setting: string, ...fallback: string[]): string {
  const base = env[setting] ?? '';
  return isAbsolute(base) ? base : join(homedir(), ...fallback);
}

export function readLoginFolder(env: Environment): string {
  return join(userFolder(env, 'XDG_CONFIG_HOME', '.config'), 'sluice');
}

/** Checks whether a setting names a database, so that commands mean that one. */
export function namesDatabase(env: Environment): boolean {
  return ['DATABASE_URL', 'DATA_DIR'].some((name) => given(env, name) !== undefined);
}

interface RelayEnvironment {
  readonly url: string | null;
  readonly apiKey: string | null;
  readonly queueFolder: string;
  readonly logLevel: LogLevel;
}

/** @throws {ConfigError} for a wrong LOG_LEVEL */
export function readRelayEnvironment(env: Environment): RelayEnvironment {
  const problems: string[] = [];
  const logLevel = readSetting(env, 'LOG_LEVEL', problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    url: given(env, 'SLUICE_URL') ?? null,
    apiKey: given(env, 'SLUICE_API_KEY') ?? null,
    queueFolder: join(userFolder(env, 'XDG_STATE_HOME', '.local', 'state'), 'sluice', 'relay'),
    logLevel,
  };
}
