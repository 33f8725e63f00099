/**
 * Checks ordinary spans, log records and data points of a body in WebAssembly (`assembly/`), sixteen
 * bytes at a time, and says which runs they belong to. It reads a list's records up to the first unusual
 * record; the plain decoder reads a body that has one.
 *
 * The memory of a scanner is fixed: a window of the body, and the runs of one call. After a call nothing
 * in it is needed.
 */
import type { Signal } from '../model/telemetry.ts';
import type { OrdinaryTaken } from '../otlp/fast/record-sink.ts';
import { ENUM_MAX } from '../otlp/fields.ts';
import {
  canRunPrograms,
  type Global,
  type Memory,
  type Program,
  programOf,
  startProgram,
} from '../web-assembly/programs.ts';
import * as codes from './assembly/codes.ts';

const RESULT_INTEGERS = 5;
const UINT32_MAX = 0xffffffff;
/** The rest of a window is scanned without loading the next one if it has at least this many bytes. */
const REST_BYTES_MIN = 16 * 1024;
const ALL_RECORDS = 0xff;

interface Exports {
  readonly memory: Memory;
  readonly WINDOW_AT: Global;
  readonly WINDOW_SIZE: Global;
  readonly RUNS_AT: Global;
  readonly ENDS_AT: Global;
  readonly MEMBERS_AT: Global;
  readonly RESULT_AT: Global;
  readonly configure: (object: number, members: number, required: number) => void;
  readonly scan: (length: number, at: number, until: number, kind: number) => number;
}

interface Member {
  readonly read: number;
  readonly cell?: number;
  /** largest value of a number (by default of 32 bits), or the kind of an object */
  readonly detail?: number;
  readonly isRequired?: true;
  /** kinds of records that have it, as bits; by default all */
  readonly records?: number;
}
type Members = Readonly<Record<string, Member>>;

const TIME: Member = { read: codes.READ_TIME };
const TEXT: Member = { read: codes.READ_TEXT };
const UINT32: Member = { read: codes.READ_UINT };
const ENUM: Member = { read: codes.READ_UINT, detail: ENUM_MAX };
const ATTRIBUTES: Member = { read: codes.READ_ATTRIBUTES };
const DOUBLE: Member = { read: codes.READ_DOUBLE };
const objectOf = (detail: number): Member => ({ read: codes.READ_OBJECT, detail });
const listOf = (detail: number): Member => ({ read: codes.READ_LIST, detail });
const onlyOf = (kind: number, member: Member): Member => ({ ...member, records: 1 << kind });

const SPAN: Members = {
  traceId: { read: codes.READ_TRACE_ID, cell: codes.CELL_TRACE, isRequired: true },
  spanId: { read: codes.READ_SPAN_ID, isRequired: true },
  parentSpanId: { read: codes.READ_PARENT_ID, cell: codes.CELL_PARENT },
  name: { ...TEXT, cell: codes.CELL_NAME },
  kind: ENUM,
  startTimeUnixNano: { ...TIME, cell: codes.CELL_TIME },
  endTimeUnixNano: { ...TIME, cell: codes.CELL_END },
  attributes: ATTRIBUTES,
  status: objectOf(codes.STATUS),
  events: listOf(codes.EVENT),
  links: listOf(codes.LINK),
  traceState: TEXT,
  flags: UINT32,
  droppedAttributesCount: UINT32,
  droppedEventsCount: UINT32,
  droppedLinksCount: UINT32,
};
const STATUS: Members = { code: { ...ENUM, cell: codes.CELL_STATUS }, message: TEXT };
const EVENT: Members = {
  timeUnixNano: TIME,
  name: TEXT,
  attributes: ATTRIBUTES,
  droppedAttributesCount: UINT32,
};
const LINK: Members = {
  traceId: TEXT,
  spanId: TEXT,
  traceState: TEXT,
  flags: UINT32,
  attributes: ATTRIBUTES,
  droppedAttributesCount: UINT32,
};
const LOG_RECORD: Members = {
  timeUnixNano: { ...TIME, cell: codes.CELL_TIME },
  observedTimeUnixNano: { ...TIME, cell: codes.CELL_END },
  severityNumber: ENUM,
  severityText: TEXT,
  eventName: TEXT,
  body: objectOf(codes.VALUE),
  attributes: ATTRIBUTES,
  traceId: { read: codes.READ_OPTIONAL_TRACE_ID, cell: codes.CELL_TRACE },
  spanId: TEXT,
  flags: UINT32,
  droppedAttributesCount: UINT32,
};
const POINT: Members = {
  timeUnixNano: { ...TIME, cell: codes.CELL_TIME },
  startTimeUnixNano: TIME,
  attributes: ATTRIBUTES,
  flags: { ...UINT32, cell: codes.CELL_FLAGS },
  exemplars: listOf(codes.EXEMPLAR),
  asInt: onlyOf(codes.NUMBER_POINTS, { read: codes.READ_INT64, cell: codes.CELL_INT }),
  asDouble: onlyOf(codes.NUMBER_POINTS, { ...DOUBLE, cell: codes.CELL_DOUBLE }),
  count: onlyOf(codes.HISTOGRAM_POINTS, { read: codes.READ_COUNT, cell: codes.CELL_COUNT }),
  sum: onlyOf(codes.HISTOGRAM_POINTS, DOUBLE),
  min: onlyOf(codes.HISTOGRAM_POINTS, DOUBLE),
  max: onlyOf(codes.HISTOGRAM_POINTS, DOUBLE),
  bucketCounts: onlyOf(codes.HISTOGRAM_POINTS, { read: codes.READ_BUCKET_COUNTS }),
  explicitBounds: onlyOf(codes.HISTOGRAM_POINTS, { read: codes.READ_BOUNDS }),
};
const EXEMPLAR: Members = {
  filteredAttributes: ATTRIBUTES,
  timeUnixNano: TIME,
  asInt: { read: codes.READ_INT64 },
  asDouble: DOUBLE,
  spanId: TEXT,
  traceId: TEXT,
};

