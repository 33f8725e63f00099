/**
 * Checks the values of a data point by kind: a number, a histogram, an exponential histogram or a
 * summary. A point flagged as without a recorded value may lack its values, and its counts need not
 * agree.
 */

import type { Int64, JsonObject } from '../model/json.ts';
import type { Fault } from './fault.ts';
import {
  checkElements,
  isObject,
  isUnset,
  parseInt32,
  parseList,
  parseObject,
  parseOptionalDouble,
  parseUint64,
  type Raw,
  toDouble,
  toInt64,
  toUint64,
} from './fields.ts';

/** Checks the value of a gauge's or sum's point: exactly one of asInt and asDouble. */
export function checkNumber(point: JsonObject, recorded: boolean, fault: Fault): void {
  const { asInt, asDouble } = point;
  if (isUnset(asInt) && isUnset(asDouble)) {
    if (recorded) fault.refuse('no_value', '');
  } else if (isUnset(asInt)) {
    if (toDouble(asDouble ?? null) === null) fault.refuse('bad_value', 'asDouble');
  } else if (toInt64(asInt) === null || !isUnset(asDouble)) {
    fault.refuse('bad_value', 'asInt');
  }
}

/** Checks a histogram: `bucketCounts` one longer than the rising `explicitBounds`, or both empty. */
export function checkHistogram(point: JsonObject, recorded: boolean, fault: Fault): void {
  const count = parseCount(point.count, recorded, fault);
  const counts = parseCounts(point.bucketCounts, 'bucketCounts', fault);
  const bounds = countBounds(point.explicitBounds, fault);
  if (recorded && counts.length + bounds > 0) {
    if (counts.length !== bounds + 1) fault.refuse('bad_buckets', 'bucketCounts');
    if (sumOf(counts) !== count) fault.refuse('bad_buckets', 'count');
  }
  checkDoubles(point, ['sum', 'min', 'max'], fault);
}

/** Checks an exponential histogram: buckets and `zeroCount` add up to `count` (metrics.proto). */
export function checkExponentialHistogram(
  point: JsonObject,
  recorded: boolean,
  fault: Fault,
): void {
  const count = parseCount(point.count, recorded, fault);
  parseInt32(point.scale, 'bad_buckets', 'scale', fault);
  const zeroCount = parseUint64(point.zeroCount, 'bad_count', 'zeroCount', fault);
  checkDoubles(point, ['zeroThreshold'], fault);
  const positive = parseBuckets(point.positive, 'positive', fault);
  const negative = parseBuckets(point.negative, 'negative', fault);
  const total = sumOf([zeroCount, ...positive, ...negative]);
  if (recorded && total !== count) fault.refuse('bad_buckets', 'count');
  checkDoubles(point, ['sum', 'min', 'max'], fault);
}

/** Checks a summary: count, sum and the values at some quantiles. */
export function checkSummary(point: JsonObject, recorded: boolean, fault: Fault): void {
  checkDoubles(point, ['sum'], fault);
  checkElements(point.quantileValues, 'quantileValues', checkQuantile, fault);
  parseCount(point.count, recorded, fault);
}

function checkDoubles(point: JsonObject, fields: readonly string[], fault: Fault): void {
  for (const field of fields) parseOptionalDouble(point[field], field, fault);
}

function checkQuantile(raw: Raw, fault: Fault): void {
  if (!isObject(raw)) {
    fault.refuse('not_an_object', '');
    return;
  }
  const quantile = parseOptionalDouble(raw.quantile, 'quantile', fault) ?? 0;
  if (!(quantile >= 0 && quantile <= 1)) fault.refuse('bad_quantile', 'quantile');
  parseOptionalDouble(raw.value, 'value', fault);
}

/** Null only if no value was recorded and no count was sent. */
function parseCount(raw: Raw, recorded: boolean, fault: Fault): Int64 | null {
  if (isUnset(raw) && !recorded) return null;
  return parseUint64(raw, 'bad_count', 'count', fault);
}

/** Reads bucket counts, up to the first fault. */
function parseCounts(raw: Raw, field: string, fault: Fault): readonly Int64[] {
  const list = parseList(raw, field, fault);
  const counts: Int64[] = [];
  for (let index = 0; index < list.length; index += 1) {
    // A null inside a list is not the default: ProtoJSON does not allow it.
    const count = toUint64(list[index] ?? null);
    if (count === null) {
      fault.refuse('bad_count', `${field}[${index}]`);
      break;
    }
    counts.push(count);
  }
  return counts;
}

/** Counts strictly rising bounds (never NaN), up to the first fault. */
function countBounds(raw: Raw, fault: Fault): number {
  const list = parseList(raw, 'explicitBounds', fault);
  let below = Number.NEGATIVE_INFINITY;
  for (const [index, value] of list.entries()) {
    const bound = toDouble(value);
    const rises = bound !== null && (index === 0 ? !Number.isNaN(bound) : bound > below);
    if (!rises) {
      fault.refuse('bad_buckets', `explicitBounds[${index}]`);
      break;
    }
    below = bound;
  }
  return list.length;
}

function parseBuckets(raw: Raw, field: string, fault: Fault): readonly Int64[] {
  const buckets = parseObject(raw, field, fault);
  parseInt32(buckets.offset, 'bad_buckets', `${field}.offset`, fault);
  return parseCounts(buckets.bucketCounts, `${field}.bucketCounts`, fault);
}

/** Adds counts exactly; uses BigInt only if doubles would round. */
function sumOf(counts: readonly Int64[]): Int64 {
  let sum = 0;
  for (const count of counts) sum += Number(count);
  if (sum <= Number.MAX_SAFE_INTEGER) return String(sum);
  return String(counts.reduce((total, count) => total + BigInt(count), 0n));
}
