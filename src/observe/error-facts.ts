/**
 * The part of an error that may be logged: never customers' text.
 *
 * PostgreSQL puts values into the messages of data errors and into `detail`, so of these errors only
 * the code is logged.
 */

export interface ErrorFacts {
  readonly error: string;
  readonly code?: string;
  readonly message?: string;
  readonly at?: string;
}

/**
 * SQLSTATE classes of errors in the rows themselves: data exception, integrity constraint, program
 * limit exceeded (JSON nested too deeply, a value too long for an index).
 */
const DATA_ERROR_CLASSES = new Set(['22', '23', '54']);
const SQLSTATE_CHARS = 5;

function textProperty(value: object, key: string): string | undefined {
  const found: unknown = Reflect.get(value, key);
  return typeof found === 'string' ? found : undefined;
}

/** Whether PostgreSQL refused the rows it was given: sending them again cannot help. */
export function isDataError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = textProperty(error, 'code');
  return code?.length === SQLSTATE_CHARS && DATA_ERROR_CLASSES.has(code.slice(0, 2));
}

/** SQLSTATEs, or their beginnings, of a server that takes no connection or has closed one. */
const CONNECTION_STATES = ['08', '53300', '57P'];
/** Of the socket. ENOENT: the embedded server's is away. */
const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/** Messages of pg and pg-pool for errors without a code. */
const CONNECTION_MESSAGES = /^Connection terminated|timeout exceeded when trying to connect/;

/** Whether a connection to the database was refused, lost, or not made in time. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = textProperty(error, 'code');
  if (code === undefined) return CONNECTION_MESSAGES.test(error.message);
  if (SOCKET_CODES.has(code)) return true;
  const isState = code.length === SQLSTATE_CHARS;
  return isState && CONNECTION_STATES.some((state) => code.startsWith(state));
}

/** Names an error by kind, code and (where it cannot hold customers' text) message. */
export function errorFacts(error: unknown): ErrorFacts {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = textProperty(error, 'code');
  const table = textProperty(error, 'table');
  return {
    error: error.name,
    ...(code === undefined ? {} : { code }),
    ...(isDataError(error) ? {} : { message: error.message }),
    ...(table === undefined ? {} : { at: table }),
  };
}
