/**
 * Scans the records of a list and writes spans and log records as COPY bytes, by the rules of
 * `src/ingest/row-writer.ts`; data points are only checked. The part that JavaScript calls: it fills `COLUMNS_AT` and
 * `MEMBERS_AT`, calls `configure` once, and then `scan` for bytes at `WINDOW_AT`.
 */
import {
  AT_END,
  AT_ROWS_END,
  AT_UNUSUAL,
  AT_WINDOW_END,
  OF_RUNS,
  RECORDS_MAX,
  WRITE_ATTRIBUTES,
  WRITE_COUNTER,
  WRITE_DAY,
  WRITE_INT16,
  WRITE_INT64,
  WRITE_NULL,
  WRITE_OPTIONAL_TEXT,
  WRITE_RUN,
  WRITE_SPAN_ID,
  WRITE_TEXT,
  WRITE_TRACE_ID,
  WRITE_WORKSPACE,
} from './codes.ts';
import {
  COLUMNS_MAX,
  PLACES,
  ROWS,
  ROWS_BYTES,
  skipSpace,
  state,
  TEXT,
  WINDOW,
  WINDOW_BYTES,
} from './memory.ts';
import { point, readPoint } from './points.ts';
import { cellOf, isPresent, MEMBERS, readRecord, record } from './records.ts';
import { countRecord, finishRuns, RUNS, runs } from './runs.ts';

const COLUMNS = <i32>memory.data(COLUMNS_MAX, 16);
/** What `scan` says beside its result: see `RESULT_AT`. */
const RESULT = <i32>memory.data(24, 16);

export const WINDOW_AT: i32 = WINDOW;
export const WINDOW_SIZE: i32 = WINDOW_BYTES;
export const ROWS_AT: i32 = ROWS;
export const RUNS_AT: i32 = RUNS;
export const PLACES_AT: i32 = PLACES;
export const COLUMNS_AT: i32 = COLUMNS;
export const MEMBERS_AT: i32 = MEMBERS;
/**
 * Six integers: where in the window it stopped, why, bytes of rows, runs, objects and lists, and
 * whether there were records with a trace (1) and without (2).
 */
export const RESULT_AT: i32 = RESULT;

/** Bytes before the window's end in which what is not ordinary may only be cut off. */
const CUT_BYTES: i32 = 96;
/** An upper bound for a row's fixed fields. */
const FIXED_BYTES: i32 = 320;
const NULL_LENGTH: i32 = -1;
// Lengths of fields in network order.
const LENGTH_2: i32 = 0x02000000;
const LENGTH_4: i32 = 0x04000000;
const LENGTH_8: i32 = 0x08000000;
const LENGTH_16: i32 = 0x10000000;
/** Up to this length a loop is faster than a native copy. */
const LOOP_BYTES_MAX: i32 = 192;

/** What `configure` sets. */
class table {
  static columns: i32 = 0;
  static traceColumn: i32 = 0;
}

/**
 * Sets what is read and written.
 *
 * @param columns how many bytes at `COLUMNS_AT` say how a column is written
 * @param members how many entries there are at `MEMBERS_AT`
 * @param required bit by bit, the members that every record has
 */
export function configure(columns: i32, members: i32, required: u32, traceColumn: i32): void {
  table.columns = columns;
  table.traceColumn = traceColumn;
  record.members = members;
  record.required = required;
  runs.traceColumn = traceColumn;
}

/** Sets the columns of a span that are counted, or read with another one. */
export function configureSpans(
  start: i32,
  end: i32,
  parent: i32,
  status: i32,
  name: i32,
  message: i32,
  codeMax: i32,
): void {
  runs.isOfSpans = true;
  runs.startColumn = start;
  runs.endColumn = end;
  runs.parentColumn = parent;
  runs.statusColumn = status;
  runs.nameColumn = name;
  record.messageColumn = message;
  record.codeMax = codeMax;
}

/** Sets the columns of a log record that are counted. */
export function configureLogs(time: i32, observed: i32): void {
  runs.isOfSpans = false;
  runs.startColumn = time;
  runs.endColumn = observed;
}

/**
 * Sets the columns of a data point that are checked, and bit by bit the members that a point of a
 * gauge or sum, and one of a histogram, does not have.
 */
export function configurePoints(
  time: i32,
  flags: i32,
  int: i32,
  double: i32,
  count: i32,
  notOfNumbers: u32,
  notOfHistograms: u32,
): void {
  point.timeColumn = time;
  point.flagsColumn = flags;
  point.intColumn = int;
  point.doubleColumn = double;
  point.countColumn = count;
  point.notOfNumbers = notOfNumbers;
  point.notOfHistograms = notOfHistograms;
}

/**
 * Scans the records from `at` in a window of `length` bytes, until its end, the list's, or a record
 * that is not ordinary.
 *
 * @param until at least one record is read, and none after one that ends there or later
 * @param kind what they are: `OF_RUNS`, `OF_NUMBERS` or `OF_HISTOGRAMS`
 * @returns how many records were read
 */
