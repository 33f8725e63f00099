/** Counts what records add to each run, by the rules of `src/ingest/run-tally.ts`. */
import {
  RECORDS_MAX,
  RUN_BYTES,
  RUN_END,
  RUN_FLAGS,
  RUN_IS_FAILED,
  RUN_IS_FINISHED,
  RUN_IS_NONE,
  RUN_IS_TIMED,
  RUN_NAME_AT,
  RUN_NAME_LENGTH,
  RUN_RECORDS,
  RUN_START,
  WITH_TRACE,
  WITHOUT_TRACE,
} from './codes.ts';
import { cellOf, isPresent } from './records.ts';

const STATUS_ERROR: u64 = 2;
const BILLION: u64 = 1_000_000_000;

/**
 * A run's records follow each other, so a run may come several times: again after other records, and for
 * each of its root spans. While records are counted, start and end are nanoseconds.
 */
export const RUNS = <i32>memory.data(RECORDS_MAX * RUN_BYTES, 16);

/** Which columns are counted, and what was. */
export class runs {
  static isOfSpans: bool = false;
  static traceColumn: i32 = 0;
  /** of a log record, its time */
  static startColumn: i32 = 0;
  /** of a log record, when it was observed */
  static endColumn: i32 = 0;
  static parentColumn: i32 = 0;
  static statusColumn: i32 = 0;
  static nameColumn: i32 = -1;
  /** where the current record's name is, counted from the rows */
  static nameAt: i32 = 0;
  static count: i32 = 0;
  /** the run of the record before; 0 for none */
  static latest: i32 = 0;
  static kinds: i32 = 0;
}

/** Counts the current record. */
export function countRecord(): void {
  if (!isPresent(runs.traceColumn)) {
    runs.kinds |= WITHOUT_TRACE;
    countUntraced();
    return;
  }
  runs.kinds |= WITH_TRACE;
  if (runs.isOfSpans) countSpan();
  else countLog();
}

/** Counts a span. */
function countSpan(): void {
  const isRoot = !isPresent(runs.parentColumn);
  const run = runOf(isRoot);
  widen(run, load<u64>(cellOf(runs.startColumn)), load<u64>(cellOf(runs.endColumn)));
  if (!isRoot) return;
  const isFailed = load<u64>(cellOf(runs.statusColumn)) === STATUS_ERROR;
  const name = cellOf(runs.nameColumn);
  store<i32>(run + RUN_FLAGS, RUN_IS_TIMED | RUN_IS_FINISHED | (isFailed ? RUN_IS_FAILED : 0));
  store<i32>(run + RUN_NAME_AT, runs.nameAt);
  store<i32>(run + RUN_NAME_LENGTH, load<i32>(name + 4) - load<i32>(name));
}

/** Counts a log record without a trace id. */
function countUntraced(): void {
  let run = runs.latest;
  if (run === 0 || (load<i32>(run + RUN_FLAGS) & RUN_IS_NONE) === 0) {
    run = nextRun(i64x2.splat(0));
    store<i32>(run + RUN_FLAGS, RUN_IS_NONE);
  }
  addRecord(run);
}

/** Counts a log record. */
function countLog(): void {
  const run = runOf(false);
  let time = load<u64>(cellOf(runs.startColumn));
  if (time === 0) time = load<u64>(cellOf(runs.endColumn));
  if (time !== 0) widen(run, time, time);
}

/** The run of the current record, with the record added. @param isRoot it must have no root yet */
function runOf(isRoot: bool): i32 {
  const id = v128.load(cellOf(runs.traceColumn));
  let run = runs.latest;
  if (
    run === 0 ||
    !i8x16.all_true(i8x16.eq(v128.load(run), id)) ||
    (isRoot && (load<i32>(run + RUN_FLAGS) & RUN_IS_FINISHED) !== 0)
  ) {
    run = nextRun(id);
  }
  addRecord(run);
  return run;
}

/** A run without records, which is the latest now. */
function nextRun(id: v128): i32 {
  const run = RUNS + runs.count * RUN_BYTES;
  runs.count += 1;
  runs.latest = run;
  v128.store(run, id);
  v128.store(run + RUN_START, i64x2.splat(0));
  v128.store(run + RUN_END, i64x2.splat(0));
  v128.store(run + RUN_RECORDS, i64x2.splat(0));
  return run;
}

function addRecord(run: i32): void {
  store<i32>(run + RUN_RECORDS, load<i32>(run + RUN_RECORDS) + 1);
}

/** Lets a run begin and end at these times, or earlier and later. */
function widen(run: i32, start: u64, end: u64): void {
  const flags = load<i32>(run + RUN_FLAGS);
  const isTimed = (flags & RUN_IS_TIMED) !== 0;
  if (!isTimed || start < load<u64>(run + RUN_START)) store<u64>(run + RUN_START, start);
  if (!isTimed || end > load<u64>(run + RUN_END)) store<u64>(run + RUN_END, end);
  store<i32>(run + RUN_FLAGS, flags | RUN_IS_TIMED);
}

/** Turns times into seconds and nanoseconds. */
export function finishRuns(): void {
  for (let index = 0; index < runs.count; index += 1) {
    const run = RUNS + index * RUN_BYTES;
    split(run + RUN_START);
    split(run + RUN_END);
  }
}

/** Turns one time into seconds and nanoseconds. */
function split(at: i32): void {
  const nanos = load<u64>(at);
  store<f64>(at, <f64>(nanos / BILLION));
  store<f64>(at + 8, <f64>(nanos % BILLION));
}
