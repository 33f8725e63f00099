/**
 * Turns ordinary spans and log records of a body into COPY bytes, and checks ordinary data points, in
 * WebAssembly (`assembly/`), sixteen bytes at a time. It reads a list's records up to the first unusual
 * record. The scanner in JavaScript (`src/otlp/fast/`) reads an unusual span or log record, and returns
 * the same row; the plain decoder reads a body with an unusual data point.
 *
 * The memory of a scanner is fixed: a window of the body, the texts of one record, the rows of the
 * window. After a call nothing in it is needed.
 */
import { readFileSync } from 'node:fs';

import type { TelemetryPlacement } from '../db/placement.ts';
import {
  type Columns,
  ENUM_MAX,
  type Encoding,
  LOG_COLUMNS,
  SPAN_COLUMNS,
} from '../model/columns.ts';
import type { Signal } from '../model/telemetry.ts';
import { decimalDouble } from '../otlp/fast/decimal-double.ts';
import type { OrdinaryTaken } from '../otlp/fast/ordinary-offers.ts';
import { doubleText } from '../otlp/json-text.ts';
import * as codes from './assembly/codes.ts';

/** What of WebAssembly is used: `@types/node` has only a part of it. */
declare const WebAssembly: {
  readonly validate: (bytes: Uint8Array) => boolean;
  readonly Module: new (bytes: Uint8Array) => Program;
  readonly Instance: new (program: Program, imports: object) => { readonly exports: object };
};
/** A compiled program. */
type Program = Readonly<Record<never, never>>;
interface Global {
  readonly value: number;
}

/** Written by `bin/build.js`. */
const PROGRAM_FILE = new URL('../../dist/ordinary-rows.wasm', import.meta.url);
const RESULT_INTEGERS = 6;
const UINT32_MAX = 0xffffffff;
const MINUS = 0x2d;
/** A program of one function that has an instruction of SIMD. */
const SIMD_PROGRAM = Buffer.from(
  '0061736d01000000010401600000030201000a090107004100fd0f1a0b',
  'hex',
);
/** What is left of a window is scanned without loading the next one if it is at least this. */
const REST_BYTES_MIN = 16 * 1024;

/** What the program exports. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly WINDOW_AT: Global;
  readonly WINDOW_SIZE: Global;
  readonly ROWS_AT: Global;
  readonly RUNS_AT: Global;
  readonly PLACES_AT: Global;
  readonly COLUMNS_AT: Global;
  readonly MEMBERS_AT: Global;
  readonly RESULT_AT: Global;
  readonly configure: (columns: number, members: number, required: number, trace: number) => void;
  readonly configureSpans: (...columns: number[]) => void;
  readonly configureLogs: (time: number, observed: number) => void;
  readonly configurePoints: (...columns: number[]) => void;
  readonly scan: (
    length: number,
    at: number,
    until: number,
    workspace: number,
    day: number,
    kind: number,
  ) => number;
}

const WRITE: Readonly<Partial<Record<Encoding, number>>> = {
  time: codes.WRITE_INT64,
  int16: codes.WRITE_INT16,
  counter: codes.WRITE_COUNTER,
  traceId: codes.WRITE_TRACE_ID,
  optionalTraceId: codes.WRITE_TRACE_ID,
  spanId: codes.WRITE_SPAN_ID,
  optionalSpanId: codes.WRITE_SPAN_ID,
  text: codes.WRITE_TEXT,
  optionalText: codes.WRITE_OPTIONAL_TEXT,
  optionalJson: codes.WRITE_OPTIONAL_TEXT,
  composedJson: codes.WRITE_OPTIONAL_TEXT,
  attributes: codes.WRITE_ATTRIBUTES,
  workspace: codes.WRITE_WORKSPACE,
  arrivalDay: codes.WRITE_DAY,
  resource: codes.WRITE_RESOURCE,
};

const READ: Readonly<Partial<Record<Encoding, number>>> = {
  time: codes.READ_TIME,
  int16: codes.READ_UINT,
  counter: codes.READ_UINT,
  traceId: codes.READ_TRACE_ID,
  optionalTraceId: codes.READ_OPTIONAL_TRACE_ID,
  spanId: codes.READ_SPAN_ID,
  optionalSpanId: codes.READ_OPTIONAL_SPAN_ID,
  text: codes.READ_TEXT,
  optionalText: codes.READ_TEXT,
  attributes: codes.READ_ATTRIBUTES,
};

/** A member that its column's encoding does not describe. */
type Special = readonly [name: string, read: number, column: string];
const SPECIAL_OF_SPANS: readonly Special[] = [
  ['parentSpanId', codes.READ_OPTIONAL_SPAN_ID, 'parent_span_id'],
  ['status', codes.READ_STATUS, 'status_code'],
  ['events', codes.READ_EVENTS, 'events'],
  ['links', codes.READ_EMPTY_LIST, 'links'],
];
const SPECIAL_OF_LOGS: readonly Special[] = [['body', codes.READ_VALUE, 'body']];
/** The members of data points; each has a cell for its number or text. */
const POINT_MEMBERS = {
  timeUnixNano: codes.READ_TIME,
  startTimeUnixNano: codes.READ_TIME,
  attributes: codes.READ_ATTRIBUTES,
  flags: codes.READ_UINT,
  exemplars: codes.READ_EXEMPLARS,
  asInt: codes.READ_INT64,
  asDouble: codes.READ_DOUBLE,
  count: codes.READ_COUNT,
  sum: codes.READ_DOUBLE,
  min: codes.READ_DOUBLE,
  max: codes.READ_DOUBLE,
  bucketCounts: codes.READ_BUCKET_COUNTS,
  explicitBounds: codes.READ_BOUNDS,
} as const;
/** Members of a gauge's or sum's point only. */
const NUMBER_MEMBERS = ['asInt', 'asDouble'];
/** Members of a histogram's point only. */
const HISTOGRAM_MEMBERS = ['count', 'sum', 'min', 'max', 'bucketCounts', 'explicitBounds'];

