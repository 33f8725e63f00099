/** Decodes and encodes requests as a thread does that takes them; one decoder for a test file. */
import { inject } from 'vitest';

import type { TelemetryPlacement } from '../../src/db/placement.ts';
import type { EncodedRequest } from '../../src/db/telemetry/encoded-request.ts';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import * as ingest from '../../src/ingest/ingest.ts';
import type { LargeBodyResult } from '../../src/ingest/large-bodies.ts';
import {
  PlainEncoder,
  parsePlainly,
  plainLines,
  type ReadyResult,
  type RequestContext,
} from '../../src/ingest/plain-encoder.ts';
import { RowEncoder } from '../../src/ingest/row-encoder.ts';
import type { DecodedRequest, Signal } from '../../src/model/telemetry.ts';
import { linesOf } from '../../src/otlp/lines/lines.ts';
import { type Pieces, toEnd } from '../../src/otlp/pieces.ts';
import { otlpBody } from './otlp-body.ts';

/** Set where tests have a database; the benchmarks, which decode with this too, have none. */
const placement: TelemetryPlacement | undefined =
  process.env.VITEST === undefined ? undefined : inject('placement');
const scanner = new RowEncoder(placement);
const plain = new PlainEncoder(placement);

/** Encodes rows as a request that has them. @param request with spans or log records, not both */
export function encodeRequest(
  request: DecodedRequest,
  workspaceId: number,
  arrivedAtMs: number,
  logRuns: LogRuns = new LogRuns(),
): EncodedRequest {
  const runs = logRuns.assign(request, workspaceId);
  const records = request.spans.length + request.logs.length;
  const signal = request.logs.length > 0 ? 'logs' : request.signal;
  const lines = records === 0 ? [] : toEnd(linesOf(signal, otlpBody(request), records, null));
  return plain.encode({ ...request, signal }, workspaceId, arrivedAtMs, runs, lines).encoded;
}

export function decodeInPieces(
  signal: Signal,
  body: Buffer,
  context: RequestContext,
  elsewhere: () => Promise<ReadyResult>,
): Pieces<ReadyResult | Promise<LargeBodyResult>> {
  return ingest.decodeInPieces(signal, body, context, { scanner, plain, elsewhere });
}

/** The fast way alone; null when the body is left to the plain one. */
export function scanOrNull(
  signal: Signal,
  body: Buffer,
  { workspaceId, arrivedAtMs }: Pick<RequestContext, 'workspaceId' | 'arrivedAtMs'>,
): ReadyResult | null {
  const request = toEnd(scanner.scan(signal, body, workspaceId, arrivedAtMs));
  return request === null ? null : { ok: true, request };
}

export function decodePlainly(signal: Signal, body: Buffer, context: RequestContext): ReadyResult {
  return plain.decode(signal, body, context);
}

/** Decodes at once, however long it takes, with the limits of the decode thread. */
export function decodeRequest(signal: Signal, body: Buffer, context: RequestContext): ReadyResult {
  const scanned = scanOrNull(signal, body, context);
  if (scanned !== null) return scanned;
  const parsed = parsePlainly(signal, body);
  if (!parsed.ok) return parsed;
  const { workspaceId, arrivedAtMs, logRuns } = context;
  const runs = logRuns.assign(parsed.request, workspaceId);
  const lines = plainLines(signal, body, parsed);
  return { ok: true, request: plain.encode(parsed.request, workspaceId, arrivedAtMs, runs, lines) };
}
