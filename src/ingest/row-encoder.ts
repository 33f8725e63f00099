/**
 * Scans a body directly into COPY bytes: the fast counterpart of `plain-encoder.ts`, with identical
 * bytes (`test/otlp/fast-decode.test.ts`).
 *
 * A row's resource may follow the row in the body; its id is then written later.
 */
import type { TelemetryPlacement } from '../db/placement.ts';
import { checkContents, type EncodedRequest, heldBytes } from '../db/telemetry/encoded-request.ts';
import type { RunDeltas } from '../db/telemetry/run-delta.ts';
import type { TelemetryTable } from '../model/columns.ts';
import type { Hex16 } from '../model/json.ts';
import type { DecodedRequest, Rejection, ResourceRow, Signal } from '../model/telemetry.ts';
import { LOG_LAYOUT } from '../otlp/fast/log-scanner.ts';
import type { OrdinaryTaken } from '../otlp/fast/ordinary-offers.ts';
import { RequestScanner, type RowSink } from '../otlp/fast/request-scanner.ts';
import type { ScannedRow } from '../otlp/fast/scanned-row.ts';
import { SPAN_LAYOUT } from '../otlp/fast/span-scanner.ts';
import { type Line, linesOf } from '../otlp/lines/lines.ts';
import type { Pieces } from '../otlp/pieces.ts';
import { OF_HISTOGRAMS, OF_NUMBERS, OF_RUNS, RUN_BYTES } from './assembly/codes.ts';
import { type OrdinaryRows, ordinaryRows } from './ordinary-rows.ts';
import { RowBytes } from './row-bytes.ts';
import { compileRowWriter, type RowPlaces } from './row-writer.ts';
import { IdBytes, RunTally } from './run-tally.ts';

/** A decoded request, with its rows ready to store. */
export interface ReadyRequest extends Pick<DecodedRequest, 'signal' | 'replacedCharacters'> {
  readonly rejections: readonly Rejection[];
  readonly encoded: EncodedRequest;
}

const NO_REJECTIONS: readonly Rejection[] = [];

const writersOf = (placement: TelemetryPlacement) => ({
  span: compileRowWriter(SPAN_LAYOUT, placement),
  log: compileRowWriter(LOG_LAYOUT, placement),
});
const WRITERS = { local: writersOf('local'), distributed: writersOf('distributed') };

interface EncodedScope {
  readonly rowsEnd: number;
  readonly tally: RunTally;
}

const DAYS_1970_TO_2000 = 10_957;
const DAY_MS = 86_400_000;

/** Data points are stored as sent. */
const TABLES: Readonly<Record<Signal, TelemetryTable | null>> = {
  traces: 'spans',
  logs: 'log_records',
  metrics: null,
};

/**
 * Encodes one request at a time; the next one drops what the scanner gave up. A request with too many
 * runs or resources is refused at once with `body_too_large`.
 */
export class RowEncoder implements RowSink {
  readonly #scanner = new RequestScanner();
  readonly #write: ReturnType<typeof writersOf>;
  readonly #bytes = new RowBytes();
  readonly #placement: TelemetryPlacement;
  readonly #noteFailure: (error: unknown) => void;
  /** that of the current request, shared by the thread's encoders, and its number of the request */
  #ordinary: OrdinaryRows | null = null;
  #ordinaryRequest = 0;
  readonly #id = new IdBytes();
  /** the run of the latest row */
  readonly #runId = new IdBytes();
  #places: RowPlaces = { workspaceId: 0, day: 0, resources: [] };
  #arrivedAtMs = 0;
  #signal: Signal = 'traces';
  #points = 0;
  #scopes: EncodedScope[] = [];
  #resources = new Map<Hex16, ResourceRow>();
  #runs: RunDeltas = new Map();
  #runsSeen = new Set<Hex16>();
  #tally = new RunTally(this.#runsSeen, this.#runId);

  /**
   * @param placement where the rows are to be stored
   * @param noteFailure as `ordinaryRows`
   */
  constructor(
    placement: TelemetryPlacement = 'local',
    noteFailure: (error: unknown) => void = () => undefined,
  ) {
    this.#write = WRITERS[placement];
    this.#placement = placement;
    this.#noteFailure = noteFailure;
  }

