/**
 * A highly available installation on one machine:
 *
 *   HAProxy ──► three Sluice ──► three PostgreSQL of Patroni (synchronous_mode_strict), by several hosts
 *                    │           three etcd
 *                    └─────────► Redis and its replica, found by three sentinels
 */
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

import { databaseAccount } from '../../src/db/embedded/account.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { findFreePort } from '../support/sockets.ts';
import { waitFor } from '../support/wait-for.ts';
import { createProgram, type Program, postgresBin } from './programs.ts';

const NODES = 3;
const STARTS_WITHIN_MS = 120_000;
/** Patroni's: the leader's key expires after `ttl` seconds, its shortest, when a machine dies. */
const PATRONI = { ttl: 20, loopWait: 2, retryTimeout: 3 } as const;
const PASSWORD = 'only-on-loopback';
const MASTER = 'limits';

interface Node {
  readonly program: Program;
  readonly port: number;
}

export interface Stack {
  /** HAProxy's address for telemetry */
  readonly observeUrl: string;
  /** as the servers' DATABASE_URL */
  readonly databaseUrl: string;
  /** Asks the primary, as a superuser. */
  readonly ask: (sql: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>;
  /** Kills Patroni and PostgreSQL of the primary. @returns starts that node again */
  readonly killPrimary: () => Promise<() => Promise<void>>;
  /** Waits until a primary has a synchronous standby, and `standbys` of them follow. */
  readonly settled: (standbys: number) => Promise<void>;
  /** Kills the master of Redis. @returns starts it again */
  readonly killRedis: () => Promise<() => void>;
  readonly close: () => Promise<void>;
}

const login = (role: string): string => `${role}:${PASSWORD}`;
const ports = (count: number): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, () => findFreePort()));

