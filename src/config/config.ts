/**
 * The configuration of the server: one frozen, typed object, or every problem at once. This folder
 * is the only reader of the environment. Secrets never appear in a problem's text.
 */
import { parseDatabaseUrl } from '../database-url.ts';
import { readDataDir } from './command-settings.ts';
import { type OauthClients, oauthSettings } from './oauth-clients.ts';
import {
  ConfigError,
  databaseUrl,
  type Environment,
  hostNames,
  integer,
  LOG_LEVELS,
  MAIL_ADDRESS,
  networks,
  oneOf,
  origins,
  type Problems,
  redisUrl,
  smtp,
  text,
  url,
} from './read-settings.ts';
import { type LogLevel, TEXT_SETTINGS } from './settings.ts';

export interface Config extends OauthClients {
  readonly port: number;
  readonly observePort: number;
  readonly adminPort: number;
  readonly host: string;
  /** of the listener for the operator */
  readonly adminHost: string;
  /** names that requests to this listener may use, in addition to names of this machine */
  readonly adminAllowedHosts: readonly string[];
  /** without a trailing slash */
  readonly baseUrl: string;
  readonly observeUrl: string;
  readonly brand: string;
  /** null: the embedded PostgreSQL under `dataDir` */
  readonly databaseUrl: string | null;
  /** past the pooler that `databaseUrl` names; null: `databaseUrl` is used for everything */
  readonly databaseDirectUrl: string | null;
  /** a standby of `databaseUrl`, for reads that may be a little old; null: none */
  readonly databaseReadUrl: string | null;
  /** such a read never shows a state older than this */
  readonly databaseReadLagMaxMs: number;
  readonly dataDir: string;
  /** null: limits are counted in this process */
  readonly redisUrl: string | null;
  readonly matchThreads: number;
  readonly maxBodyBytes: number;
  readonly maxDecodedBodyBytes: number;
  readonly maxInflightBytes: number;
  /** a telemetry request is answered within this time */
  readonly ingestAnswerMs: number;
  /** whether a request that is sent again within an hour is stored once */
  readonly ingestDeduplicate: boolean;
  /** how long a stopping server is not ready and still takes requests */
  readonly drainMs: number;
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
  /** days that traces and logs stay in the blocks in which they arrived, beside today */
  readonly hotDays: number;
  /** days that runs without findings are kept; 0 keeps them for good */
  readonly runRetentionDays: number;
  /** days that findings are kept, and the runs that have some; 0 keeps them for good */
  readonly findingRetentionDays: number;
  readonly bareOtlpOnBase: 'gone' | 'serve';
  /** of pages that may send telemetry from a browser, as browsers name them; empty for none */
  readonly corsOrigins: readonly string[];
  /** networks with private addresses that alerts may be sent to */
  readonly alertPrivateAddresses: readonly string[];
  /** the server that e-mail is sent through, and its sender; null: no e-mail is sent */
  readonly smtp: { readonly url: string; readonly from: string } | null;
  /** e-mail address of the account that the first start creates */
  readonly ownerEmail: string;
  /** our proxies in front of this server; each adds to X-Forwarded-For */
  readonly trustedProxyHops: number;
  readonly logLevel: LogLevel;
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

/** Runs outlive their steps, and a run's findings outlive the run without findings beside it. */
function checkRetention(config: Config, problems: Problems): void {
  const { retentionDays, runRetentionDays, findingRetentionDays } = config;
  if (runRetentionDays > 0 && (retentionDays === 0 || runRetentionDays < retentionDays)) {
    problems.push('RUN_RETENTION_DAYS must not be less than RETENTION_DAYS (0 is for ever)');
  }
  if (
    findingRetentionDays > 0 &&
    (runRetentionDays === 0 || findingRetentionDays < runRetentionDays)
  ) {
    problems.push(
      'FINDING_RETENTION_DAYS must not be less than RUN_RETENTION_DAYS (0 is for ever)',
    );
  }
}

function hasSeveralHosts(url: string | null): boolean {
  const parsed = url === null ? null : parseDatabaseUrl(url);
  return parsed !== null && typeof parsed !== 'string' && parsed.urls.length > 1;
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
  if (config.databaseDirectUrl !== null && config.databaseUrl === null) {
    problems.push('DATABASE_DIRECT_URL needs DATABASE_URL beside it');
  }
  if (config.databaseReadUrl !== null && config.databaseUrl === null) {
    problems.push('DATABASE_READ_URL needs DATABASE_URL beside it');
  }
  if (hasSeveralHosts(config.databaseReadUrl)) {
    problems.push('DATABASE_READ_URL must name one standby: the lag is measured on it');
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
  checkRetention(config, problems);
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
  if (!MAIL_ADDRESS.test(config.ownerEmail)) {
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
  const oauth = oauthSettings(env, problems);
  const config: Config = Object.freeze({
    port,
    observePort,
    adminPort: integer(env, 'ADMIN_PORT', problems),
    host,
    adminHost: text(env, 'ADMIN_HOST') ?? TEXT_SETTINGS.ADMIN_HOST,
    adminAllowedHosts: hostNames(env, problems),
    baseUrl: url(env, 'BASE_URL', http, problems) ?? defaultUrl(host, port),
    observeUrl: url(env, 'OBSERVE_URL', http, problems) ?? defaultUrl(host, observePort),
    brand: text(env, 'BRAND') ?? TEXT_SETTINGS.BRAND,
    databaseUrl: databaseUrl(env, 'DATABASE_URL', problems),
    databaseDirectUrl: databaseUrl(env, 'DATABASE_DIRECT_URL', problems),
    databaseReadUrl: databaseUrl(env, 'DATABASE_READ_URL', problems),
    databaseReadLagMaxMs: integer(env, 'DATABASE_READ_LAG_MAX_MS', problems),
    dataDir: readDataDir(env),
    redisUrl: redisUrl(env, problems),
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
    drainMs: integer(env, 'DRAIN_MS', problems),
    surfaceCapBytes: integer(env, 'SURFACE_CAP_BYTES', problems),
    excerptChars: integer(env, 'EXCERPT_CHARS', problems),
    runCpuBudgetMs: integer(env, 'RUN_CPU_BUDGET_MS', problems),
    passIntervalMs: integer(env, 'PASS_INTERVAL_MS', problems),
    ...runSettings(env, problems),
    retentionDays: integer(env, 'RETENTION_DAYS', problems),
    hotDays: integer(env, 'HOT_DAYS', problems),
    runRetentionDays: integer(env, 'RUN_RETENTION_DAYS', problems),
    findingRetentionDays: integer(env, 'FINDING_RETENTION_DAYS', problems),
    bareOtlpOnBase: oneOf<Config['bareOtlpOnBase']>(
      'BARE_OTLP_ON_BASE',
      text(env, 'BARE_OTLP_ON_BASE') ?? TEXT_SETTINGS.BARE_OTLP_ON_BASE,
      ['gone', 'serve'],
      problems,
    ),
    corsOrigins: origins(env, problems),
    alertPrivateAddresses: networks(env, problems),
    smtp: smtp(env, problems),
    ...oauth,
    warnings: oauth.warnings,
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
