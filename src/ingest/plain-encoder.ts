/**
 * Decodes a body the plain way, `JSON.parse` first, and encodes its rows as COPY bytes: the counterpart
 * of `row-encoder.ts`, which scans. One object per thread, for one request at a time, without pauses.
 */
import type { TelemetryPlacement } from '../db/placement.ts';
import { checkContents, type EncodedRequest, heldBytes } from '../db/telemetry/encoded-request.ts';
import type { LogRuns, LogRunsOfRequest } from '../db/telemetry/log-runs.ts';
import { checkRuns, runDeltas } from '../db/telemetry/run-delta.ts';
import { SluiceError } from '../errors.ts';
import type { TelemetryTable } from '../model/columns.ts';
import type { DecodedRequest, LogRow, Signal, SpanRow } from '../model/telemetry.ts';
import type { DecodeResult } from '../otlp/envelope.ts';
import { LOG_LAYOUT } from '../otlp/fast/log-scanner.ts';
import { SPAN_LAYOUT } from '../otlp/fast/span-scanner.ts';
import { type Line, linesOf } from '../otlp/lines/lines.ts';
import { decodeLogs } from '../otlp/logs.ts';
import { decodeMetrics } from '../otlp/metrics.ts';
import { toEnd } from '../otlp/pieces.ts';
import { holdsTooManyStructures, STRUCTURES_MAX } from '../otlp/structure-count.ts';
import { decodeTraces } from '../otlp/traces.ts';
import { CopyBuffer } from './copy-buffer.ts';
import type { ReadyRequest } from './row-encoder.ts';
import { compilePlainWriter, type PlainContext, type PlainWriter } from './row-writer.ts';

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

const DECODERS: Readonly<Record<Signal, (body: Buffer) => DecodeResult>> = {
  traces: decodeTraces,
  metrics: decodeMetrics,
  logs: decodeLogs,
};

const writersOf = (placement: TelemetryPlacement) => ({
  span: compilePlainWriter<SpanRow>(SPAN_LAYOUT, placement),
  log: compilePlainWriter<LogRow>(LOG_LAYOUT, placement),
});
const WRITERS = { local: writersOf('local'), distributed: writersOf('distributed') };

export class PlainEncoder {
  readonly #out = new CopyBuffer();
  readonly #write: ReturnType<typeof writersOf>;

  /** @param placement where the rows are to be stored */
  constructor(placement: TelemetryPlacement = 'local') {
    this.#write = WRITERS[placement];
  }

  /** Decodes a body, and encodes its rows. */
  decode(signal: Signal, body: Buffer, context: RequestContext): ReadyResult {
    const result = DECODERS[signal](body);
    if (!result.ok) return result;
    const { workspaceId, arrivedAtMs, logRuns } = context;
    const runs = logRuns.assign(result.request, workspaceId);
    const lines = plainLines(signal, body, result);
    const request = this.encode(result.request, workspaceId, arrivedAtMs, runs, lines);
    return { ok: true, request };
  }

  /**
   * Encodes a request of `parsePlainly`.
   *
   * @param arrivedAtMs milliseconds since 1970, by PostgreSQL's clock; its UTC day chooses the
   *   partition
   * @param logRuns the runs of rows that do not belong to their trace, and the marks of their sessions
   * @param lines of `plainLines`
   * @throws {SluiceError} `body_too_large` when there are too many runs, marks or resources
   */
  encode(
    request: DecodedRequest,
    workspaceId: number,
    arrivedAtMs: number,
    { runs, marks }: LogRunsOfRequest,
    lines: readonly Line[],
  ): ReadyRequest {
    const { signal, rejections, replacedCharacters, spans, logs, points } = request;
    // Data points are stored as sent, with their resources.
    const resources = signal === 'metrics' ? [] : request.resources;
    checkContents(resources.length);
    checkRuns(marks.length);
    const deltas = runDeltas(request, workspaceId, runs);
    const context = { workspaceId, arrivedAtMs, logRuns: runs };
    const chunks = new Map<TelemetryTable, Buffer>();
    const { span, log } = this.#write;
    if (spans.length > 0) chunks.set('spans', this.#encodeRows(spans, span, context));
    if (logs.length > 0) chunks.set('log_records', this.#encodeRows(logs, log, context));
    const held = { chunks, lines, resources, runs: deltas, sessionMarks: marks };
    const encoded: EncodedRequest = {
      workspaceId,
      signal,
      arrivedAtMs,
      ...held,
      rows: spans.length + logs.length + points,
      bytes: heldBytes(held),
      release: () => {},
    };
    const replaced = signal === 'metrics' ? 0 : replacedCharacters;
    return { signal, rejections, replacedCharacters: replaced, encoded };
  }

  #encodeRows<Row>(rows: readonly Row[], write: PlainWriter<Row>, context: PlainContext): Buffer {
    try {
      for (const row of rows) write(this.#out, row, context);
      return this.#out.take();
    } finally {
      this.#out.clear();
    }
  }
}

/** Returns the accepted records of a decoded body as lines. */
export function plainLines(
  signal: Signal,
  body: Buffer,
  { request, accepted }: Extract<DecodeResult, { readonly ok: true }>,
): readonly Line[] {
  const { spans, logs, points } = request;
  return toEnd(linesOf(signal, body, spans.length + logs.length + points, accepted));
}

/**
 * Decodes a body, without encoding it.
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
