/** Checks data points of gauges, sums and histograms, by the rules of `src/otlp/metrics.ts`. */
import { OF_HISTOGRAMS } from './codes.ts';
import { clearDistribution, distribution } from './distributions.ts';
import { unusual } from './memory.ts';
import { cellOf, isPresent, readRecord, record } from './records.ts';

const NO_RECORDED_VALUE: u64 = 1;

/** Values that `configurePoints` sets. */
export class point {
  static timeColumn: i32 = 0;
  static flagsColumn: i32 = 0;
  static intColumn: i32 = 0;
  static doubleColumn: i32 = 0;
  static countColumn: i32 = 0;
  static notOfNumbers: u32 = 0;
  static notOfHistograms: u32 = 0;
}

/** Reads one data point from its brace on. */
export function readPoint(at: i32, kind: i32): i32 {
  clearDistribution();
  const end = readRecord(at);
  if (end === 0) return 0;
  if (load<u64>(cellOf(point.timeColumn)) === 0) return unusual(end);
  const isRecorded = (load<u64>(cellOf(point.flagsColumn)) & NO_RECORDED_VALUE) === 0;
  const isOrdinary = kind === OF_HISTOGRAMS ? isHistogram(isRecorded) : isNumber(isRecorded);
  return isOrdinary ? end : unusual(end);
}

/**
 * Checks whether the point has exactly one number, or at most one if none was recorded, and no member of
 * histograms.
 */
function isNumber(isRecorded: bool): bool {
  if ((record.seen & point.notOfNumbers) !== 0) return false;
  const hasInt = isPresent(point.intColumn);
  const hasDouble = isPresent(point.doubleColumn);
  return isRecorded ? hasInt !== hasDouble : !(hasInt && hasDouble);
}

/**
 * Checks whether buckets, bounds and count agree, if they were recorded, and the point has no member of
 * number points.
 */
function isHistogram(isRecorded: bool): bool {
  if ((record.seen & point.notOfHistograms) !== 0) return false;
  if (!isRecorded) return true;
  const buckets = distribution.buckets;
  const bounds = distribution.bounds;
  if (buckets + bounds > 0) {
    if (buckets !== bounds + 1) return false;
    if (distribution.bucketsSum !== load<u64>(cellOf(point.countColumn))) return false;
  }
  return true;
}
