/**
 * Owns the fast way through an export request: one pass over the body's bytes, rows handed to a sink
 * one by one, no value built on the way. It takes exactly the requests that the plain decoder
 * (`../envelope.ts`) takes without a rejection or a repair, and gives the same rows; it gives up on
 * every other, and on unusual JSON, and the plain decoder then reads the whole body.
 *
 * One scanner and one row of each kind serve all requests of the thread, one after the other. A large
 * body may be scanned piece by piece; the next one begins when it is done.
 */

import type { MetricRow, ResourceRow, Signal } from '../../model/telemetry.ts';
import { isSessionProduct } from '../log-session.ts';
import { PIECE_BYTES, type Pieces, toEnd } from '../pieces.ts';
import { FieldTable } from './field-table.ts';
import { forgetTraceId } from './id-scanner.ts';
import { KnownObjects } from './known-objects.ts';
import { scanLog } from './log-scanner.ts';
import { scanMetric } from './metric-scanner.ts';
import { originOf } from './origin-memo.ts';
import { ScannedLog, ScannedPoint, ScannedSpan } from './scanned-rows.ts';
import { LEFT_TO_PLAIN, Scanner } from './scanner.ts';
import { once, scanSpan } from './span-scanner.ts';

/** Takes rows as they are scanned. Who gets `false` from `scanRequest` drops what it was given. */
export interface RowSink {
  /** the row is another one after the call */
  span(row: ScannedSpan): void;
  log(row: ScannedLog): void;
  point(row: ScannedPoint): void;
  /** the points since the last call are this metric's */
  setMetric(metric: MetricRow): void;
  /** the rows since the last call are one scope's; @returns its number, for `setOrigin` */
  closeScope(): number;
  /** tells the resource and scope of a scope's rows, which may stand behind them in the body */
  setOrigin(scope: number, origin: ResourceRow): void;
}

interface Frame {
  readonly body: FieldTable;
  readonly resource: FieldTable;
  readonly scope: FieldTable;
}

/**
 * Characters of resource text that one resource's scopes may cause to be read; one piece may read
 * all.
 */
const ORIGIN_WORK_MAX = 512 * 1024;

/** Fixed cost of setting a scope's origin, in bytes of a piece. */
const SCOPE_BYTES = 1024;

const LIST = 0;
const ORIGIN = 1;

const frame = (resources: string, scopes: string, items: string): Frame => ({
  body: new FieldTable([resources]),
  resource: new FieldTable([scopes, 'resource', 'schemaUrl']),
  scope: new FieldTable([items, 'scope', 'schemaUrl']),
});
const TRACES = frame('resourceSpans', 'scopeSpans', 'spans');
const LOGS = frame('resourceLogs', 'scopeLogs', 'logRecords');
const METRICS = frame('resourceMetrics', 'scopeMetrics', 'metrics');
const FRAMES: Readonly<Record<Signal, Frame>> = { traces: TRACES, logs: LOGS, metrics: METRICS };

/** A resource or scope as its text stands in the body; empty when it is not there. */
interface Texts {
  origin: string;
  schemaUrl: string;
}

interface Scope extends Texts {
  /** the sink's number; −1 without rows */
  readonly number: number;
  readonly hasLogWithoutTrace: boolean;
}

const scanner = new Scanner();
const knownResources = new KnownObjects();
const knownScopes = new KnownObjects();
const span = new ScannedSpan(scanner.arena);
const log = new ScannedLog(scanner.arena);
const point = new ScannedPoint(scanner.arena);
let isOpen = false;
/** where in the body the present piece began */
let pieceAt = 0;

/** `scanInPieces`, at once. */
export function scanRequest(signal: Signal, body: Buffer, sink: RowSink): boolean {
  return toEnd(scanInPieces(signal, body, sink));
}

/**
 * Scans one export request. To be run to its end, or returned from, before the next one is scanned.
 *
 * @param body the request body, decompressed; read until this ends, and not after
 * @param recordBytesMax a body with a longer record, or more bytes between two pauses, is left to
 *   the plain decoder
 * @returns false when the body is left to the plain decoder
 */
export function* scanInPieces(
  signal: Signal,
  body: Buffer,
  sink: RowSink,
  recordBytesMax = Number.POSITIVE_INFINITY,
): Pieces<boolean> {
  if (isOpen) throw new Error('another request is being scanned');
  isOpen = true;
  pieceAt = 0;
  try {
    scanner.open(body, PIECE_BYTES + recordBytesMax);
    forgetTraceId();
    yield* scanBody(FRAMES[signal], signal, sink);
    return true;
  } catch (error) {
    // A RangeError means that the scanner went past the end of the body or its arena.
    if (error === LEFT_TO_PLAIN || error instanceof RangeError) return false;
    throw error;
  } finally {
    span.lists.release();
    point.lists.release();
    scanner.close();
    isOpen = false;
  }
}

