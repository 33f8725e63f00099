/**
 * Rows that are handed over one by one, as numbers and bytes, and become COPY bytes at once: the fast
 * counterpart of `encoded-request.ts`, byte for byte the same (`test/otlp/fast-decode.test.ts`).
 *
 * Where a row came from may be told after the row: its place is filled then.
 */

import { checkContents, type EncodedRequest, heldBytes } from '../db/telemetry/encoded-request.ts';
import { type BytesSource, RowBytes } from '../db/telemetry/row-bytes.ts';
import type {
  LogSource,
  PointSource,
  SpanSource,
  TextRange,
  Texts,
} from '../db/telemetry/row-sources.ts';
import type { RunDeltas } from '../db/telemetry/run-delta.ts';
import { RunTally } from '../db/telemetry/run-tally.ts';
import type { TelemetryTable } from '../db/telemetry/table-layouts.ts';
import type { Hex16 } from '../model/json.ts';
import type { MetricRow, ResourceRow } from '../model/telemetry.ts';

interface Scope {
  readonly rowsEnd: number;
  readonly tally: RunTally;
}

/** Fixed fields of a row of either table, with room to spare. */
const FIXED_BYTES = 320;
const DAYS_1970_TO_2000 = 10_957;
const DAY_MS = 86_400_000;
const BILLION = 1_000_000_000;
const NO_ID = new DataView(new ArrayBuffer(16));
const EMPTY_OBJECT = bytesSource('{}');

/** A short text of our own as a source. */
function bytesSource(text: string): BytesSource {
  const bytes = new Uint8Array(text.length + 8);
  bytes.set(Buffer.from(text));
  return { bytes, view: new DataView(bytes.buffer) };
}

// One of each for all requests, one after the other; `take` copies what it hands over.
const rowBytes = new RowBytes();
const idBuffer = Buffer.allocUnsafeSlow(16);
const idView = new DataView(idBuffer.buffer);

/**
 * Takes one request's rows. Only one may be open at a time; one that is not taken is dropped with the
 * next. Rows of more runs than a request may have are refused with `body_too_large` as they come.
 */
export class ScannedRows {
  readonly #workspaceId: number;
  readonly #arrivedAtMs: number;
  readonly #day: number;
  readonly #scopes: Scope[] = [];
  readonly #resources = new Map<Hex16, ResourceRow>();
  readonly #runs: RunDeltas = new Map();
  /** where the resource id of each row stands */
  readonly #originPlaces: number[] = [];
  /** where the metric id of each point of the current metric stands */
  readonly #metricPlaces: number[] = [];
  readonly #metrics = new Map<Hex16, MetricRow>();
  readonly #runsSeen = new Set<Hex16>();
  #tally = new RunTally(this.#runsSeen);
  #table: TelemetryTable = 'spans';

  /** @param bytesExpected how many bytes the rows take at most, as a rule: the body's length */
  constructor(workspaceId: number, arrivedAtMs: number, bytesExpected: number) {
    this.#workspaceId = workspaceId;
    this.#arrivedAtMs = arrivedAtMs;
    this.#day = Math.floor(arrivedAtMs / DAY_MS) - DAYS_1970_TO_2000;
    rowBytes.open(bytesExpected);
  }

