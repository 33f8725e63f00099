/**
 * What runs Sluice outside Kubernetes: the unit of systemd, the image and the containers of compose, each
 * directive compared; the image's health check is run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';

import { readConfig } from '../../src/config/config.ts';
import { nameOf, routesOf } from '../support/served-routes.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const { port, observePort, adminPort } = readConfig({});

describe('the unit of systemd', () => {
  /** Section → its directives, in order. */
  function unit(): Record<string, (readonly [string, string])[]> {
    const found: Record<string, (readonly [string, string])[]> = {};
    let section: (readonly [string, string])[] = [];
    for (const line of read('deploy/systemd/sluice.service').split('\n')) {
      const header = /^\[(\w+)\]$/.exec(line)?.[1];
      if (header !== undefined) {
        section = [];
        found[header] = section;
      } else if (line !== '' && !line.startsWith('#')) {
        const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(line) ?? [];
        section.push([name, value]);
      }
    }
    return found;
  }

  test('starts after what it needs, with the machine', () => {
    expect(unit().Unit?.filter(([name]) => name !== 'Description')).toEqual([
      ['Documentation', 'file:///opt/sluice/docs/deployment.md'],
      ['Wants', 'network-online.target'],
      ['After', 'network-online.target postgresql.service redis-server.service'],
    ]);
    expect(unit().Install).toEqual([['WantedBy', 'multi-user.target']]);
  });

  // Everything else that a user could read or a fault could reach is closed.
  const HARDENING: readonly (readonly [string, string])[] = [
    ['ProtectSystem', 'strict'],
    ['ProtectHome', 'yes'],
    ['PrivateTmp', 'yes'],
    ['PrivateDevices', 'yes'],
    ['ProtectKernelTunables', 'yes'],
    ['ProtectKernelModules', 'yes'],
    ['ProtectKernelLogs', 'yes'],
    ['ProtectControlGroups', 'yes'],
    ['ProtectClock', 'yes'],
    ['ProtectHostname', 'yes'],
    ['ProtectProc', 'invisible'],
    ['NoNewPrivileges', 'yes'],
    ['CapabilityBoundingSet', ''],
    ['AmbientCapabilities', ''],
    ['RestrictAddressFamilies', 'AF_INET AF_INET6 AF_UNIX'],
    ['RestrictNamespaces', 'yes'],
    ['RestrictRealtime', 'yes'],
    ['RestrictSUIDSGID', 'yes'],
    ['LockPersonality', 'yes'],
    ['RemoveIPC', 'yes'],
    ['SystemCallArchitectures', 'native'],
    ['SystemCallFilter', '@system-service @pkey'],
    ['SystemCallErrorNumber', 'EPERM'],
  ];

  test('runs as its own user, stops the server before its children, and keeps files private', () => {
    expect(unit().Service).toEqual([
      ['Type', 'exec'],
      ['User', 'sluice'],
      ['Group', 'sluice'],
      ['WorkingDirectory', '/opt/sluice'],
      ['EnvironmentFile', '/etc/sluice.env'],
      ['EnvironmentFile', '-/etc/sluice-%i.env'],
      ['Environment', 'NODE_ENV=production DATA_DIR=/var/lib/sluice'],
      ['ExecStart', '/usr/bin/env node --v8-pool-size=0 bin/sluice.js serve'],
      ['Restart', 'on-failure'],
      ['RestartSec', '2'],
      ['TimeoutStopSec', '180'],
      // The server alone gets the signal: it ends its own processes in order.
      ['KillMode', 'mixed'],
      ['SyslogIdentifier', 'sluice'],
      ['LimitNOFILE', '65536'],
      ['LimitCORE', '0'],
      ['StateDirectory', 'sluice'],
      ['StateDirectoryMode', '0700'],
      ['UMask', '0077'],
      ...HARDENING,
    ]);
  });
});