const VALUES: readonly (readonly [number, Members])[] = [
  [codes.ENTRY, { key: TEXT, value: objectOf(codes.VALUE) }],
  [
    codes.VALUE,
    {
      stringValue: TEXT,
      intValue: { read: codes.READ_INT_VALUE },
      boolValue: { read: codes.READ_BOOL },
      doubleValue: DOUBLE,
      arrayValue: objectOf(codes.ARRAY_VALUE),
      kvlistValue: objectOf(codes.KVLIST_VALUE),
      bytesValue: { read: codes.READ_BASE64 },
    },
  ],
  [codes.ARRAY_VALUE, { values: { read: codes.READ_VALUES } }],
  [codes.KVLIST_VALUE, { values: ATTRIBUTES }],
];

const OBJECTS: Readonly<Record<Signal, ReadonlyMap<number, Members>>> = {
  traces: new Map([
    ...VALUES,
    [codes.RECORD, SPAN],
    [codes.STATUS, STATUS],
    [codes.EVENT, EVENT],
    [codes.LINK, LINK],
  ]),
  logs: new Map([...VALUES, [codes.RECORD, LOG_RECORD]]),
  metrics: new Map([...VALUES, [codes.RECORD, POINT], [codes.EXEMPLAR, EXEMPLAR]]),
};

/**
 * The program; null where it cannot run.
 *
 * @throws when it is not built or damaged, or there is no memory for it
 */
export function ordinaryProgram(): Program | null {
  return canRunPrograms() ? programOf('ordinary-records.wasm') : null;
}

export class OrdinaryRecords implements OrdinaryTaken {
  readonly #exports: Exports;
  readonly #buffer: Buffer;
  readonly #window: Buffer;
  readonly #result: Int32Array;
  readonly #ends: Int32Array;
  /** which request's bytes are in the window; 0 for none */
  #request = 0;
  #requests = 0;
  /** where in its body the window begins and ends */
  #start = 0;
  #end = 0;

  /** all of its memory */
  readonly view: DataView;
  /** where the runs of the last call begin in it */
  readonly runsAt: number;

  // The records that the last call took.
  records = 0;
  runs = 0;
  at = 0;
  structures = 0;
  hasTraced = false;
  hasUntraced = false;

