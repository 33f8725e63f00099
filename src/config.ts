/**
 * The only reader of the environment. Returns one frozen, typed object, or every problem at once.
 *
 * One table has every setting with its default and limits; `docs/configuration.md` lists the same
 * names (a test compares them). Secrets never appear in a problem's text.
 */
import { availableParallelism, homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

import { parseDatabaseUrl } from './database-url.ts';
import { OperatorError } from './errors.ts';
import { parseSentinelUrl } from './redis-url.ts';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** A provider that people sign in through. */
export interface OauthClient {
  readonly provider: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** of OpenID Connect; null for GitHub, which has none, and for a provider that lacks its setting */
  readonly issuer: string | null;
}

export interface Config {
  readonly port: number;
  readonly observePort: number;
  readonly adminPort: number;
  readonly host: string;
  /** of the listener for the operator */
  readonly adminHost: string;
  /** without a trailing slash */
  readonly baseUrl: string;
  readonly observeUrl: string;
  readonly brand: string;
  /** null: the embedded PostgreSQL under `dataDir` */
  readonly databaseUrl: string | null;
  /** past the pooler that `databaseUrl` names; null: `databaseUrl` is used for everything */
  readonly databaseDirectUrl: string | null;
  readonly dataDir: string;
  /** null: limits are counted in this process */
  readonly redisUrl: string | null;
  /** threads that take requests; 1 is the main thread */
  readonly httpThreads: number;
  readonly matchThreads: number;
  readonly maxBodyBytes: number;
  readonly maxDecodedBodyBytes: number;
  readonly maxInflightBytes: number;
  /** a telemetry request is answered within this time */
  readonly ingestAnswerMs: number;
  /** whether a request that is sent again within an hour is stored once */
  readonly ingestDeduplicate: boolean;
  readonly surfaceCapBytes: number;
  readonly excerptChars: number;
  readonly runCpuBudgetMs: number;
  readonly passIntervalMs: number;
  readonly runSettleMs: number;
  readonly runSettleMaxMs: number;
  readonly runTimeoutMs: number;
  readonly runOpenMaxMs: number;
  /** days that telemetry is kept; 0 keeps it for good */
  readonly retentionDays: number;
  readonly bareOtlpOnBase: 'gone' | 'serve';
  /** of pages that may send telemetry from a browser, as browsers name them; empty for none */
  readonly corsOrigins: readonly string[];
  /** keys of the providers with both a client id and a client secret, sorted */
  readonly oauthProviders: readonly string[];
  /** the same, with their credentials */
  readonly oauthClients: readonly OauthClient[];
  /** settings that lack a part and have no effect, one line each; logged at start */
  readonly warnings: readonly string[];
  /** e-mail address of the account that the first start creates */
  readonly ownerEmail: string;
  /** proxies of ours before this server, each of which adds to X-Forwarded-For */
  readonly trustedProxyHops: number;
  readonly logLevel: LogLevel;
}

interface IntegerSetting {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const HOUR_MS = 3_600_000;

/** Each thread has its own connections, and PostgreSQL allows 100 by default. */
const MATCH_THREADS_DEFAULT_MAX = 24;

/** Whole-number settings: default, least, most. */
export const INTEGER_SETTINGS = {
  PORT: { fallback: 8080, min: 0, max: 65_535 },
  /** 4318 is OTLP/HTTP's own port, so that an exporter keeps its default */
  OBSERVE_PORT: { fallback: 4318, min: 0, max: 65_535 },
  ADMIN_PORT: { fallback: 9464, min: 0, max: 65_535 },
  /** further threads cost memory, connections and counts per thread (docs/decisions) */
  HTTP_THREADS: { fallback: 1, min: 1, max: 64 },
  /** one core stays free for the thread that takes requests in */
  MATCH_THREADS: {
    fallback: Math.min(Math.max(1, availableParallelism() - 1), MATCH_THREADS_DEFAULT_MAX),
    min: 1,
    max: 256,
  },
  MAX_BODY_BYTES: { fallback: 20 * MIB, min: KIB, max: 256 * MIB },
  /** 64 MiB is the value OTLP 1.11 recommends; a string in V8 ends at 512 MiB */
  MAX_DECODED_BODY_BYTES: { fallback: 64 * MIB, min: KIB, max: 256 * MIB },
  MAX_INFLIGHT_BYTES: { fallback: 256 * MIB, min: MIB, max: 64 * 1024 * MIB },
  /** below the ten seconds after which OpenTelemetry's exporters give up */
  INGEST_ANSWER_MS: { fallback: 8000, min: 100, max: HOUR_MS },
  SURFACE_CAP_BYTES: { fallback: 64 * KIB, min: KIB, max: 16 * MIB },
  EXCERPT_CHARS: { fallback: 160, min: 20, max: 2000 },
  /**
   * a minute is enough for 64 MiB, the most that is read of a run, unless its text is crafted to be
   * slow
   */
  RUN_CPU_BUDGET_MS: { fallback: 60_000, min: 10, max: HOUR_MS },
  PASS_INTERVAL_MS: { fallback: 10_000, min: 100, max: HOUR_MS },
  RUN_SETTLE_MS: { fallback: 60_000, min: 0, max: 24 * HOUR_MS },
  /** several settle times, so that exporters that retry for minutes are still in time */
  RUN_SETTLE_MAX_MS: { fallback: 5 * 60_000, min: 0, max: 24 * HOUR_MS },
  RUN_TIMEOUT_MS: { fallback: 15 * 60_000, min: 1000, max: 7 * 24 * HOUR_MS },
  /** longer than nearly every agent's trace; later spans are not evaluated */
  RUN_OPEN_MAX_MS: { fallback: 4 * HOUR_MS, min: 1000, max: 7 * 24 * HOUR_MS },
  RETENTION_DAYS: { fallback: 30, min: 0, max: 36_500 },
  /** none, because any client can send X-Forwarded-For */
  TRUSTED_PROXY_HOPS: { fallback: 0, min: 0, max: 10 },
} as const satisfies Record<string, IntegerSetting>;

/** Text settings; null where unset means something of its own. */
export const TEXT_SETTINGS = {
  HOST: '0.0.0.0',
  ADMIN_HOST: '127.0.0.1',
  BASE_URL: null,
  OBSERVE_URL: null,
  BRAND: 'sluice',
  DATABASE_URL: null,
  DATABASE_DIRECT_URL: null,
  DATA_DIR: './data',
  REDIS_URL: null,
  BARE_OTLP_ON_BASE: 'gone',
  CORS_ORIGINS: null,
  INGEST_DEDUPLICATE: 'on',
  OWNER_EMAIL: 'owner@localhost',
  LOG_LEVEL: 'info',
} as const;

const LOG_LEVELS: readonly string[] = ['trace', 'debug', 'info', 'warn', 'error', 'silent'];
const OAUTH_SETTING = /^OAUTH_([A-Z0-9_]+)_(CLIENT_ID|CLIENT_SECRET|ISSUER)$/;
/** Issuers of well-known providers. */
const KNOWN_ISSUERS: Readonly<Record<string, string>> = {
  google: 'https://accounts.google.com',
  gitlab: 'https://gitlab.com',
};
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

type Environment = Readonly<Record<string, string | undefined>>;
type Problems = string[];

/** All problems of the environment, one line each. */
export class ConfigError extends OperatorError {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`Invalid configuration:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

function integer(env: Environment, name: keyof typeof INTEGER_SETTINGS, problems: Problems) {
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

function text(env: Environment, name: keyof typeof TEXT_SETTINGS): string | null {
  const value = env[name]?.trim();
  return value === undefined || value === '' ? TEXT_SETTINGS[name] : value;
}

function url(
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
function origins(env: Environment, problems: Problems): readonly string[] {
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

/** One host or several; the value is never repeated, because it holds a password. */
function databaseUrl(
  env: Environment,
  name: 'DATABASE_URL' | 'DATABASE_DIRECT_URL',
  problems: Problems,
): string | null {
  const value = text(env, name);
  const parsed = value === null ? null : parseDatabaseUrl(value);
  if (typeof parsed === 'string') problems.push(`${name} ${parsed}`);
  return value;
}

function redisUrl(env: Environment, problems: Problems): string | null {
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

function oneOf<T extends string>(
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

/** The issuer's keys prove identities, so they are fetched over TLS, or from this machine. */
function checkIssuer(name: string, value: string, problems: Problems): void {
  if (URL.canParse(value) && isPrivateUrl(new URL(value))) return;
  problems.push(`${name} must be a URL that starts with https://`);
}

/** What the environment says of each provider: its settings by their last part. */
function providerSettings(env: Environment): Map<string, Map<string, string>> {
  const providers = new Map<string, Map<string, string>>();
  for (const [name, value] of Object.entries(env)) {
    const [, provider, part] = OAUTH_SETTING.exec(name) ?? [];
    const given = value?.trim();
    if (provider === undefined || part === undefined || !given) continue;
    const parts = providers.get(provider) ?? new Map<string, string>();
    providers.set(provider, parts.set(part, given));
  }
  return providers;
}

/** The providers with a client id and a client secret, sorted; each missing setting is a warning. */
function oauthSettings(
  env: Environment,
  problems: Problems,
): Pick<Config, 'oauthClients' | 'oauthProviders' | 'warnings'> {
  const clients: OauthClient[] = [];
  const warnings: string[] = [];
  for (const [name, parts] of providerSettings(env)) {
    const provider = name.toLowerCase();
    const clientId = parts.get('CLIENT_ID');
    const clientSecret = parts.get('CLIENT_SECRET');
    const given = parts.get('ISSUER') ?? null;
    if (given !== null) checkIssuer(`OAUTH_${name}_ISSUER`, given, problems);
    if (clientId !== undefined && clientSecret !== undefined) {
      const issuer = given ?? KNOWN_ISSUERS[provider] ?? null;
      clients.push({ provider, clientId, clientSecret, issuer });
      if (issuer !== null || provider === 'github') continue;
      warnings.push(`OAUTH_${name}_ISSUER is not set: nobody can sign in through ${provider}`);
      continue;
    }
    for (const part of ['CLIENT_ID', 'CLIENT_SECRET']) {
      if (parts.has(part)) continue;
      warnings.push(`OAUTH_${name}_${part} is not set: the provider ${provider} is left out`);
    }
  }
  clients.sort((one, other) => (one.provider < other.provider ? -1 : 1));
  const oauthProviders = clients.map(({ provider }) => provider);
  return { oauthClients: clients, oauthProviders, warnings };
}

/** A maximum that is not set is raised to the time it bounds. */
function runSettings(
  env: Environment,
  problems: Problems,
): Pick<Config, 'runSettleMs' | 'runSettleMaxMs' | 'runTimeoutMs' | 'runOpenMaxMs'> {
  const runSettleMs = integer(env, 'RUN_SETTLE_MS', problems);
  const runTimeoutMs = integer(env, 'RUN_TIMEOUT_MS', problems);
  const maximum = (name: 'RUN_SETTLE_MAX_MS' | 'RUN_OPEN_MAX_MS', atLeast: number): number => {
    const value = integer(env, name, problems);
    return env[name]?.trim() ? value : Math.max(value, atLeast);
  };
  return {
    runSettleMs,
    runSettleMaxMs: maximum('RUN_SETTLE_MAX_MS', runSettleMs),
    runTimeoutMs,
    runOpenMaxMs: maximum('RUN_OPEN_MAX_MS', runTimeoutMs),
  };
}

function checkRelations(config: Config, env: Environment, problems: Problems): void {
  if (config.maxBodyBytes > config.maxDecodedBodyBytes) {
    problems.push('MAX_BODY_BYTES must not exceed MAX_DECODED_BODY_BYTES');
  }
  // A compressed body is held in both forms while it is decoded: one that never fits would be
  // answered 503 and retried for ever.
  if (config.maxBodyBytes + config.maxDecodedBodyBytes > config.maxInflightBytes) {
    problems.push(
      'MAX_BODY_BYTES and MAX_DECODED_BODY_BYTES together must not exceed MAX_INFLIGHT_BYTES',
    );
  }
  if (config.httpThreads > 1 && process.platform !== 'linux') {
    problems.push('HTTP_THREADS above 1 needs Linux, which spreads connections over threads');
  }
  if (config.databaseDirectUrl !== null && config.databaseUrl === null) {
    problems.push('DATABASE_DIRECT_URL needs DATABASE_URL beside it');
  }
  if (config.runSettleMs > config.runTimeoutMs) {
    problems.push('RUN_SETTLE_MS must not exceed RUN_TIMEOUT_MS');
  }
  if (config.runSettleMs > config.runSettleMaxMs) {
    problems.push('RUN_SETTLE_MS must not exceed RUN_SETTLE_MAX_MS');
  }
  if (config.runTimeoutMs > config.runOpenMaxMs) {
    problems.push('RUN_TIMEOUT_MS must not exceed RUN_OPEN_MAX_MS');
  }
  if (config.port !== 0 && config.port === config.observePort) {
    const hosts = [text(env, 'BASE_URL'), text(env, 'OBSERVE_URL')].map((value) =>
      value !== null && URL.canParse(value) ? new URL(value).host : null,
    );
    if (hosts[0] === null || hosts[1] === null || hosts[0] === hosts[1]) {
      problems.push(
        'PORT and OBSERVE_PORT are the same, so BASE_URL and OBSERVE_URL must both be set to ' +
          'different hosts: the Host header decides which one a request means',
      );
    }
  }
  const ports = [config.adminPort, config.port, config.observePort];
  if (config.adminPort !== 0 && ports.indexOf(config.adminPort, 1) !== -1) {
    problems.push('ADMIN_PORT must differ from PORT and OBSERVE_PORT');
  }
  if (!/^[!-?A-~]{1,64}@[!-?A-~]{1,180}$/.test(config.ownerEmail)) {
    problems.push('OWNER_EMAIL must be an e-mail address');
  }
  if (!/^[a-z][a-z0-9]{0,31}$/.test(config.brand)) {
    problems.push('BRAND must be 1 to 32 lower-case letters and digits, a letter first');
  }
}

/** The URL of a listener when none is configured. */
export function defaultUrl(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

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

/** Whether a database is named by a setting, so that commands mean that one. */
export function namesDatabase(env: Environment): boolean {
  return ['DATABASE_URL', 'DATA_DIR'].some((name) => (env[name]?.trim() ?? '') !== '');
}

/** Whether a URL is safe to send a credential to: over TLS, or to this machine. */
export function isPrivateUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
}

/**
 * Reads the configuration.
 *
 * @param env the process environment; an empty value counts as unset
 * @throws {ConfigError} with one line per problem
 */
export function readConfig(env: Environment): Config {
  const problems: Problems = [];
  const http = ['http:', 'https:'];
  const host = text(env, 'HOST') ?? TEXT_SETTINGS.HOST;
  const port = integer(env, 'PORT', problems);
  const observePort = integer(env, 'OBSERVE_PORT', problems);
  const config: Config = Object.freeze({
    port,
    observePort,
    adminPort: integer(env, 'ADMIN_PORT', problems),
    host,
    adminHost: text(env, 'ADMIN_HOST') ?? TEXT_SETTINGS.ADMIN_HOST,
    baseUrl: url(env, 'BASE_URL', http, problems) ?? defaultUrl(host, port),
    observeUrl: url(env, 'OBSERVE_URL', http, problems) ?? defaultUrl(host, observePort),
    brand: text(env, 'BRAND') ?? TEXT_SETTINGS.BRAND,
    databaseUrl: databaseUrl(env, 'DATABASE_URL', problems),
    databaseDirectUrl: databaseUrl(env, 'DATABASE_DIRECT_URL', problems),
    dataDir: readDataDir(env),
    redisUrl: redisUrl(env, problems),
    httpThreads: integer(env, 'HTTP_THREADS', problems),
    matchThreads: integer(env, 'MATCH_THREADS', problems),
    maxBodyBytes: integer(env, 'MAX_BODY_BYTES', problems),
    maxDecodedBodyBytes: integer(env, 'MAX_DECODED_BODY_BYTES', problems),
    maxInflightBytes: integer(env, 'MAX_INFLIGHT_BYTES', problems),
    ingestAnswerMs: integer(env, 'INGEST_ANSWER_MS', problems),
    ingestDeduplicate:
      oneOf(
        'INGEST_DEDUPLICATE',
        text(env, 'INGEST_DEDUPLICATE') ?? TEXT_SETTINGS.INGEST_DEDUPLICATE,
        ['on', 'off'],
        problems,
      ) === 'on',
    surfaceCapBytes: integer(env, 'SURFACE_CAP_BYTES', problems),
    excerptChars: integer(env, 'EXCERPT_CHARS', problems),
    runCpuBudgetMs: integer(env, 'RUN_CPU_BUDGET_MS', problems),
    passIntervalMs: integer(env, 'PASS_INTERVAL_MS', problems),
    ...runSettings(env, problems),
    retentionDays: integer(env, 'RETENTION_DAYS', problems),
    bareOtlpOnBase: oneOf<Config['bareOtlpOnBase']>(
      'BARE_OTLP_ON_BASE',
      text(env, 'BARE_OTLP_ON_BASE') ?? TEXT_SETTINGS.BARE_OTLP_ON_BASE,
      ['gone', 'serve'],
      problems,
    ),
    corsOrigins: origins(env, problems),
    ...oauthSettings(env, problems),
    ownerEmail: text(env, 'OWNER_EMAIL') ?? TEXT_SETTINGS.OWNER_EMAIL,
    trustedProxyHops: integer(env, 'TRUSTED_PROXY_HOPS', problems),
    logLevel: oneOf<LogLevel>(
      'LOG_LEVEL',
      text(env, 'LOG_LEVEL') ?? TEXT_SETTINGS.LOG_LEVEL,
      LOG_LEVELS,
      problems,
    ),
  });
  checkRelations(config, env, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Settings of `sluice relay`, which its options replace. */
export const RELAY_SETTINGS = { SLUICE_URL: null, SLUICE_API_KEY: null } as const;

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
