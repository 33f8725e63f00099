/**
 * The fast decoder of export requests: its records are checked by the sink, in their bytes, and only the
 * text around them is parsed, object by object, by the code of the plain decoder (`../envelope.ts`):
 *
 *   body      {"resourceSpans":[{}]}                  {} stands for a resource
 *   resource  {"resource":…,"scopeSpans":[{"scope":…,"spans":[{}]}]}      for the records of a list
 *   metric    {"name":…,"sum":{"dataPoints":[{}],"isMonotonic":true}}     for its points
 *
 * Every byte is in one of these texts or was checked by the sink, so a body that is not valid JSON is never
 * accepted, wherever the walk through it went. A process sends the same texts with every request: they are
 * remembered, and not parsed again. A body with one list of records is recognized by the bytes around the list,
 * and a metric by the bytes around its points if it followed the same metric before: without a walk.
 *
 * It accepts only requests that the plain decoder reads without a rejection, with the same facts. For any
 * other request, and for unusual JSON, it returns false: the plain decoder then reads the whole body. One
 * object per thread, for one request at a time. A large body is scanned in pieces.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import type { Origin, Signal } from '../../model/telemetry.ts';
import { type Envelope, readOrigins } from '../envelope.ts';
import { JsonWalk } from '../lines/json-walk.ts';
import { isSessionProduct, isTracedSessionProduct } from '../log-session.ts';
import { LOGS } from '../logs.ts';
import { METRICS, pointsOf } from '../metrics.ts';
import { PIECE_BYTES, type Pieces } from '../pieces.ts';
import { STRUCTURES_MAX } from '../structure-count.ts';
import { TRACES } from '../traces.ts';
import {
  COMMA,
  FALLBACK,
  FRAME_LENGTH_MAX,
  FrameText,
  hasAt,
  type Known,
  KnownTexts,
  TEXT_LENGTH_MAX,
} from './frame-text.ts';
import type { OrdinaryTaken, RecordSink } from './record-sink.ts';

/** Most resources of a body, and scopes of a resource. */
const PARTS_MAX = 20_000;
/** Metrics that are remembered. */
const METRICS_MAX = 4000;
/** Bodies of a signal that are recognized by their bytes, the latest. */
const BODIES_MAX = 8;

const ENVELOPES: Readonly<Record<Signal, Envelope>> = {
  traces: TRACES,
  logs: LOGS,
  metrics: METRICS,
};
/** Kinds of metrics that have ordinary points. */
const KINDS = ['gauge', 'sum', 'histogram'];
const POINTS = 'dataPoints';

/** The bytes before and after the records of a body's only list. */
interface KnownBody {
  readonly head: Buffer;
  readonly tail: Buffer;
  readonly origin: Origin;
  readonly structures: number;
  /** other bodies have the same head, and more lists */
  isAmbiguous: boolean;
}

/** The bytes before and after the points of a metric. */
interface KnownMetric {
  readonly head: Buffer;
  readonly tail: Buffer;
  readonly kind: string;
  readonly structures: number;
  /** the metric that followed it the last time: a process sends its metrics in the same order */
  next: KnownMetric | null;
}

const knownOf = (envelope: Envelope) => ({
  latest: [] as KnownBody[],
  bodies: new KnownTexts((body) => readOrigins(body, envelope)),
  resources: new KnownTexts((resource) =>
    readOrigins({ [envelope.resourceList]: [resource] }, envelope),
  ),
});

