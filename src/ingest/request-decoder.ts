/**
 * Turns a request's body into rows ready to store: an ordinary body is scanned straight into COPY
 * bytes (`src/otlp/fast/`), any other is decoded and encoded the plain way. Both give the same
 * rows.
 *
 * Scanning pauses every 128 KiB. The plain way cannot pause: it starts with one `JSON.parse`. So a
 * large body that cannot be scanned, and a body with a large record, is decoded on a separate
 * thread (`large-bodies.ts`).
 */
import type { CopyWriter } from '../db/telemetry/copy-writer.ts';
import { type EncodedRequest, encodeRequest } from '../db/telemetry/encoded-request.ts';
import { LogRuns } from '../db/telemetry/log-runs.ts';
import { SluiceError } from '../errors.ts';
import type { IngestDependencies, IngestResult } from '../http/ingest/ingest-routes.ts';
import type { DecodedRequest, Rejection, Signal } from '../model/telemetry.ts';
import type { DecodeResult } from '../otlp/envelope.ts';
import { scanInPieces } from '../otlp/fast/request-scanner.ts';
import { decodeLogs } from '../otlp/logs.ts';
import { decodeMetrics } from '../otlp/metrics.ts';
import { type Pieces, toEnd } from '../otlp/pieces.ts';
import { holdsTooManyStructures, STRUCTURES_MAX } from '../otlp/structure-count.ts';
import { decodeTraces } from '../otlp/traces.ts';
import { ScannedRows } from './scanned-request.ts';

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

/** A request, or why and where its body is not one. */
export type ReadyResult =
  | { readonly ok: true; readonly request: ReadyRequest }
  | Exclude<DecodeResult, { readonly ok: true }>;

/** Whose request it is, and what it is stored with. */
export interface RequestContext {
  readonly workspaceId: number;
  /** milliseconds since 1970, by PostgreSQL's clock; its UTC day chooses the partition */
  readonly arrivedAtMs: number;
  readonly logRuns: LogRuns;
}

/** Decodes a body on another thread; throws the error that the request is answered with. */
export type DecodeElsewhere = (
  signal: Signal,
  body: Buffer,
  context: RequestContext,
) => Promise<ReadyResult>;

/**
 * Most bytes of a span, log record or metric, or of the text between two, that are scanned on the
 * event loop. The slowest known record, empty events, takes 30 ms (docs/performance.md).
 */
const RECORD_BYTES_MAX = 256 * 1024;
/**
 * Most bytes of a body that is decoded the plain way on the event loop. The slowest known body,
 * 44,000 empty log records, takes 40 ms.
 */
export const PLAIN_BYTES_MAX = 128 * 1024;

/**
 * Decodes one export request, in pieces on the event loop or on another thread. To be run to its
 * end before the next one is decoded; a promise that it yields need not be settled by then.
 *
 * @param body the request body, decompressed; read until this ends, or the promise is settled
 */
export function* decodeInPieces(
  signal: Signal,
  body: Buffer,
  context: RequestContext,
  elsewhere: DecodeElsewhere,
): Pieces<ReadyResult | Promise<ReadyResult>> {
  const scanned = yield* scan(signal, body, context, RECORD_BYTES_MAX);
  if (scanned !== null) return scanned;
  if (body.length > PLAIN_BYTES_MAX) return elsewhere(signal, body, context);
  return decodePlainly(signal, body, context);
}

/**
 * Decodes one export request at once, however long it takes.
 *
 * @throws {SluiceError} `body_too_large` when it has too many objects and lists
 */
export function decodeRequest(signal: Signal, body: Buffer, context: RequestContext): ReadyResult {
  return scanOrNull(signal, body, context) ?? decodeCounted(signal, body, context);
}

function decodeCounted(signal: Signal, body: Buffer, context: RequestContext): ReadyResult {
  checkStructures(body);
  return decodePlainly(signal, body, context);
}

/** @throws {SluiceError} `body_too_large` */
function checkStructures(body: Buffer): void {
  if (!toEnd(holdsTooManyStructures(body))) return;
  throw new SluiceError(
    'body_too_large',
    `The body holds more than ${STRUCTURES_MAX} objects and lists; send smaller batches.`,
  );
}

/** The fast way alone, at once; null when the body is left to the plain one. */
export function scanOrNull(
  signal: Signal,
  body: Buffer,
  context: Pick<RequestContext, 'workspaceId' | 'arrivedAtMs'>,
): ReadyResult | null {
  return toEnd(scan(signal, body, context, Number.POSITIVE_INFINITY));
}

function* scan(
  signal: Signal,
  body: Buffer,
  { workspaceId, arrivedAtMs }: Pick<RequestContext, 'workspaceId' | 'arrivedAtMs'>,
  recordBytesMax: number,
): Pieces<ReadyResult | null> {
  const rows = new ScannedRows(workspaceId, arrivedAtMs, body.length);
  if (!(yield* scanInPieces(signal, body, rows, recordBytesMax))) return null;
  const encoded = rows.take();
  return {
    ok: true,
    request: { signal, rejections: NO_REJECTIONS, replacedCharacters: 0, encoded },
  };
}

/**
 * The plain way without encoding, without pauses.
 *
 * @throws {SluiceError} `body_too_large`, as `decodeRequest`
 */
export function parsePlainly(signal: Signal, body: Buffer): DecodeResult {
  checkStructures(body);
  return DECODERS[signal](body);
}

/** The plain way alone. */
export function decodePlainly(
  signal: Signal,
  body: Buffer,
  { workspaceId, arrivedAtMs, logRuns }: RequestContext,
): ReadyResult {
  const result = DECODERS[signal](body);
  if (!result.ok) return result;
  const { rejections, replacedCharacters } = result.request;
  const encoded = encodeRequest(result.request, workspaceId, arrivedAtMs, logRuns);
  return { ok: true, request: { signal, rejections, replacedCharacters, encoded } };
}

/**
 * The decoder for ingest; rows go to the writer when `store` is called.
 *
 * @param nowMs milliseconds since 1970, by PostgreSQL's clock
 */
export function createDecoder(
  writer: CopyWriter,
  elsewhere: DecodeElsewhere,
  nowMs: () => number,
): IngestDependencies['decode'] {
  const logRuns = new LogRuns();
  const toIngest = (result: ReadyResult): IngestResult => {
    if (!result.ok) return result;
    const { encoded, ...request } = result.request;
    const store = () => writer.offer(encoded);
    return { ok: true, request: { ...request, rows: encoded.rows, store } };
  };
  return function* (signal, body, workspaceId) {
    const context = { workspaceId, arrivedAtMs: nowMs(), logRuns };
    const result = yield* decodeInPieces(signal, body, context, elsewhere);
    return result instanceof Promise ? result.then(toIngest) : toIngest(result);
  };
}
