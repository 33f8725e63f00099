/**
 * The fast decoder of export requests: one pass over the body's bytes, without building values. It walks
 * over resources and scopes; the sink takes the records in them. It accepts only requests that the plain
 * decoder (`../envelope.ts`) reads without a rejection, with the same facts. For any other request, and for
 * unusual JSON, it returns false: the plain decoder then reads the whole body.
 *
 * One object per thread, for one request at a time. A large body is scanned in pieces.
 */
import type { JsonObject, JsonValue } from '../../model/json.ts';
import type { Origin, Signal } from '../../model/telemetry.ts';
import { Fault } from '../fault.ts';
import { isSessionProduct, isTracedSessionProduct } from '../log-session.ts';
import { readResource, readScope } from '../origin.ts';
import { PIECE_BYTES, type Pieces } from '../pieces.ts';
import { copyOf, isAhead } from './byte-words.ts';
import { FieldTable } from './field-table.ts';
import { MetricScanner } from './metric-scanner.ts';
import { type RecordSink, takeRecords } from './record-sink.ts';
import { FALLBACK, markSeen, OPEN_OBJECT, requireKnown, Scanner } from './scanner.ts';

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

// A cache of objects, recognized by their bytes: a process sends its resource and scopes with every
// request, and scanning them again would cost more than the rows of a small request. An entry
// depends on the bytes alone, so all senders share the cache.

/** Entries of the cache. Comparing starts at the end of an object, where most differences are. */
const OBJECTS_MAX = 8;
const BYTES_MAX = 2048;
/**
 * Every fourth unknown object replaces the oldest entry. If many objects alternate, some stay
 * cached until they come again, and the others cost little.
 */
const REPLACE_EVERY = 4;

interface KnownObject {
  readonly bytes: DataView;
  readonly text: string;
  readonly structures: number;
}

export class KnownObjects {
  readonly #known: KnownObject[] = [];
  #oldest = 0;
  #unknown = 0;

  /** As `Scanner.textOfValue`; for a cached object, the identical string. */
  textOf(scanner: Scanner): string {
    const isObject = scanner.peek() === OPEN_OBJECT;
    const start = scanner.at;
    const known = isObject ? this.#at(scanner, start) : null;
    if (known !== null) {
      scanner.noteStructures(known.structures);
      scanner.at = start + known.bytes.byteLength;
      return known.text;
    }
    const before = scanner.structures;
    const text = scanner.textOfValue();
    if (isObject) this.#note(scanner, start, text, scanner.structures - before);
    return text;
  }

  #at({ view }: Scanner, start: number): KnownObject | null {
    for (const known of this.#known) if (isAhead(known.bytes, view, start)) return known;
    return null;
  }

  #note({ view, at }: Scanner, start: number, text: string, structures: number): void {
    const isStored = this.#unknown % REPLACE_EVERY === 0;
    this.#unknown += 1;
    if (!isStored || at - start > BYTES_MAX) return;
    this.#known[this.#oldest] = { bytes: copyOf(view, start, at), text, structures };
    this.#oldest = (this.#oldest + 1) % OBJECTS_MAX;
  }
}

// A cache of resources and scopes, by their JSON text. A process sends the same ones with every
// request, and parsing them would cost more than the records of a small request. An entry
// depends on the text alone, so all senders share the cache.

/** Limits the cache to about 16 MB; a full cache is emptied. */
const TEXTS_MAX = 1000;
const TEXT_LENGTH_MAX = 4096;

class OriginMemo {
  /** by the resource's text, then by the other texts; V8 keeps a string's hash with the string */
  readonly #known = new Map<string, Map<string, Origin>>();
  #count = 0;

  /**
   * Reads a resource with a scope. Each text is valid JSON, or empty when it was not sent.
   *
   * @throws FALLBACK when one of them has a fault
   */
  originOf(resource: string, schemaUrl: string, scope: string, scopeSchemaUrl: string): Origin {
    // The end of a JSON value is unambiguous, so different lists of texts differ when joined.
    const hasUrl = schemaUrl !== '' || scopeSchemaUrl !== '';
    const rest = hasUrl ? `${scope}\n${schemaUrl},${scopeSchemaUrl}` : scope;
    const found = this.#known.get(resource)?.get(rest);
    if (found !== undefined) return found;
    const fault = new Fault();
    const serviceName = readResource(entry('resource', resource, schemaUrl), fault);
    const scopeName = readScope(entry('scope', scope, scopeSchemaUrl), fault);
    if (fault.refused) throw FALLBACK;
    const origin = { serviceName, scopeName };
    if (resource.length + rest.length <= TEXT_LENGTH_MAX) this.#remember(resource, rest, origin);
    return origin;
  }

  #remember(resource: string, rest: string, origin: Origin): void {
    if (this.#count >= TEXTS_MAX) {
      this.#known.clear();
      this.#count = 0;
    }
    const origins = this.#known.get(resource) ?? new Map<string, Origin>();
    this.#known.set(resource, origins.set(rest, origin));
    this.#count += 1;
  }
}

function entry(name: string, text: string, schemaUrl: string): JsonObject {
  const object: JsonObject = {};
  if (text !== '') object[name] = JSON.parse(text) as JsonValue;
  if (schemaUrl !== '') object.schemaUrl = JSON.parse(schemaUrl) as JsonValue;
  return object;
}
