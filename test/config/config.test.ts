/** The environment becomes one frozen object, or every problem at once and no secret among them. */
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { ConfigError, SETTINGS } from '../../src/config/settings.ts';
import { OperatorError } from '../../src/errors.ts';

type Environment = Readonly<Record<string, string>>;

function problemsOf(env: Environment): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

/** Settings that are whole numbers, with their limits. */
const WHOLE_NUMBERS = Object.entries(SETTINGS).flatMap(([name, schema]) => {
  const { minimum, maximum } = schema.meta() ?? {};
  return typeof minimum === 'number' && typeof maximum === 'number'
    ? [{ name, min: minimum, max: maximum }]
    : [];
});

test.each([
  [{ DATABASE_READ_URL: 'postgres://b/x' }, 'DATABASE_READ_URL needs DATABASE_URL beside it'],
  [
    { DATABASE_URL: 'postgres://a/x', DATABASE_READ_URL: 'postgres://b,c/x' },
    'DATABASE_READ_URL must name one standby: the lag is measured on it',
  ],
])('%j: %s', (env, problem) => {
  expect(problemsOf(env)).toContain(problem);
});

describe('without any setting', () => {
  test('everything has its default', () => {
    expect(readConfig({})).toEqual({
      port: 8080,
      observePort: 4318,
      adminPort: 9464,
      host: '0.0.0.0',
      adminHost: '127.0.0.1',
      adminAllowedHosts: [],
      baseUrl: 'http://localhost:8080',
      observeUrl: 'http://localhost:4318',
      brand: 'sluice',
      databaseUrl: null,
      databaseDirectUrl: null,
      databaseReadUrl: null,
      databaseReadLagMaxMs: 10_000,
      dataDir: resolve('data'),
      redisUrl: null,
      matchThreads: SETTINGS.MATCH_THREADS.parse(undefined),
      maxBodyBytes: 20 * 1024 * 1024,
      maxDecodedBodyBytes: 64 * 1024 * 1024,
      maxInflightBytes: 256 * 1024 * 1024,
      ingestAnswerMs: 8000,
      ingestDeduplicate: true,
      drainMs: 0,
      surfaceCapBytes: 64 * 1024,
      excerptChars: 160,
      runCpuBudgetMs: 60_000,
      passIntervalMs: 10_000,
      runSettleMs: 60_000,
      runSettleMaxMs: 300_000,
      runTimeoutMs: 900_000,
      runOpenMaxMs: 14_400_000,
      retentionDays: 30,
      hotDays: 2,
      runRetentionDays: 0,
      findingRetentionDays: 0,
      bareOtlpOnBase: 'gone',
      corsOrigins: [],
      alertPrivateAddresses: [],
      smtp: null,
      oauthProviders: [],
      oauthClients: [],
      warnings: [],
      ownerEmail: 'owner@localhost',
      trustedProxyHops: 0,
      logLevel: 'info',
    });
  });

  test('an empty value counts as none, and strange names as nobody’s', () => {
    const empty = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, '  ']));
    expect(readConfig({ ...empty, HOME: '/root', PORTS: '1' })).toEqual(readConfig({}));
  });

  test('nothing can be changed afterwards', () => {
    expect(Object.isFrozen(readConfig({}))).toBe(true);
  });
});

