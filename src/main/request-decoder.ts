/**
 * How a request's body becomes rows ready to store: scanned straight into COPY bytes if it is an
 * ordinary one (`src/otlp/fast/`), else decoded and encoded the plain way. Both give the same.
 */
import type { CopyWriter } from '../db/copy-writer.ts';
import { type EncodedRequest, encodeRequest } from '../db/encoded-request.ts';
import { LogRuns } from '../db/log-runs.ts';
import { ScannedRows } from '../db/scanned-rows.ts';
import { SluiceError } from '../errors.ts';
import type { IngestDependencies } from '../http/ingest-routes.ts';
import type { DecodedRequest, Rejection, Signal } from '../model.ts';
import type { DecodeResult } from '../otlp/envelope.ts';
import { scanInPieces } from '../otlp/fast/scan-request.ts';
import { decodeLogs } from '../otlp/logs.ts';
import { decodeMetrics } from '../otlp/metrics.ts';
import { type Pieces, toEnd } from '../otlp/pieces.ts';
import { holdsTooManyStructures, STRUCTURES_MAX } from '../otlp/structure-count.ts';
import { decodeTraces } from '../otlp/traces.ts';

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
  /** milliseconds since 1970; its UTC day chooses the partition */
  readonly arrivedAtMs: number;
  readonly logRuns: LogRuns;
}

/** `decodeInPieces`, at once. */
export function decodeRequest(signal: Signal, body: Buffer, context: RequestContext): ReadyResult {
  return toEnd(decodeInPieces(signal, body, context));
}

/**
 * Decodes one export request the fast way, or else the plain way, which takes it in one piece. To be run
 * to its end before the next one is decoded.
 *
 * @param body the request body, decompressed; read until this ends, and not after
 * @throws {SluiceError} `body_too_large` when it holds more objects and lists than may be built of it
 */
export function* decodeInPieces(
  signal: Signal,
  body: Buffer,
  context: RequestContext,
): Pieces<ReadyResult> {
  const scanned = yield* scan(signal, body, context);
  if (scanned !== null) return scanned;
  if (yield* holdsTooManyStructures(body)) {
    throw new SluiceError(
      'body_too_large',
      `The body holds more than ${STRUCTURES_MAX} objects and lists; send smaller batches.`,
    );
  }
  return decodePlainly(signal, body, context);
}

/** The fast way alone, at once; null when the body is left to the plain one. */
export function scanOrNull(
  signal: Signal,
  body: Buffer,
  context: RequestContext,
): ReadyResult | null {
  return toEnd(scan(signal, body, context));
}

function* scan(
  signal: Signal,
  body: Buffer,
  { workspaceId, arrivedAtMs }: RequestContext,
): Pieces<ReadyResult | null> {
  const rows = new ScannedRows(workspaceId, arrivedAtMs, body.length);
  if (!(yield* scanInPieces(signal, body, rows))) return null;
  const encoded = rows.take();
  return {
    ok: true,
    request: { signal, rejections: NO_REJECTIONS, replacedCharacters: 0, encoded },
  };
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

/** What ingest decodes with: the rows go to the writer once they are asked to be stored. */
export function createDecoder(writer: CopyWriter): IngestDependencies['decode'] {
  const logRuns = new LogRuns();
  return function* (signal, body, workspaceId) {
    const context = { workspaceId, arrivedAtMs: Date.now(), logRuns };
    const result = yield* decodeInPieces(signal, body, context);
    if (!result.ok) return result;
    const { encoded, rejections, replacedCharacters } = result.request;
    const store = () => writer.offer(encoded);
    const request = { signal, rejections, replacedCharacters, rows: encoded.rows, store };
    return { ok: true, request };
  };
}