  /**
   * Scans a body, pausing every 128 KiB; null when the plain decoder must decode it.
   *
   * @param recordBytesMax most bytes of a record
   */
  *scan(
    signal: Signal,
    body: Buffer,
    workspaceId: number,
    arrivedAtMs: number,
    recordBytesMax = Number.POSITIVE_INFINITY,
  ): Pieces<ReadyRequest | null> {
    this.#open(signal, workspaceId, arrivedAtMs, body.length);
    if (!(yield* this.#scanner.scan(signal, body, this, recordBytesMax))) return null;
    const lines = yield* linesOf(signal, body, this.#rows, null);
    return { signal, rejections: NO_REJECTIONS, replacedCharacters: 0, encoded: this.#take(lines) };
  }

  /** @param bytesExpected the body's length, which the rows usually do not exceed */
  #open(signal: Signal, workspaceId: number, arrivedAtMs: number, bytesExpected: number): void {
    this.#bytes.open(bytesExpected);
    this.#ordinary = ordinaryRows(signal, this.#placement, this.#noteFailure);
    this.#ordinaryRequest = this.#ordinary?.nextRequest() ?? 0;
    const day = Math.floor(arrivedAtMs / DAY_MS) - DAYS_1970_TO_2000;
    this.#places = { workspaceId, day, resources: [] };
    this.#arrivedAtMs = arrivedAtMs;
    this.#signal = signal;
    this.#points = 0;
    this.#scopes = [];
    this.#resources = new Map();
    this.#runs = new Map();
    this.#runsSeen = new Set();
    this.#tally = new RunTally(this.#runsSeen, this.#runId);
  }

  takeOrdinary(
    body: Buffer,
    at: number,
    until: number,
    end: number,
    isHistogram = false,
  ): OrdinaryTaken | null {
    const ordinary = this.#ordinary;
    if (ordinary === null) return null;
    const isOfPoints = this.#signal === 'metrics';
    const kind = isOfPoints ? (isHistogram ? OF_HISTOGRAMS : OF_NUMBERS) : OF_RUNS;
    const { workspaceId, day, resources } = this.#places;
    const request = this.#ordinaryRequest;
    if (!ordinary.take(request, body, at, until, end, workspaceId, day, kind)) return null;
    const { rows, rowsAt, runsAt, places } = ordinary;
    if (isOfPoints) {
      this.#points += rows;
      return ordinary;
    }
    const start = this.#bytes.end;
    this.#bytes.append(ordinary.bytes.subarray(rowsAt, rowsAt + ordinary.rowBytes));
    for (let row = 0; row < rows; row += 1) resources.push(start + (places[row] as number));
    const isOfSpans = this.#signal === 'traces';
    let number = this.#rows - rows;
    for (let run = 0; run < ordinary.runs; run += 1) {
      number = this.#tally.addRun(ordinary, runsAt + run * RUN_BYTES, isOfSpans, number);
    }
    return ordinary;
  }

  span(row: ScannedRow): void {
    this.#tally.addSpan(row, this.#rows);
    this.#write.span(this.#bytes, row, this.#places);
  }

  log(row: ScannedRow): void {
    this.#tally.addLog(row, this.#rows);
    this.#write.log(this.#bytes, row, this.#places);
  }

  closeScope(): number {
    this.#scopes.push({ rowsEnd: this.#places.resources.length, tally: this.#tally });
    this.#tally = new RunTally(this.#runsSeen, this.#runId);
    return this.#scopes.length - 1;
  }

  /**
   * Must be called once for every scope, in order.
   *
   * @throws {SluiceError} `body_too_large` for more than `CONTENTS_MAX` resources
   */
  setOrigin(number: number, origin: ResourceRow): void {
    // Data points are stored with their resources, as sent.
    if (this.#signal === 'metrics') return;
    const scope = this.#scopes[number];
    if (scope === undefined) throw new Error('setOrigin() before closeScope()');
    this.#resources.set(origin.id, origin);
    checkContents(this.#resources.size);
    const id = this.#id.set(origin.id);
    const rowsStart = this.#scopes[number - 1]?.rowsEnd ?? 0;
    const { workspaceId, resources } = this.#places;
    for (let row = rowsStart; row < scope.rowsEnd; row += 1) {
      this.#bytes.overwrite(resources[row] ?? Number.NaN, id, 0, 16);
    }
    scope.tally.addTo(this.#runs, workspaceId, origin.serviceName);
  }

  /** Number of records so far. */
  get #rows(): number {
    return this.#places.resources.length + this.#points;
  }

  #take(lines: readonly Line[]): EncodedRequest {
    const chunks = new Map<TelemetryTable, Buffer>();
    const rows = this.#rows;
    const { bytes, release } = this.#bytes.take();
    const table = TABLES[this.#signal];
    if (rows > 0 && table !== null) chunks.set(table, bytes);
    const held = {
      chunks,
      lines,
      resources: [...this.#resources.values()],
      runs: [...this.#runs.values()],
      sessionMarks: [],
    };
    return {
      workspaceId: this.#places.workspaceId,
      signal: this.#signal,
      arrivedAtMs: this.#arrivedAtMs,
      ...held,
      rows,
      bytes: heldBytes(held),
      release,
    };
  }
}
