/**
 * The three OTLP endpoints: refuse early and cheaply, read, decode, store, respond after the
 * commit.
 *
 * Checks are made in this order: key, rate, content type, encoding, declared length, body. Memory
 * for a body of declared length is reserved before it is read, except for bytes that came with the
 * head (`body-gate.ts`).
 */
import { ERRORS, SluiceError } from '../../errors.ts';
import type {
  Ingest,
  IngestRequest,
  IngestResult,
  RequestSource,
  StoredAnswer,
} from '../../ingest/ingest.ts';
import type { Credential } from '../../model/people.ts';
import { NOTHING_KNOWN } from '../../model/refused-requests.ts';
import type { Signal } from '../../model/telemetry.ts';
import type { Events, RequestTrace } from '../../observe/events.ts';
import { readDeduplicate } from '../../otlp/deduplicate-header.ts';
import type { Pieces } from '../../otlp/pieces.ts';
import { encodeStatus, type FieldViolation } from '../../otlp/responses.ts';
import { withinLimit } from '../../time-limit.ts';
import type { BodyOf, gone } from '../api/openapi/component.ts';
import { type AdmissionDependencies, admit } from '../limits/authentication.ts';
import type { RefusedRequests } from '../limits/refused-requests.ts';
import type { Turns } from '../limits/turns.ts';
import { answeredError, errorHeaders, JSON_TYPE } from '../transport/answers.ts';
import {
  type Answer,
  bodyTooLarge,
  type Exchange,
  type HeaderList,
  noRoom,
} from '../transport/exchange.ts';
import type { Handler, Route } from '../transport/router.ts';
import type { AdmittedBody, BodyGate } from './body-gate.ts';
import { type ByteBudget, beyond } from './byte-budget.ts';
import { type ContentDecoder, checkEncoding } from './content-encoding.ts';
import { type AllowedOrigins, crossOriginHeaders, preflightRoutes } from './cross-origin.ts';

/** Most bytes kept of the body of a request that PostgreSQL refuses. */
const KEPT_BODY_BYTES_MAX = 256 * 1024;

export const BASE_PATHS: Readonly<Record<Signal, string>> = {
  traces: '/platform/v1/ingest/otel',
  metrics: '/platform/v1/ingest/otel/metrics',
  logs: '/platform/v1/ingest/otel/logs',
};

export const TYPE_MESSAGE =
  'Content-Type must be application/json; protobuf is not supported. ' +
  'Set OTEL_EXPORTER_OTLP_PROTOCOL=http/json in the exporter; if it sends only protobuf, run ' +
  '`sluice relay` beside it.';

export const BARE_PATHS: Readonly<Record<Signal, string>> = {
  traces: '/v1/traces',
  metrics: '/v1/metrics',
  logs: '/v1/logs',
};

const SIGNALS: readonly Signal[] = ['traces', 'metrics', 'logs'];

/** Redacts a body, and counts by pattern. */
type Redact = (body: Buffer) => Pieces<{
  readonly body: Buffer;
  readonly refused: number;
  readonly counts: ReadonlyMap<string, number>;
}>;

export interface RejectedBody {
  readonly workspaceId: number;
  readonly signal: Signal;
  /** the decoded body, or its beginning */
  readonly body: Buffer;
  readonly bodyBytes: number;
  readonly error: unknown;
}

export interface IngestDependencies extends AdmissionDependencies, AnswerLimitSettings {
  /** admits bodies; reserves their bytes from the head to the response */
  readonly gate: BodyGate;
  /** the budget for rows; only checked here, reserved by the store */
  readonly rowBudget: Pick<ByteBudget, 'hasRoom'>;
  readonly maxBodyBytes: number;
  readonly maxDecodedBodyBytes: number;
  readonly ingest: Pick<Ingest, 'decode'>;
  readonly contentDecoder: ContentDecoder;
  /** bodies are decoded in pieces, workspaces in turn */
  readonly turns: Turns;
  /** stores a request that PostgreSQL refused, for the operator */
  readonly keepRejected: (rejected: RejectedBody) => Promise<void>;
  /** null unless the workspace redacts before it stores */
  readonly redactorOf: (credential: Credential) => Redact | null;
  /** counts refusals, for the sender's workspace or the operator */
  readonly refused: Pick<RefusedRequests, 'note' | 'noteNothingKnown'>;
  readonly events: Pick<
    Events,
    | 'requestAnswered'
    | 'requestBegun'
    | 'recordsRejected'
    | 'requestFailed'
    | 'requestUnavailable'
    | 'textsRedacted'
  >;
}