/**
 * The compiled program; null where the processor has no SIMD, or Node.js was started without WebAssembly.
 *
 * @throws when it is not built or damaged, or there is no memory for it
 */
export function ordinaryProgram(): Program | null {
  if (!('WebAssembly' in globalThis)) return null;
  if (!WebAssembly.validate(SIMD_PROGRAM)) return null;
  return compiled(readFileSync(PROGRAM_FILE));
}

/** @throws when it is no program */
export function compiled(bytes: Uint8Array): Program {
  if (WebAssembly.validate(bytes)) return new WebAssembly.Module(bytes);
  throw new Error('dist/ordinary-rows.wasm is damaged: run `npm run build`');
}

/** One scanner of a thread, for one kind of record. */
export class OrdinaryRows implements OrdinaryTaken {
  readonly #exports: Exports;
  readonly #buffer: Buffer;
  readonly #window: Uint8Array;
  readonly #result: Int32Array;
  readonly #windowBytes: number;
  /** which request's bytes are in the window; 0 for none */
  #request = 0;
  #requests = 0;
  /** where in its body the window begins and ends */
  #start = 0;
  #end = 0;

  /** all of its memory */
  readonly view: DataView;
  readonly bytes: Uint8Array;
  /** where the rows begin in it */
  readonly rowsAt: number;
  readonly runsAt: number;
  /** by row: where the resource's id is to be written, counted from the first row */
  readonly places: Int32Array;

  // What the last call took.
  rows = 0;
  rowBytes = 0;
  runs = 0;
  at = 0;
  structures = 0;
  hasTraced = false;
  hasUntraced = false;
  isNextUnusual = false;

  /**
   * @param program the compiled program
   * @param windowBytes most bytes of a body that are scanned at a time
   */
  constructor(
    program: Program,
    signal: Signal,
    placement: TelemetryPlacement,
    windowBytes = Number.POSITIVE_INFINITY,
  ) {
    const writeDouble = (start: number, end: number, to: number): number =>
      this.#writeDouble(start, end, to);
    const doubleOf = (start: number, end: number): number => this.#double(start, end);
    const instance = new WebAssembly.Instance(program, { numbers: { writeDouble, doubleOf } });
    const exports = instance.exports as unknown as Exports;
    const { buffer } = exports.memory;
    this.#exports = exports;
    this.#buffer = Buffer.from(buffer);
    this.view = new DataView(buffer);
    this.bytes = new Uint8Array(buffer);
    const { WINDOW_AT, WINDOW_SIZE, ROWS_AT, RUNS_AT, PLACES_AT, RESULT_AT } = exports;
    this.#windowBytes = Math.min(windowBytes, WINDOW_SIZE.value);
    this.#window = new Uint8Array(buffer, WINDOW_AT.value, this.#windowBytes);
    this.#result = new Int32Array(buffer, RESULT_AT.value, RESULT_INTEGERS);
    this.places = new Int32Array(buffer, PLACES_AT.value, codes.RECORDS_MAX);
    this.rowsAt = ROWS_AT.value;
    this.runsAt = RUNS_AT.value;
    if (signal === 'traces') this.#configureSpans(placement);
    else if (signal === 'logs') this.#configureLogs(placement);
    else this.#configurePoints();
  }