test('every setting is taken', () => {
  const config = readConfig({
    PORT: '1',
    OBSERVE_PORT: '2',
    ADMIN_PORT: '3',
    HOST: '127.0.0.1',
    ADMIN_HOST: '10.0.0.7',
    ADMIN_ALLOWED_HOSTS: 'Metrics.Example, 10.0.0.8,::1,metrics.example',
    BASE_URL: 'https://base.test/',
    OBSERVE_URL: 'https://observe.test:4318',
    BRAND: 'acme',
    DATABASE_URL: 'postgresql://me:pw@db.test:5433/sluice?sslmode=require',
    DATABASE_DIRECT_URL: 'postgres://me:pw@db.test:5432/sluice',
    DATABASE_READ_URL: 'postgres://me:pw@standby.test/sluice',
    DATABASE_READ_LAG_MAX_MS: '5000',
    DATA_DIR: '/var/lib/acme',
    REDIS_URL: 'rediss://redis.test',
    MATCH_THREADS: '4',
    MAX_BODY_BYTES: '1024',
    MAX_DECODED_BODY_BYTES: '2048',
    MAX_INFLIGHT_BYTES: '1048576',
    DRAIN_MS: '3000',
    SURFACE_CAP_BYTES: '2000',
    EXCERPT_CHARS: '20',
    RUN_CPU_BUDGET_MS: '500',
    PASS_INTERVAL_MS: '100',
    RUN_SETTLE_MS: '0',
    RUN_SETTLE_MAX_MS: '500',
    RUN_TIMEOUT_MS: '1000',
    RUN_OPEN_MAX_MS: '2000',
    RETENTION_DAYS: '3',
    HOT_DAYS: '6',
    RUN_RETENTION_DAYS: '4',
    FINDING_RETENTION_DAYS: '5',
    BARE_OTLP_ON_BASE: 'serve',
    CORS_ORIGINS: 'https://shop.example, http://localhost:5173',
    ALERT_PRIVATE_ADDRESSES: '10.0.0.0/8, ::1/128',
    SMTP_URL: 'smtps://user:secret@mail.example',
    SMTP_FROM: 'sluice@mail.example',
    OWNER_EMAIL: 'me@base.test',
    TRUSTED_PROXY_HOPS: '2',
    INGEST_ANSWER_MS: '100',
    INGEST_DEDUPLICATE: 'off',
    LOG_LEVEL: 'silent',
  });
  expect(config).toEqual({
    port: 1,
    observePort: 2,
    adminPort: 3,
    host: '127.0.0.1',
    adminHost: '10.0.0.7',
    adminAllowedHosts: ['metrics.example', '10.0.0.8', '[::1]'],
    baseUrl: 'https://base.test',
    observeUrl: 'https://observe.test:4318',
    brand: 'acme',
    databaseUrl: 'postgresql://me:pw@db.test:5433/sluice?sslmode=require',
    databaseDirectUrl: 'postgres://me:pw@db.test:5432/sluice',
    databaseReadUrl: 'postgres://me:pw@standby.test/sluice',
    databaseReadLagMaxMs: 5000,
    dataDir: '/var/lib/acme',
    redisUrl: 'rediss://redis.test',
    matchThreads: 4,
    maxBodyBytes: 1024,
    maxDecodedBodyBytes: 2048,
    maxInflightBytes: 1_048_576,
    ingestAnswerMs: 100,
    ingestDeduplicate: false,
    drainMs: 3000,
    surfaceCapBytes: 2000,
    excerptChars: 20,
    runCpuBudgetMs: 500,
    passIntervalMs: 100,
    runSettleMs: 0,
    runSettleMaxMs: 500,
    runTimeoutMs: 1000,
    runOpenMaxMs: 2000,
    retentionDays: 3,
    hotDays: 6,
    runRetentionDays: 4,
    findingRetentionDays: 5,
    bareOtlpOnBase: 'serve',
    corsOrigins: ['https://shop.example', 'http://localhost:5173'],
    alertPrivateAddresses: ['10.0.0.0/8', '::1/128'],
    smtp: { url: 'smtps://user:secret@mail.example', from: 'sluice@mail.example' },
    oauthProviders: [],
    oauthClients: [],
    warnings: [],
    ownerEmail: 'me@base.test',
    trustedProxyHops: 2,
    logLevel: 'silent',
  });
});

describe('whole numbers', () => {
  test.each(WHOLE_NUMBERS)('$name has a least and a most', ({ name, min, max }) => {
    const fault = (text: string): string =>
      `${name} must be a whole number from ${min} to ${max}, not "${text}"`;
    for (const text of [`${max + 1}`, '-1', '1.5', '1e3', '0x10', 'many', `${min} ${max}`]) {
      expect(problemsOf({ [name]: text })).toContain(fault(text));
    }
    if (min > 0) expect(problemsOf({ [name]: `${min - 1}` })).toContain(fault(`${min - 1}`));
    for (const value of [min, max]) {
      expect(problemsOf({ [name]: ` ${value} ` })).not.toContain(fault(`${value}`));
    }
  });
});

test.each(['nobody', 'a@b@c', 'a b@c', 'ann\u00e9@base.test', '\u212aate@base.test'])(
  'OWNER_EMAIL "%s" is no address that anybody could sign in with',
  (address) => {
    expect(problemsOf({ OWNER_EMAIL: address })).toEqual(['OWNER_EMAIL must be an e-mail address']);
  },
);

test.each([
  '*',
  'shop.example',
  'ftp://shop.example',
  'https://shop.example/',
  'https://SHOP.example',
  'null',
])('CORS_ORIGINS "%s" is no origin as a browser sends it', (origin) => {
  expect(problemsOf({ CORS_ORIGINS: `https://a.example,${origin}` })).toEqual([
    expect.stringContaining(`not "${origin}"`),
  ]);
});

