/**
 * Every setting: how its text is read, its default, and its description, which docs/configuration.md repeats (a test
 * compares them). A problem never repeats a URL, which may hold a password.
 */
import { availableParallelism } from 'node:os';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';

import { parseDatabaseUrl } from '../database-url.ts';
import { OperatorError } from '../errors.ts';
import { parseAddress } from '../local-host.ts';
import { parseSentinelUrl } from '../redis-url.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAYS_MAX = 36_500;
/**
 * One core stays free for the thread that takes requests in. Each thread has its own connections, and
 * PostgreSQL allows 100 by default.
 */
const MATCH_THREADS = Math.min(Math.max(1, availableParallelism() - 1), 24);

// ── How texts are read ───────────────────────────────────────────────────────────────────────

const text = (fallback: string) => z.string().default(fallback);

const orNull = (schema: z.ZodType<string, string>) => schema.nullable().default(null);

function wholeNumber(fallback: number, minimum: number, maximum: number) {
  const isRight = (digits: string): boolean =>
    /^\d+$/.test(digits) && Number(digits) >= minimum && Number(digits) <= maximum;
  return z
    .string()
    .refine(isRight, {
      error: ({ input }) => `must be a whole number from ${minimum} to ${maximum}, not "${input}"`,
    })
    .transform(Number)
    .default(fallback)
    .meta({ minimum, maximum });
}

const oneOf = <const Value extends string>(fallback: NoInfer<Value>, values: readonly Value[]) =>
  z
    .literal(values, {
      error: ({ input }) => `must be one of ${values.join(', ')}, not "${input}"`,
    })
    .prefault(fallback);

/**
 * Texts separated by commas, each once.
 *
 * @param read returns the text as it is kept; null for a wrong one
 * @param problem completes a sentence that begins with the setting's name
 */
const listOf = (read: (item: string) => string | null, problem: string) =>
  z
    .string()
    .transform((list, context) => {
      const items = new Set<string>();
      for (const given of list.split(',').map((item) => item.trim())) {
        if (given === '') continue;
        const item = read(given);
        if (item === null) context.addIssue(`${problem}, not "${given}"`);
        else items.add(item);
      }
      return [...items];
    })
    .default([]);

const hasProtocol = (url: string, protocols: readonly string[]): boolean =>
  URL.canParse(url) && protocols.includes(new URL(url).protocol);
const withoutSlash = (url: string): string => url.replace(/\/+$/, '');

const httpUrl = z
  .string()
  .refine(
    (url) => hasProtocol(url, ['http:', 'https:']),
    'must be a URL that starts with http:// or https://',
  )
  .transform(withoutSlash);

const hostNames = listOf(
  parseAddress,
  'must list names such as metrics.example or 10.0.0.7, separated by commas, without ports or wildcards',
);

/** As browsers send them, so that they can be compared as text. */
const origins = listOf(
  (origin) =>
    hasProtocol(origin, ['http:', 'https:']) && new URL(origin).origin === origin ? origin : null,
  'must list origins such as https://shop.example, separated by commas, without paths or wildcards',
);

const networks = listOf(
  (network) => (ipaddr.isValidCIDR(network) ? network : null),
  'must list networks such as 10.0.0.0/8 or 127.0.0.1/32, separated by commas',
);

const brand = z
  .string()
  .regex(/^[a-z][a-z0-9]{0,31}$/, 'must be 1 to 32 lower-case letters and digits, a letter first')
  .default('sluice');

const databaseUrl = z.string().superRefine((url, context) => {
  const parsed = parseDatabaseUrl(url);
  if (typeof parsed === 'string') context.addIssue(parsed);
});

const namesSentinels = (url: string): boolean => url.startsWith('redis+sentinel:');
const redisUrl = z
  .string()
  .refine(
    (url) => !namesSentinels(url) || parseSentinelUrl(url) !== null,
    'of sentinels must have the form redis+sentinel://host:26379,host/name',
  )
  .refine(
    (url) => namesSentinels(url) || hasProtocol(url, ['redis:', 'rediss:']),
    'must be a URL that starts with redis:// or rediss://',
  )
  .transform((url) => (namesSentinels(url) ? url : withoutSlash(url)));