export class RequestScanner {
  readonly #known = {
    traces: knownOf(TRACES),
    logs: knownOf(LOGS),
    metrics: knownOf(METRICS),
  };
  readonly #metrics = new KnownTexts(pointsOf, METRICS_MAX);
  readonly #knownMetrics = new Map<Known<string>, KnownMetric>();
  #latestMetric: KnownMetric | null = null;
  #body: Buffer = Buffer.alloc(0);
  #walk = new JsonWalk(this.#body);
  #encoding: 'latin1' | 'utf8' = 'latin1';
  #signal: Signal = 'traces';
  #recordBytesMax = Number.POSITIVE_INFINITY;
  #structures = 0;
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
    const isLatin = isAscii(body);
    if (!isLatin && !isUtf8(body)) return false;
    this.#encoding = isLatin ? 'latin1' : 'utf8';
    this.#body = body;
    this.#walk = new JsonWalk(body);
    this.#signal = signal;
    this.#recordBytesMax = recordBytesMax;
    this.#structures = 0;
    this.#pieceAt = 0;
    try {
      if (!(yield* this.#scanKnown(sink))) yield* this.#scanBody(sink);
      return true;
    } catch (error) {
      // A RangeError means that the walk came to the end of the body, a SyntaxError that a text is not JSON.
      if (error === FALLBACK || error instanceof RangeError || error instanceof SyntaxError) {
        return false;
      }
      throw error;
    } finally {
      this.#body = Buffer.alloc(0);
      this.#walk = new JsonWalk(this.#body);
    }
  }

  /** Scans a body whose head and tail are known; false, with nothing taken, for any other body. */
  *#scanKnown(sink: RecordSink): Pieces<boolean> {
    const body = this.#body;
    const walk = this.#walk;
    for (const known of this.#known[this.#signal].latest) {
      const { head, tail, origin } = known;
      const end = body.length - tail.length;
      if (known.isAmbiguous || head.length >= end) continue;
      if (!hasAt(body, head, 0) || !hasAt(body, tail, end)) continue;
      this.#noteStructures(known.structures);
      walk.at = head.length;
      for (;;) {
        const taken = this.#take(sink, this.#pieceAt + PIECE_BYTES, false);
        requireTraced(taken, origin);
        if (walk.at === end) {
          sink.setOrigin(sink.closeScope(), origin);
          return true;
        }
        if (body[walk.at] !== COMMA) break;
        walk.at += 1;
        if (this.#endsPiece()) yield;
      }
      known.isAmbiguous = true;
      sink.restart();
      this.#structures = 0;
      this.#pieceAt = 0;
      walk.at = 0;
      return false;
    }
    return false;
  }

  *#scanBody(sink: RecordSink): Pieces<void> {
    const walk = this.#walk;
    const { resourceList } = ENVELOPES[this.#signal];
    const text = new FrameText(this.#body, this.#encoding, 0);
    this.#requireObject();
    let scopes: readonly ScannedScope[] = [];
    let hasList = false;
    for (let key = walk.firstKey(); key !== null; key = walk.nextKey()) {
      if (!this.#entersList(key, resourceList, hasList)) continue;
      hasList = true;
      for (let more = walk.firstElement(); more; more = walk.nextElement()) {
        if (this.#endsPiece()) yield;
        const start = walk.at;
        scopes = yield* this.#scanResource(sink);
        text.leaveOut(start, walk.at);
        if (text.holes > PARTS_MAX) throw FALLBACK;
      }
    }
    const { structures } = this.#known[this.#signal].bodies.of(text.end(this.#body.length));
    this.#noteStructures(structures - text.holes);
    const [only] = scopes;
    if (text.holes === 1 && scopes.length === 1 && only !== undefined) this.#remember(only);
  }

  /** Remembers a body of one scope. */
  #remember({ number, origin, start, end, structures }: ScannedScope): void {
    if (number < 0 || this.#signal === 'metrics') return;
    const body = this.#body;
    const { latest } = this.#known[this.#signal];
    const head = body.subarray(0, start);
    const tail = body.subarray(end);
    if (head.length + tail.length > TEXT_LENGTH_MAX || origin === null) return;
    if (latest.some((known) => known.head.equals(head) && known.tail.equals(tail))) return;
    const [ownHead, ownTail] = [Buffer.from(head), Buffer.from(tail)];
    const around = this.#structures - structures;
    latest.unshift({
      head: ownHead,
      tail: ownTail,
      origin,
      structures: around,
      isAmbiguous: false,
    });
    latest.splice(BODIES_MAX);
  }

  *#scanResource(sink: RecordSink): Pieces<readonly ScannedScope[]> {
    const walk = this.#walk;
    const { scopeList } = ENVELOPES[this.#signal];
    const text = new FrameText(this.#body, this.#encoding, walk.at);
    const scopes: ScannedScope[] = [];
    this.#requireObject();
    let hasList = false;
    for (let key = walk.firstKey(); key !== null; key = walk.nextKey()) {
      if (!this.#entersList(key, scopeList, hasList)) continue;
      hasList = true;
      for (let more = walk.firstElement(); more; more = walk.nextElement()) {
        if (this.#endsPiece()) yield;
        scopes.push(yield* this.#scanScope(text, sink));
        if (scopes.length > PARTS_MAX) throw FALLBACK;
      }
    }
    const { value: origins, structures } = this.#known[this.#signal].resources.of(
      text.end(walk.at),
    );
    this.#noteStructures(structures - text.holes);
    if (origins.length !== scopes.length) throw FALLBACK;
    for (const [index, origin] of origins.entries()) {
      const scope = scopes[index] as ScannedScope;
      requireTraced(scope, origin);
      scope.origin = origin;
      if (scope.number >= 0) sink.setOrigin(scope.number, origin);
    }
    return scopes;
  }

  *#scanScope(text: FrameText, sink: RecordSink): Pieces<ScannedScope> {
    const walk = this.#walk;
    const { itemList } = ENVELOPES[this.#signal];
    const scope = new ScannedScope();
    this.#requireObject();
    let records = 0;
    let hasList = false;
    for (let key = walk.firstKey(); key !== null; key = walk.nextKey()) {
      if (!this.#entersList(key, itemList, hasList)) continue;
      hasList = true;
      for (let more = walk.firstElement(); more; more = walk.nextElement()) {
        if (this.#endsPiece()) yield;
        const start = walk.at;
        if (this.#signal === 'metrics') {
          records += this.#scanMetric(sink);
        } else {
          const taken = this.#take(sink, this.#pieceAt + PIECE_BYTES, false);
          if (records === 0) scope.start = start;
          records += taken.records;
          scope.structures += taken.structures;
          scope.hasTraced ||= taken.hasTraced;
          scope.hasUntraced ||= taken.hasUntraced;
        }
        scope.end = walk.at;
        text.leaveOut(start, walk.at);
      }
    }
    if (records > 0) scope.number = sink.closeScope();
    return scope;
  }

  /** @returns the number of its points */
  #scanMetric(sink: RecordSink): number {
    const body = this.#body;
    const walk = this.#walk;
    this.#requireObject();
    const start = walk.at;
    const expected = this.#latestMetric?.next ?? null;
    if (expected === null || !hasAt(body, expected.head, start)) {
      return this.#scanMetricFrom(sink, start, null);
    }
    walk.at = start + expected.head.length;
    const points = this.#takePoints(sink, expected.kind);
    if (!hasAt(body, expected.tail, walk.at)) {
      return points + this.#scanMetricFrom(sink, start, expected);
    }
    walk.at += expected.tail.length;
    this.#noteStructures(expected.structures);
    this.#latestMetric = expected;
    return points;
  }

  /** @param begun a metric with the same head, if that was read and the first points are taken; null: nothing is */
  #scanMetricFrom(sink: RecordSink, start: number, begun: KnownMetric | null): number {
    const walk = this.#walk;
    const text = new FrameText(this.#body, this.#encoding, start);
    let isBegun = begun !== null;
    let pointsAt = start + (begun?.head.length ?? 0);
    let pointsEnd = walk.at;
    if (isBegun) text.leaveOut(pointsAt, pointsEnd);
    let entered = begun?.kind ?? '';
    let points = 0;
    for (let kind = isBegun ? entered : walk.firstKey(); kind !== null; kind = walk.nextKey()) {
      if (!isBegun && (!KINDS.includes(kind) || !walk.isObject)) {
        this.#skip();
        continue;
      }
      let key = isBegun ? POINTS : walk.firstKey();
      for (; key !== null; key = walk.nextKey()) {
        if (!isBegun && !this.#entersList(key, POINTS, entered !== '')) continue;
        entered = kind;
        let more = isBegun ? walk.nextElement() : walk.firstElement();
        isBegun = false;
        for (; more; more = walk.nextElement()) {
          const from = walk.at;
          points += this.#takePoints(sink, kind);
          text.leaveOut(from, walk.at);
          pointsAt = from;
          pointsEnd = walk.at;
        }
      }
    }
    const known = this.#metrics.of(text.end(walk.at));
    this.#noteStructures(known.structures - text.holes);
    if (known.value !== entered) throw FALLBACK;
    if (text.holes === 1) this.#follow(known, start, pointsAt, pointsEnd);
    return points;
  }

  /** There is no pause in a metric. */
  #takePoints(sink: RecordSink, kind: string): number {
    return this.#take(sink, Number.POSITIVE_INFINITY, kind === 'histogram').records;
  }

  #follow(known: Known<string>, start: number, pointsAt: number, pointsEnd: number): void {
    let metric = this.#knownMetrics.get(known);
    if (metric === undefined) {
      if (this.#knownMetrics.size >= METRICS_MAX) this.#knownMetrics.clear();
      metric = {
        head: Buffer.from(this.#body.subarray(start, pointsAt)),
        tail: Buffer.from(this.#body.subarray(pointsEnd, this.#walk.at)),
        kind: known.value,
        structures: known.structures - 1,
        next: null,
      };
      this.#knownMetrics.set(known, metric);
    }
    if (this.#latestMetric !== null) this.#latestMetric.next = metric;
    this.#latestMetric = metric;
  }

  /**
   * Lets the sink take the record that comes next, and those after it; the walk moves past them.
   *
   * @throws FALLBACK when the sink does not take the next record
   */
  #take(sink: RecordSink, until: number, isHistogram: boolean): OrdinaryTaken {
    const body = this.#body;
    const walk = this.#walk;
    const end = Math.min(body.length, this.#pieceAt + PIECE_BYTES + this.#recordBytesMax);
    const taken = walk.at < end ? sink.takeOrdinary(body, walk.at, until, end, isHistogram) : null;
    if (taken === null) throw FALLBACK;
    walk.at = taken.at;
    this.#noteStructures(taken.structures);
    return taken;
  }

  /** Checks whether to pause; checked before each resource, scope and record. */
  #endsPiece(): boolean {
    if (this.#walk.at - this.#pieceAt < PIECE_BYTES) return false;
    this.#pieceAt = this.#walk.at;
    return true;
  }

  #requireObject(): void {
    if (!this.#walk.isObject) throw FALLBACK;
  }

  /** Checks whether a member is the list that leads to the records, else skips it. A second one falls back. */
  #entersList(key: string, list: string, hasList: boolean): boolean {
    if (key === list && hasList) throw FALLBACK;
    if (key === list && this.#walk.isList) return true;
    this.#skip();
    return false;
  }

  #skip(): void {
    if (!this.#walk.skipUpTo(this.#walk.at + FRAME_LENGTH_MAX)) throw FALLBACK;
  }

  /** Counts opened objects and lists. The plain decoder counts them exactly, and refuses a body with too many. */
  #noteStructures(count: number): void {
    this.#structures += count;
    if (this.#structures > STRUCTURES_MAX) throw FALLBACK;
  }
}

class ScannedScope {
  /** assigned by the sink; −1 without records */
  number = -1;
  hasTraced = false;
  hasUntraced = false;
  origin: Origin | null = null;
  /** where its first record begins and its last one ends, and the structures of all */
  start = 0;
  end = 0;
  structures = 0;
}

/** Falls back for records of a product whose attributes name the session and prompt. */
function requireTraced(
  { hasTraced, hasUntraced }: Pick<OrdinaryTaken, 'hasTraced' | 'hasUntraced'>,
  origin: Origin,
): void {
  if (hasUntraced && isSessionProduct(origin)) throw FALLBACK;
  if (hasTraced && isTracedSessionProduct(origin)) throw FALLBACK;
}
