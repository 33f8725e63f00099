/** Answers outside ingest: JSON, and errors as `application/problem+json` (RFC 9457). */

import { ERRORS, SluiceError } from '../../errors.ts';
import type { JsonObject } from '../../model/json.ts';
import type { Events } from '../../observe/events.ts';
import type { BodyOf } from '../api/openapi/component.ts';
import type { problemBody } from '../api/openapi/error-schema.ts';
import type { Answer, HeaderList } from './exchange.ts';
import { InvalidInput } from './invalid-input.ts';

export const JSON_TYPE = 'application/json';
export const PROBLEM_TYPE = 'application/problem+json';

/** 200 with a JSON body. */
export function json(body: unknown, status = 200): Answer {
  return { status, contentType: JSON_TYPE, body: JSON.stringify(body) };
}

/** RFC 9110 requires a scheme. Sessions have none; this one makes no browser show a prompt. */
function challengeOf({ code }: SluiceError): string {
  return code === 'not_signed_in' || code === 'sign_in_failed' ? 'Session' : 'Bearer';
}

/** The headers of an error, whatever the form of its body. */
export function errorHeaders(error: SluiceError): HeaderList {
  const headers: [string, string][] = [];
  if (ERRORS[error.code].status === 401) headers.push(['www-authenticate', challengeOf(error)]);
  if (error.retryAfterSeconds !== null) {
    headers.push(['retry-after', String(error.retryAfterSeconds)]);
  }
  return headers;
}

/**
 * An error as problem+json.
 *
 * @param members further members of the body
 */
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
  };
  const hasReason = status === 401 || status === 403 || error.code === 'other_workspace';
  const reason = hasReason ? { reason: error.code } : {};
  const errors =
    error instanceof InvalidInput
      ? { errors: error.faults.map(({ path, message }) => ({ path, message })) }
      : {};
  return {
    status,
    contentType: PROBLEM_TYPE,
    headers: [...errorHeaders(error), ...headers],
    body: JSON.stringify({ ...body, ...reason, ...errors, ...members }),
  };
}

/**
 * The error of the table that is answered for what was thrown, after it was reported: an exception that
 * nobody expected, and every 503.
 *
 * @param place of the route, for the log and the counters
 */
export function answeredError(
  thrown: unknown,
  place: string,
  events: Pick<Events, 'requestFailed' | 'requestUnavailable'>,
): SluiceError {
  const error = toSluiceError(thrown);
  if (error !== thrown) events.requestFailed(place, thrown);
  if (ERRORS[error.code].status === 503) events.requestUnavailable(place, error.reason);
  return error;
}

/** The error of the table that was thrown; any other exception becomes a retryable one (errors.ts). */
export function toSluiceError(thrown: unknown): SluiceError {
  if (thrown instanceof SluiceError) return thrown;
  return new SluiceError('store_unavailable', 'The server cannot answer this request right now.', {
    cause: thrown,
  });
}