/** An undecodable body, with the path of the fault, which the message contains too. */
class UndecodableBody extends SluiceError {
  readonly violations: readonly FieldViolation[];
  constructor(message: string, path: string) {
    super('undecodable_body', message);
    this.violations = path === '' ? [] : [{ field: path, description: message }];
  }
}

/** An error as google.rpc.Status, which OTLP requires. */
export function statusAnswer(error: SluiceError, headers: HeaderList = []): Answer {
  const violations = error instanceof UndecodableBody ? error.violations : [];
  return {
    status: ERRORS[error.code].status,
    contentType: JSON_TYPE,
    headers: [...errorHeaders(error), ...headers],
    body: encodeStatus(error.code, error.message, violations),
  };
}

function checkHead(exchange: Exchange, { maxBodyBytes }: IngestDependencies): void {
  const mediaType = exchange.contentType.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== JSON_TYPE) {
    throw new SluiceError('unsupported_type', TYPE_MESSAGE);
  }
  checkEncoding(exchange.contentEncoding);
  readDeduplicate(exchange.deduplicate);
  if (exchange.contentLength !== null && exchange.contentLength > maxBodyBytes) {
    throw bodyTooLarge(maxBodyBytes);
  }
}

interface DecodedBody extends Pick<RejectedBody, 'body' | 'bodyBytes'> {
  readonly request: IngestRequest;
}

async function readAndDecode(
  exchange: Exchange,
  signal: Signal,
  credential: Credential,
  account: AdmittedBody,
  deps: IngestDependencies,
  trace: RequestTrace | null,
): Promise<DecodedBody | null> {
  const { maxBodyBytes, maxDecodedBodyBytes, answerMs, ingest, contentDecoder, turns } = deps;
  const { reserve } = account;
  const { workspaceId } = credential;
  const wire = await exchange.readBody({
    bytesMax: maxBodyBytes,
    deadlineMs: Math.max(0, bodyLimitMs(answerMs) - exchange.ageMs),
    reserve: beyond(exchange.contentLength ?? 0, reserve),
  });
  if (wire === null) return null;
  trace?.('body read', { bytes: wire.length });
  const deduplicates = readDeduplicate(exchange.deduplicate);
  const takeTurn = <T>(work: () => T): Promise<T> => turns.take(workspaceId, work);
  const allocate = (bytes: number): Buffer => exchange.allocate(bytes);
  const whenUnawaited = (listener: () => void): void => exchange.whenUnawaited(listener);
  const bytesMax = maxDecodedBodyBytes;
  const redact = redactOf(credential, reserve, deps);
  const limits = { workspaceId, bytesMax, reserve, allocate, takeTurn, whenUnawaited };
  const decoded = await contentDecoder.decode(
    wire,
    exchange.contentEncoding,
    limits,
    async (body) => {
      const result = await turns.takeInPieces(
        workspaceId,
        ingest.decode(signal, body, { workspaceId, whenUnawaited, redact }, deduplicates),
        body.length,
      );
      return decodedBody(exchange, result);
    },
  );
  account.decoded();
  const { bodyBytes, request } = decoded;
  trace?.('decoded', { bytes: bodyBytes, rejections: request.rejections.length });
  return decoded;
}