/** Starts everything, and waits until HAProxy has a ready server. */
export async function openStack(say: (line: string) => void): Promise<Stack> {
  const bin = postgresBin();
  if (bin === null) throw new Error('PostgreSQL is not installed');
  const folder = await mkdtemp(join(tmpdir(), 'sluice-ha-'));
  await chmod(folder, 0o700);
  const account = await databaseAccount();
  if (account !== null) await chown(folder, account.uid, account.gid);
  const programs: Program[] = [];
  const servers: TestServer[] = [];
  const add: Add = (name, command, args, pidFile) => {
    const files = { folder, ...(pidFile === undefined ? {} : { pidFile: join(folder, pidFile) }) };
    const program = createProgram({ name, command, args, account, ...files });
    programs.push(program);
    program.start();
    return program;
  };
  const write = async (name: string, content: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, content, { mode: 0o600 });
    if (account !== null) await chown(path, account.uid, account.gid);
    return path;
  };
  const close = async (): Promise<void> => {
    for (const server of servers) await server.kill();
    for (const program of programs.reverse()) await program.kill();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    say('etcd: three members');
    const etcdHosts = await startEtcd(add);
    say('Patroni: three PostgreSQL, synchronous_mode_strict');
    const nodes = await startPatroni({ add, write, folder, bin, etcdHosts });
    const statement = ask(nodes);
    await waitFor(
      () =>
        statement('SELECT 1').then(
          () => true,
          () => false,
        ),
      {
        withinMs: STARTS_WITHIN_MS,
        what: `Patroni has a primary; logs in ${folder}`,
      },
    );
    const settled = settlement(statement);
    await settled(NODES - 1);
    await statement(`CREATE ROLE sluice LOGIN PASSWORD '${PASSWORD}'`);
    await statement('CREATE DATABASE sluice OWNER sluice');
    say('Redis: a master, a replica, three sentinels');
    const redis = await startRedis({ add, write });
    say('Sluice: three processes behind HAProxy');
    const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const databaseUrl = `postgres://${login('sluice')}@${hosts}/sluice?target_session_attrs=read-write`;
    const settings = { DATABASE_URL: databaseUrl, REDIS_URL: redis.url, LOG_LEVEL: 'warn' };
    for (let count = 0; count < NODES; count += 1) servers.push(await startServer(settings));
    const observeUrl = await startProxy({ add, write }, servers);
    return {
      observeUrl,
      databaseUrl,
      ask: (sql, values) => ask(nodes, 'sluice')(sql, values),
      settled,
      killPrimary: async () => {
        const [row] = await statement("SELECT current_setting('port')::int AS port");
        const node = nodes.find(({ port }) => port === row?.port);
        if (node === undefined) throw new Error('no primary');
        await node.program.kill();
        return async () => {
          node.program.start();
          await settled(NODES - 1);
        };
      },
      killRedis: redis.killMaster,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

type Add = (name: string, command: string, args: readonly string[], pidFile?: string) => Program;
type Write = (name: string, content: string) => Promise<string>;

async function startEtcd(add: Add): Promise<string> {
  const clients = await ports(NODES);
  const peers = await ports(NODES);
  const url = (port: number | undefined) => `http://127.0.0.1:${port}`;
  const members = peers.map((port, at) => `etcd${at}=${url(port)}`).join(',');
  for (const [at, client] of clients.entries()) {
    add(`etcd${at}`, 'etcd', [
      ...['--name', `etcd${at}`, '--data-dir', `etcd${at}`],
      ...['--listen-client-urls', url(client), '--advertise-client-urls', url(client)],
      ...['--listen-peer-urls', url(peers[at]), '--initial-advertise-peer-urls', url(peers[at])],
      ...['--initial-cluster', members, '--initial-cluster-state', 'new'],
    ]);
  }
  const healthy = async (port: number): Promise<boolean> => {
    const answer = await fetch(`${url(port)}/health`).catch(() => null);
    return answer?.status === 200;
  };
  for (const client of clients) {
    await waitFor(() => healthy(client), { withinMs: STARTS_WITHIN_MS, what: 'etcd is healthy' });
  }
  return clients.map((port) => `127.0.0.1:${port}`).join(',');
}

interface PatroniParts {
  readonly add: Add;
  readonly write: Write;
  readonly folder: string;
  readonly bin: string;
  readonly etcdHosts: string;
}

async function startPatroni(parts: PatroniParts): Promise<Node[]> {
  const { add, write, folder, bin, etcdHosts } = parts;
  const nodes: Node[] = [];
  for (let at = 0; at < NODES; at += 1) {
    const [port = 0, api = 0] = await ports(2);
    const authentication = ['superuser', 'replication', 'rewind'].map(
      (role) =>
        `    ${role}: { username: ${role === 'superuser' ? 'postgres' : role}_ha, password: ${PASSWORD} }`,
    );
    const path = await write(
      `patroni${at}.yml`,
      `scope: sluice
name: node${at}
restapi: { listen: 127.0.0.1:${api}, connect_address: 127.0.0.1:${api} }
etcd3: { hosts: "${etcdHosts}" }
bootstrap:
  dcs:
    ttl: ${PATRONI.ttl}
    loop_wait: ${PATRONI.loopWait}
    retry_timeout: ${PATRONI.retryTimeout}
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters: { wal_keep_size: 256MB, max_connections: 150, max_wal_size: 512MB, wal_receiver_timeout: 5s }
  initdb: [ { encoding: UTF8 }, { locale: C.UTF-8 }, data-checksums ]
postgresql:
  listen: 127.0.0.1:${port}
  connect_address: 127.0.0.1:${port}
  data_dir: ${join(folder, `data${at}`)}
  bin_dir: ${bin}
  pgpass: ${join(folder, `pgpass${at}`)}
  authentication:
${authentication.join('\n')}
  parameters: { unix_socket_directories: "${folder}" }
  pg_hba:
    - host all all 127.0.0.1/32 scram-sha-256
    - host replication replication_ha 127.0.0.1/32 scram-sha-256
    - local all all scram-sha-256
`,
    );
    nodes.push({
      program: add(`patroni${at}`, 'patroni', [path], `data${at}/postmaster.pid`),
      port,
    });
  }
  return nodes;
}

type Ask = (sql: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>;

/** Finds the primary by trying all nodes. */
function ask(nodes: readonly Node[], database = 'postgres'): Ask {
  const on = async ({ port }: Node, sql: string, values: readonly unknown[]) => {
    const client = new pg.Client({
      connectionString: `postgres://${login('postgres_ha')}@127.0.0.1:${port}/${database}`,
      connectionTimeoutMillis: 5000,
    });
    client.on('error', () => {});
    await client.connect();
    try {
      const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby');
      if (rows[0]?.standby !== false) throw new Error('a standby');
      return (await client.query<Record<string, unknown>>(sql, [...values])).rows;
    } finally {
      await client.end().catch(() => {});
    }
  };
  return (sql, values = []) => Promise.any(nodes.map((node) => on(node, sql, values)));
}

function settlement(statement: Ask): (standbys: number) => Promise<void> {
  const replication = `SELECT count(*)::int AS all, count(*) FILTER (WHERE sync_state = 'sync')::int AS sync
    FROM pg_stat_replication WHERE state = 'streaming'`;
  return async (standbys) => {
    await waitFor(
      async () => {
        const [row] = await statement(replication).catch(() => []);
        return Number(row?.sync) > 0 && Number(row?.all) >= standbys;
      },
      { withinMs: STARTS_WITHIN_MS, what: `${standbys} standbys follow, one synchronously` },
    );
  };
}

interface Files {
  readonly add: Add;
  readonly write: Write;
}

async function startRedis({ add, write }: Files) {
  const [one = 0, two = 0, ...sentinels] = await ports(2 + NODES);
  const common = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--port'];
  const servers = [
    { port: one, program: add('redis0', 'redis-server', [...common, `${one}`]) },
    {
      port: two,
      program: add('redis1', 'redis-server', [
        ...common,
        `${two}`,
        '--replicaof',
        '127.0.0.1',
        `${one}`,
      ]),
    },
  ];
  for (const [at, port] of sentinels.entries()) {
    const path = await write(
      `sentinel${at}.conf`,
      `port ${port}
bind 127.0.0.1
sentinel monitor ${MASTER} 127.0.0.1 ${one} 2
sentinel down-after-milliseconds ${MASTER} 1000
sentinel failover-timeout ${MASTER} 5000
`,
    );
    add(`sentinel${at}`, 'redis-server', [path, '--sentinel']);
  }
  let master = 0;
  return {
    url: `redis+sentinel://${sentinels.map((port) => `127.0.0.1:${port}`).join(',')}/${MASTER}`,
    killMaster: async () => {
      const killed = servers[master % servers.length];
      master += 1;
      await killed?.program.kill();
      return () => killed?.program.start();
    },
  };
}

/** A server is used while its `/ready`, requested every half second, says 200. */
async function startProxy({ add, write }: Files, servers: readonly TestServer[]): Promise<string> {
  const port = await findFreePort();
  const lines = servers.map(({ observeUrl }, at) => {
    const { host } = new URL(observeUrl);
    return `  server sluice${at} ${host} check inter 500 fall 2 rise 1`;
  });
  const path = await write(
    'haproxy.cfg',
    `global
  maxconn 1000
defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
  option redispatch
frontend telemetry
  bind 127.0.0.1:${port}
  default_backend sluice
backend sluice
  balance roundrobin
  option httpchk
  http-check send meth GET uri /ready ver HTTP/1.1 hdr Host sluice
${lines.join('\n')}
`,
  );
  add('haproxy', 'haproxy', ['-f', path, '-db']);
  const url = `http://127.0.0.1:${port}`;
  const ready = async (): Promise<boolean> => {
    const answer = await fetch(`${url}/ready`).catch(() => null);
    return answer?.status === 200;
  };
  await waitFor(ready, { withinMs: STARTS_WITHIN_MS, what: 'HAProxy has a ready server' });
  return url;
}
