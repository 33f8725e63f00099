/**
 * The ingest of one thread: a request's body becomes lines and runs ready to store, in pieces on the event
 * loop or, when that would block it, in a separate process. Owns the decoders and the sessions'
 * prompts; the writer is `src/db/telemetry/copy-writer.ts`.
 *
 *   body ─► hashed ─► scanned, or decoded plainly ─► lines, runs ─► store() ─► committed
 *
 * Most bodies are scanned (`request-checker.ts`). Any other is decoded the plain way (`plain-decoder.ts`),
 * which cannot pause, as it starts with one `JSON.parse`: so a large body that cannot be scanned, or a
 * body with a large record, goes to a separate process (`large-bodies.ts`). All ways give the same result.
 */
import { createCipheriv, hash } from 'node:crypto';
import type { CopyWriter } from '../db/telemetry/copy-writer.ts';
import { LogRuns } from '../db/telemetry/log-runs.ts';
import type { Receipt } from '../db/telemetry/receipts.ts';
import type { Hex16 } from '../model/json.ts';
import type { DecodedRequest, Signal } from '../model/telemetry.ts';
import { REASONS } from '../otlp/fault.ts';
import type { Pieces } from '../otlp/pieces.ts';
import { encodeExportResponse } from '../otlp/responses.ts';
import { createLargeBodies, type LargeBodyContext, type LargeBodyResult } from './large-bodies.ts';
import { decodePlainly, type ReadyResult, type RequestContext } from './plain-decoder.ts';
import { RequestChecker } from './request-checker.ts';

/**
 * Most bytes of a span, log record or metric that is scanned on the event loop. The slowest known record,
 * empty events, takes 30 ms (docs/performance.md).
 */
const RECORD_BYTES_MAX = 256 * 1024;
/**
 * Most bytes of a body that the plain decoder decodes on the event loop. The slowest known body,
 * 44,000 empty log records, takes 40 ms.
 */
export const PLAIN_BYTES_MAX = 128 * 1024;

export interface IngestRequest extends Pick<DecodedRequest, 'signal' | 'rejections'> {
  /** whether `store` reads the body: its memory must not be used again until the promise settles */
  readonly readsBody: boolean;
  /** the body that was decoded: the one that was sent, or its redacted copy */
  readonly body: Buffer;
  /** resolves once every record is committed, by this request or by one that it repeats */
  readonly store: () => Promise<StoredAnswer>;
}

export interface StoredAnswer {
  /** the request was stored before, and its answer is the first one's */
  readonly isResend: boolean;
  readonly body: Buffer | string;
}

export interface IngestSettings {
  /** whether a request that is sent again is recognised, and stored once */
  readonly deduplicates?: boolean;
  /** takes the error for which bodies are decoded the plain way; called at most once */
  readonly noteScannerFailure?: (error: unknown) => void;
}

/**
 * The request, or the fault that makes the body undecodable; `path` is empty for the whole body.
 */
export type IngestResult =
  | { readonly ok: true; readonly request: IngestRequest }
  | { readonly ok: false; readonly message: string; readonly path: string };

interface DecodingWays {
  readonly checker: RequestChecker;
  /** in another process; throws the error for the response */
  readonly elsewhere: () => Promise<LargeBodyResult>;
}

interface RedactedBody {
  /** the same body if nothing was replaced */
  readonly body: Buffer;
  /** texts that could not be redacted: the records that need them are rejected */
  readonly refused: number;
}

export interface RequestSource extends Pick<LargeBodyContext, 'workspaceId' | 'whenUnawaited'> {
  /** null unless the workspace redacts; nothing else reads the body before it */
  readonly redact: ((body: Buffer) => Pieces<RedactedBody>) | null;
}

/**
 * Decodes one export request, in pieces on the event loop or in another process. The generator must
 * end before the checker's next one starts; a promise that it returns need not be settled by then.
 *
 * @param body decompressed; must not change until the generator has ended and its promise is settled, or,
 *   without a promise, until the request is stored
 */
export function* decodeInPieces(
  signal: Signal,
  body: Buffer,
  context: RequestContext,
  { checker, elsewhere }: DecodingWays,
): Pieces<ReadyResult | Promise<LargeBodyResult>> {
  const { workspaceId, arrivedAtMs } = context;
  const scanned = yield* checker.scan(signal, body, workspaceId, arrivedAtMs, RECORD_BYTES_MAX);
  if (scanned !== null) return { ok: true, request: scanned };
  if (body.length > PLAIN_BYTES_MAX) return elsewhere();
  return decodePlainly(signal, body, context);
}

export class Ingest {
  readonly #writer: Pick<CopyWriter, 'offer' | 'find'>;
  readonly #nowMs: () => number;
  /** without a request */
  readonly #idle: RequestChecker[] = [];
  readonly #largeBodies = createLargeBodies();
  readonly #logRuns = new LogRuns();
  readonly #deduplicates: boolean;
  readonly #noteScannerFailure: ((error: unknown) => void) | undefined;

  /** @param nowMs milliseconds since 1970, by PostgreSQL's clock */
  constructor(
    writer: Pick<CopyWriter, 'offer' | 'find'>,
    nowMs: () => number,
    { deduplicates = true, noteScannerFailure }: IngestSettings = {},
  ) {
    this.#noteScannerFailure = noteScannerFailure;
    this.#writer = writer;
    this.#nowMs = nowMs;
    this.#deduplicates = deduplicates;
  }

