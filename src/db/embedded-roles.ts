/**
 * The cluster's two roles, and what a server cannot do about them while it runs.
 *
 *   sluice_setup   superuser, has no password and so can never log in; PostgreSQL must have one
 *   sluice         logs in, owns its database, is otherwise nobody: reads no file, runs no program
 *
 * What takes a superuser is done by `postgres --single`: PostgreSQL without a server, on a cluster that
 * nobody else has, over standard input. Older versions made `sluice` the superuser; `demoteRole` changes
 * that, in two transactions that may be repeated.
 */
import { OperatorError } from '../errors.ts';
import type { Place } from './embedded-place.ts';
import { oneLine, runProgram } from './embedded-process.ts';

export const SETUP_ROLE = 'sluice_setup';
/** The role that everything but the set-up is done by, and its database. */
export const ROLE = 'sluice';
export const DATABASE = 'sluice';

/** A cluster that was not shut down recovers first; see START_TIMEOUT_MS. */
const ALONE_TIMEOUT_MS = 300_000;
/** The first superuser has this number in every cluster, and cannot lose the right. */
const FIRST_ROLE_OID = 10;

/** In a new cluster: one role, one database, and no way to log in as anybody else. */
export async function createRoleAndDatabase(
  place: Place,
  cluster: string,
  password: string,
): Promise<void> {
  await runAlone(place, cluster, 'postgres', [roleStatements(password), CREATE_DATABASE]);
}

/**
 * In the cluster of an older version: its superuser `sluice` becomes `sluice_setup`, and a new, ordinary
 * `sluice` of the same password gets the database and all that is in it. Also when that was interrupted.
 */
export async function demoteRole(place: Place, cluster: string, password: string): Promise<void> {
  await runAlone(place, cluster, 'postgres', [RENAME_SUPERUSER + roleStatements(password)]);
  const given = await tryAlone(place, cluster, DATABASE, [GIVE_DATABASE]);
  if (given === null) return;
  if (!given.includes(`database "${DATABASE}" does not exist`)) throw failed(cluster, given);
  await runAlone(place, cluster, 'postgres', [CREATE_DATABASE]);
}

const CREATE_DATABASE = `CREATE DATABASE ${DATABASE} OWNER ${ROLE};`;

/** The superuser of old, renamed by another one, as nobody renames himself. */
const RENAME_SUPERUSER = `
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE oid = ${FIRST_ROLE_OID} AND rolname = '${ROLE}') THEN
    CREATE ROLE sluice_renames SUPERUSER;
    SET SESSION AUTHORIZATION sluice_renames;
    ALTER ROLE ${ROLE} RENAME TO ${SETUP_ROLE};
    SET SESSION AUTHORIZATION ${SETUP_ROLE};
    DROP ROLE sluice_renames;
  END IF;
END $$;`;

/** @param password base64url, so it needs no quoting */
function roleStatements(password: string): string {
  return `
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${ROLE}') THEN
    CREATE ROLE ${ROLE};
  END IF;
END $$;
ALTER ROLE ${ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
  PASSWORD '${password}';
GRANT pg_monitor, pg_checkpoint TO ${ROLE};
ALTER ROLE ${SETUP_ROLE} PASSWORD NULL;`;
}

/**
 * Everything of the superuser's outside the system's schemas. REASSIGN OWNED refuses this role. Sequences
 * of a column go with their table. The database comes last and tells that all is done.
 */
const GIVE_DATABASE = `
DO $$
DECLARE
  statement text;
BEGIN
  FOR statement IN
    WITH ours AS (
      SELECT oid, nspname, nspowner FROM pg_namespace
      WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
    )
    SELECT format('ALTER SCHEMA %I OWNER TO ${ROLE}', nspname) FROM ours
    WHERE nspowner = ${FIRST_ROLE_OID}
    UNION ALL
    SELECT format('ALTER %s %s OWNER TO ${ROLE}',
      CASE relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
        WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'c' THEN 'TYPE' ELSE 'TABLE' END,
      c.oid::regclass)
    FROM pg_class c JOIN ours ON ours.oid = relnamespace
    WHERE relowner = ${FIRST_ROLE_OID} AND relkind IN ('r', 'p', 'S', 'v', 'm', 'f', 'c')
      AND NOT EXISTS (
        SELECT FROM pg_depend d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND c.relkind = 'S'
          AND d.deptype IN ('a', 'i')
      )
    UNION ALL
    SELECT format('ALTER ROUTINE %s OWNER TO ${ROLE}', p.oid::regprocedure)
    FROM pg_proc p JOIN ours ON ours.oid = pronamespace
    WHERE proowner = ${FIRST_ROLE_OID}
    UNION ALL
    SELECT format('ALTER TYPE %s OWNER TO ${ROLE}', t.oid::regtype)
    FROM pg_type t JOIN ours ON ours.oid = typnamespace
    WHERE typowner = ${FIRST_ROLE_OID} AND typtype IN ('d', 'e', 'r')
  LOOP
    EXECUTE statement;
  END LOOP;
END $$;
ALTER DATABASE ${DATABASE} OWNER TO ${ROLE};`;

/**
 * Runs SQL as the superuser on a cluster that no server runs on. With `-j` a blank line ends an input, and
 * each is a transaction of its own; the first error ends it all.
 *
 * @throws OperatorError with what PostgreSQL said
 */
export async function runAlone(
  place: Place,
  cluster: string,
  database: string,
  transactions: readonly string[],
): Promise<void> {
  const said = await tryAlone(place, cluster, database, transactions);
  if (said !== null) throw failed(cluster, said);
}

/** What PostgreSQL said about an error; null when there was none. */
async function tryAlone(
  { runtime, account }: Place,
  cluster: string,
  database: string,
  transactions: readonly string[],
): Promise<string | null> {
  const input = transactions
    .map((sql) => `${sql.trim().replaceAll(/\n\s*\n/g, '\n')}\n\n`)
    .join('');
  const settings = { exit_on_error: 'on', log_min_error_statement: 'panic', lc_messages: 'C' };
  const result = await runProgram(
    runtime.postgres,
    ['--single', '-j', '-D', cluster]
      .concat(Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]))
      .concat([database]),
    { account, timeoutMs: ALONE_TIMEOUT_MS, input },
  );
  return result.code === 0 ? null : result.output;
}

function failed(cluster: string, said: string): OperatorError {
  const lines = said.split('\n').filter((line) => /(?:ERROR|FATAL|PANIC|HINT): /.test(line));
  return new OperatorError(
    `PostgreSQL could not set up the roles in ${cluster}: ${oneLine((lines.length === 0 ? [said] : lines).join('\n'))}`,
  );
}
