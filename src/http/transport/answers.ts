/** Answers outside ingest: JSON, pages, files, and errors as `application/problem+json` (RFC 9457). */
import { randomBytes } from 'node:crypto';
import { ERRORS, SluiceError, UnavailableError } from '../../errors.ts';
import type { JsonObject } from '../../model/json.ts';
import { isConnectionError } from '../../observe/error-facts.ts';
import type { Events } from '../../observe/events.ts';
import type { BodyOf, problemBody } from '../api/openapi/component.ts';
import type { Answer, Exchange, HeaderList, StreamedAnswer } from './exchange.ts';
import { InvalidInput } from './input.ts';

export const JSON_TYPE = 'application/json';
export const PROBLEM_TYPE = 'application/problem+json';

const ID_BYTES = 8;

/** An exception that nobody expected. The log line with its `id` says where it was thrown. */
export class UnexpectedError extends SluiceError {
  /** 16 hexadecimal digits */
  readonly id: string;

  constructor(code: 'internal_error' | 'not_stored', cause: unknown) {
    const id = randomBytes(ID_BYTES).toString('hex');
    const what = code === 'not_stored' ? 'The request could not be stored' : 'The request failed';
    super(code, `${what} because of an error in this server. Its log has the id ${id}.`, { cause });
    this.id = id;
  }
}

export function json(body: unknown, status = 200): Answer {
  return { status, contentType: JSON_TYPE, body: JSON.stringify(body) };
}

/** RFC 9110 requires a scheme. Sessions have none; this one makes no browser show a prompt. */
function challengeOf({ code }: SluiceError): string {
  return code === 'not_signed_in' || code === 'sign_in_failed' ? 'Session' : 'Bearer';
}

export function errorHeaders(error: SluiceError): HeaderList {
  const headers: [string, string][] = [];
  if (ERRORS[error.code].status === 401) headers.push(['www-authenticate', challengeOf(error)]);
  if (error.retryAfterSeconds !== null) {
    headers.push(['retry-after', String(error.retryAfterSeconds)]);
  }
  return headers;
}

export function problem(
  error: SluiceError,
  members: JsonObject = {},
  headers: HeaderList = [],
): Answer {
  const { status, title } = ERRORS[error.code];
  const body: BodyOf<typeof problemBody> = {
    type: `/docs/errors#${error.code}`,
    title,
    status,
    detail: error.message,
    reason: error.code,
  };
  const errors =
    error instanceof InvalidInput
      ? { errors: error.faults.map(({ path, message }) => ({ path, message })) }
      : {};
  const id = error instanceof UnexpectedError ? { id: error.id } : {};
  return {
    status,
    contentType: PROBLEM_TYPE,
    headers: [...errorHeaders(error), ...headers],
    body: JSON.stringify({ ...body, ...errors, ...id, ...members }),
  };
}

type AnswerPlace = 'app' | 'cli' | 'dispatch' | 'ingest' | 'mcp' | 'read';

/**
 * Returns the error of the table to answer for what was thrown. Reports every 503, and every exception
 * that is not in the table, with its route and stack frames.
 */
export function answeredError(
  thrown: unknown,
  place: AnswerPlace,
  { method, route }: Pick<Exchange, 'method' | 'route'>,
  events: Pick<Events, 'requestFailed' | 'requestUnavailable'>,
): SluiceError {
  const error = toSluiceError(thrown, place);
  const id = error instanceof UnexpectedError ? error.id : null;
  if (error !== thrown) events.requestFailed(place, thrown, { method, route, id });
  if (ERRORS[error.code].status === 503) events.requestUnavailable(place, error.reason);
  return error;
}

export function toSluiceError(thrown: unknown, place: AnswerPlace): SluiceError {
  if (thrown instanceof SluiceError) return thrown;
  if (isTransient(thrown)) {
    return new SluiceError('store_unavailable', 'The database cannot answer right now.', {
      cause: thrown,
    });
  }
  return new UnexpectedError(place === 'ingest' ? 'not_stored' : 'internal_error', thrown);
}

const SQLSTATE_CHARS = 5;
/**
 * SQLSTATEs, or their beginnings, of a statement that may succeed later: a standby after a failover,
 * rollbacks for other transactions, a lack of resources, time limits, a fault of the disk.
 */
const TRANSIENT_STATES = ['25006', '40', '53', '55P03', '57014', '58'];
/** Message of pg at its own time limit. */
const TRANSIENT_MESSAGES = /^Query read timeout$/;

/** Checks whether the database is away, overloaded or too slow, so that trying again may help. */
function isTransient(error: unknown): boolean {
  if (isConnectionError(error) || error instanceof UnavailableError) return true;
  if (!(error instanceof Error)) return false;
  const code: unknown = Reflect.get(error, 'code');
  if (typeof code !== 'string') return TRANSIENT_MESSAGES.test(error.message);
  return code.length === SQLSTATE_CHARS && TRANSIENT_STATES.some((state) => code.startsWith(state));
}

/**
 * Everything is loaded from this server, scripts only from files, and no other site may frame a page
 * or receive a form (CSP 3).
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const PAGE_HEADERS: HeaderList = [
  ['content-security-policy', CONTENT_SECURITY_POLICY],
  ['referrer-policy', 'same-origin'],
  ['cross-origin-opener-policy', 'same-origin'],
];

/** A page that may differ per user, so it is not cached. */
export function pageAnswer(body: string, status = 200, headers: HeaderList = []): Answer {
  return {
    status,
    contentType: 'text/html; charset=utf-8',
    headers: [...PAGE_HEADERS, ['cache-control', 'no-store'], ...headers],
    body,
  };
}

/** Redirects. @param location a path of this server, or a provider's URL */
export function redirect(location: string, headers: HeaderList = []): Answer {
  return {
    status: 303,
    contentType: 'text/plain; charset=utf-8',
    headers: [['location', location], ['cache-control', 'no-store'], ...headers],
    // Not empty: an answer without a body closes its connection (`unsent-answers.ts`).
    body: 'See the address in the Location header.\n',
  };
}

/** The headers of a file that browsers save under a name. */
export const attachment = (name: string): HeaderList => [
  ['content-disposition', `attachment; filename="${name}"`],
  ['cache-control', 'no-store'],
];

/**
 * A streamed answer that is cut off when its reader loses access: a revoked key, an ended session,
 * a lost membership. Access is checked before every chunk. The transfer is aborted, so the client
 * cannot mistake it for complete.
 */

/** @param check throws when the reader has lost access */
export function revocable(
  answer: StreamedAnswer,
  check: () => Promise<unknown> | unknown,
): StreamedAnswer {
  async function* chunks(): AsyncGenerator<Buffer> {
    for await (const chunk of answer.chunks) {
      await check();
      yield chunk;
    }
  }
  return { ...answer, chunks: chunks() };
}
