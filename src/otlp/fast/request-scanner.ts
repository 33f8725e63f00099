/**
 * The fast decoder of export requests: one pass over the body's bytes, without building values. It walks
 * over resources and scopes; the sink takes the records in them. It accepts only requests that the plain
 * decoder (`../envelope.ts`) reads without a rejection, with the same facts. For any other request, and for
 * unusual JSON, it returns false: the plain decoder then reads the whole body.
 *
 * One object per thread, for one request at a time. A large body is scanned in pieces.
 */
import type { Origin, Signal } from '../../model/telemetry.ts';
import { isSessionProduct, isTracedSessionProduct } from '../log-session.ts';
import { PIECE_BYTES, type Pieces } from '../pieces.ts';
import { FieldTable } from './field-table.ts';
import { KnownObjects } from './known-objects.ts';
import { MetricScanner } from './metric-scanner.ts';
import { OriginMemo } from './origin-memo.ts';
import { type RecordSink, takeRecords } from './record-sink.ts';
import { FALLBACK, markSeen, requireKnown, Scanner } from './scanner.ts';

interface Frame {
  readonly body: FieldTable;
  readonly resource: FieldTable;
  readonly scope: FieldTable;
}

/**
 * Limit for the length of a resource's text times its scopes: each scope looks it up, in one piece.
 */
const ORIGIN_WORK_MAX = 512 * 1024;

/** Fixed cost of setting a scope's origin, in bytes of a piece. */
const SCOPE_BYTES = 1024;

const LIST = 0;
const ORIGIN = 1;
const TRACED = 1;
const UNTRACED = 2;

const frame = (resources: string, scopes: string, items: string): Frame => ({
  body: new FieldTable([resources]),
  resource: new FieldTable([scopes, 'resource', 'schemaUrl']),
  scope: new FieldTable([items, 'scope', 'schemaUrl']),
});

/** A resource or scope as its text in the body; empty when it is absent. */
interface OriginTexts {
  origin: string;
  schemaUrl: string;
}

interface ScannedScope extends OriginTexts {
  /** assigned by the sink; −1 without records */
  readonly number: number;
  /** `TRACED`: it has spans, or log records with a trace id; `UNTRACED`: log records without */
  readonly kinds: number;
}