export const SMTP_URL_PROBLEM = 'must be a URL such as smtp://user:password@mail.example:587';
export const SMTP_FROM_PROBLEM = 'must be the e-mail address that messages come from';
/** Printable ASCII with one `@`. */
const MAIL_ADDRESS = /^[!-?A-~]{1,64}@[!-?A-~]{1,180}$/;
const smtpUrl = z
  .string()
  .refine(
    (url) => hasProtocol(url, ['smtp:', 'smtps:']) && new URL(url).hostname !== '',
    SMTP_URL_PROBLEM,
  );
const smtpFrom = z.string().regex(MAIL_ADDRESS, SMTP_FROM_PROBLEM);
const ownerEmail = z
  .string()
  .regex(MAIL_ADDRESS, 'must be an e-mail address')
  .default('owner@localhost');

// ── The table ────────────────────────────────────────────────────────────────────────────────

export const SETTINGS = {
  PORT: wholeNumber(8080, 0, 65_535).describe(
    'base listener: everything but the bare OTLP paths; 0 takes any free port',
  ),
  // 4318 is OTLP/HTTP's own port, so that an exporter keeps its default.
  OBSERVE_PORT: wholeNumber(4318, 0, 65_535).describe(
    'observe listener: `/v1/traces`, `/v1/metrics`, `/v1/logs` and the probes',
  ),
  ADMIN_PORT: wholeNumber(9464, 0, 65_535).describe('`/metrics` and the probes, for the operator'),
  ADMIN_HOST: text('127.0.0.1').describe(
    'address that this listener uses. Its answers need no credential: name another address only where a firewall or a NetworkPolicy admits your monitoring alone',
  ),
  ADMIN_ALLOWED_HOSTS: hostNames.describe(
    'further names that requests to this listener may use, separated by commas, without ports. Unset: if `ADMIN_HOST` is a name of this machine (`localhost`, 127.0.0.0/8, `[::1]`), only these names, otherwise any. Other names are answered 421, [pages of other sites](security.md#pages-of-other-sites) 403',
  ),
  HOST: text('0.0.0.0').describe(
    'address that base and observe listen on; `127.0.0.1` behind a [reverse proxy](reverse-proxy.md) on the same machine',
  ),
  BASE_URL: orNull(httpUrl).describe('how clients reach base; named in answers and in the summary'),
  OBSERVE_URL: orNull(httpUrl).describe('how clients reach observe'),
  BARE_OTLP_ON_BASE: oneOf('gone', ['gone', 'serve']).describe(
    '`gone`: the bare OTLP paths answer 410 on base; `serve`: they are served there too',
  ),
  CORS_ORIGINS: origins.describe(
    'origins of pages that may send telemetry from a browser, separated by commas: `https://shop.example,http://localhost:5173`; exact, without wildcards. Read [what that means](security.md#telemetry-from-browsers) first',
  ),
  BRAND: brand.describe('first part of every new key: `<brand>_live_…`, `<brand>_key_…`'),
  DATABASE_URL: orNull(databaseUrl).describe(
    'PostgreSQL 14 or newer, with [one host or several](high-availability.md), or the coordinator of [a Citus cluster](citus.md); unset: the embedded one',
  ),
  DATABASE_DIRECT_URL: orNull(databaseUrl).describe(
    'PostgreSQL itself, where `DATABASE_URL` names a [connection pooler](#behind-a-connection-pooler)',
  ),
  DATABASE_READ_URL: orNull(databaseUrl).describe(
    'a standby of `DATABASE_URL` that [answers reads](high-availability.md#a-read-replica): pages, exports, the read API, previews',
  ),
  DATABASE_READ_LAG_MAX_MS: wholeNumber(10_000, 1000, 10 * MINUTE_MS).describe(
    'how old the state may be that such a read shows; while the standby is further behind, or away, reads go to the primary',
  ),
  DATA_DIR: text('./data').describe(
    'where the embedded PostgreSQL keeps its data, the [catalogue](decisions/0002-corpus.md) for the next start, and the last entries of [audit logs](security.md#the-audit-log)',
  ),
  REDIS_URL: orNull(redisUrl).describe(
    'counts [limits](limits.md) for all processes that name the same Redis, or its [sentinels](high-availability.md#redis-with-sentinels); unset: counted per process',
  ),
  MATCH_THREADS: wholeNumber(MATCH_THREADS, 1, 256).describe('threads that match rules'),
  MAX_BODY_BYTES: wholeNumber(20 * MIB, KIB, 256 * MIB).describe(
    'largest request body on the wire',
  ),
  // 64 MiB is the value OTLP 1.11 recommends; a string in V8 ends at 512 MiB.
  MAX_DECODED_BODY_BYTES: wholeNumber(64 * MIB, KIB, 256 * MIB).describe(
    'largest request body after decompression',
  ),
  MAX_INFLIGHT_BYTES: wholeNumber(256 * MIB, MIB, 64 * 1024 * MIB).describe(
    'request bodies in memory, and as much again for rows not yet committed; one workspace gets at most eight ninths; more is answered 503',
  ),
  // Below the ten seconds after which OpenTelemetry's exporters give up.
  INGEST_ANSWER_MS: wholeNumber(8000, 100, HOUR_MS).describe(
    "a telemetry request is answered within this time of its head, whatever hangs: 503 when it is not stored by then. OpenTelemetry's exporters give up after 10 s",
  ),
  INGEST_DEDUPLICATE: oneOf('on', ['on', 'off']).describe(
    '`on`: a request that is sent again within an hour is answered as before and [stored once](decisions/0007-stored-once.md); `off`: it is stored again. The request header `Sluice-Deduplicate: off` does this for one request',
  ),
  DRAIN_MS: wholeNumber(0, 0, 10 * MINUTE_MS).describe(
    'behind a load balancer: how long a server that is being stopped answers `/ready` with 503 and still takes requests, closing each connection with its answer, before it takes no new connections. Longer than the load balancer needs to notice, and a second for the [probe](deployment.md#rolling-restarts)',
  ),
  SURFACE_CAP_BYTES: wholeNumber(64 * KIB, KIB, 16 * MIB).describe(
    'text matched per [surface](glossary.md#surface) and step, [the newest first](matching.md#how-much-of-a-step-is-read)',
  ),
  EXCERPT_CHARS: wholeNumber(160, 20, 2000).describe(
    'characters of an excerpt around a hit; `sluice workspace redact on` stores none',
  ),
  // Enough for 64 MiB, the most that is read of a run, unless its text is crafted to be slow.
  RUN_CPU_BUDGET_MS: wholeNumber(MINUTE_MS, 10, HOUR_MS).describe(
    'CPU time that matching one run may take; findings until then are stored, the rest counts as [unread](matching.md#long-runs)',
  ),
  PASS_INTERVAL_MS: wholeNumber(10_000, 100, HOUR_MS).describe(
    'how often the server looks for [runs](glossary.md#run) that are due for evaluation',
  ),
  RUN_SETTLE_MS: wholeNumber(MINUTE_MS, 0, 24 * HOUR_MS).describe(
    'a finished run is evaluated this long after its last arrival',
  ),
  // Several settle times, so that exporters that retry for minutes are still in time.
  RUN_SETTLE_MAX_MS: wholeNumber(5 * MINUTE_MS, 0, 24 * HOUR_MS).describe(
    '… but at the latest this long after it finished, even while spans keep arriving; when unset, at least `RUN_SETTLE_MS`',
  ),
  RUN_TIMEOUT_MS: wholeNumber(15 * MINUTE_MS, 1000, 7 * 24 * HOUR_MS).describe(
    'a run without a root span is timed out this long after its last arrival',
  ),
  // Longer than nearly every agent's trace; later spans are not evaluated.
  RUN_OPEN_MAX_MS: wholeNumber(4 * HOUR_MS, 1000, 7 * 24 * HOUR_MS).describe(
    '… but at the latest this long after its first arrival, even while spans keep arriving; when unset, at least `RUN_TIMEOUT_MS`',
  ),
  RETENTION_DAYS: wholeNumber(30, 0, DAYS_MAX).describe(
    "days that spans, log records and metric points are kept, by PostgreSQL's clock; 0 keeps them forever",
  ),
  // At least a day, so that nothing is written any more.
  HOT_DAYS: wholeNumber(2, 1, DAYS_MAX).describe(
    'whole days beside today that traces and logs stay in the blocks in which they arrived. Evaluated runs are packed at once; after that time the rest is packed, and these blocks are dropped',
  ),
  // Kept for ever unless set: an upgrade deletes no run and no finding.
  RUN_RETENTION_DAYS: wholeNumber(0, 0, DAYS_MAX).describe(
    'days that runs without findings are kept after their last step; 0 keeps all runs forever. At least `RETENTION_DAYS`; see [below](#what-is-kept-and-for-how-long)',
  ),
  FINDING_RETENTION_DAYS: wholeNumber(0, 0, DAYS_MAX).describe(
    'days that findings are kept, with their runs; 0 keeps them forever. At least `RUN_RETENTION_DAYS`',
  ),
  // None, because any client can send X-Forwarded-For.
  TRUSTED_PROXY_HOPS: wholeNumber(0, 0, 10).describe(
    "how many of your own proxies are in front of base and observe, each appending to `X-Forwarded-For`; 0 ignores that header. Limits on sign-ins and on unknown keys, the log and the ledger use the client's address",
  ),
  ALERT_PRIVATE_ADDRESSES: networks.describe(
    'networks with private addresses that [alerts](alerts.md#private-addresses) may be sent to, separated by commas: `10.20.0.0/16,127.0.0.1/32`; unset: public addresses only',
  ),
  SMTP_URL: orNull(smtpUrl).describe(
    'mail server for [alerts](alerts.md) by e-mail and [e-mails about assignments](alerts.md#assignments): `smtp://user:password@mail.example:587` (STARTTLS, required where there is a password) or `smtps://…` (TLS from the start); unset: no e-mail',
  ),
  SMTP_FROM: orNull(smtpFrom).describe('address that they come from; needed with `SMTP_URL`'),
  OWNER_EMAIL: ownerEmail.describe(
    'e-mail address of the account that the first start creates, with a password that is shown once',
  ),
  LOG_LEVEL: oneOf('info', ['trace', 'debug', 'info', 'warn', 'error', 'silent']).describe(
    '`trace`, `debug` ([each step](debugging.md) of requests and runs), `info`, `warn`, `error` or `silent`; JSON lines on standard error, and readable lines if that is a terminal',
  ),
} as const;

