/**
 * The configuration of the server: one frozen, typed object, or every problem at once. This folder
 * is the only reader of the environment. Secrets never appear in a problem's text.
 */
import { resolve } from 'node:path';

import { parseDatabaseUrl } from '../database-url.ts';
import { isPrivateUrl } from '../local-host.ts';
import {
  ConfigError,
  type Environment,
  given,
  readSetting,
  SETTINGS,
  type SettingName,
  type SettingValue,
  SMTP_FROM_PROBLEM,
  SMTP_URL_PROBLEM,
} from './settings.ts';

/** `MAX_BODY_BYTES` as `maxBodyBytes`. */
type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Lowercase<Head>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<Name>;
type Values = { readonly [Name in SettingName as CamelCase<Name>]: SettingValue<Name> };
/** Settings whose values depend on other ones. */
type Derived = 'baseUrl' | 'observeUrl' | 'ingestDeduplicate' | 'smtpUrl' | 'smtpFrom';

export interface Config extends Omit<Values, Derived>, OauthClients {
  /** without a trailing slash */
  readonly baseUrl: string;
  readonly observeUrl: string;
  readonly ingestDeduplicate: boolean;
  /** null: no e-mail is sent */
  readonly smtp: { readonly url: string; readonly from: string } | null;
}

interface OauthClient {
  readonly provider: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** of OpenID Connect; null for GitHub, which has none, and for a provider that lacks its setting */
  readonly issuer: string | null;
}

interface OauthClients {
  /** keys of the providers with both a client id and a client secret, sorted */
  readonly oauthProviders: readonly string[];
  /** the same, with their credentials */
  readonly oauthClients: readonly OauthClient[];
  /** settings that lack a part and have no effect, one line each; logged at start */
  readonly warnings: readonly string[];
}

const OAUTH_SETTING = /^OAUTH_([A-Z0-9_]+)_(CLIENT_ID|CLIENT_SECRET|ISSUER)$/;
const KNOWN_ISSUERS: Readonly<Record<string, string>> = {
  google: 'https://accounts.google.com',
  gitlab: 'https://gitlab.com',
};

/** The providers with a client id and a client secret, sorted; each missing setting is a warning. */
function oauthSettings(env: Environment, problems: string[]): OauthClients {
  const clients: OauthClient[] = [];
  const warnings: string[] = [];
  const names = Object.keys(env).flatMap((setting) =>
    given(env, setting) === undefined ? [] : (OAUTH_SETTING.exec(setting)?.[1] ?? []),
  );
  for (const name of new Set(names)) {
    const provider = name.toLowerCase();
    const [clientId, clientSecret, ownIssuer] = ['CLIENT_ID', 'CLIENT_SECRET', 'ISSUER'].map(
      (part) => given(env, `OAUTH_${name}_${part}`),
    );
    // Its keys prove identities, so they are fetched over TLS, or from this machine.
    if (ownIssuer !== undefined && !(URL.canParse(ownIssuer) && isPrivateUrl(new URL(ownIssuer)))) {
      problems.push(`OAUTH_${name}_ISSUER must be a URL that starts with https://`);
    }
    if (clientId === undefined)
      warnings.push(`OAUTH_${name}_CLIENT_ID is not set: the provider ${provider} is left out`);
    if (clientSecret === undefined)
      warnings.push(`OAUTH_${name}_CLIENT_SECRET is not set: the provider ${provider} is left out`);
    if (clientId === undefined || clientSecret === undefined) continue;
    const issuer = ownIssuer ?? KNOWN_ISSUERS[provider] ?? null;
    clients.push({ provider, clientId, clientSecret, issuer });
    if (issuer === null && provider !== 'github')
      warnings.push(`OAUTH_${name}_ISSUER is not set: nobody can sign in through ${provider}`);
  }
  clients.sort((one, other) => (one.provider < other.provider ? -1 : 1));
  const oauthProviders = clients.map(({ provider }) => provider);
  return { oauthClients: clients, oauthProviders, warnings };
}

function hasSeveralHosts(url: string | null): boolean {
  const parsed = url === null ? null : parseDatabaseUrl(url);
  return parsed !== null && typeof parsed !== 'string' && parsed.urls.length > 1;
}

function hostOf(url: string | undefined): string | null {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : null;
}

