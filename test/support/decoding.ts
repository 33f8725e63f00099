/** Decodes and encodes requests as a thread does that takes them; one decoder for a test file. */
import type { EncodedRequest } from '../../src/db/telemetry/encoded-request.ts';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import * as ingest from '../../src/ingest/ingest.ts';
import type { LargeBodyResult } from '../../src/ingest/large-bodies.ts';
import {
  encodePlainly,
  parsePlainly,
  type ReadyResult,
  type RequestContext,
} from '../../src/ingest/plain-decoder.ts';
import { RequestChecker } from '../../src/ingest/request-checker.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { type Pieces, toEnd } from '../../src/otlp/pieces.ts';
import { otlpBody } from './otlp-body.ts';
import { factsOf, type RowsRequest } from './rows.ts';

const checker = new RequestChecker();

/** Encodes rows as a request that has them. @param rows spans or log records, not both */
export function encodeRequest(
  rows: RowsRequest,
  workspaceId: number,
  arrivedAtMs: number,
  logRuns: LogRuns = new LogRuns(),
): EncodedRequest {
  const request = factsOf(rows);
  const runs = logRuns.assign(request, workspaceId);
  const decoded = { ok: true, request, accepted: null } as const;
  return encodePlainly(otlpBody(rows), decoded, workspaceId, arrivedAtMs, runs).encoded;
}

export function decodeInPieces(
  signal: Signal,
  body: Buffer,
  context: RequestContext,
  elsewhere: () => Promise<ReadyResult>,
): Pieces<ReadyResult | Promise<LargeBodyResult>> {
  return ingest.decodeInPieces(signal, body, context, { checker, elsewhere });
}

/** The fast way alone; null when the body is left to the plain one. */
export function scanOrNull(
  signal: Signal,
  body: Buffer,
  { workspaceId, arrivedAtMs }: Pick<RequestContext, 'workspaceId' | 'arrivedAtMs'>,
): ReadyResult | null {
  const request = toEnd(checker.scan(signal, body, workspaceId, arrivedAtMs));
  return request === null ? null : { ok: true, request };
}

/** Decodes at once, however long it takes, with the limits of the decode process. */
export function decodeRequest(signal: Signal, body: Buffer, context: RequestContext): ReadyResult {
  const scanned = scanOrNull(signal, body, context);
  if (scanned !== null) return scanned;
  const parsed = parsePlainly(signal, body);
  if (!parsed.ok) return parsed;
  const { workspaceId, arrivedAtMs, logRuns } = context;
  const runs = logRuns.assign(parsed.request, workspaceId);
  return { ok: true, request: encodePlainly(body, parsed, workspaceId, arrivedAtMs, runs) };
}
