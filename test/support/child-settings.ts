/**
 * Settings of the processes that tests start.
 *
 * Passwords are hashed at the least cost (quick-scrypt.cjs): by the tests' own processes after setup.ts, and by servers and
 * commands with `QUICK_SCRYPT`. Tests of the hashing itself take the real one: `useRealScrypt`.
 *
 * With TEST_POOLER=1 servers and commands reach the run's PostgreSQL through PgBouncer (pgbouncer.ts); the tests themselves
 * look into it directly. The ports are environment variables, because the programs that start servers outside Vitest have
 * no context of a run.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const PATH = fileURLToPath(new URL('./quick-scrypt.cjs', import.meta.url));

const load = (): { setQuickScrypt: (isQuick: boolean) => void } =>
  createRequire(import.meta.url)(PATH);

/**
 * Arguments of Node.js for the servers and commands of a run of Vitest. The benchmarks and chaos, which
 * start servers too, hash at full cost.
 */
export const QUICK_SCRYPT: readonly string[] =
  process.env.VITEST === undefined ? [] : ['--require', PATH];

/** Of this process. */
export const useQuickScrypt = (): void => load().setQuickScrypt(true);

/** Of this process, until `useQuickScrypt` or the next test file. */
export const useRealScrypt = (): void => load().setQuickScrypt(false);

type Settings = Readonly<Record<string, string>>;

const POSTGRES_PORT = 'TEST_POSTGRES_PORT';
const POOLER_PORT = 'TEST_POOLER_PORT';

/** The url with the address of a pooler on this machine. */
export function pooledUrl(url: string, port: number): string {
  return url.replace(`@${new URL(url).host}/`, `@127.0.0.1:${port}/`);
}

/** From now on, `throughPooler` replaces addresses of this PostgreSQL, also in workers started later. */
export function announcePooler(postgresUrl: string, port: number): void {
  process.env[POSTGRES_PORT] = new URL(postgresUrl).port;
  process.env[POOLER_PORT] = String(port);
}

/** The settings with the pooler's address in place of the run's PostgreSQL. */
export function throughPooler(settings: Settings): Settings {
  const port = process.env[POOLER_PORT];
  const { DATABASE_URL: url } = settings;
  if (port === undefined || url === undefined || !URL.canParse(url)) return settings;
  const isOfRun = new URL(url).port === process.env[POSTGRES_PORT];
  return isOfRun ? { ...settings, DATABASE_URL: pooledUrl(url, Number(port)) } : settings;
}
