/**
 * Decodes a body to rows ready to store. Most bodies are scanned directly into COPY bytes
 * (`src/otlp/fast/`); any other falls back to the plain decoder and encoder. Both give the same
 * rows.
 *
 * One object per thread owns the buffers and decodes one body at a time. The scanner pauses every
 * 128 KiB. The plain decoder cannot pause: it starts with one `JSON.parse`. So a large body that
 * cannot be scanned, or a body with a large record, is decoded in a separate process
 * (`large-bodies.ts`).
 */
import type { TelemetryPlacement } from '../db/placement.ts';
import type { EncodedRequest } from '../db/telemetry/encoded-request.ts';
import type { LogRuns, LogRunsOfRequest } from '../db/telemetry/log-runs.ts';
import { SluiceError } from '../errors.ts';
import type { DecodedRequest, Rejection, Signal } from '../model/telemetry.ts';
import type { DecodeResult } from '../otlp/envelope.ts';
import { RequestScanner } from '../otlp/fast/request-scanner.ts';
import { decodeLogs } from '../otlp/logs.ts';
import { decodeMetrics } from '../otlp/metrics.ts';
import { type Pieces, toEnd } from '../otlp/pieces.ts';
import { holdsTooManyStructures, STRUCTURES_MAX } from '../otlp/structure-count.ts';
import { decodeTraces } from '../otlp/traces.ts';
import { PlainEncoder } from './plain-encoder.ts';
import { RowEncoder } from './row-encoder.ts';

const DECODERS: Readonly<Record<Signal, (body: Buffer) => DecodeResult>> = {
  traces: decodeTraces,
  metrics: decodeMetrics,
  logs: decodeLogs,
};

const NO_REJECTIONS: readonly Rejection[] = [];

/** A decoded request, with its rows ready to store. */
export interface ReadyRequest extends Pick<DecodedRequest, 'signal' | 'replacedCharacters'> {
  readonly rejections: readonly Rejection[];
  readonly encoded: EncodedRequest;
}

/** The request, or the fault that makes the body undecodable. */
export type ReadyResult =
  | { readonly ok: true; readonly request: ReadyRequest }
  | Exclude<DecodeResult, { readonly ok: true }>;

/** The workspace that sent the request, and values that are stored with its rows. */
export interface RequestContext {
  readonly workspaceId: number;
  /** milliseconds since 1970, by PostgreSQL's clock; its UTC day chooses the partition */
  readonly arrivedAtMs: number;
  readonly logRuns: LogRuns;
}

/** Decodes a body in another process; throws the error for the response. */
export type DecodeElsewhere = (
  signal: Signal,
  body: Buffer,
  context: RequestContext,
) => Promise<ReadyResult>;

/**
 * Most bytes of a span, log record or metric, or of the text between two, scanned on the event
 * loop. The slowest known record, empty events, takes 30 ms (docs/performance.md).
 */
const RECORD_BYTES_MAX = 256 * 1024;
/**
 * Most bytes of a body that the plain decoder decodes on the event loop. The slowest known body,
 * 44,000 empty log records, takes 40 ms.
 */
export const PLAIN_BYTES_MAX = 128 * 1024;

export class RequestDecoder {
  readonly #scanner = new RequestScanner();
  readonly #rowEncoder: RowEncoder;
  readonly #plainEncoder: PlainEncoder;

  /** @param placement where the rows are to be stored */
  constructor(placement: TelemetryPlacement = 'local') {
    this.#rowEncoder = new RowEncoder(placement);
    this.#plainEncoder = new PlainEncoder(placement);
  }

  /**
   * Decodes one export request, in pieces on the event loop or in another process. A
   * decoder's generator must end before its next one starts; a promise that it returns need not be settled by then.
   *
   * @param body decompressed; not read after the generator has ended and its promise is settled
   */
  *decodeInPieces(
    signal: Signal,
    body: Buffer,
    context: RequestContext,
    elsewhere: DecodeElsewhere,
  ): Pieces<ReadyResult | Promise<ReadyResult>> {
    const { workspaceId, arrivedAtMs } = context;
    const scanned = yield* this.scan(signal, body, workspaceId, arrivedAtMs, RECORD_BYTES_MAX);
    if (scanned !== null) return { ok: true, request: scanned };
    if (body.length > PLAIN_BYTES_MAX) return elsewhere(signal, body, context);
    return this.decodePlainly(signal, body, context);
  }

  /**
   * Scans a body; null when the plain decoder must decode it.
   *
   * @param recordBytesMax most bytes of a record
   */
  *scan(
    signal: Signal,
    body: Buffer,
    workspaceId: number,
    arrivedAtMs: number,
    recordBytesMax = Number.POSITIVE_INFINITY,
  ): Pieces<ReadyRequest | null> {
    const rows = this.#rowEncoder;
    rows.open(signal, workspaceId, arrivedAtMs, body.length);
    if (!(yield* this.#scanner.scan(signal, body, rows, recordBytesMax))) return null;
    return { signal, rejections: NO_REJECTIONS, replacedCharacters: 0, encoded: rows.take() };
  }

  /** Decodes and encodes a body without scanning and without pauses. */
  decodePlainly(
    signal: Signal,
    body: Buffer,
    { workspaceId, arrivedAtMs, logRuns }: RequestContext,
  ): ReadyResult {
    const result = DECODERS[signal](body);
    if (!result.ok) return result;
    const runs = logRuns.assign(result.request, workspaceId);
    return { ok: true, request: this.encode(result.request, workspaceId, arrivedAtMs, runs) };
  }

  /** Encodes a request of `parsePlainly`. */
  encode(
    request: DecodedRequest,
    workspaceId: number,
    arrivedAtMs: number,
    logRuns: LogRunsOfRequest,
  ): ReadyRequest {
    const { signal, rejections, replacedCharacters } = request;
    const encoded = this.#plainEncoder.encode(request, workspaceId, arrivedAtMs, logRuns);
    return { signal, rejections, replacedCharacters, encoded };
  }
}

/**
 * Decodes a body with the plain decoder, without encoding it.
 *
 * @throws {SluiceError} `body_too_large` when it has too many objects and lists
 */
export function parsePlainly(signal: Signal, body: Buffer): DecodeResult {
  if (toEnd(holdsTooManyStructures(body))) {
    throw new SluiceError(
      'body_too_large',
      `The body holds more than ${STRUCTURES_MAX} objects and lists; send smaller batches.`,
    );
  }
  return DECODERS[signal](body);
}