test.each(['*', '*.example', 'a.example:80', 'https://a.example', 'a b', '[::1'])(
  'ADMIN_ALLOWED_HOSTS "%s" is no name',
  (name) => {
    expect(problemsOf({ ADMIN_ALLOWED_HOSTS: `a.example,${name}` })).toEqual([
      expect.stringContaining(`not "${name}"`),
    ]);
  },
);

test.each(['10.0.0.1', 'inside', '10.0.0.0/33', '::1/129', '*'])(
  'ALERT_PRIVATE_ADDRESSES "%s" is no network',
  (network) => {
    expect(problemsOf({ ALERT_PRIVATE_ADDRESSES: `10.0.0.0/8,${network}` })).toEqual([
      expect.stringContaining(`not "${network}"`),
    ]);
  },
);

test.each([
  [
    { SMTP_URL: 'smtp://mail.example' },
    ['SMTP_FROM must be the e-mail address that messages come from'],
  ],
  [
    { SMTP_URL: 'smtp://mail.example', SMTP_FROM: 'nobody' },
    ['SMTP_FROM must be the e-mail address that messages come from'],
  ],
  [{ SMTP_URL: 'smtp://', SMTP_FROM: 'a@b' }, [expect.stringMatching(/^SMTP_URL must be a URL/)]],
  [{ SMTP_FROM: 'a@b' }, [expect.stringMatching(/^SMTP_URL must be a URL/)]],
  [{ SMTP_URL: 'https://u:secret@x', SMTP_FROM: 'a@b' }, [expect.not.stringContaining('secret')]],
])('of a mail server both settings are needed, and right: %j', (env, problems) => {
  expect(problemsOf(env)).toEqual(problems);
});

describe('problems', () => {
  test('are all reported together, in one error for the operator', () => {
    const env = {
      PORT: 'http',
      MATCH_THREADS: '0',
      BASE_URL: 'base.test',
      DATABASE_URL: 'mysql://x',
      LOG_LEVEL: 'loud',
      BRAND: 'Acme!',
      BARE_OTLP_ON_BASE: 'maybe',
      RUN_SETTLE_MS: '2000',
      RUN_TIMEOUT_MS: '1000',
    };
    expect(problemsOf(env)).toEqual([
      'PORT must be a whole number from 0 to 65535, not "http"',
      'BASE_URL must be a URL that starts with http:// or https://',
      'BARE_OTLP_ON_BASE must be one of gone, serve, not "maybe"',
      'BRAND must be 1 to 32 lower-case letters and digits, a letter first',
      'DATABASE_URL must be a URL that starts with postgres:// or postgresql://',
      'MATCH_THREADS must be a whole number from 1 to 256, not "0"',
      'LOG_LEVEL must be one of trace, debug, info, warn, error, silent, not "loud"',
      'RUN_SETTLE_MS must not exceed RUN_TIMEOUT_MS',
    ]);
    const failure = (() => {
      try {
        return readConfig(env);
      } catch (error) {
        return error;
      }
    })();
    expect(failure).toBeInstanceOf(OperatorError);
    expect(String(failure).split('\n')).toHaveLength(9);
  });

  test('never hold a secret', () => {
    const secret = 'hunter2';
    const message = problemsOf({
      DATABASE_URL: `postgre://me:${secret}@db.test/x`,
      REDIS_URL: `http://:${secret}@redis.test`,
      BASE_URL: `ftp://me:${secret}@base.test`,
      OBSERVE_URL: secret,
      OAUTH_GITHUB_ISSUER: secret,
    }).join('\n');
    expect(message.split('\n')).toHaveLength(5);
    expect(message).not.toContain(secret);
  });

  test.each(['', 'a', 'a1', 'a'.repeat(32)])('BRAND "%s"', (brand) => {
    expect(problemsOf({ BRAND: brand })).toEqual([]);
  });

  test.each(['A', '1a', 'a-b', 'a_b', 'a'.repeat(33), 'é'])('not BRAND "%s"', (brand) => {
    expect(problemsOf({ BRAND: brand })).toHaveLength(1);
  });
});

