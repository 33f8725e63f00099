/**
 * With TEST_POOLER=1 the servers and commands of tests reach the run's PostgreSQL through a PgBouncer
 * in transaction mode (pgbouncer.ts); the tests themselves look into it directly.
 *
 * The ports are environment variables, because the programs that start servers outside Vitest have no
 * context of a run.
 */
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