  /**
   * Decodes one export request. A request whose generator starts before another one's has ended
   * takes its own checker; a promise that it returns need not be settled by then.
   *
   * @param sent decompressed; must not change until the generator has ended, its promise is settled, and
   *   `store` too if it reads the body
   * @param deduplicates false: it is stored whatever was stored before
   * @throws {SluiceError} the error for the response
   */
  *decode(
    signal: Signal,
    sent: Buffer,
    { workspaceId, whenUnawaited, redact }: RequestSource,
    deduplicates = true,
  ): Pieces<IngestResult | Promise<IngestResult>> {
    const { body, refused } = redact === null ? { body: sent, refused: 0 } : yield* redact(sent);
    const context = { workspaceId, arrivedAtMs: this.#nowMs(), logRuns: this.#logRuns };
    const bodyHash = this.#deduplicates && deduplicates ? yield* hashBody(signal, body) : null;
    const checker = this.#idle.pop() ?? new RequestChecker(this.#noteScannerFailure);
    const findReceipt = async () =>
      bodyHash === null ? null : await this.#writer.find(context, bodyHash);
    const elsewhere = (): Promise<LargeBodyResult> =>
      this.#largeBodies.decode(signal, body, { ...context, whenUnawaited, findReceipt });
    try {
      const result = yield* decodeInPieces(signal, body, context, { checker, elsewhere });
      if (result instanceof Promise) {
        return result.then((later) =>
          'receipt' in later
            ? resent(signal, body, later.receipt)
            : this.#storable(later, { body, refused }, bodyHash, false),
        );
      }
      return this.#storable(result, { body, refused }, bodyHash, true);
    } finally {
      this.#idle.push(checker);
    }
  }

  /** Ends the processes that decode large bodies; waiting bodies are refused. */
  async close(): Promise<void> {
    await this.#largeBodies.close();
  }

  #storable(
    result: ReadyResult,
    { body, refused }: RedactedBody,
    bodyHash: Hex16 | null,
    readsBody: boolean,
  ): IngestResult {
    if (!result.ok) return result;
    // Not as the rest of an object, which V8 copies property by property.
    const { encoded, signal } = result.request;
    const rejections =
      refused === 0 ? result.request.rejections : withUnredactable(result.request, refused);
    const request = { signal, rejections };
    const store = async (): Promise<StoredAnswer> => {
      const response = encodeExportResponse(request);
      if (encoded.records === 0) return { isResend: false, body: response };
      const answer = rejections.length === 0 ? null : response.toString();
      const own = bodyHash === null ? null : { bodyHash, answer };
      const { isResend, receipt } = await this.#writer.offer(encoded, own);
      return { isResend, body: receipt?.answer ?? (isResend ? '{}' : response) };
    };
    return { ok: true, request: { signal, rejections, readsBody, body, store } };
  }
}

function resent(signal: Signal, body: Buffer, { answer }: Receipt): IngestResult {
  const store = async (): Promise<StoredAnswer> => ({ isResend: true, body: answer ?? '{}' });
  return { ok: true, request: { signal, rejections: [], readsBody: false, body, store } };
}

/** The decoder counts the records; this says why their texts were no texts. */
function withUnredactable(
  { rejections }: Pick<DecodedRequest, 'rejections'>,
  refused: number,
): DecodedRequest['rejections'] {
  const message = `not_redacted (${refused}): ${REASONS.not_redacted}`;
  return [{ reason: 'not_redacted', count: 0, firstPath: '', message }, ...rejections];
}

// The hash by which a request that is sent again is recognised: 128 bits of its path and its
// decompressed body, so that a body is the same with and without compression.
//
// It guards against chance, not against a sender, who can only mistake its own requests for each
// other (docs/decisions/0007-stored-once.md). So it is the cheapest of `node:crypto` that is sure
// enough: AES-GMAC, at four to six times the rate of SHA-256, which starts faster and is therefore
// used for short bodies.

const HASH_DIGITS = 32;
/** GMAC's fixed cost equals four kilobytes of SHA-256; measured with Node 20.20. */
const SHORT_BYTES_MAX = 4 * 1024;
/** Hashed between two pauses: less than a millisecond, some without the processor's AES. */
const HASHED_BYTES = 1024 * 1024;
/** Any value, the same for all processes of a database. */
const KEY = Buffer.from('5c1e7b0d92a64f38b1d07c6e4a93f525', 'hex');
const NONCE = Buffer.alloc(12);
/** The path, in place of the first digit. */
const DIGITS: Readonly<Record<Signal, string>> = { traces: '1', metrics: '2', logs: '3' };

/** @param body decompressed */
function* hashBody(signal: Signal, body: Buffer): Pieces<Hex16> {
  const digits = body.length <= SHORT_BYTES_MAX ? hash('sha256', body) : yield* gmac(body);
  return `${DIGITS[signal]}${digits.slice(1, HASH_DIGITS)}`;
}

function* gmac(body: Buffer): Pieces<string> {
  const mac = createCipheriv('aes-128-gcm', KEY, NONCE);
  for (let at = 0; at < body.length; at += HASHED_BYTES) {
    if (at > 0) yield;
    mac.setAAD(body.subarray(at, at + HASHED_BYTES));
  }
  mac.final();
  return mac.getAuthTag().toString('hex');
}