describe('relations', () => {
  test.each<[string, Environment, string[]]>([
    [
      'a body larger than what it decodes to',
      { MAX_BODY_BYTES: '4096', MAX_DECODED_BODY_BYTES: '2048' },
      ['MAX_BODY_BYTES must not exceed MAX_DECODED_BODY_BYTES'],
    ],
    [
      'a body that could never be held',
      {
        MAX_BODY_BYTES: '600000',
        MAX_DECODED_BODY_BYTES: '600000',
        MAX_INFLIGHT_BYTES: '1100000',
      },
      ['MAX_BODY_BYTES and MAX_DECODED_BODY_BYTES together must not exceed MAX_INFLIGHT_BYTES'],
    ],
    [
      'a body that just can',
      {
        MAX_BODY_BYTES: '600000',
        MAX_DECODED_BODY_BYTES: '600000',
        MAX_INFLIGHT_BYTES: '1200000',
      },
      [],
    ],
    [
      'settling longer than the time-out',
      { RUN_SETTLE_MS: '5001', RUN_TIMEOUT_MS: '5000' },
      ['RUN_SETTLE_MS must not exceed RUN_TIMEOUT_MS'],
    ],
    ['settling as long as the time-out', { RUN_SETTLE_MS: '5000', RUN_TIMEOUT_MS: '5000' }, []],
    [
      'maxima below the times they bound',
      {
        RUN_SETTLE_MS: '5000',
        RUN_SETTLE_MAX_MS: '4999',
        RUN_TIMEOUT_MS: '9000',
        RUN_OPEN_MAX_MS: '8999',
      },
      [
        'RUN_SETTLE_MS must not exceed RUN_SETTLE_MAX_MS',
        'RUN_TIMEOUT_MS must not exceed RUN_OPEN_MAX_MS',
      ],
    ],
    [
      'runs kept for less long than their steps',
      { RETENTION_DAYS: '31', RUN_RETENTION_DAYS: '30' },
      ['RUN_RETENTION_DAYS must not be less than RETENTION_DAYS (0 is for ever)'],
    ],
    [
      'runs that end before steps that are kept for ever',
      { RETENTION_DAYS: '0', RUN_RETENTION_DAYS: '30' },
      ['RUN_RETENTION_DAYS must not be less than RETENTION_DAYS (0 is for ever)'],
    ],
    [
      'findings kept for less long than other runs',
      { RUN_RETENTION_DAYS: '90', FINDING_RETENTION_DAYS: '89' },
      ['FINDING_RETENTION_DAYS must not be less than RUN_RETENTION_DAYS (0 is for ever)'],
    ],
    [
      'findings that end beside runs that are kept for ever',
      { FINDING_RETENTION_DAYS: '365' },
      ['FINDING_RETENTION_DAYS must not be less than RUN_RETENTION_DAYS (0 is for ever)'],
    ],
    [
      'runs kept as long as their steps, findings as long as runs',
      { RETENTION_DAYS: '30', RUN_RETENTION_DAYS: '30', FINDING_RETENTION_DAYS: '30' },
      [],
    ],
    [
      'a way past a pooler that is not there',
      { DATABASE_DIRECT_URL: 'postgres://a/x' },
      ['DATABASE_DIRECT_URL needs DATABASE_URL beside it'],
    ],
    [
      'a way past a pooler',
      { DATABASE_URL: 'postgres://b/x', DATABASE_DIRECT_URL: 'postgres://a/x' },
      [],
    ],
    [
      'runs kept as long as their steps, findings for ever',
      { RETENTION_DAYS: '30', RUN_RETENTION_DAYS: '30' },
      [],
    ],
    [
      'times above the default maxima, which give way',
      { RUN_SETTLE_MS: '86400000', RUN_TIMEOUT_MS: '86400000' },
      [],
    ],
    [
      'the admin port on PORT',
      { ADMIN_PORT: '8080' },
      ['ADMIN_PORT must differ from PORT and OBSERVE_PORT'],
    ],
    [
      'the admin port on OBSERVE_PORT',
      { ADMIN_PORT: '4318' },
      ['ADMIN_PORT must differ from PORT and OBSERVE_PORT'],
    ],
    ['any free port for all three', { PORT: '0', OBSERVE_PORT: '0', ADMIN_PORT: '0' }, []],
  ])('%s', (_what, env, problems) => {
    expect(problemsOf(env)).toEqual(problems);
  });

  const shared = { PORT: '8080', OBSERVE_PORT: '8080' };
  const needsHosts = [
    'PORT and OBSERVE_PORT are the same, so BASE_URL and OBSERVE_URL must both be set to ' +
      'different hosts: the Host header decides which one a request means',
  ];

  test.each<[string, Environment, readonly string[]]>([
    ['no hosts', {}, needsHosts],
    ['one host', { BASE_URL: 'http://base.test' }, needsHosts],
    ['one host twice', { BASE_URL: 'http://x.test/a', OBSERVE_URL: 'http://X.test/b' }, needsHosts],
    ['two hosts', { BASE_URL: 'http://base.test', OBSERVE_URL: 'http://observe.test' }, []],
    ['one name, two ports', { BASE_URL: 'http://x.test:1', OBSERVE_URL: 'http://x.test:2' }, []],
  ])('one port for both, with %s', (_what, urls, problems) => {
    expect(problemsOf({ ...shared, ...urls })).toEqual(problems);
  });
});

