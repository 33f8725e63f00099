/**
 * Errors of PostgreSQL that are caused by the server's state, not by the statement or its rows: the
 * same statement may succeed later.
 *
 * Not in the list on purpose: 57014 (statement_timeout), 57P02 (a crash, which the statement
 * may have caused), 53200 (out of memory, the same).
 */

/** read_only_sql_transaction: a standby, after a failover */
const READ_ONLY = '25006';

/** SQLSTATEs, or their beginnings (PostgreSQL manual, appendix A). */
const OUTAGE_STATES = [
  '08', // connection exception
  READ_ONLY,
  '28', // invalid authorization
  '3D', // no such database
  '53100', // disk full
  '53300', // too many connections
  '57P01', // shutting down
  '57P03', // starting up
] as const;

/** Checks whether the server takes no writes, as a standby after a failover; another one may. */
export function isReadOnly(error: unknown): error is Error {
  return error instanceof Error && Reflect.get(error, 'code') === READ_ONLY;
}

/**
 * Checks whether the server's state caused an error. False for errors without a SQLSTATE (sockets, pg
 * itself): a statement may itself break its connection.
 */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' && OUTAGE_STATES.some((state) => code.startsWith(state));
}
