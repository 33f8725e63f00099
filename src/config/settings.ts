/**
 * Every setting with its default and limits. `docs/configuration.md` lists the same names (a test
 * compares them).
 */
import { availableParallelism } from 'node:os';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface IntegerSetting {
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
  /** none: only a load balancer needs it */
  DRAIN_MS: { fallback: 0, min: 0, max: 10 * 60_000 },
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
  /** a page that is this old is as good; long enough for a standby under load */
  DATABASE_READ_LAG_MAX_MS: { fallback: 10_000, min: 1000, max: 10 * 60_000 },
  RETENTION_DAYS: { fallback: 30, min: 0, max: 36_500 },
  /** a run that is over is mostly packed within a minute; a day at least, so that nothing is written any more */
  HOT_DAYS: { fallback: 2, min: 1, max: 36_500 },
  /** kept for ever unless set: an upgrade deletes no run and no finding */
  RUN_RETENTION_DAYS: { fallback: 0, min: 0, max: 36_500 },
  FINDING_RETENTION_DAYS: { fallback: 0, min: 0, max: 36_500 },
  /** none, because any client can send X-Forwarded-For */
  TRUSTED_PROXY_HOPS: { fallback: 0, min: 0, max: 10 },
} as const satisfies Record<string, IntegerSetting>;

/** Text settings; null where unset has a special meaning. */
export const TEXT_SETTINGS = {
  HOST: '0.0.0.0',
  ADMIN_HOST: '127.0.0.1',
  ADMIN_ALLOWED_HOSTS: null,
  BASE_URL: null,
  OBSERVE_URL: null,
  BRAND: 'sluice',
  DATABASE_URL: null,
  DATABASE_DIRECT_URL: null,
  DATABASE_READ_URL: null,
  DATA_DIR: './data',
  REDIS_URL: null,
  BARE_OTLP_ON_BASE: 'gone',
  CORS_ORIGINS: null,
  INGEST_DEDUPLICATE: 'on',
  ALERT_PRIVATE_ADDRESSES: null,
  SMTP_URL: null,
  SMTP_FROM: null,
  OWNER_EMAIL: 'owner@localhost',
  LOG_LEVEL: 'info',
} as const;

/** Settings of `sluice relay`, which its options replace. */
export const RELAY_SETTINGS = { SLUICE_URL: null, SLUICE_API_KEY: null } as const;
