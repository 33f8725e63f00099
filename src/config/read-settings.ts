/**
 * Reads one setting at a time. A wrong value is added to the list of problems, and its default is
 * returned; the value of a URL is never repeated, because it may hold a password.
 */
import ipaddr from 'ipaddr.js';

import { parseDatabaseUrl } from '../database-url.ts';
import { OperatorError } from '../errors.ts';
import { isLoopback, parseAddress } from '../local-host.ts';
import { parseSentinelUrl } from '../redis-url.ts';
import { INTEGER_SETTINGS, type IntegerSetting, TEXT_SETTINGS } from './settings.ts';

export const LOG_LEVELS: readonly string[] = ['trace', 'debug', 'info', 'warn', 'error', 'silent'];
/** Printable ASCII with one `@`. */
export const MAIL_ADDRESS = /^[!-?A-~]{1,64}@[!-?A-~]{1,180}$/;
export type Environment = Readonly<Record<string, string | undefined>>;
export type Problems = string[];
/** All problems of the environment, one line each. */
export class ConfigError extends OperatorError {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`Invalid configuration:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

export function integer(env: Environment, name: keyof typeof INTEGER_SETTINGS, problems: Problems) {
  const { fallback, min, max }: IntegerSetting = INTEGER_SETTINGS[name];
  const text = env[name]?.trim();
  if (text === undefined || text === '') return fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    problems.push(`${name} must be a whole number from ${min} to ${max}, not "${text}"`);
    return fallback;
  }
  return value;
}

export function text(env: Environment, name: keyof typeof TEXT_SETTINGS): string | null {
  const value = env[name]?.trim();
  return value === undefined || value === '' ? TEXT_SETTINGS[name] : value;
}

export function url(
  env: Environment,
  name: 'BASE_URL' | 'OBSERVE_URL' | 'REDIS_URL',
  protocols: readonly string[],
  problems: Problems,
): string | null {
  const value = text(env, name);
  if (value === null) return null;
  const parsed = URL.canParse(value) ? new URL(value) : null;
  if (parsed === null || !protocols.includes(parsed.protocol)) {
    // The value is not repeated: a URL may hold a password.
    problems.push(`${name} must be a URL that starts with ${protocols.join('// or ')}//`);
    return null;
  }
  return value.replace(/\/+$/, '');
}

/** Origins as browsers send them, so that they can be compared as text. */
export function origins(env: Environment, problems: Problems): readonly string[] {
  const listed = (text(env, 'CORS_ORIGINS') ?? '').split(',').map((origin) => origin.trim());
  const given = [...new Set(listed)].filter((origin) => origin !== '');
  for (const origin of given) {
    const parsed = URL.canParse(origin) ? new URL(origin) : null;
    if (parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.origin === origin) continue;
    problems.push(
      'CORS_ORIGINS must list origins such as https://shop.example, separated by commas, without ' +
        `paths or wildcards, not "${origin}"`,
    );
  }
  return given;
}

/** Where e-mail is sent through, and from which address; the URL may hold a password. */
export function smtp(
  env: Environment,
  problems: Problems,
): { readonly url: string; readonly from: string } | null {
  const given = text(env, 'SMTP_URL');
  const from = text(env, 'SMTP_FROM');
  if (given === null && from === null) return null;
  const parsed = given !== null && URL.canParse(given) ? new URL(given) : null;
  if (parsed === null || !/^smtps?:$/.test(parsed.protocol) || parsed.hostname === '') {
    problems.push('SMTP_URL must be a URL such as smtp://user:password@mail.example:587');
  }
  if (from === null || !MAIL_ADDRESS.test(from)) {
    problems.push('SMTP_FROM must be the e-mail address that messages come from');
  }
  return given === null || from === null ? null : { url: given, from };
}

/** Networks as `10.0.0.0/8`. */
export function networks(env: Environment, problems: Problems): readonly string[] {
  const listed = (text(env, 'ALERT_PRIVATE_ADDRESSES') ?? '').split(',').map((one) => one.trim());
  const given = [...new Set(listed)].filter((network) => network !== '');
  for (const network of given) {
    if (ipaddr.isValidCIDR(network)) continue;
    problems.push(
      'ALERT_PRIVATE_ADDRESSES must list networks such as 10.0.0.0/8 or 127.0.0.1/32, separated by ' +
        `commas, not "${network}"`,
    );
  }
  return given;
}

/** Names and addresses without ports, as `parseAddress` returns them. */
export function hostNames(env: Environment, problems: Problems): readonly string[] {
  const listed = (text(env, 'ADMIN_ALLOWED_HOSTS') ?? '').split(',').map((one) => one.trim());
  const names = new Set<string>();
  for (const given of listed.filter((one) => one !== '')) {
    const name = parseAddress(given);
    if (name !== null) names.add(name);
    else {
      problems.push(
        'ADMIN_ALLOWED_HOSTS must list names such as metrics.example or 10.0.0.7, separated by ' +
          `commas, without ports or wildcards, not "${given}"`,
      );
    }
  }
  return [...names];
}

/** One host or several; the value is never repeated, because it holds a password. */
export function databaseUrl(
  env: Environment,
  name: 'DATABASE_URL' | 'DATABASE_DIRECT_URL' | 'DATABASE_READ_URL',
  problems: Problems,
): string | null {
  const value = text(env, name);
  const parsed = value === null ? null : parseDatabaseUrl(value);
  if (typeof parsed === 'string') problems.push(`${name} ${parsed}`);
  return value;
}

export function redisUrl(env: Environment, problems: Problems): string | null {
  const value = text(env, 'REDIS_URL');
  if (!value?.startsWith('redis+sentinel:')) {
    return url(env, 'REDIS_URL', ['redis:', 'rediss:'], problems);
  }
  if (parseSentinelUrl(value) === null) {
    problems.push(
      'REDIS_URL of sentinels must have the form redis+sentinel://host:26379,host/name',
    );
  }
  return value;
}

export function oneOf<T extends string>(
  name: string,
  value: string,
  allowed: readonly string[],
  problems: Problems,
): T {
  if (!allowed.includes(value)) {
    problems.push(`${name} must be one of ${allowed.join(', ')}, not "${value}"`);
  }
  return value as T;
}

/** Checks whether a URL is safe to send a credential to: over TLS, or to this machine. */
export function isPrivateUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}
