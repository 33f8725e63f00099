/**
 * The part of an error that may be logged: never customers' text.
 *
 * PostgreSQL puts values into the messages of data errors and into `detail`, and JSON.parse quotes
 * what it cannot parse, so of these errors only kind and code are logged.
 */

export interface ErrorFacts {
  readonly error: string;
  readonly code?: string;
  readonly message?: string;
  readonly at?: string;
}

export interface FailedRequest {
  readonly method?: string;
  /** path of its route, with `{name}` for parameters */
  readonly route?: string;
  /** in its answer, if the error is one that nobody expected */
  readonly id?: string | null;
}

/**
 * SQLSTATE classes of errors in the rows themselves: data exception, integrity constraint, program
 * limit exceeded (JSON nested too deeply, a value too long for an index).
 */
const DATA_ERROR_CLASSES = new Set(['22', '23', '54']);
const SQLSTATE_CHARS = 5;
/** The beginning of a stack frame's line. */
const FRAME = /^ {4}at /;

function textProperty(value: object, key: string): string | undefined {
  const found: unknown = Reflect.get(value, key);
  return typeof found === 'string' ? found : undefined;
}

/** Checks whether PostgreSQL refused the rows it was given: sending them again cannot help. */
export function isDataError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = textProperty(error, 'code');
  return code?.length === SQLSTATE_CHARS && DATA_ERROR_CLASSES.has(code.slice(0, 2));
}

/** Checks whether an error's message may quote its input: JSON.parse and BigInt do. */
function quotesData(error: Error): boolean {
  return isDataError(error) || error instanceof SyntaxError;
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

/** Checks whether a connection to the database was refused, lost, or not made in time. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = textProperty(error, 'code');
  if (code === undefined) return CONNECTION_MESSAGES.test(error.message);
  if (SOCKET_CODES.has(code)) return true;
  const isState = code.length === SQLSTATE_CHARS;
  return isState && CONNECTION_STATES.some((state) => code.startsWith(state));
}

const FRAMES_MAX = 20;

/** Returns the stack frames of an error, innermost first: `name (file:line:column)`, no message. */
export function framesOf(error: unknown): string[] {
  if (!(error instanceof Error) || error.stack === undefined) return [];
  const { message, stack } = error;
  const at = stack.indexOf(message);
  // The message may hold any text, lines that look like frames as well.
  return stack
    .slice(at < 0 ? 0 : at + message.length)
    .split('\n')
    .filter((line) => FRAME.test(line))
    .slice(0, FRAMES_MAX)
    .map((line) => line.replace(FRAME, ''));
}

/** Names an error by kind, code and (where it cannot hold customers' text) message. */
export function errorFacts(error: unknown): ErrorFacts {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = textProperty(error, 'code');
  const table = textProperty(error, 'table');
  return {
    error: error.name,
    ...(code === undefined ? {} : { code }),
    ...(quotesData(error) ? {} : { message: error.message }),
    ...(table === undefined ? {} : { at: table }),
  };
}
