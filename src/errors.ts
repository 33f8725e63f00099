/**
 * The one error table. Every refusal a client can see has its line here: code, HTTP status, the
 * google.rpc.Code that OTLP answers carry, and whether trying again can help.
 *
 * An exception that is not in the table is `store_unavailable` if the database is away, else
 * `internal_error`. On ingest it is `not_stored`, which is retryable: OTLP clients give up on every
 * status but 429, 502, 503 and 504 (OTLP spec, "Failures").
 */

interface ErrorEntry {
  readonly status: number;
  /** google.rpc.Code */
  readonly rpcCode: number;
  readonly title: string;
  readonly retryable: boolean;
}

export const ERRORS = {
  bad_request: { status: 400, rpcCode: 3, title: 'Bad request', retryable: false },
  bad_path: { status: 400, rpcCode: 3, title: 'Bad path parameter', retryable: false },
  bad_query: { status: 400, rpcCode: 3, title: 'Bad query parameter', retryable: false },
  bad_body: { status: 400, rpcCode: 3, title: 'Bad request body', retryable: false },
  undecodable_body: { status: 400, rpcCode: 3, title: 'Invalid OTLP body', retryable: false },
  unstorable_rows: { status: 400, rpcCode: 3, title: 'Rejected by PostgreSQL', retryable: false },
  missing_credential: { status: 401, rpcCode: 16, title: 'Missing credentials', retryable: false },
  invalid_credential: { status: 401, rpcCode: 16, title: 'Invalid credentials', retryable: false },
  not_signed_in: { status: 401, rpcCode: 16, title: 'Not signed in', retryable: false },
  sign_in_failed: { status: 401, rpcCode: 16, title: 'Sign-in failed', retryable: false },
  wrong_key_kind: { status: 403, rpcCode: 7, title: 'Wrong kind of key', retryable: false },
  session_required: { status: 403, rpcCode: 7, title: 'Session required', retryable: false },
  cross_origin: { status: 403, rpcCode: 7, title: 'Cross-origin request', retryable: false },
  role_required: { status: 403, rpcCode: 7, title: 'Insufficient role', retryable: false },
  plan_required: { status: 403, rpcCode: 7, title: 'Not included in the plan', retryable: false },
  no_account: { status: 403, rpcCode: 7, title: 'No account', retryable: false },
  not_found: { status: 404, rpcCode: 5, title: 'Not found', retryable: false },
  method_not_allowed: { status: 405, rpcCode: 12, title: 'Method not allowed', retryable: false },
  conflict: { status: 409, rpcCode: 9, title: 'Conflict', retryable: false },
  other_workspace: {
    status: 409,
    rpcCode: 9,
    title: 'Another workspace is open',
    retryable: false,
  },
  rule_refused: { status: 409, rpcCode: 9, title: 'Rule cannot run', retryable: false },
  // Not 408: OTLP clients would drop the batch, though it may be the server that paused.
  body_timeout: { status: 503, rpcCode: 4, title: 'Request body timed out', retryable: true },
  answer_timeout: { status: 503, rpcCode: 4, title: 'Not stored in time', retryable: true },
  bare_path_gone: { status: 410, rpcCode: 5, title: 'Not served on this host', retryable: false },
  body_too_large: { status: 413, rpcCode: 3, title: 'Body too large', retryable: false },
  unsupported_type: {
    status: 415,
    rpcCode: 3,
    title: 'Unsupported content type',
    retryable: false,
  },
  unsupported_encoding: {
    status: 415,
    rpcCode: 3,
    title: 'Unsupported content encoding',
    retryable: false,
  },
  unknown_host: { status: 421, rpcCode: 7, title: 'Unknown host', retryable: false },
  rate_limited: { status: 429, rpcCode: 8, title: 'Rate limit exceeded', retryable: true },
  too_many_attempts: { status: 429, rpcCode: 8, title: 'Too many attempts', retryable: true },
  overloaded: { status: 503, rpcCode: 14, title: 'Overloaded', retryable: true },
  store_unavailable: { status: 503, rpcCode: 14, title: 'Database unavailable', retryable: true },
  not_stored: { status: 503, rpcCode: 14, title: 'Not stored', retryable: true },
  provider_unavailable: {
    status: 503,
    rpcCode: 14,
    title: 'Sign-in provider unavailable',
    retryable: true,
  },
  internal_error: { status: 500, rpcCode: 13, title: 'Internal error', retryable: false },
  shutting_down: { status: 503, rpcCode: 14, title: 'Shutting down', retryable: true },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

export type Shortage =
  | 'unknown_keys'
  | 'key_lookups'
  | 'exports'
  | 'bodies'
  | 'large_bodies'
  | 'connections'
  | 'inflight_rows'
  | 'sign_ins'
  | 'command_line_logins';

/**
 * A refusal with its table line; `message` is written for the client and holds none of its data.
 */
export class SluiceError extends Error {
  readonly code: ErrorCode;
  /** seconds after which trying again makes sense; only with retryable codes */
  readonly retryAfterSeconds: number | null;
  /** for the counter of requests answered 503: the code, or what had no room */
  readonly reason: string;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; retryAfterSeconds?: number; shortage?: Shortage } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SluiceError';
    this.code = code;
    this.reason = options.shortage ?? code;
    this.retryAfterSeconds = options.retryAfterSeconds ?? (ERRORS[code].retryable ? 1 : null);
  }
}

/** Reports that a request was dropped because nobody awaits its answer any more. */
export function unawaited(): SluiceError {
  return new SluiceError('answer_timeout', 'The request was dropped: nobody awaits its answer.');
}

/**
 * Something that this process needs is away or took too long; the same call may succeed later. For
 * errors without a code that says so.
 */
export class UnavailableError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'UnavailableError';
  }
}

/** A mistake of the operator: shown as one line, without a stack. */
export class OperatorError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'OperatorError';
  }
}
