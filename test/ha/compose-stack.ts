/**
 * What deploy/compose/compose.yaml starts, on this machine and without containers: its two Sluice with
 * their settings, its HAProxy with its configuration, PostgreSQL and Redis with their arguments.
 *
 * Different are addresses (127.0.0.1 and free ports in place of names), versions (what this machine has
 * installed) and what containers are for: images, file systems, privileges, restarts.
 */
import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import pg from 'pg';

import { databaseAccount } from '../../src/db/embedded/account.ts';
import { shippedHaproxy } from '../deploy/shipped-haproxy.ts';
import { ROOT, startServer, type TestServer } from '../support/server.ts';
import { findFreePort } from '../support/sockets.ts';
import { waitFor } from '../support/wait-for.ts';
import { createProgram, type Program, postgresBin } from './programs.ts';

const STARTS_WITHIN_MS = 60_000;
/** As a person writes them into `.env`. */
const PASSWORD = 'onlyonloopback';
const PROCESSES = ['sluice-1', 'sluice-2'] as const;

interface Service {
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}
type Services = Readonly<Record<string, Service>>;
type Ask = (sql: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>;

export interface ComposeStack {
  /** HAProxy's address for telemetry */
  readonly observeUrl: string;
  readonly databaseUrl: string;
  readonly ask: Ask;
  /** the two Sluice: one that was restarted is another process */
  readonly servers: readonly TestServer[];
  /** Stops one by SIGTERM. @returns starts it again @throws when it does not end with 0 */
  readonly stop: (at: number) => Promise<() => Promise<void>>;
  readonly close: () => Promise<void>;
}

/** `${NAME:-default}` and `${NAME:?message}`, as compose replaces them. */
function substitute(text: string): string {
  return text.replace(
    /\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}/g,
    (_, name: string, otherwise: string | undefined) =>
      name.endsWith('_PASSWORD') ? PASSWORD : (otherwise ?? ''),
  );
}

async function readServices(): Promise<Services> {
  const text = await readFile(join(ROOT, 'deploy/compose/compose.yaml'), 'utf8');
  return (load(text) as { readonly services: Services }).services;
}

const settingsOf = (services: Services, name: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(services[name]?.environment ?? {}).map(([key, value]) => [
      key,
      substitute(value),
    ]),
  );

/** Of a command, whose first word is the program. */
const argumentsOf = (services: Services, name: string): readonly string[] =>
  (services[name]?.command ?? []).slice(1).map(substitute);

async function ask(url: string, sql: string, values: readonly unknown[] = []) {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>(sql, [...values])).rows;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Adds a program to those that are ended with the run, in its folder. */
interface Runner {
  readonly folder: string;
  readonly account: { readonly uid: number; readonly gid: number } | null;
  readonly add: (name: string, command: string, args: readonly string[]) => void;
  readonly say: (line: string) => void;
}

/** The image's superuser, where POSTGRES_USER is not set. */
const SUPERUSER = 'postgres';

/** A server made as the image makes it, with the file of compose. @returns its port */
async function startPostgres({ folder, account, add, say }: Runner, services: Services) {
  const bin = postgresBin();
  if (bin === null) throw new Error('PostgreSQL is not installed');
  const { POSTGRES_INITDB_ARGS: given = '' } = settingsOf(services, 'postgres');
  const port = await findFreePort();
  const data = join(folder, 'data');
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', POSTGRES_PASSWORD: PASSWORD };
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', SUPERUSER, '-E', 'UTF8', '--auth-local=trust', ...given.split(' ')],
    { cwd: folder, stdio: 'ignore', env, ...account },
  );
  const args = argumentsOf(services, 'postgres');
  say(`PostgreSQL: ${args.join(' ')}`);
  const own = ['-D', data, `-cport=${port}`, `-cunix_socket_directories=${folder}`];
  add('postgres', join(bin, 'postgres'), [...own, ...args]);
  const psql = (...more: string[]): void => {
    const where = ['-h', folder, '-p', `${port}`, '-U', SUPERUSER, '-v', 'ON_ERROR_STOP=1', '-qXw'];
    execFileSync('psql', [...where, ...more], { env, stdio: 'pipe' });
  };
  const answers = async (): Promise<boolean> => {
    try {
      psql('-c', 'SELECT');
      return true;
    } catch {
      return false;
    }
  };
  await waitFor(answers, { withinMs: STARTS_WITHIN_MS, what: `PostgreSQL answers (${folder})` });
  psql('-f', join(ROOT, 'deploy/compose/postgres.sql'));
  return port;
}

