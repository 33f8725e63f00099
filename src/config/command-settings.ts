/** The environment variables that commands other than `serve` read. */
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

import {
  ConfigError,
  type Environment,
  LOG_LEVELS,
  oneOf,
  type Problems,
  text,
} from './read-settings.ts';
import { type LogLevel, RELAY_SETTINGS, TEXT_SETTINGS } from './settings.ts';

/** The data folder alone, for commands that need no other setting. */
export function readDataDir(env: Environment): string {
  return resolve(text(env, 'DATA_DIR') ?? TEXT_SETTINGS.DATA_DIR);
}

/**
 * The folder of what `sluice login` keeps: `sluice` in the user's configuration folder, by the XDG Base
 * Directory Specification, which says to ignore a relative path.
 */
export function readLoginFolder(env: Environment): string {
  const { XDG_CONFIG_HOME: base = '' } = env;
  return join(isAbsolute(base) ? base : join(homedir(), '.config'), 'sluice');
}

/** Checks whether a setting names a database, so that commands mean that one. */
export function namesDatabase(env: Environment): boolean {
  return ['DATABASE_URL', 'DATA_DIR'].some((name) => (env[name]?.trim() ?? '') !== '');
}

export interface RelayEnvironment {
  readonly url: string | null;
  readonly apiKey: string | null;
  /** where the queue is by default: the user's state folder (XDG Base Directory Specification) */
  readonly queueFolder: string;
  readonly logLevel: LogLevel;
}

/**
 * Reads what `sluice relay` uses of the environment.
 *
 * @throws {ConfigError} for a wrong LOG_LEVEL
 */
export function readRelayEnvironment(env: Environment): RelayEnvironment {
  const problems: Problems = [];
  const named = (name: keyof typeof RELAY_SETTINGS): string | null =>
    env[name]?.trim() || RELAY_SETTINGS[name];
  const { XDG_STATE_HOME: base = '' } = env;
  const state = isAbsolute(base) ? base : join(homedir(), '.local', 'state');
  const level = text(env, 'LOG_LEVEL') ?? TEXT_SETTINGS.LOG_LEVEL;
  const logLevel = oneOf<LogLevel>('LOG_LEVEL', level, LOG_LEVELS, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    url: named('SLUICE_URL'),
    apiKey: named('SLUICE_API_KEY'),
    queueFolder: join(state, 'sluice', 'relay'),
    logLevel,
  };
}
