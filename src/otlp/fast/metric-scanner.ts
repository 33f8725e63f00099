/**
 * Scans one metric: its points, which the sink takes, and the members that they share (name, unit and so
 * on), which may come after them. Shared members are checked once and cached by their text, because a
 * process sends the same metrics with every export.
 */
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { Fault } from '../fault.ts';
import { checkMetric } from '../metrics.ts';
import { isSame } from './byte-words.ts';
import { FieldTable } from './field-table.ts';
import { type RecordSink, takeRecords } from './record-sink.ts';
import { FALLBACK, markSeen, requireKnown, type Scanner } from './scanner.ts';

/** Limits the cache to about 30 MB, or twice that beyond Latin-1; a full cache is emptied. */
const METRICS_MAX = 4000;
const TEXT_LENGTH_MAX = 2048;

const METRIC_MEMBERS = [
  'name',
  'description',
  'unit',
  'metadata',
  'gauge',
  'sum',
  'histogram',
  'exponentialHistogram',
  'summary',
];
const NAMES = ['name', 'description', 'unit', 'metadata'] as const;
const KINDS = ['gauge', 'sum', 'histogram'] as const;
const DATA_MEMBERS = ['dataPoints', 'aggregationTemporality', 'isMonotonic'] as const;

export class MetricScanner {
  readonly #scanner: Scanner;
  readonly #metric = new FieldTable(METRIC_MEMBERS);
  readonly #data = new FieldTable(DATA_MEMBERS);
  /** of the current metric: its own, then its data's members except `dataPoints` */
  readonly #members = new Members(NAMES.length + DATA_MEMBERS.length - 1);
  readonly #known = new Map<string, KnownMetric>();
  #latest: KnownMetric | null = null;

  constructor(scanner: Scanner) {
    this.#scanner = scanner;
  }

  /**
   * Scans one metric.
   *
   * @param sink takes the points; if it refuses a point, the plain decoder reads the body
   */
  scan(sink: RecordSink): number {
    const scanner = this.#scanner;
    const table = this.#metric;
    this.#members.reset();
    let points = 0;
    let kind = -1;
    let seen = 0;
    for (let member = scanner.firstField(table); member >= 0; member = scanner.nextField(table)) {
      seen = markSeen(seen, member);
      if (member < NAMES.length) {
        this.#noteMember(member);
      } else if (!scanner.isNull()) {
        if (kind >= 0 || member - NAMES.length >= KINDS.length) throw FALLBACK;
        kind = member - NAMES.length;
        points = this.#scanData(kind, sink);
      }
    }
    this.#requireValid(kind);
    return points;
  }

  #scanData(kind: number, sink: RecordSink): number {
    const scanner = this.#scanner;
    const table = this.#data;
    const isHistogram = KINDS[kind] === 'histogram';
    let seen = 0;
    let points = 0;
    let hasList = false;
    const unknownBefore = scanner.unknownFields;
    for (let member = scanner.firstField(table); member >= 0; member = scanner.nextField(table)) {
      seen = markSeen(seen, member);
      if (member > 0) {
        this.#noteMember(NAMES.length + member - 1);
      } else if (!scanner.isNull()) {
        hasList = true;
        for (let next = scanner.openList(); next; next = scanner.nextElement()) {
          // There is no pause in a metric.
          points += takeRecords(scanner, sink, Number.POSITIVE_INFINITY, isHistogram).records;
        }
      }
    }
    requireKnown(scanner, hasList, unknownBefore);
    return points;
  }

  #noteMember(member: number): void {
    const scanner = this.#scanner;
    scanner.peek();
    const start = scanner.at;
    scanner.skipValue();
    this.#members.note(member, start, scanner.at);
  }

  #requireValid(kind: number): void {
    const scanner = this.#scanner;
    const members = this.#members;
    const expected = this.#latest?.next ?? null;
    if (expected?.matches(scanner.view, kind, members) === true) {
      this.#latest = expected;
      return;
    }
    const texts = Array.from(members.starts, (start, member) =>
      scanner.slice(start, members.ends[member] as number),
    );
    // The end of a JSON value is unambiguous, so different lists of texts differ when joined.
    const key = `${kind}\n${texts.join('\n')}`;
    const found = this.#known.get(key);
    if (found !== undefined) {
      this.#follow(found);
      return;
    }
    const fault = new Fault();
    checkMetric(toMetric(kind, texts), fault);
    if (fault.refused) throw FALLBACK;
    if (key.length <= TEXT_LENGTH_MAX) {
      if (this.#known.size >= METRICS_MAX) this.#known.clear();
      const metric = new KnownMetric(kind, scanner.body, members);
      this.#known.set(key, metric);
      this.#follow(metric);
    }
  }

  #follow(metric: KnownMetric): void {
    if (this.#latest !== null) this.#latest.next = metric;
    this.#latest = metric;
  }
}

/** The metric as sent, without its points. */
function toMetric(kind: number, texts: readonly string[]): JsonObject {
  const data: JsonObject = {};
  const metric: JsonObject = {};
  for (const [place, text] of texts.entries()) {
    if (text === '') continue;
    const value = JSON.parse(text) as JsonValue;
    const name = NAMES[place];
    if (name !== undefined) metric[name] = value;
    else data[DATA_MEMBERS[place - NAMES.length + 1] ?? ''] = value;
  }
  const kindName = KINDS[kind];
  if (kindName !== undefined) metric[kindName] = data;
  return metric;
}

// A metric that was sent before, recognized by the bytes of its members other than the points. A
// process sends its metrics in the same order every time, so each one links to its successor, which
// is compared first.

/** Where the members of a metric start and end in a body; 0 and 0 for absent ones. */
export class Members {
  readonly starts: Int32Array;
  readonly ends: Int32Array;

  constructor(count: number) {
    this.starts = new Int32Array(count);
    this.ends = new Int32Array(count);
  }

  reset(): void {
    this.starts.fill(0);
    this.ends.fill(0);
  }

  note(member: number, start: number, end: number): void {
    this.starts[member] = start;
    this.ends[member] = end;
  }
}

/** The bytes of a valid metric. */
class KnownMetric {
  /** the metric that followed it last time */
  next: KnownMetric | null = null;
  readonly #kind: number;
  /** the texts of its members, concatenated, and where each ends */
  readonly #texts: DataView;
  readonly #ends: Int32Array;

  /** @param body holds the members; they are copied */
  constructor(kind: number, body: Buffer, { starts, ends }: Members) {
    this.#kind = kind;
    this.#ends = new Int32Array(starts.length);
    let length = 0;
    for (let member = 0; member < starts.length; member += 1) {
      length += (ends[member] as number) - (starts[member] as number);
      this.#ends[member] = length;
    }
    const texts = Buffer.allocUnsafeSlow(length);
    for (let member = 0, at = 0; member < starts.length; member += 1) {
      at += body.copy(texts, at, starts[member], ends[member]);
    }
    this.#texts = new DataView(texts.buffer);
  }

  matches(view: DataView, kind: number, { starts, ends }: Members): boolean {
    if (kind !== this.#kind) return false;
    let from = 0;
    for (let member = 0; member < starts.length; member += 1) {
      const start = starts[member] as number;
      const length = (ends[member] as number) - start;
      const end = this.#ends[member] as number;
      if (end - from !== length || !isSame(view, start, this.#texts, from, length)) return false;
      from = end;
    }
    return true;
  }
}