/** Faults between settings: whether there is one, and its line. */
function relationsOf(
  config: Omit<Config, keyof OauthClients>,
  env: Environment,
): readonly (readonly [isFault: boolean, problem: string])[] {
  const { retentionDays, runRetentionDays, findingRetentionDays, port, observePort, adminPort } =
    config;
  const isGiven = (name: SettingName): boolean => given(env, name) !== undefined;
  const [base, observe] = [hostOf(given(env, 'BASE_URL')), hostOf(given(env, 'OBSERVE_URL'))];
  return [
    [
      config.maxBodyBytes > config.maxDecodedBodyBytes,
      'MAX_BODY_BYTES must not exceed MAX_DECODED_BODY_BYTES',
    ],
    [
      // A compressed body is held in both forms while it is decoded: one that never fits would be
      // answered 503 and retried for ever.
      config.maxBodyBytes + config.maxDecodedBodyBytes > config.maxInflightBytes,
      'MAX_BODY_BYTES and MAX_DECODED_BODY_BYTES together must not exceed MAX_INFLIGHT_BYTES',
    ],
    [
      config.databaseDirectUrl !== null && !isGiven('DATABASE_URL'),
      'DATABASE_DIRECT_URL needs DATABASE_URL beside it',
    ],
    [
      config.databaseReadUrl !== null && !isGiven('DATABASE_URL'),
      'DATABASE_READ_URL needs DATABASE_URL beside it',
    ],
    [
      hasSeveralHosts(config.databaseReadUrl),
      'DATABASE_READ_URL must name one standby: the lag is measured on it',
    ],
    [isGiven('SMTP_FROM') && !isGiven('SMTP_URL'), `SMTP_URL ${SMTP_URL_PROBLEM}`],
    [isGiven('SMTP_URL') && !isGiven('SMTP_FROM'), `SMTP_FROM ${SMTP_FROM_PROBLEM}`],
    [config.runSettleMs > config.runTimeoutMs, 'RUN_SETTLE_MS must not exceed RUN_TIMEOUT_MS'],
    [config.runSettleMs > config.runSettleMaxMs, 'RUN_SETTLE_MS must not exceed RUN_SETTLE_MAX_MS'],
    [config.runTimeoutMs > config.runOpenMaxMs, 'RUN_TIMEOUT_MS must not exceed RUN_OPEN_MAX_MS'],
    [
      // Runs outlive their steps, and findings outlive runs without findings.
      runRetentionDays > 0 && (retentionDays === 0 || runRetentionDays < retentionDays),
      'RUN_RETENTION_DAYS must not be less than RETENTION_DAYS (0 is for ever)',
    ],
    [
      findingRetentionDays > 0 &&
        (runRetentionDays === 0 || findingRetentionDays < runRetentionDays),
      'FINDING_RETENTION_DAYS must not be less than RUN_RETENTION_DAYS (0 is for ever)',
    ],
    [
      port !== 0 && port === observePort && (base === null || observe === null || base === observe),
      'PORT and OBSERVE_PORT are the same, so BASE_URL and OBSERVE_URL must both be set to ' +
        'different hosts: the Host header decides which one a request means',
    ],
    [
      adminPort !== 0 && [port, observePort].includes(adminPort),
      'ADMIN_PORT must differ from PORT and OBSERVE_PORT',
    ],
  ];
}

export function defaultUrl(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

function valuesOf(env: Environment, problems: string[]): Values {
  const names = Object.keys(SETTINGS) as SettingName[];
  const entries = names.map((name) => [
    name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    readSetting(env, name, problems),
  ]);
  return Object.fromEntries(entries);
}

/** An empty value counts as unset. @throws {ConfigError} with one line per problem */
export function readConfig(env: Environment): Config {
  const problems: string[] = [];
  const { smtpUrl, smtpFrom, ...values } = valuesOf(env, problems);
  const { host, port, observePort, runSettleMs, runTimeoutMs } = values;
  /** A maximum that is not set is raised to the time it bounds. */
  const maximum = (name: SettingName, value: number, atLeast: number): number =>
    given(env, name) === undefined ? Math.max(value, atLeast) : value;
  const config = {
    ...values,
    dataDir: resolve(values.dataDir),
    baseUrl: values.baseUrl ?? defaultUrl(host, port),
    observeUrl: values.observeUrl ?? defaultUrl(host, observePort),
    ingestDeduplicate: values.ingestDeduplicate === 'on',
    runSettleMaxMs: maximum('RUN_SETTLE_MAX_MS', values.runSettleMaxMs, runSettleMs),
    runOpenMaxMs: maximum('RUN_OPEN_MAX_MS', values.runOpenMaxMs, runTimeoutMs),
    smtp: smtpUrl === null || smtpFrom === null ? null : { url: smtpUrl, from: smtpFrom },
  };
  const oauth = oauthSettings(env, problems);
  for (const [isFault, problem] of relationsOf(config, env)) if (isFault) problems.push(problem);
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze({ ...config, ...oauth });
}