  constructor(program: Program, signal: Signal, windowBytes = Number.POSITIVE_INFINITY) {
    const doubleOf = (start: number, end: number): number =>
      Number(this.#buffer.toString('latin1', start, end));
    const exports = startProgram<Exports>(program, { numbers: { doubleOf } });
    const { buffer } = exports.memory;
    this.#exports = exports;
    this.#buffer = Buffer.from(buffer);
    this.view = new DataView(buffer);
    const { WINDOW_AT, WINDOW_SIZE, RUNS_AT, ENDS_AT, RESULT_AT } = exports;
    const length = Math.min(windowBytes, WINDOW_SIZE.value);
    this.#window = Buffer.from(buffer, WINDOW_AT.value, length);
    this.#result = new Int32Array(buffer, RESULT_AT.value, RESULT_INTEGERS);
    this.#ends = new Int32Array(buffer, ENDS_AT.value, codes.RECORDS_MAX);
    this.runsAt = RUNS_AT.value;
    for (const [object, members] of OBJECTS[signal]) this.#configure(object, members);
  }

  #configure(object: number, members: Members): void {
    const { MEMBERS_AT, configure } = this.#exports;
    const entries = Object.entries(members);
    let required = 0;
    let at = MEMBERS_AT.value + object * codes.MEMBERS_MAX * codes.MEMBER_BYTES;
    for (const [index, [name, member]] of entries.entries()) {
      const quoted = `"${name}"`;
      this.#buffer.write(quoted, at);
      this.#buffer.fill(0xff, at + codes.MEMBER_MASK + quoted.length, at + 2 * codes.MEMBER_MASK);
      this.view.setUint8(at + codes.MEMBER_LENGTH, quoted.length);
      this.view.setUint8(at + codes.MEMBER_READ, member.read);
      this.view.setUint8(at + codes.MEMBER_CELL, member.cell ?? codes.CELL_NONE);
      this.view.setUint8(at + codes.MEMBER_RECORDS, member.records ?? ALL_RECORDS);
      this.view.setUint32(at + codes.MEMBER_DETAIL, member.detail ?? UINT32_MAX, true);
      if (member.isRequired) required |= 1 << index;
      at += codes.MEMBER_BYTES;
    }
    configure(object, entries.length, required);
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
   * @returns false when the first one is not ordinary or does not fit
   */
  take(
    request: number,
    body: Buffer,
    at: number,
    until: number,
    end: number,
    kind: number,
  ): boolean {
    if (!this.#isLoaded(request, at, end)) this.#load(request, body, at, end);
    this.#scan(at, until, kind);
    const isCut = this.#result[1] === codes.AT_WINDOW_END;
    if (this.records === 0 && isCut && at > this.#start && this.#end < end) {
      this.#load(request, body, at, end);
      this.#scan(at, until, kind);
    }
    return this.records > 0;
  }

  #isLoaded(request: number, at: number, end: number): boolean {
    if (request !== this.#request || at < this.#start || this.#end > end) return false;
    return at + REST_BYTES_MIN <= this.#end || this.#end === end;
  }

  #load(request: number, body: Buffer, at: number, end: number): void {
    this.#request = request;
    this.#start = at;
    this.#end = Math.min(end, at + this.#window.length);
    this.#window.set(body.subarray(at, this.#end));
  }

  #scan(at: number, until: number, kind: number): void {
    const result = this.#result;
    const start = this.#start;
    const length = this.#end - start;
    const last = Math.min(until - start, length);
    this.records = this.#exports.scan(length, at - start, last, kind);
    this.at = start + (result[0] as number);
    this.runs = result[2] as number;
    this.structures = result[3] as number;
    const kinds = result[4] as number;
    this.hasTraced = (kinds & codes.WITH_TRACE) !== 0;
    this.hasUntraced = (kinds & codes.WITHOUT_TRACE) !== 0;
  }

  /** Appends where in the body each record ends that was taken last. */
  addEnds(ends: number[]): void {
    for (let record = 0; record < this.records; record += 1) {
      ends.push(this.#start + (this.#ends[record] as number));
    }
  }

  /** The text of a string without its quotes, in the records that were taken last. */
  text(at: number, length: number): string {
    const text = this.#window.toString('utf8', at, at + length);
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }
}

let isFailureNoted = false;
const scanners = new Map<Signal, OrdinaryRecords | null>();

/**
 * The thread's scanner of a signal's records; null where there can be none.
 *
 * @param noteFailure takes the error of the first one that should be there and cannot be made
 */
export function ordinaryRecords(
  signal: Signal,
  noteFailure: (error: unknown) => void,
): OrdinaryRecords | null {
  const existing = scanners.get(signal);
  if (existing !== undefined) return existing;
  let created: OrdinaryRecords | null = null;
  try {
    const program = ordinaryProgram();
    if (program !== null) created = new OrdinaryRecords(program, signal);
  } catch (error) {
    if (!isFailureNoted) noteFailure(error);
    isFailureNoted = true;
  }
  scanners.set(signal, created);
  return created;
}
