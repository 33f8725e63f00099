/**
 * The cluster's two roles, and how they are set up.
 *
 *   sluice_setup   the superuser that every cluster must have; without a password, so it cannot log in
 *   sluice         logs in and owns its database; cannot read files, run programs or create roles
 *
 * Work that needs a superuser is done in PostgreSQL's single-user mode (`postgres --single`), over
 * standard input, while no server runs.
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
/** In a new cluster: creates the role and its database, and removes the superuser's password. */
export async function createRoleAndDatabase(
  installation: HeldInstallation,
  cluster: string,
  password: string,
): Promise<void> {
  await runAlone(installation, cluster, 'postgres', [roleStatements(password), CREATE_DATABASE]);
}

const CREATE_DATABASE = `CREATE DATABASE ${DATABASE} OWNER ${ROLE};`;

/** @param password base64url, so it needs no quoting */
function roleStatements(password: string): string {
  return `
CREATE ROLE ${ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
  PASSWORD '${password}';
GRANT pg_monitor, pg_checkpoint TO ${ROLE};
ALTER ROLE ${SETUP_ROLE} PASSWORD NULL;`;
}

/** Runs SQL as the superuser, without a server. Each element is one transaction; an error ends the run. */
export async function runAlone(
  { runtime, account, lockFd }: HeldInstallation,
  cluster: string,
  database: string,
  transactions: readonly string[],
): Promise<void> {
  const input = transactions
    .map((sql) => `${sql.trim().replaceAll(/\n\s*\n/g, '\n')}\n\n`)
    .join('');
  const settings = { exit_on_error: 'on', log_min_error_statement: 'panic', lc_messages: 'C' };
  const { code, output } = await runProgram(
    runtime.postgres,
    ['--single', '-j', '-D', cluster]
      .concat(Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]))
      .concat([database]),
    { account, timeoutMs: ALONE_TIMEOUT_MS, input, inherited: lockFd },
  );
  if (code === 0) return;
  const lines = output.split('\n').filter((line) => /(?:ERROR|FATAL|PANIC|HINT): /.test(line));
  const said = lines.length === 0 ? output : lines.join('\n');
  throw new OperatorError(`PostgreSQL could not set up the roles in ${cluster}: ${oneLine(said)}`);
}