describe('the image', () => {
  /** Stage → its instructions, lines joined, without comments. */
  function stages(): string[][] {
    const lines = read('Dockerfile')
      .replace(/^#.*\n/gm, '')
      .replace(/ *\\\n +/g, ' ')
      .split('\n')
      .filter((line) => line !== '');
    const found: string[][] = [[]];
    for (const line of lines) {
      if (line.startsWith('FROM ')) found.push([]);
      found.at(-1)?.push(line);
    }
    return found;
  }
  const [base, build, image] = [stages()[0], stages()[1], stages()[2] ?? []];
  const check = image.find((line) => line.startsWith('HEALTHCHECK')) ?? '';

  test('has the built program, no compiler and no root', () => {
    expect(stages().length).toBe(3);
    expect(base).toEqual(['ARG NODE_IMAGE=docker.io/library/node:24-trixie-slim']);
    expect(build?.[0]).toBe(`FROM \${NODE_IMAGE} AS build`);
    expect(image.filter((line) => line !== check)).toEqual([
      `FROM \${NODE_IMAGE}`,
      'ENV NODE_ENV=production DATA_DIR=/data HOST=0.0.0.0',
      'WORKDIR /app',
      'COPY --from=build /app ./',
      'RUN install -d -o 1000 -g 1000 -m 0700 /data',
      'USER 1000:1000',
      'VOLUME /data',
      `EXPOSE ${port} ${observePort}`,
      'STOPSIGNAL SIGTERM',
      'ENTRYPOINT ["node", "--v8-pool-size=0", "bin/sluice.js"]',
      'CMD ["serve"]',
    ]);
  });

  test('is built from the lock file, without what only building needs', () => {
    expect(build?.slice(1)).toEqual([
      'ENV npm_config_nodedir=/usr/local',
      expect.stringMatching(/^RUN apt-get update && apt-get install -y --no-install-recommends /),
      'WORKDIR /app',
      'COPY package.json package-lock.json ./',
      'RUN npm ci --no-audit --no-fund',
      'COPY . .',
      expect.stringMatching(
        /^RUN npm run build && npm prune --omit=dev .* rm -rf src bin\/build\.js bin\/mend-uws\.js && node bin\/sluice\.js corpus verify$/,
      ),
    ]);
  });

  test('is checked often enough, and has time for its first start', () => {
    expect(/^HEALTHCHECK (.*?) CMD /.exec(check)?.[1]).toBe(
      '--interval=10s --timeout=5s --start-period=60s --retries=3',
    );
  });

  /** Runs the command of the health check against a server. @returns its exit code and what it requested */
  async function runCheck(status: number): Promise<{ code: number; requests: string[] }> {
    const requests: string[] = [];
    const server = createServer((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      response.writeHead(status).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const number = (server.address() as AddressInfo).port;
    const [, ...args] = JSON.parse(/ CMD (\[.*\])$/.exec(check)?.[1] ?? '[]') as string[];
    const child = spawn(process.execPath, args, { env: { ADMIN_PORT: String(number) } });
    const [code] = (await once(child, 'exit')) as [number];
    server.close();
    return { code, requests };
  }

  test('its health is that of the process, whatever the database does', async () => {
    expect(await runCheck(200)).toEqual({ code: 0, requests: ['GET /health'] });
    expect(await runCheck(503)).toEqual({ code: 1, requests: ['GET /health'] });
    expect(routesOf('ADMIN_PORT').map(nameOf)).toContain('GET /health');
    expect(check).toContain(`process.env.ADMIN_PORT || ${adminPort}`);
  });
});

describe('compose', () => {
  // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of compose
  const file = load(read('deploy/compose/compose.yaml')) as any;
  const { services } = file;
  const EVERY = {
    restart: 'unless-stopped',
    security_opt: ['no-new-privileges:true'],
    logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '5' } },
  };
  const READY = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, { condition: 'service_healthy' }]));
  const PASSWORD = `\${POSTGRES_PASSWORD:?set it in .env}`;
  const wget = (url: string) => ['CMD', 'wget', '-q', '--spider', url];

  test('both Sluice: read-only, without rights, after their databases', () => {
    expect(services['sluice-2']).toEqual(services['sluice-1']);
    expect(services['sluice-1']).toEqual({
      ...EVERY,
      image: `sluice:\${SLUICE_TAG:-local}`,
      build: '../..',
      mem_limit: `\${SLUICE_MEMORY:-2g}`,
      read_only: true,
      tmpfs: ['/tmp'],
      cap_drop: ['ALL'],
      ulimits: { core: 0 },
      stop_grace_period: '120s',
      environment: {
        DATABASE_URL: `postgres://sluice:${PASSWORD}@postgres:5432/sluice`,
        DATABASE_READ_URL: `\${DATABASE_READ_URL}`,
        REDIS_URL: `redis://:\${REDIS_PASSWORD:?set it in .env}@redis:6379`,
        BASE_URL: `\${BASE_URL:-http://localhost:${port}}`,
        OBSERVE_URL: `\${OBSERVE_URL:-http://localhost:${observePort}}`,
        OWNER_EMAIL: `\${OWNER_EMAIL:-owner@localhost}`,
        MATCH_THREADS: `\${MATCH_THREADS}`,
        DRAIN_MS: '3000',
        ADMIN_HOST: '0.0.0.0',
        TRUSTED_PROXY_HOPS: '1',
      },
      depends_on: READY('postgres', 'redis'),
    });
  });

  test('HAProxy publishes base and observe', () => {
    expect(services.haproxy).toEqual({
      ...EVERY,
      image: 'haproxy:3.2-alpine',
      mem_limit: '512m',
      read_only: true,
      cap_drop: ['ALL'],
      ports: [`\${BASE_PORT:-${port}}:${port}`, `\${OBSERVE_PORT:-${observePort}}:${observePort}`],
      volumes: ['./haproxy.cfg:/usr/local/etc/haproxy/haproxy.cfg:ro'],
      depends_on: ['sluice-1', 'sluice-2'],
      healthcheck: {
        test: wget('http://127.0.0.1:8404/health'),
        interval: '5s',
        timeout: '3s',
        start_period: '60s',
      },
    });
  });

  test('PostgreSQL keeps its data, is checked over the network, and stops in time', () => {
    expect(services.postgres).toMatchObject({
      ...EVERY,
      image: 'postgres:17',
      shm_size: '256mb',
      stop_grace_period: '90s',
      environment: {
        POSTGRES_PASSWORD: PASSWORD,
        POSTGRES_INITDB_ARGS: '--encoding=UTF8 --data-checksums --auth-host=scram-sha-256',
      },
      volumes: [
        './postgres.sql:/docker-entrypoint-initdb.d/sluice.sql:ro',
        'postgres:/var/lib/postgresql/data',
      ],
      healthcheck: {
        test: ['CMD', 'pg_isready', '-U', 'sluice', '-h', '127.0.0.1'],
        interval: '5s',
        timeout: '3s',
        retries: 20,
        start_period: '60s',
      },
    });
    expect(services.postgres).not.toHaveProperty('ports');
    expect(services.postgres.command).toEqual([
      'postgres',
      `-cshared_buffers=\${POSTGRES_SHARED_BUFFERS:-1GB}`,
      `-ceffective_cache_size=\${POSTGRES_CACHE:-3GB}`,
      '-cmax_wal_size=4GB',
      '-cmin_wal_size=1GB',
      '-ccheckpoint_timeout=15min',
      '-cwal_init_zero=off',
      '-cmax_connections=200',
    ]);
    const statements = read('deploy/compose/postgres.sql').replace(/^--.*\n/gm, '');
    expect(statements.trim().split('\n')).toEqual([
      '\\getenv password POSTGRES_PASSWORD',
      "CREATE ROLE sluice LOGIN PASSWORD :'password';",
      'CREATE DATABASE sluice OWNER sluice;',
      'ALTER ROLE CURRENT_USER PASSWORD NULL;',
    ]);
  });

  test('Redis asks for a password, writes nothing and evicts nothing', () => {
    expect(services.redis).toEqual({
      ...EVERY,
      image: 'redis:7.4-alpine',
      mem_limit: '512m',
      tmpfs: ['/data'],
      command: [
        ...['redis-server', '--save', '', '--appendonly', 'no'],
        ...['--requirepass', `\${REDIS_PASSWORD:?set it in .env}`],
        ...['--maxmemory', '256mb', '--maxmemory-policy', 'noeviction'],
      ],
      environment: { REDISCLI_AUTH: `\${REDIS_PASSWORD:?set it in .env}` },
      healthcheck: {
        test: ['CMD', 'redis-cli', 'ping'],
        interval: '5s',
        timeout: '3s',
        retries: 20,
      },
    });
  });

  test('Prometheus reads the admin port of both, and has the alerts', () => {
    expect(load(read('deploy/compose/prometheus.yaml'))).toEqual({
      global: { scrape_interval: '15s' },
      rule_files: ['alerts.yaml'],
      scrape_configs: [
        {
          job_name: 'sluice',
          static_configs: [{ targets: [`sluice-1:${adminPort}`, `sluice-2:${adminPort}`] }],
        },
      ],
    });
    expect(routesOf('ADMIN_PORT').map(nameOf)).toContain('GET /metrics');
    expect(services.prometheus).toEqual({
      ...EVERY,
      image: 'prom/prometheus:v3.5.0',
      mem_limit: '1g',
      command: [
        '--config.file=/etc/prometheus/prometheus.yaml',
        '--storage.tsdb.path=/prometheus',
        '--storage.tsdb.retention.time=30d',
        '--storage.tsdb.retention.size=4GB',
      ],
      volumes: [
        './prometheus.yaml:/etc/prometheus/prometheus.yaml:ro',
        '../prometheus/alerts.yaml:/etc/prometheus/alerts.yaml:ro',
        'prometheus:/prometheus',
      ],
      healthcheck: {
        test: wget('http://127.0.0.1:9090/-/healthy'),
        interval: '10s',
        timeout: '3s',
        start_period: '30s',
      },
    });
  });

  test('Grafana is on this machine only, and shows the dashboard from Prometheus', () => {
    expect(services.grafana).toEqual({
      ...EVERY,
      image: 'grafana/grafana:12.1.0',
      mem_limit: '512m',
      ports: [`127.0.0.1:\${GRAFANA_PORT:-3000}:3000`],
      environment: {
        GF_SECURITY_ADMIN_PASSWORD: `\${GRAFANA_PASSWORD:?set it in .env}`,
        GF_ANALYTICS_REPORTING_ENABLED: 'false',
        GF_ANALYTICS_CHECK_FOR_UPDATES: 'false',
        GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES: 'false',
        GF_PLUGINS_PREINSTALL_DISABLED: 'true',
      },
      volumes: [
        './grafana:/etc/grafana/provisioning:ro',
        '../grafana:/var/lib/grafana/dashboards:ro',
        'grafana:/var/lib/grafana',
      ],
      depends_on: ['prometheus'],
      healthcheck: {
        test: wget('http://127.0.0.1:3000/api/health'),
        interval: '10s',
        timeout: '3s',
        start_period: '60s',
      },
    });
    expect(load(read('deploy/compose/grafana/datasources/prometheus.yaml'))).toMatchObject({
      datasources: [
        { type: 'prometheus', access: 'proxy', url: 'http://prometheus:9090', isDefault: true },
      ],
    });
    expect(load(read('deploy/compose/grafana/dashboards/sluice.yaml'))).toMatchObject({
      providers: [{ type: 'file', options: { path: '/var/lib/grafana/dashboards' } }],
    });
  });

  test('the Collector loses nothing, and sends all signals to observe', () => {
    expect(services.collector).toMatchObject({
      ...EVERY,
      profiles: ['collector'],
      read_only: true,
      cap_drop: ['ALL'],
      ports: ['127.0.0.1:4317:4317', '127.0.0.1:4319:4318'],
      environment: { SLUICE_AGENT_KEY: `\${SLUICE_AGENT_KEY}` },
      command: ['--config=/etc/otelcol/collector.yaml'],
      volumes: ['./collector.yaml:/etc/otelcol/collector.yaml:ro', 'collector:/var/lib/otelcol'],
    });
    const pipeline = {
      receivers: ['otlp'],
      processors: ['memory_limiter'],
      exporters: ['otlphttp'],
    };
    expect(load(read('deploy/compose/collector.yaml'))).toEqual({
      extensions: { file_storage: { directory: '/var/lib/otelcol', create_directory: true } },
      receivers: {
        otlp: {
          protocols: {
            grpc: { endpoint: '0.0.0.0:4317' },
            http: { endpoint: '0.0.0.0:4318' },
          },
        },
      },
      processors: {
        memory_limiter: { check_interval: '1s', limit_percentage: 80, spike_limit_percentage: 20 },
      },
      exporters: {
        otlphttp: {
          endpoint: `http://haproxy:${observePort}`,
          encoding: 'json',
          compression: 'gzip',
          headers: { Authorization: `Bearer \${env:SLUICE_AGENT_KEY}` },
          sending_queue: {
            storage: 'file_storage',
            batch: { sizer: 'items', min_size: 1000, max_size: 5000, flush_timeout: '1s' },
          },
          retry_on_failure: { enabled: true, max_elapsed_time: '0s' },
        },
      },
      service: {
        extensions: ['file_storage'],
        pipelines: { traces: pipeline, metrics: pipeline, logs: pipeline },
      },
    });
  });

  test('data that must outlive a container is in a volume', () => {
    expect(Object.keys(file.volumes)).toEqual(['postgres', 'prometheus', 'grafana', 'collector']);
  });
});