describe('addresses', () => {
  test.each([
    ['0.0.0.0', 'http://localhost:8080'],
    ['::', 'http://localhost:8080'],
    ['192.0.2.1', 'http://192.0.2.1:8080'],
    ['2001:db8::1', 'http://[2001:db8::1]:8080'],
  ])('HOST %s is reached at %s', (HOST, baseUrl) => {
    expect(readConfig({ HOST }).baseUrl).toBe(baseUrl);
  });

  test('a configured one loses its trailing slashes', () => {
    expect(readConfig({ BASE_URL: 'https://base.test/prefix//' }).baseUrl).toBe(
      'https://base.test/prefix',
    );
  });
});

describe('OAuth providers', () => {
  test('are those with both halves, sorted', () => {
    const { oauthProviders } = readConfig({
      OAUTH_GOOGLE_CLIENT_ID: 'a',
      OAUTH_GITHUB_CLIENT_SECRET: 'b',
      OAUTH_GITHUB_CLIENT_ID: 'c',
      OAUTH_GOOGLE_CLIENT_SECRET: 'd',
      OAUTH_MY_IDP_CLIENT_ID: 'e',
      OAUTH_MY_IDP_CLIENT_SECRET: 'f',
      OAUTH_EMPTY_CLIENT_ID: '',
      OAUTH_EMPTY_CLIENT_SECRET: ' ',
      OAUTH_GITLAB_SCOPE: 'g',
    });
    expect(oauthProviders).toEqual(['github', 'google', 'my_idp']);
  });

  test('come with what signing in takes', () => {
    const { oauthClients } = readConfig({
      OAUTH_OKTA_CLIENT_ID: 'id',
      OAUTH_OKTA_CLIENT_SECRET: 'secret',
      OAUTH_OKTA_ISSUER: 'https://acme.okta.test',
      OAUTH_GOOGLE_CLIENT_ID: 'a',
      OAUTH_GOOGLE_CLIENT_SECRET: 'b',
    });
    expect(oauthClients).toEqual([
      {
        provider: 'google',
        clientId: 'a',
        clientSecret: 'b',
        issuer: 'https://accounts.google.com',
      },
      {
        provider: 'okta',
        clientId: 'id',
        clientSecret: 'secret',
        issuer: 'https://acme.okta.test',
      },
    ]);
  });

  test.each(['http://id.test', 'ftp://id.test', 'id.test', 'http://127.0.0.1.evil.test'])(
    'an issuer %s is a problem: keys come from there',
    (issuer) => {
      const env = { OAUTH_X_CLIENT_ID: 'a', OAUTH_X_CLIENT_SECRET: 'b', OAUTH_X_ISSUER: issuer };
      expect(problemsOf(env)).toEqual(['OAUTH_X_ISSUER must be a URL that starts with https://']);
    },
  );

  test('an issuer alone is left out with a warning; on this machine it may be plain HTTP', () => {
    const { oauthProviders, warnings } = readConfig({ OAUTH_X_ISSUER: 'http://localhost:9000' });
    expect(oauthProviders).toEqual([]);
    expect(warnings).toEqual([
      'OAUTH_X_CLIENT_ID is not set: the provider x is left out',
      'OAUTH_X_CLIENT_SECRET is not set: the provider x is left out',
    ]);
  });

  test.each([
    ['ID', 'SECRET'],
    ['SECRET', 'ID'],
  ])('with %s alone are left out, with a warning that names what is missing', (half, missing) => {
    const config = readConfig({ [`OAUTH_GITHUB_CLIENT_${half}`]: 'hunter2' });
    expect({ ...config }).toMatchObject({ oauthProviders: [], oauthClients: [] });
    expect(config.warnings).toEqual([
      `OAUTH_GITHUB_CLIENT_${missing} is not set: the provider github is left out`,
    ]);
  });

  test('without a known issuer there is a warning, and GitHub needs none', () => {
    const clients = ['GITHUB', 'GITLAB', 'OKTA'].flatMap((name) => [
      [`OAUTH_${name}_CLIENT_ID`, 'id'],
      [`OAUTH_${name}_CLIENT_SECRET`, 'hunter2'],
    ]);
    const { oauthProviders, warnings } = readConfig(Object.fromEntries(clients));
    expect(oauthProviders).toEqual(['github', 'gitlab', 'okta']);
    expect(warnings).toEqual(['OAUTH_OKTA_ISSUER is not set: nobody can sign in through okta']);
  });
});