export function scan(length: i32, at: i32, until: i32, workspace: i32, day: i32, kind: i32): i32 {
  const limit = WINDOW + length;
  for (let end = limit; end < limit + 128; end += 16) v128.store(end, i64x2.splat(0));
  state.limit = limit;
  state.structures = 0;
  runs.count = 0;
  runs.latest = 0;
  runs.kinds = 0;
  let rows = 0;
  let to = ROWS;
  let done = WINDOW + at;
  let why = AT_END;
  at = skipSpace(done);
  while (true) {
    const before = state.structures;
    const end = kind === OF_RUNS ? readRecord(at) : readPoint(at, kind);
    const size = FIXED_BYTES + (state.text - TEXT);
    if (end === 0 || rows === RECORDS_MAX || to + size > ROWS + ROWS_BYTES) {
      state.structures = before;
      why =
        end !== 0 ? AT_ROWS_END : state.failedAt + CUT_BYTES > limit ? AT_WINDOW_END : AT_UNUSUAL;
      break;
    }
    if (kind === OF_RUNS) {
      to = writeRow(to, rows, workspace, day);
      countRecord();
    }
    rows += 1;
    done = end;
    at = skipSpace(end);
    if (load<u8>(at) !== 0x2c || done >= WINDOW + until) break;
    at = skipSpace(at + 1);
  }
  finishRuns();
  store<i32>(RESULT, done - WINDOW);
  store<i32>(RESULT + 4, why);
  store<i32>(RESULT + 8, to - ROWS);
  store<i32>(RESULT + 12, runs.count);
  store<i32>(RESULT + 16, state.structures);
  store<i32>(RESULT + 20, runs.kinds);
  return rows;
}

/** Writes the current record; @returns where its row ends. */
function writeRow(start: i32, row: i32, workspace: i32, day: i32): i32 {
  let to = start + 2;
  store<u16>(start, <u16>(table.columns << 8));
  for (let column = 0; column < table.columns; column += 1) {
    const cell = cellOf(column);
    switch (<i32>load<u8>(COLUMNS + column)) {
      case WRITE_INT64: {
        to = int64(to, load<u64>(cell));
        break;
      }
      case WRITE_INT16: {
        store<i32>(to, LENGTH_2);
        store<u16>(to + 4, bswap<u16>(load<u16>(cell)));
        to += 6;
        break;
      }
      case WRITE_COUNTER: {
        const value = load<u64>(cell);
        to = value === 0 ? none(to) : int64(to, value);
        break;
      }
      case WRITE_TRACE_ID: {
        to = !isPresent(column) ? none(to) : id16(to, cell);
        break;
      }
      case WRITE_SPAN_ID: {
        to = !isPresent(column) ? none(to) : id8(to, cell);
        break;
      }
      case WRITE_TEXT: {
        if (column === runs.nameColumn) runs.nameAt = to + 4 - ROWS;
        to = text(to, cell);
        break;
      }
      case WRITE_OPTIONAL_TEXT: {
        to = load<u32>(cell) === load<u32>(cell + 4) ? none(to) : text(to, cell);
        break;
      }
      case WRITE_ATTRIBUTES: {
        if (load<u32>(cell) === load<u32>(cell + 4)) {
          store<i32>(to, LENGTH_2);
          store<u16>(to + 4, 0x7d7b);
          to += 6;
        } else {
          to = text(to, cell);
        }
        break;
      }
      case WRITE_WORKSPACE: {
        to = int32(to, workspace);
        break;
      }
      case WRITE_DAY: {
        to = int32(to, day);
        break;
      }
      case WRITE_NULL: {
        to = none(to);
        break;
      }
      case WRITE_RUN: {
        to = run(to);
        break;
      }
      default:
        to = later(to, PLACES + (row << 2));
    }
  }
  return to;
}

/** Writes null. */
function none(to: i32): i32 {
  store<i32>(to, NULL_LENGTH);
  return to + 4;
}

/** Writes an integer. */
function int32(to: i32, value: i32): i32 {
  store<i32>(to, LENGTH_4);
  store<i32>(to + 4, bswap<i32>(value));
  return to + 8;
}

/** Writes a bigint. */
function int64(to: i32, value: u64): i32 {
  store<i32>(to, LENGTH_8);
  store<u64>(to + 4, bswap<u64>(value));
  return to + 12;
}

/** Writes an id of 8 bytes. */
function id8(to: i32, cell: i32): i32 {
  store<i32>(to, LENGTH_8);
  store<u64>(to + 4, load<u64>(cell));
  return to + 12;
}

/** Writes an id of 16 bytes. */
function id16(to: i32, cell: i32): i32 {
  store<i32>(to, LENGTH_16);
  v128.store(to + 4, v128.load(cell));
  return to + 20;
}

/** Writes zeros in place of an id, and where they are at `place`. */
function later(to: i32, place: i32): i32 {
  store<i32>(place, to + 4 - ROWS);
  store<i32>(to, LENGTH_16);
  v128.store(to + 4, i64x2.splat(0));
  return to + 20;
}

/** Writes the trace id or, of a log record without one, an id made of its times. */
function run(to: i32): i32 {
  if (isPresent(table.traceColumn)) {
    return id16(to, cellOf(table.traceColumn));
  }
  store<i32>(to, LENGTH_16);
  store<u64>(to + 4, bswap<u64>(load<u64>(cellOf(runs.startColumn))));
  store<u64>(to + 12, bswap<u64>(load<u64>(cellOf(runs.endColumn))));
  return to + 20;
}

/** Writes a text; up to fifteen bytes too many. */
function text(to: i32, cell: i32): i32 {
  const start = <i32>load<u32>(cell);
  const length = <i32>load<u32>(cell + 4) - start;
  store<i32>(to, bswap<i32>(length));
  to += 4;
  if (length <= LOOP_BYTES_MAX) {
    for (let index = 0; index < length; index += 16) {
      v128.store(to + index, v128.load(start + index));
    }
  } else {
    memory.copy(to, start, length);
  }
  return to + length;
}
