/**
 * Checks the records of a list: spans and log records, which are counted to their runs, and data points.
 * The part that JavaScript calls: it fills `MEMBERS_AT`, calls `configure` once, and then `scan` for bytes
 * at `WINDOW_AT`.
 */
import * as codes from './codes.ts';
import { clearDistribution, distribution } from './distributions.ts';
import {
  CELL_BYTES,
  CELLS,
  cellAt,
  isPresent,
  MEMBERS,
  OVERREAD_BYTES,
  skipSpace,
  state,
  unusual,
  WINDOW,
  WINDOW_BYTES,
} from './memory.ts';
import { checkObject, setMembers } from './objects.ts';
import { clearRuns, countRecord, RUNS, runs } from './runs.ts';

/** Further results of `scan`: see `RESULT_AT`. */
const RESULT = <i32>memory.data(24, 16);
const ENDS = <i32>memory.data(codes.RECORDS_MAX * 4, 16);

export const WINDOW_AT: i32 = WINDOW;
export const WINDOW_SIZE: i32 = WINDOW_BYTES;
export const RUNS_AT: i32 = RUNS;
export const MEMBERS_AT: i32 = MEMBERS;
export const ENDS_AT: i32 = ENDS;
/**
 * Five integers: where in the window it stopped, why, runs, objects and lists, and whether there were
 * records with a trace (1) and without (2).
 */
export const RESULT_AT: i32 = RESULT;

/** Bytes before the window's end in which what is not ordinary may only be cut off. */
const CUT_BYTES: i32 = 96;

/** Members that every record has, as bits. */
let required: u32 = 0;

/** Sets how many members of an object there are at `MEMBERS_AT`, and which every one has, as bits. */
export function configure(object: i32, members: i32, requiredMembers: u32): void {
  setMembers(object, members);
  if (object === codes.RECORD) required = requiredMembers;
}

/**
 * Checks the records from `at` in a window of `length` bytes, until its end, the list's, or a record
 * that is not ordinary.
 *
 * @param until at least one record is read, and none after one that ends there or later
 */
export function scan(length: i32, at: i32, until: i32, kind: i32): i32 {
  const limit = WINDOW + length;
  memory.fill(limit, 0, OVERREAD_BYTES);
  state.structures = 0;
  state.kind = kind;
  clearRuns();
  let records = 0;
  let done = WINDOW + at;
  let why = codes.AT_END;
  at = skipSpace(done);
  while (true) {
    const before = state.structures;
    const end = records === codes.RECORDS_MAX ? 0 : checkRecord(at);
    if (end === 0) {
      state.structures = before;
      why = state.failedAt + CUT_BYTES > limit ? codes.AT_WINDOW_END : codes.AT_UNUSUAL;
      if (records === codes.RECORDS_MAX) why = codes.AT_RECORDS_END;
      break;
    }
    if (kind <= codes.LOG_RECORDS) countRecord(records);
    store<i32>(ENDS + (records << 2), end - WINDOW);
    records += 1;
    done = end;
    at = skipSpace(end);
    if (load<u8>(at) !== 0x2c || done >= WINDOW + until) break;
    at = skipSpace(at + 1);
  }
  store<i32>(RESULT, done - WINDOW);
  store<i32>(RESULT + 4, why);
  store<i32>(RESULT + 8, runs.count);
  store<i32>(RESULT + 12, state.structures);
  store<i32>(RESULT + 16, runs.kinds);
  return records;
}

function checkRecord(at: i32): i32 {
  for (let cell = CELLS; cell < CELLS + codes.CELLS_MAX * CELL_BYTES; cell += CELL_BYTES) {
    v128.store(cell, i64x2.splat(0));
  }
  state.present = 0;
  state.depth = 0;
  if (state.kind > codes.LOG_RECORDS) clearDistribution();
  const end = checkObject(at, codes.RECORD);
  if (end === 0) return 0;
  if ((state.seen & required) !== required) return unusual(end);
  // The plain decoder says which members were expected.
  if (state.seen === 0 && state.hasUnknown) return unusual(end);
  return state.kind > codes.LOG_RECORDS && !isPoint() ? unusual(end) : end;
}

const NO_RECORDED_VALUE: u64 = 1;

function isPoint(): bool {
  if (load<u64>(cellAt(codes.CELL_TIME)) === 0) return false;
  const isRecorded = (load<u64>(cellAt(codes.CELL_FLAGS)) & NO_RECORDED_VALUE) === 0;
  return state.kind === codes.HISTOGRAM_POINTS ? isHistogram(isRecorded) : isNumber(isRecorded);
}

/** Checks whether the point has exactly one number, or at most one if none was recorded. */
function isNumber(isRecorded: bool): bool {
  const hasInt = isPresent(codes.CELL_INT);
  const hasDouble = isPresent(codes.CELL_DOUBLE);
  return isRecorded ? hasInt !== hasDouble : !(hasInt && hasDouble);
}

/** Checks whether buckets, bounds and count agree, if they were recorded. */
function isHistogram(isRecorded: bool): bool {
  if (!isRecorded) return true;
  const buckets = distribution.buckets;
  const bounds = distribution.bounds;
  if (buckets + bounds === 0) return true;
  return buckets === bounds + 1 && distribution.bucketsSum === load<u64>(cellAt(codes.CELL_COUNT));
}
