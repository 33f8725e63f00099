/** Counts what records add to each run, by the rules of `src/ingest/run-tally.ts`. */
import * as codes from './codes.ts';
import { cellAt, isPresent, state, WINDOW } from './memory.ts';

const STATUS_ERROR: u64 = 2;

/** A run comes once for each of its root spans, and again after other records. */
export const RUNS = <i32>memory.data(codes.RECORDS_MAX * codes.RUN_BYTES, 16);

export class runs {
  static count: i32 = 0;
  /** the run of the record before; 0 for none */
  static latest: i32 = 0;
  static kinds: i32 = 0;
}

export function clearRuns(): void {
  runs.count = 0;
  runs.latest = 0;
  runs.kinds = 0;
}

export function countRecord(number: i32): void {
  if (!isPresent(codes.CELL_TRACE)) {
    runs.kinds |= codes.WITHOUT_TRACE;
    runs.latest = 0;
    return;
  }
  runs.kinds |= codes.WITH_TRACE;
  if (state.kind === codes.SPANS) countSpan(number);
  else countLogRecord(number);
}

function countSpan(number: i32): void {
  const isRoot = !isPresent(codes.CELL_PARENT);
  const run = runOf(number, isRoot);
  widen(run, load<u64>(cellAt(codes.CELL_TIME)), load<u64>(cellAt(codes.CELL_END)));
  if (!isRoot) return;
  const isFailed = load<u64>(cellAt(codes.CELL_STATUS)) === STATUS_ERROR;
  const name = cellAt(codes.CELL_NAME);
  const nameAt = load<i32>(name);
  store<i32>(
    run + codes.RUN_FLAGS,
    codes.RUN_IS_TIMED | codes.RUN_IS_FINISHED | (isFailed ? codes.RUN_IS_FAILED : 0),
  );
  store<i32>(run + codes.RUN_NAME_AT, nameAt - WINDOW);
  store<i32>(run + codes.RUN_NAME_LENGTH, load<i32>(name + 4) - nameAt);
}

function countLogRecord(number: i32): void {
  const run = runOf(number, false);
  let time = load<u64>(cellAt(codes.CELL_TIME));
  if (time === 0) time = load<u64>(cellAt(codes.CELL_END));
  if (time !== 0) widen(run, time, time);
}

/** The run of the current record, with the record added. @param isRoot it must have no root yet */
function runOf(number: i32, isRoot: bool): i32 {
  const id = v128.load(cellAt(codes.CELL_TRACE));
  let run = runs.latest;
  if (
    run === 0 ||
    !i8x16.all_true(i8x16.eq(v128.load(run), id)) ||
    (isRoot && (load<i32>(run + codes.RUN_FLAGS) & codes.RUN_IS_FINISHED) !== 0)
  ) {
    run = RUNS + runs.count * codes.RUN_BYTES;
    runs.count += 1;
    runs.latest = run;
    memory.fill(run, 0, codes.RUN_BYTES);
    v128.store(run, id);
    store<i32>(run + codes.RUN_FIRST, number);
  }
  store<i32>(run + codes.RUN_RECORDS, load<i32>(run + codes.RUN_RECORDS) + 1);
  return run;
}

/** Lets a run begin and end at these times, or earlier and later. */
function widen(run: i32, start: u64, end: u64): void {
  const flags = load<i32>(run + codes.RUN_FLAGS);
  const isTimed = (flags & codes.RUN_IS_TIMED) !== 0;
  if (!isTimed || start < load<u64>(run + codes.RUN_START))
    store<u64>(run + codes.RUN_START, start);
  if (!isTimed || end > load<u64>(run + codes.RUN_END)) store<u64>(run + codes.RUN_END, end);
  store<i32>(run + codes.RUN_FLAGS, flags | codes.RUN_IS_TIMED);
}