/** The copy that redaction makes counts as memory of the body. */
function redactOf(
  credential: Credential,
  reserve: AdmittedBody['reserve'],
  { redactorOf, events }: IngestDependencies,
): RequestSource['redact'] {
  const redactor = redactorOf(credential);
  if (redactor === null) return null;
  return function* (body) {
    const redacted = yield* redactor(body);
    if (redacted.body !== body && !reserve(redacted.body.length)) throw noRoom();
    events.textsRedacted(redacted.counts);
    return redacted;
  };
}

function decodedBody(exchange: Exchange, result: IngestResult): DecodedBody {
  if (!result.ok) throw new UndecodableBody(result.message, result.path);
  const { request } = result;
  const { body } = request;
  const bodyBytes = body.length;
  // A large body that was decoded in another process is not in memory until the commit.
  const isKept = request.readsBody || bodyBytes <= KEPT_BODY_BYTES_MAX;
  const kept = isKept
    ? body.subarray(0, KEPT_BODY_BYTES_MAX)
    : exchange.keepBeginning(body, KEPT_BODY_BYTES_MAX);
  return { request, body: kept, bodyBytes };
}

/** Stores the rows; keeps a request that PostgreSQL refuses for its data, for the operator. */
async function store(
  { request, body, bodyBytes }: DecodedBody,
  workspaceId: number,
  { keepRejected, events }: IngestDependencies,
): Promise<StoredAnswer> {
  try {
    return await request.store();
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'unstorable_rows') {
      const { signal } = request;
      const rejected = { workspaceId, signal, body, bodyBytes, error: error.cause };
      await keepRejected(rejected).catch((fault: unknown) =>
        events.requestFailed('rejected_requests', fault),
      );
    }
    throw error;
  }
}

/** @returns null if the client left, or the request was refused, before its body was complete */
async function ingestRequest(
  exchange: Exchange,
  signal: Signal,
  deps: IngestDependencies,
  trace: RequestTrace | null,
): Promise<Answer['body'] | null> {
  const credential = await admit(exchange, 'agent', deps);
  const { workspaceId } = credential;
  trace?.('key accepted', { workspaceId });
  checkHead(exchange, deps);
  const declared = exchange.contentLength ?? 0;
  if (!deps.rowBudget.hasRoom(workspaceId, declared)) throw noRoom();
  const account = await deps.gate.enter(workspaceId, declared);
  try {
    const decoded = await readAndDecode(exchange, signal, credential, account, deps, trace);
    if (decoded === null) return null;
    const { isResend, body } = await store(decoded, workspaceId, deps);
    trace?.('committed', { isResend });
    if (!isResend) report(exchange, decoded.request, deps);
    return body;
  } finally {
    // The lines, which are parts of the body, or the kept part of a refused body have been stored, or were
    // refused: nothing reads the body now.
    exchange.releaseBody();
    account.release();
  }
}

function report(
  exchange: Exchange,
  { signal, rejections }: IngestRequest,
  { events, refused }: IngestDependencies,
): void {
  if (rejections.some(({ reason }) => reason === NOTHING_KNOWN)) refused.noteNothingKnown(exchange);
  if (rejections.length > 0) events.recordsRejected(signal, rejections);
}

function handlerFor(signal: Signal, deps: IngestDependencies, allowed: AllowedOrigins): Handler {
  const { answerMs, events, refused } = deps;
  return async (exchange) => {
    exchange.limitAnswer(answerMs);
    const headers = crossOriginHeaders(allowed, exchange);
    const trace = events.requestBegun(exchange.route);
    try {
      const body = await answerInTime(ingestRequest(exchange, signal, deps, trace), deps);
      if (body === null) return;
      events.requestAnswered(signal, 200);
      trace?.('answered', { status: 200 });
      exchange.answer({ status: 200, contentType: JSON_TYPE, headers, body });
    } catch (thrown) {
      const error = answeredError(thrown, 'ingest', exchange, events);
      events.requestAnswered(signal, ERRORS[error.code].status);
      trace?.('refused', { status: ERRORS[error.code].status, code: error.code });
      refused.note(exchange, error);
      exchange.answer(statusAnswer(error, headers));
    }
  };
}