function* scanBody(frame: Frame, signal: Signal, sink: RowSink): Pieces<void> {
  let seen = 0;
  const { body } = frame;
  for (let field = scanner.firstField(body); field >= 0; field = scanner.nextField(body)) {
    seen = once(seen, field);
    if (scanner.isNull()) continue;
    for (let next = scanner.openList(); next; next = scanner.nextElement()) {
      if (endsPiece()) yield;
      yield* scanResource(frame, signal, sink);
    }
  }
  scanner.expectEnd();
}

/** Is it time to pause? Asked before each resource, scope and record. */
function endsPiece(): boolean {
  if (scanner.at - pieceAt < PIECE_BYTES) return false;
  pieceAt = scanner.at;
  scanner.lookAhead();
  return true;
}

function* scanResource(frame: Frame, signal: Signal, sink: RowSink): Pieces<void> {
  const resource: Texts = { origin: '', schemaUrl: '' };
  const scopes: Scope[] = [];
  let seen = 0;
  const table = frame.resource;
  for (let field = scanner.firstField(table); field >= 0; field = scanner.nextField(table)) {
    seen = once(seen, field);
    if (field !== LIST) {
      readText(resource, field, knownResources);
      continue;
    }
    if (scanner.isNull()) continue;
    for (let next = scanner.openList(); next; next = scanner.nextElement()) {
      if (endsPiece()) yield;
      checkOriginWork(resource, scopes.length);
      scopes.push(yield* scanScope(frame, signal, resource, sink));
    }
  }
  checkOriginWork(resource, scopes.length);
  let work = 0;
  for (const scope of scopes) {
    work += SCOPE_BYTES + resource.origin.length + scope.origin.length;
    if (work > PIECE_BYTES) {
      work = 0;
      yield;
    }
    if (scope.hasLogWithoutTrace) leaveSessionProduct(resource, scope);
    const origin = originOf(resource.origin, resource.schemaUrl, scope.origin, scope.schemaUrl);
    if (scope.number >= 0) sink.setOrigin(scope.number, origin);
  }
}

/** Every scope looks its origin up by the resource's text: many scopes, large resource, no. */
function checkOriginWork({ origin, schemaUrl }: Texts, scopes: number): void {
  if ((origin.length + schemaUrl.length) * scopes > ORIGIN_WORK_MAX) throw LEFT_TO_PLAIN;
}

/** Leaves a product's records to the plain way if their attributes tell which run they belong to. */
function leaveSessionProduct(resource: Texts, scope: Texts): void {
  const origin = originOf(resource.origin, resource.schemaUrl, scope.origin, scope.schemaUrl);
  if (isSessionProduct(origin)) throw LEFT_TO_PLAIN;
}

/** Notes the text of a resource, scope or schema URL. */
function readText(texts: Texts, field: number, known: KnownObjects): void {
  if (field === ORIGIN) texts.origin = known.textOf(scanner);
  else texts.schemaUrl = scanner.textOfValue();
}

function* scanScope(frame: Frame, signal: Signal, resource: Texts, sink: RowSink): Pieces<Scope> {
  const texts: Texts = { origin: '', schemaUrl: '' };
  let rows = 0;
  let withoutTrace = 0;
  let seen = 0;
  const table = frame.scope;
  for (let field = scanner.firstField(table); field >= 0; field = scanner.nextField(table)) {
    seen = once(seen, field);
    if (field !== LIST) {
      readText(texts, field, knownScopes);
      continue;
    }
    if (scanner.isNull()) continue;
    for (let next = scanner.openList(); next; next = scanner.nextElement()) {
      if (endsPiece()) yield;
      rows += scanItem(signal, sink);
      if (signal !== 'logs' || log.hasTraceId) continue;
      // Mostly the product can be told already, and the rest of the body need not be scanned.
      if (withoutTrace === 0) leaveSessionProduct(resource, texts);
      withoutTrace += 1;
    }
  }
  const number = rows === 0 ? -1 : sink.closeScope();
  const { origin, schemaUrl } = texts;
  return { origin, schemaUrl, number, hasLogWithoutTrace: withoutTrace > 0 };
}

/** Scans what a scope lists; @returns how many rows it gave. */
function scanItem(signal: Signal, sink: RowSink): number {
  if (signal === 'traces') {
    scanSpan(scanner, span);
    sink.span(span);
    return 1;
  }
  if (signal === 'logs') {
    scanLog(scanner, log);
    sink.log(log);
    return 1;
  }
  let points = 0;
  const metric = scanMetric(scanner, point, (row) => {
    sink.point(row);
    points += 1;
  });
  if (points > 0) sink.setMetric(metric);
  return points;
}
