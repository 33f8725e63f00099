/**
 * The cluster's two roles, and how they are set up.
 *
 *   sluice_setup   the superuser that every cluster must have; without a password, so it cannot log in
 *   sluice         logs in and owns its database; cannot read files, run programs or create roles
 *
 * What needs a superuser is done in PostgreSQL's single-user mode (`postgres --single`), over
 * standard input, while no server runs. Older versions made `sluice` the superuser; `demoteRole`
 * upgrades their clusters, in two transactions that can be repeated.
 */
import { OperatorError } from '../../errors.ts';
import type { HeldInstallation } from './installation.ts';
import { oneLine, runProgram } from './process.ts';

export const SETUP_ROLE = 'sluice_setup';
/** The role for everything but the set-up, and its database. */
export const ROLE = 'sluice';
export const DATABASE = 'sluice';

/** Crash recovery comes first; as START_TIMEOUT_MS. */
const ALONE_TIMEOUT_MS = 300_000;
/**
 * The bootstrap superuser's oid in every cluster; PostgreSQL does not let it lose the attribute.
 */
const FIRST_ROLE_OID = 10;

/**
 * In a new cluster: creates the role and its database, and removes the superuser's password.
 *
 * @throws OperatorError with what PostgreSQL said
 */
export async function createRoleAndDatabase(
  installation: HeldInstallation,
  cluster: string,
  password: string,
): Promise<void> {
  await runAlone(installation, cluster, 'postgres', [roleStatements(password), CREATE_DATABASE]);
}

/**
 * In the cluster of an older version: renames its superuser `sluice` to `sluice_setup` and gives
 * the database with all its objects to a new, ordinary `sluice` of the same password. Completes an
 * interrupted upgrade.
 *
 * @throws OperatorError with what PostgreSQL said; the data is unchanged, and it can be called
 *   again
 */
export async function demoteRole(
  installation: HeldInstallation,
  cluster: string,
  password: string,
): Promise<void> {
  await runAlone(installation, cluster, 'postgres', [RENAME_SUPERUSER + roleStatements(password)]);
  const given = await tryAlone(installation, cluster, DATABASE, [GIVE_DATABASE]);
  if (given === null) return;
  if (!given.includes(`database "${DATABASE}" does not exist`)) throw failed(cluster, given);
  await runAlone(installation, cluster, 'postgres', [CREATE_DATABASE]);
}

const CREATE_DATABASE = `CREATE DATABASE ${DATABASE} OWNER ${ROLE};`;

/** By a second superuser, because a session cannot rename its own role. */
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
 * Changes the owner of everything outside the system schemas; REASSIGN OWNED refuses the bootstrap
 * superuser. Sequences of a column follow their table. The database's owner, changed in the same
 * transaction, marks the upgrade as complete (`logIn`).
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
 * Runs SQL as the superuser on a cluster without a running server. Each element is one transaction
 * (`-j`: a blank line ends it); the first error ends the run.
 *
 * @throws OperatorError with what PostgreSQL said
 */
export async function runAlone(
  installation: HeldInstallation,
  cluster: string,
  database: string,
  transactions: readonly string[],
): Promise<void> {
  const said = await tryAlone(installation, cluster, database, transactions);
  if (said !== null) throw failed(cluster, said);
}

/** PostgreSQL's output about an error; null when there was none. */
async function tryAlone(
  { runtime, account, lockFd }: HeldInstallation,
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
    { account, timeoutMs: ALONE_TIMEOUT_MS, input, inherited: lockFd },
  );
  return result.code === 0 ? null : result.output;
}

function failed(cluster: string, said: string): OperatorError {
  const lines = said.split('\n').filter((line) => /(?:ERROR|FATAL|PANIC|HINT): /.test(line));
  return new OperatorError(
    `PostgreSQL could not set up the roles in ${cluster}: ${oneLine((lines.length === 0 ? [said] : lines).join('\n'))}`,
  );
}