  span(row: SpanSource): void {
    const { ids } = row;
    rowBytes.row(20, FIXED_BYTES + spanTextBytes(row));
    rowBytes.int64(row.startSeconds, row.startNanos);
    rowBytes.int64(row.endSeconds, row.endNanos);
    rowBytes.int32(this.#workspaceId);
    rowBytes.int32(this.#day);
    rowBytes.id(ids, 0, 16);
    this.#origin();
    rowBytes.int16(row.kind);
    rowBytes.int16(row.statusCode);
    rowBytes.counter(row.flags);
    rowBytes.counter(row.droppedAttributes);
    rowBytes.counter(row.droppedEvents);
    rowBytes.counter(row.droppedLinks);
    rowBytes.id(ids, 16, 8);
    if (row.hasParent) rowBytes.id(ids, 24, 8);
    else rowBytes.null();
    rowBytes.text(row.texts, row.name.start, row.name.end);
    optionalText(row.texts, row.statusMessage);
    optionalText(row.texts, row.traceState);
    attributes(row.texts, row.attributes);
    optionalText(row.lists, row.events);
    optionalText(row.lists, row.links);
    this.#tally.addSpan(row);
  }

  log(row: LogSource): void {
    this.#table = 'log_records';
    const { ids } = row;
    rowBytes.row(15, FIXED_BYTES + logTextBytes(row));
    rowBytes.int64(row.timeSeconds, row.timeNanos);
    rowBytes.int64(row.observedSeconds, row.observedNanos);
    rowBytes.int32(this.#workspaceId);
    rowBytes.int32(this.#day);
    if (row.hasTraceId) rowBytes.id(ids, 0, 16);
    else rowBytes.null();
    // A run of its own has only a record of a known product, which is scanned by nobody.
    rowBytes.null();
    this.#origin();
    rowBytes.int16(row.severityNumber);
    rowBytes.counter(row.flags);
    rowBytes.counter(row.droppedAttributes);
    if (row.hasSpanId) rowBytes.id(ids, 16, 8);
    else rowBytes.null();
    optionalText(row.texts, row.severityText);
    optionalText(row.texts, row.eventName);
    optionalText(row.texts, row.body);
    attributes(row.texts, row.attributes);
    if (row.hasTraceId) this.#tally.addLog(row);
  }

  point(row: PointSource): void {
    this.#table = 'metric_points';
    rowBytes.row(16, FIXED_BYTES + pointTextBytes(row));
    rowBytes.int64(row.timeSeconds, row.timeNanos);
    if (row.startSeconds === 0 && row.startNanos === 0) rowBytes.null();
    else rowBytes.int64(row.startSeconds, row.startNanos);
    rowBytes.int32(this.#workspaceId);
    rowBytes.int32(this.#day);
    this.#metricPlaces.push(rowBytes.end + 4);
    rowBytes.id(NO_ID, 0, 16);
    this.#origin();
    rowBytes.counter(row.flags);
    if (row.hasInt) rowBytes.int64(row.intBillions, row.intRest, row.isNegative);
    else rowBytes.null();
    optionalFloat(row.double);
    if (row.count === null) rowBytes.null();
    else rowBytes.int64(Math.floor(row.count / BILLION), row.count % BILLION);
    optionalFloat(row.sum);
    optionalFloat(row.min);
    optionalFloat(row.max);
    attributes(row.texts, row.attributes);
    optionalText(row.lists, row.distribution);
    optionalText(row.lists, row.exemplars);
  }

  /** The points since the last call are this metric's. @throws as `setOrigin` */
  setMetric(metric: MetricRow): void {
    this.#metrics.set(metric.id, metric);
    checkContents(this.#metrics.size);
    const id = idBytes(metric.id);
    for (const place of this.#metricPlaces) rowBytes.overwrite(place, id, 0, 16);
    this.#metricPlaces.length = 0;
  }

  /** Leaves the place of the resource id, to be filled by `setOrigin`. */
  #origin(): void {
    this.#originPlaces.push(rowBytes.end + 4);
    rowBytes.id(NO_ID, 0, 16);
  }

  /** The rows since the last call are one scope's. */
  closeScope(): number {
    this.#scopes.push({ rowsEnd: this.#originPlaces.length, tally: this.#tally });
    this.#tally = new RunTally(this.#runsSeen);
    return this.#scopes.length - 1;
  }

  /**
   * Sets the origin of the following rows. To be called once for every scope, in order.
   *
   * @throws {SluiceError} `body_too_large` for more than `CONTENTS_MAX` resources
   */
  setOrigin(number: number, origin: ResourceRow): void {
    const scope = this.#scopes[number];
    if (scope === undefined) throw new Error('setOrigin() before closeScope()');
    this.#resources.set(origin.id, origin);
    checkContents(this.#resources.size);
    const id = idBytes(origin.id);
    const rowsStart = this.#scopes[number - 1]?.rowsEnd ?? 0;
    for (let row = rowsStart; row < scope.rowsEnd; row += 1) {
      rowBytes.overwrite(this.#originPlaces[row] ?? Number.NaN, id, 0, 16);
    }
    scope.tally.addTo(this.#runs, this.#workspaceId, origin.serviceName);
  }

  /** The request, ready to store. */
  take(): EncodedRequest {
    const chunks = new Map<TelemetryTable, Buffer>();
    const rows = this.#originPlaces.length;
    const { bytes, release } = rowBytes.take();
    if (rows > 0) chunks.set(this.#table, bytes);
    const held = {
      chunks,
      resources: [...this.#resources.values()],
      metrics: [...this.#metrics.values()],
      runs: [...this.#runs.values()],
      sessionMarks: [],
    };
    return {
      workspaceId: this.#workspaceId,
      arrivedAtMs: this.#arrivedAtMs,
      ...held,
      rows,
      bytes: heldBytes(held),
      release,
    };
  }
}

/** An id as bytes, until the next call. */
function idBytes(id: Hex16): DataView {
  idBuffer.write(id, 'hex');
  return idView;
}

function lengthOf({ start, end }: TextRange): number {
  return end - start;
}

function spanTextBytes(row: SpanSource): number {
  return (
    lengthOf(row.name) +
    lengthOf(row.statusMessage) +
    lengthOf(row.traceState) +
    lengthOf(row.attributes) +
    lengthOf(row.events) +
    lengthOf(row.links)
  );
}

function logTextBytes(row: LogSource): number {
  return (
    lengthOf(row.severityText) +
    lengthOf(row.eventName) +
    lengthOf(row.body) +
    lengthOf(row.attributes)
  );
}

function pointTextBytes(row: PointSource): number {
  return lengthOf(row.attributes) + lengthOf(row.distribution) + lengthOf(row.exemplars);
}

function optionalFloat(value: number | null): void {
  if (value === null) rowBytes.null();
  else rowBytes.float64(value);
}

function optionalText(texts: Texts, { start, end }: TextRange): void {
  if (start === end) rowBytes.null();
  else rowBytes.text(texts, start, end);
}

function attributes(texts: Texts, { start, end }: TextRange): void {
  if (start === end) rowBytes.text(EMPTY_OBJECT, 0, 2);
  else rowBytes.text(texts, start, end);
}
