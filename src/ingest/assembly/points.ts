/** Checks data points of gauges, sums and histograms, by the rules of `src/otlp/metrics.ts`. */
import {
  CELL_COUNT,
  CELL_DOUBLE,
  CELL_FLAGS,
  CELL_INT,
  CELL_TIME,
  HISTOGRAM_POINTS,
} from './codes.ts';
import { distribution } from './distributions.ts';
import { cellAt, isPresent, state } from './memory.ts';

const NO_RECORDED_VALUE: u64 = 1;

/** Checks whether the data point that was read is valid. */
export function isPoint(): bool {
  if (load<u64>(cellAt(CELL_TIME)) === 0) return false;
  const isRecorded = (load<u64>(cellAt(CELL_FLAGS)) & NO_RECORDED_VALUE) === 0;
  return state.kind === HISTOGRAM_POINTS ? isHistogram(isRecorded) : isNumber(isRecorded);
}

/** Checks whether the point has exactly one number, or at most one if none was recorded. */
function isNumber(isRecorded: bool): bool {
  const hasInt = isPresent(CELL_INT);
  const hasDouble = isPresent(CELL_DOUBLE);
  return isRecorded ? hasInt !== hasDouble : !(hasInt && hasDouble);
}

/** Checks whether buckets, bounds and count agree, if they were recorded. */
function isHistogram(isRecorded: bool): bool {
  if (!isRecorded) return true;
  const buckets = distribution.buckets;
  const bounds = distribution.bounds;
  if (buckets + bounds === 0) return true;
  return buckets === bounds + 1 && distribution.bucketsSum === load<u64>(cellAt(CELL_COUNT));
}
