/** Counts what records add to each run, by the rules of `src/ingest/run-tally.ts`. */
import {
  CELL_END,
  CELL_NAME,
  CELL_PARENT,
  CELL_STATUS,
  CELL_TIME,
  CELL_TRACE,
  RECORDS_MAX,
  RUN_BYTES,
  RUN_END,
  RUN_FIRST,
  RUN_FLAGS,
  RUN_IS_FAILED,
  RUN_IS_FINISHED,
  RUN_IS_TIMED,
  RUN_NAME_AT,
  RUN_NAME_LENGTH,
  RUN_RECORDS,
  RUN_START,
  SPANS,
  WITH_TRACE,
  WITHOUT_TRACE,
} from './codes.ts';
import { cellAt, isPresent, state, WINDOW } from './memory.ts';

const STATUS_ERROR: u64 = 2;

/** A run comes once for each of its root spans, and again after other records. */
export const RUNS = <i32>memory.data(RECORDS_MAX * RUN_BYTES, 16);

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
  if (!isPresent(CELL_TRACE)) {
    runs.kinds |= WITHOUT_TRACE;
    runs.latest = 0;
    return;
  }
  runs.kinds |= WITH_TRACE;
  if (state.kind === SPANS) countSpan(number);
  else countLogRecord(number);
}

function countSpan(number: i32): void {
  const isRoot = !isPresent(CELL_PARENT);
  const run = runOf(number, isRoot);
  widen(run, load<u64>(cellAt(CELL_TIME)), load<u64>(cellAt(CELL_END)));
  if (!isRoot) return;
  const isFailed = load<u64>(cellAt(CELL_STATUS)) === STATUS_ERROR;
  const name = cellAt(CELL_NAME);
  const nameAt = load<i32>(name);
  store<i32>(run + RUN_FLAGS, RUN_IS_TIMED | RUN_IS_FINISHED | (isFailed ? RUN_IS_FAILED : 0));
  store<i32>(run + RUN_NAME_AT, nameAt - WINDOW);
  store<i32>(run + RUN_NAME_LENGTH, load<i32>(name + 4) - nameAt);
}

function countLogRecord(number: i32): void {
  const run = runOf(number, false);
  let time = load<u64>(cellAt(CELL_TIME));
  if (time === 0) time = load<u64>(cellAt(CELL_END));
  if (time !== 0) widen(run, time, time);
}

/** The run of the current record, with the record added. @param isRoot it must have no root yet */
function runOf(number: i32, isRoot: bool): i32 {
  const id = v128.load(cellAt(CELL_TRACE));
  let run = runs.latest;
  if (
    run === 0 ||
    !i8x16.all_true(i8x16.eq(v128.load(run), id)) ||
    (isRoot && (load<i32>(run + RUN_FLAGS) & RUN_IS_FINISHED) !== 0)
  ) {
    run = RUNS + runs.count * RUN_BYTES;
    runs.count += 1;
    runs.latest = run;
    memory.fill(run, 0, RUN_BYTES);
    v128.store(run, id);
    store<i32>(run + RUN_FIRST, number);
  }
  store<i32>(run + RUN_RECORDS, load<i32>(run + RUN_RECORDS) + 1);
  return run;
}

/** Lets a run begin and end at these times, or earlier and later. */
function widen(run: i32, start: u64, end: u64): void {
  const flags = load<i32>(run + RUN_FLAGS);
  const isTimed = (flags & RUN_IS_TIMED) !== 0;
  if (!isTimed || start < load<u64>(run + RUN_START)) store<u64>(run + RUN_START, start);
  if (!isTimed || end > load<u64>(run + RUN_END)) store<u64>(run + RUN_END, end);
  store<i32>(run + RUN_FLAGS, flags | RUN_IS_TIMED);
}
