/** Tells a database that is away, overloaded or slow from a defect of this server. */
import { UnavailableError } from '../../errors.ts';
import { isConnectionError } from '../../observe/error-facts.ts';

const SQLSTATE_CHARS = 5;
/**
 * SQLSTATEs, or their beginnings, of a statement that may succeed later: a standby after a failover,
 * rollbacks for other transactions, a lack of resources, time limits, a fault of the disk.
 */
const TRANSIENT_STATES = ['25006', '40', '53', '55P03', '57014', '58'];
/** Message of pg at its own time limit. */
const TRANSIENT_MESSAGES = /^Query read timeout$/;

/** Checks whether the database is away, overloaded or too slow, so that trying again may help. */
export function isTransient(error: unknown): boolean {
  if (isConnectionError(error) || error instanceof UnavailableError) return true;
  if (!(error instanceof Error)) return false;
  const code: unknown = Reflect.get(error, 'code');
  if (typeof code !== 'string') return TRANSIENT_MESSAGES.test(error.message);
  return code.length === SQLSTATE_CHARS && TRANSIENT_STATES.some((state) => code.startsWith(state));
}