/** Settings of `sluice relay`, which its options replace. */
export const RELAY_SETTINGS = {
  SLUICE_URL: 'the server that the relay sends to, `https://…`; http only to this machine',
  SLUICE_API_KEY: 'the agent key that it sends with',
} as const;

// ── Reading ──────────────────────────────────────────────────────────────────────────────────

export type Environment = Readonly<Record<string, string | undefined>>;
export type SettingName = keyof typeof SETTINGS;
export type SettingValue<Name extends SettingName> = z.output<(typeof SETTINGS)[Name]>;
export type LogLevel = SettingValue<'LOG_LEVEL'>;

/** All problems of the environment, one line each. */
export class ConfigError extends OperatorError {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`Invalid configuration:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** Returns the text of a setting; undefined if it is empty. */
export function given(env: Environment, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}

/** Reads a setting. A wrong value is added to `problems`, and the default is returned. */
export function readSetting<Name extends SettingName>(
  env: Environment,
  name: Name,
  problems: string[],
): SettingValue<Name> {
  const schema: z.ZodType = SETTINGS[name];
  const { data, error, success } = schema.safeParse(given(env, name));
  for (const { message } of error?.issues ?? []) problems.push(`${name} ${message}`);
  return (success ? data : schema.parse(undefined)) as SettingValue<Name>;
}