/** @returns its port */
async function startRedis({ add, say }: Runner, services: Services): Promise<number> {
  const port = await findFreePort();
  const args = argumentsOf(services, 'redis');
  say(`Redis: ${args.join(' ').replaceAll(PASSWORD, '…')}`);
  add('redis', 'redis-server', [...args, '--bind', '127.0.0.1', '--port', `${port}`]);
  return port;
}

interface Ports {
  readonly base: number;
  readonly observe: number;
}
const freePorts = async (): Promise<Ports> => ({
  base: await findFreePort(),
  observe: await findFreePort(),
});

/** @returns its address for telemetry, once it has a ready process */
async function startProxy({ folder, add, say }: Runner, ports: readonly Ports[]): Promise<string> {
  const own = await freePorts();
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, shippedHaproxy(own, ports), { mode: 0o644 });
  say('HAProxy: deploy/compose/haproxy.cfg');
  add('haproxy', 'haproxy', ['-f', file, '-db']);
  const url = `http://127.0.0.1:${own.observe}`;
  const ready = async () => (await fetch(`${url}/ready`).catch(() => null))?.status === 200;
  await waitFor(ready, { withinMs: STARTS_WITHIN_MS, what: 'HAProxy has a ready server' });
  return url;
}

/** The processes of Sluice, with the settings of compose. */
async function startSluice(services: Services, address: (text: string) => string) {
  const ports = await Promise.all(PROCESSES.map(freePorts));
  const servers: TestServer[] = [];
  const start = async (at: number): Promise<void> => {
    const given = Object.entries(settingsOf(services, PROCESSES[at] ?? ''));
    servers[at] = await startServer({
      ...Object.fromEntries(given.map(([name, value]) => [name, address(value)])),
      ADMIN_HOST: '127.0.0.1',
      PORT: `${ports[at]?.base}`,
      OBSERVE_PORT: `${ports[at]?.observe}`,
    });
  };
  for (const at of PROCESSES.keys()) await start(at);
  return { ports, servers, start };
}

/** Starts everything, and waits until requests are taken. */
export async function openComposeStack(say: (line: string) => void): Promise<ComposeStack> {
  const services = await readServices();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-compose-'));
  await chmod(folder, 0o700);
  const account = await databaseAccount();
  if (account !== null) await chown(folder, account.uid, account.gid);
  const programs: Program[] = [];
  let servers: readonly TestServer[] = [];
  const add: Runner['add'] = (name, command, args) => {
    const program = createProgram({ name, command, args, account, folder });
    programs.push(program);
    program.start();
  };
  const close = async (): Promise<void> => {
    for (const server of servers) await server.kill();
    for (const program of programs.reverse()) await program.kill();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const runner = { folder, account, add, say };
    const postgresPort = await startPostgres(runner, services);
    const redisPort = await startRedis(runner, services);
    const address = (text: string): string =>
      text
        .replace('@postgres:5432', `@127.0.0.1:${postgresPort}`)
        .replace('@redis:6379', `@127.0.0.1:${redisPort}`);
    say('Sluice: two processes');
    const sluice = await startSluice(services, address);
    servers = sluice.servers;
    const databaseUrl = address(settingsOf(services, PROCESSES[0]).DATABASE_URL ?? '');
    return {
      observeUrl: await startProxy(runner, sluice.ports),
      databaseUrl,
      ask: (sql, values) => ask(databaseUrl, sql, values),
      servers,
      stop: async (at) => {
        const { code, signal } = (await servers[at]?.stop()) ?? {};
        if (code !== 0) throw new Error(`${PROCESSES[at]} ended with ${code ?? signal}`);
        return () => sluice.start(at);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