/** @param origins of pages that may send (`CORS_ORIGINS`) */
export function ingestRoutes(
  paths: Readonly<Record<Signal, string>>,
  deps: IngestDependencies,
  origins: readonly string[] = [],
): Route[] {
  const allowed = new Set(origins);
  const posts = SIGNALS.map(
    (signal): Route => ({
      method: 'POST',
      path: paths[signal],
      handler: handlerFor(signal, deps, allowed),
      refusal: (error, headers, exchange) =>
        statusAnswer(error, [...headers, ...crossOriginHeaders(allowed, exchange)]),
    }),
  );
  return [...posts, ...preflightRoutes(Object.values(paths), allowed)];
}

/** For exporters, which read google.rpc.Status, and for people, who read problem details. */
export function servedElsewhere(
  error: 'bare_path_gone' | 'not_found',
  message: string,
  servedPath: string,
  servedUrl: string,
): BodyOf<typeof gone> {
  const { rpcCode, status, title } = ERRORS[error];
  return {
    code: rpcCode,
    message,
    type: `/docs/errors#${error}`,
    title,
    status,
    detail: message,
    served_path: servedPath,
    served_url: servedUrl,
  };
}

export function goneBody(signal: Signal, observeUrl: string, baseUrl: string): BodyOf<typeof gone> {
  const served = BASE_PATHS[signal];
  const message =
    `${BARE_PATHS[signal]} is not served on this host. Send to ${baseUrl}${served}, or keep ` +
    `the path and send to ${observeUrl}.`;
  return servedElsewhere('bare_path_gone', message, served, `${baseUrl}${served}`);
}

/** 410 at the bare paths of the base host, with the path to use; requires no key. */
export function goneRoutes(
  observeUrl: string,
  baseUrl: string,
  refused: Pick<RefusedRequests, 'note'>,
): Route[] {
  return SIGNALS.map((signal) => ({
    method: 'POST',
    path: BARE_PATHS[signal],
    refusal: statusAnswer,
    handler: (exchange) => {
      refused.note(exchange, new SluiceError('bare_path_gone', 'Not served on this host.'));
      exchange.answer({
        status: ERRORS.bare_path_gone.status,
        contentType: JSON_TYPE,
        body: JSON.stringify(goneBody(signal, observeUrl, baseUrl)),
      });
    },
  }));
}

const BODY_PART = 0.75;
const REFUSED_PART = 0.875;

/** The time in which a body has to arrive, from the head of its request. */
function bodyLimitMs(answerMs: number): number {
  return answerMs * BODY_PART;
}

interface AnswerLimitSettings {
  /** a request is answered within this time of its head; OTLP exporters give up after 10 s */
  readonly answerMs: number;
  readonly events: Pick<Events, 'requestFailed'>;
}

/**
 * Answers a request in time, even while it waits for the look-up of its key, its turn, its body or the database.
 *
 *   head ──► body ──3/4 of the time──► 503
 *        ──► anything else ──7/8 of the time──► 503; work in progress continues (*)
 *
 * In the last eighth, the rest of a refused body is read and dropped, so that the client sees the answer.
 * The next attempt gets the result of the work that continued, because equal requests are stored once.
 *
 * (*) except a large body that waits, or has the process that another workspace needs (`large-bodies.ts`)
 *
 * @throws what the request throws, or {SluiceError} `answer_timeout`
 */
async function answerInTime<T>(
  request: Promise<T>,
  { answerMs, events }: AnswerLimitSettings,
): Promise<T> {
  let isLate = false;
  request.catch((error: unknown) => {
    if (isLate && !(error instanceof SluiceError)) events.requestFailed('ingest', error);
  });
  return await withinLimit(request, answerMs * REFUSED_PART, () => {
    isLate = true;
    const message = 'The request was not stored in time (INGEST_ANSWER_MS). Send it again.';
    return new SluiceError('answer_timeout', message);
  });
}
