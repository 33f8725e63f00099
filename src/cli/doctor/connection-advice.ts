/** Advice for a failed connection to PostgreSQL, by the error of the server or of the system. */

const ADVICE: Readonly<Record<string, (setting: string) => string>> = {
  ECONNREFUSED: (setting) => `Start PostgreSQL, or correct host and port in ${setting}.`,
  ENOTFOUND: (setting) => `Correct the host in ${setting}, or the name service of this machine.`,
  EAI_AGAIN: (setting) => `Correct the host in ${setting}, or the name service of this machine.`,
  // invalid_password, and invalid_authorization_specification, as without a line in pg_hba.conf
  '28P01': (setting) => `Correct user and password in ${setting}, or ALTER ROLE … PASSWORD.`,
  '28000': (setting) =>
    `Correct the user in ${setting}, or admit it and this machine in pg_hba.conf of the server.`,
  '3D000': (setting) =>
    `CREATE DATABASE … OWNER the user of ${setting}, or correct the name of the database in it.`,
  // too_many_connections
  '53300': () => 'Raise max_connections, or close connections (pg_stat_activity lists them).',
  // cannot_connect_now
  '57P03': () => 'Wait until PostgreSQL has started; its log says what it does.',
};

/** Of the error, or of the first of several addresses. */
function codeOf(error: unknown): string {
  const { code, errors, cause } = error as {
    readonly code?: unknown;
    readonly errors?: readonly unknown[];
    readonly cause?: unknown;
  };
  if (typeof code === 'string') return code;
  const inner = errors?.[0] ?? cause;
  return inner == null ? '' : codeOf(inner);
}

export function connectionAdvice(error: unknown, setting: string): string {
  const advice = ADVICE[codeOf(error)];
  return (
    advice?.(setting) ??
    `Correct ${setting}. PostgreSQL's log may say why; a firewall may be between.`
  );
}