  #configureSpans(placement: TelemetryPlacement): void {
    const column = this.#configure(SPAN_COLUMNS, SPECIAL_OF_SPANS, placement);
    this.#exports.configureSpans(
      column('start_unix_nano'),
      column('end_unix_nano'),
      column('parent_span_id'),
      column('status_code'),
      column('name'),
      column('status_message'),
      ENUM_MAX,
    );
  }

  #configureLogs(placement: TelemetryPlacement): void {
    const column = this.#configure(LOG_COLUMNS, SPECIAL_OF_LOGS, placement);
    this.#exports.configureLogs(column('time_unix_nano'), column('observed_unix_nano'));
  }

  #configurePoints(): void {
    const { MEMBERS_AT, configure, configurePoints } = this.#exports;
    const names = Object.keys(POINT_MEMBERS);
    for (const [index, [name, read]] of Object.entries(POINT_MEMBERS).entries()) {
      const entry = MEMBERS_AT.value + index * codes.MEMBER_BYTES;
      this.#writeMember(entry, name, read, index, UINT32_MAX);
    }
    configure(0, names.length, 0, -1);
    const number = (name: keyof typeof POINT_MEMBERS): number => names.indexOf(name);
    const bits = (some: readonly string[]): number =>
      some.reduce((sum, name) => sum | (1 << names.indexOf(name)), 0);
    configurePoints(
      number('timeUnixNano'),
      number('flags'),
      number('asInt'),
      number('asDouble'),
      number('count'),
      bits(HISTOGRAM_MEMBERS),
      bits(NUMBER_MEMBERS),
    );
  }

  /** Writes the tables of columns and members; @returns the number of a column by its name. */
  #configure(
    columns: Columns,
    special: readonly Special[],
    placement: TelemetryPlacement,
  ): (name: string) => number {
    const { COLUMNS_AT, MEMBERS_AT, configure } = this.#exports;
    const names = Object.keys(columns);
    const column = (name: string): number => names.indexOf(name);
    const ofRun = placement === 'distributed' ? codes.WRITE_RUN : codes.WRITE_NULL;
    const members: string[] = [];
    let required = 0;
    const add = (name: string, read: number, at: number, largest = UINT32_MAX): void => {
      const entry = MEMBERS_AT.value + members.length * codes.MEMBER_BYTES;
      this.#writeMember(entry, name, read, at, largest);
      members.push(name);
    };
    for (const [at, [, encoding, , member, max]] of Object.values(columns).entries()) {
      const write = encoding === 'sessionRun' ? ofRun : known(WRITE[encoding]);
      this.view.setUint8(COLUMNS_AT.value + at, write);
      if (member === undefined) continue;
      if (encoding === 'traceId' || encoding === 'spanId') required |= 1 << members.length;
      add(member, known(READ[encoding]), at, max);
    }
    for (const [name, read, at] of special) add(name, read, column(at));
    configure(names.length, members.length, required, column('trace_id'));
    return column;
  }

  #writeMember(at: number, name: string, read: number, column: number, largest: number): void {
    const quoted = `"${name}"`;
    this.bytes.fill(0xff, at + codes.MEMBER_MASK + quoted.length, at + 2 * codes.MEMBER_MASK);
    this.#buffer.write(quoted, at);
    this.view.setUint8(at + codes.MEMBER_LENGTH, quoted.length);
    this.view.setUint8(at + codes.MEMBER_READ, read);
    this.view.setUint8(at + codes.MEMBER_COLUMN, column);
    this.view.setUint32(at + codes.MEMBER_LARGEST, largest, true);
  }

  /** As `copyDouble` of `src/otlp/fast/number-scanner.ts`; called by the program. */
  #writeDouble(start: number, end: number, to: number): number {
    const value = this.#double(start, end);
    if (!Number.isFinite(value)) return 0;
    const text = doubleText(value);
    for (let index = 0; index < text.length; index += 1) {
      this.bytes[to + index] = text.charCodeAt(index);
    }
    return to + text.length;
  }

  #double(start: number, end: number): number {
    const isNegative = this.bytes[start] === MINUS;
    const nearest = decimalDouble(this.view, isNegative ? start + 1 : start, end);
    if (Number.isNaN(nearest)) return Number(this.#buffer.toString('latin1', start, end));
    return isNegative ? -nearest : nearest;
  }

  /** A number for the calls of one request. */
  nextRequest(): number {
    this.#requests += 1;
    return this.#requests;
  }

  /**
   * Takes records from `at` on, as far as the window goes; what it took is in the fields.
   *
   * @param request the same number means the same body
   * @param until no record is taken after one that ends there or later
   * @param end no byte after it is read
   * @param kind `codes.OF_RUNS`, or that of the data points
   * @returns false when the first one is not ordinary or does not fit
   */
  take(
    request: number,
    body: Buffer,
    at: number,
    until: number,
    end: number,
    workspaceId: number,
    day: number,
    kind: number = codes.OF_RUNS,
  ): boolean {
    if (!this.#isLoaded(request, at, end)) this.#load(request, body, at, end);
    this.#scan(at, until, workspaceId, day, kind);
    if (this.rows === 0 && this.#stoppedAtWindowEnd && at > this.#start && this.#end < end) {
      this.#load(request, body, at, end);
      this.#scan(at, until, workspaceId, day, kind);
    }
    const isAtEnd = this.#stoppedAtWindowEnd && this.#end === end;
    this.isNextUnusual = isAtEnd || this.#result[1] === codes.AT_UNUSUAL;
    return this.rows > 0;
  }

  #isLoaded(request: number, at: number, end: number): boolean {
    if (request !== this.#request || at < this.#start || this.#end > end) return false;
    return at + REST_BYTES_MIN <= this.#end || this.#end === end;
  }

  #load(request: number, body: Buffer, at: number, end: number): void {
    this.#request = request;
    this.#start = at;
    this.#end = Math.min(end, at + this.#windowBytes);
    this.#window.set(body.subarray(at, this.#end));
  }

  get #stoppedAtWindowEnd(): boolean {
    return this.#result[1] === codes.AT_WINDOW_END;
  }

  #scan(at: number, until: number, workspaceId: number, day: number, kind: number): void {
    const result = this.#result;
    const start = this.#start;
    const length = this.#end - start;
    const last = Math.min(until - start, length);
    this.rows = this.#exports.scan(length, at - start, last, workspaceId, day, kind);
    this.at = start + (result[0] as number);
    this.rowBytes = result[2] as number;
    this.runs = result[3] as number;
    this.structures = result[4] as number;
    const kinds = result[5] as number;
    this.hasTraced = (kinds & codes.WITH_TRACE) !== 0;
    this.hasUntraced = (kinds & codes.WITHOUT_TRACE) !== 0;
  }

  /** A text of the rows that were taken last. */
  text(at: number, length: number): string {
    return this.#buffer.toString('utf8', this.rowsAt + at, this.rowsAt + at + length);
  }
}

function known(code: number | undefined): number {
  if (code === undefined) throw new Error('a column that the record scanner does not know');
  return code;
}

let program: Program | null | undefined;
let isFailureNoted = false;
/** The scanners of a thread, made when they are first needed. */
const scanners = new Map<string, OrdinaryRows | null>();

/**
 * The thread's scanner of a signal's records; null where there can be none.
 *
 * @param noteFailure takes the error of the first one that should be there and cannot be made
 */
export function ordinaryRows(
  signal: Signal,
  placement: TelemetryPlacement,
  noteFailure: (error: unknown) => void,
): OrdinaryRows | null {
  const key = `${signal} ${placement}`;
  const existing = scanners.get(key);
  if (existing !== undefined) return existing;
  let created: OrdinaryRows | null = null;
  try {
    program ??= ordinaryProgram();
    if (program !== null) created = new OrdinaryRows(program, signal, placement);
  } catch (error) {
    if (!isFailureNoted) noteFailure(error);
    isFailureNoted = true;
  }
  scanners.set(key, created);
  return created;
}
