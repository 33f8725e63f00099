/**
 * Decodes a body the plain way, `JSON.parse` first: the counterpart of `request-checker.ts`, which scans, and
 * its yardstick. For one request at a time, without pauses.
 */
import { type EncodedRequest, heldBytes } from '../db/telemetry/encoded-request.ts';
import type { LogRuns, LogRunsOfRequest } from '../db/telemetry/log-runs.ts';
import { checkRuns, runDeltas } from '../db/telemetry/run-delta.ts';
import { SluiceError } from '../errors.ts';
import type { Signal } from '../model/telemetry.ts';
import type { DecodeResult } from '../otlp/envelope.ts';
import { linesOf } from '../otlp/lines/lines.ts';
import { decodeLogs } from '../otlp/logs.ts';
import { decodeMetrics } from '../otlp/metrics.ts';
import { toEnd } from '../otlp/pieces.ts';
import { holdsTooManyStructures, STRUCTURES_MAX } from '../otlp/structure-count.ts';
import { decodeTraces } from '../otlp/traces.ts';
import type { ReadyRequest } from './request-checker.ts';

/** The request, or the fault that makes the body undecodable. */
export type ReadyResult =
  | { readonly ok: true; readonly request: ReadyRequest }
  | Exclude<DecodeResult, { readonly ok: true }>;

export interface RequestContext {
  readonly workspaceId: number;
  /** milliseconds since 1970, by PostgreSQL's clock; its UTC day chooses the partition */
  readonly arrivedAtMs: number;
  readonly logRuns: LogRuns;
}

type Decoded = Extract<DecodeResult, { readonly ok: true }>;

const DECODERS: Readonly<Record<Signal, (body: Buffer) => DecodeResult>> = {
  traces: decodeTraces,
  metrics: decodeMetrics,
  logs: decodeLogs,
};

/**
 * Decodes a body whose size is limited.
 *
 * @throws as `encodePlainly`
 */
export function decodePlainly(
  signal: Signal,
  body: Buffer,
  { workspaceId, arrivedAtMs, logRuns }: RequestContext,
): ReadyResult {
  const decoded = DECODERS[signal](body);
  if (!decoded.ok) return decoded;
  const runs = logRuns.assign(decoded.request, workspaceId);
  return { ok: true, request: encodePlainly(body, decoded, workspaceId, arrivedAtMs, runs) };
}

/**
 * Encodes a body that was decoded.
 *
 * @param arrivedAtMs milliseconds since 1970, by PostgreSQL's clock; its UTC day chooses the
 *   partition
 * @param logRuns the runs of records that do not belong to their trace, and the marks of their sessions
 * @throws {SluiceError} `body_too_large` when there are too many runs or marks
 */
export function encodePlainly(
  body: Buffer,
  { request, accepted }: Decoded,
  workspaceId: number,
  arrivedAtMs: number,
  { runs: logRuns, marks }: LogRunsOfRequest,
): ReadyRequest {
  const { signal, rejections, spans, logs, points } = request;
  checkRuns(marks.length);
  const runs = runDeltas(request, workspaceId, logRuns);
  const records = spans.length + logs.length + points;
  const lines = toEnd(linesOf(signal, body, records, accepted));
  const held = { lines, runs, sessionMarks: marks };
  const bytes = heldBytes(held);
  const encoded: EncodedRequest = { workspaceId, signal, arrivedAtMs, ...held, records, bytes };
  return { signal, rejections, encoded };
}

/**
 * Decodes a body of any size, without encoding it.
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