export class RequestScanner {
  readonly #scanner = new Scanner();
  readonly #metrics = new MetricScanner(this.#scanner);
  readonly #knownResources = new KnownObjects();
  readonly #knownScopes = new KnownObjects();
  readonly #origins = new OriginMemo();
  readonly #frames: Readonly<Record<Signal, Frame>> = {
    traces: frame('resourceSpans', 'scopeSpans', 'spans'),
    logs: frame('resourceLogs', 'scopeLogs', 'logRecords'),
    metrics: frame('resourceMetrics', 'scopeMetrics', 'metrics'),
  };
  /** of the items scanned last */
  #kinds = 0;
  /** where in the body the current piece began */
  #pieceAt = 0;

  /**
   * Scans one export request. The generator must end, or be closed by `return`, before the next
   * one.
   *
   * @param body the request body, decompressed; read until this ends, and not after
   * @param recordBytesMax most bytes of a record, or between two pauses
   * @returns false when the plain decoder must read the body
   */
  *scan(
    signal: Signal,
    body: Buffer,
    sink: RecordSink,
    recordBytesMax = Number.POSITIVE_INFINITY,
  ): Pieces<boolean> {
    this.#pieceAt = 0;
    try {
      this.#scanner.open(body, PIECE_BYTES + recordBytesMax);
      yield* this.#scanBody(signal, sink);
      return true;
    } catch (error) {
      // A RangeError means that the scanner went past the end of the body.
      if (error === FALLBACK || error instanceof RangeError) return false;
      throw error;
    } finally {
      this.#scanner.close();
    }
  }

  *#scanBody(signal: Signal, sink: RecordSink): Pieces<void> {
    const scanner = this.#scanner;
    const table = this.#frames[signal].body;
    let seen = 0;
    let hasList = false;
    const unknownBefore = scanner.unknownFields;
    for (let field = scanner.firstField(table); field >= 0; field = scanner.nextField(table)) {
      seen = markSeen(seen, field);
      if (scanner.isNull()) continue;
      hasList = true;
      for (let next = scanner.openList(); next; next = scanner.nextElement()) {
        if (this.#endsPiece()) yield;
        yield* this.#scanResource(signal, sink);
      }
    }
    scanner.expectEnd();
    requireKnown(scanner, hasList, unknownBefore);
  }

  /** Checks whether to pause; checked before each resource, scope and record. */
  #endsPiece(): boolean {
    const scanner = this.#scanner;
    if (scanner.at - this.#pieceAt < PIECE_BYTES) return false;
    this.#pieceAt = scanner.at;
    scanner.lookAhead();
    return true;
  }

  *#scanResource(signal: Signal, sink: RecordSink): Pieces<void> {
    const scanner = this.#scanner;
    const resource: OriginTexts = { origin: '', schemaUrl: '' };
    const scopes: ScannedScope[] = [];
    let seen = 0;
    let hasList = false;
    const unknownBefore = scanner.unknownFields;
    const table = this.#frames[signal].resource;
    for (let field = scanner.firstField(table); field >= 0; field = scanner.nextField(table)) {
      seen = markSeen(seen, field);
      if (field !== LIST) {
        this.#readText(resource, field, this.#knownResources);
        continue;
      }
      if (scanner.isNull()) continue;
      hasList = true;
      for (let next = scanner.openList(); next; next = scanner.nextElement()) {
        if (this.#endsPiece()) yield;
        checkOriginWork(resource, scopes.length);
        scopes.push(yield* this.#scanScope(signal, resource, sink));
      }
    }
    requireKnown(scanner, hasList, unknownBefore);
    checkOriginWork(resource, scopes.length);
    let work = 0;
    for (const scope of scopes) {
      work += SCOPE_BYTES + resource.origin.length + scope.origin.length;
      if (work > PIECE_BYTES) {
        work = 0;
        yield;
      }
      const origin = this.#originOf(resource, scope);
      rejectSessionProduct(origin, scope.kinds);
      if (scope.number >= 0) sink.setOrigin(scope.number, origin);
    }
  }

  #originOf(resource: OriginTexts, scope: OriginTexts): Origin {
    return this.#origins.originOf(
      resource.origin,
      resource.schemaUrl,
      scope.origin,
      scope.schemaUrl,
    );
  }

  /** Reads the text of a resource, scope or schema URL. */
  #readText(texts: OriginTexts, field: number, known: KnownObjects): void {
    if (field === ORIGIN) texts.origin = known.textOf(this.#scanner);
    else texts.schemaUrl = this.#scanner.textOfValue();
  }

  *#scanScope(signal: Signal, resource: OriginTexts, sink: RecordSink): Pieces<ScannedScope> {
    const scanner = this.#scanner;
    const texts: OriginTexts = { origin: '', schemaUrl: '' };
    let records = 0;
    let kinds = 0;
    let seen = 0;
    let hasList = false;
    const unknownBefore = scanner.unknownFields;
    const table = this.#frames[signal].scope;
    for (let field = scanner.firstField(table); field >= 0; field = scanner.nextField(table)) {
      seen = markSeen(seen, field);
      if (field !== LIST) {
        this.#readText(texts, field, this.#knownScopes);
        continue;
      }
      if (scanner.isNull()) continue;
      hasList = true;
      for (let next = scanner.openList(); next; next = scanner.nextElement()) {
        if (this.#endsPiece()) yield;
        records += this.#scanItems(signal, sink);
        if ((this.#kinds & ~kinds) === 0) continue;
        kinds |= this.#kinds;
        // Usually the product is known by now, and the rest of the body need not be scanned.
        rejectSessionProduct(this.#originOf(resource, texts), kinds);
      }
    }
    requireKnown(scanner, hasList, unknownBefore);
    const number = records === 0 ? -1 : sink.closeScope();
    const { origin, schemaUrl } = texts;
    return { origin, schemaUrl, number, kinds };
  }

  /** Scans one or more items of a scope; @returns the number of their records */
  #scanItems(signal: Signal, sink: RecordSink): number {
    this.#kinds = 0;
    if (signal === 'metrics') return this.#metrics.scan(sink);
    const taken = takeRecords(this.#scanner, sink, this.#pieceAt + PIECE_BYTES);
    this.#kinds = (taken.hasTraced ? TRACED : 0) | (taken.hasUntraced ? UNTRACED : 0);
    return taken.records;
  }
}

/** Falls back for records of a product whose attributes name the session and prompt. */
function rejectSessionProduct(origin: Origin, kinds: number): void {
  if ((kinds & UNTRACED) !== 0 && isSessionProduct(origin)) throw FALLBACK;
  if ((kinds & TRACED) !== 0 && isTracedSessionProduct(origin)) throw FALLBACK;
}

/**
 * Falls back for many scopes with a large resource: every scope looks up its origin by that text.
 */
function checkOriginWork({ origin, schemaUrl }: OriginTexts, scopes: number): void {
  if ((origin.length + schemaUrl.length) * scopes > ORIGIN_WORK_MAX) throw FALLBACK;
}
