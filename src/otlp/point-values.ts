/**
 * Reads the values of a data point by kind: a number, a histogram, an exponential histogram or a
 * summary. Distributions keep OTLP's field names; their counts are written as integer literals. A
 * point flagged as without a recorded value may lack its values, and its counts need not agree.
 */

import type { Int64, JsonObject, JsonText } from '../model/json.ts';
import type { PointRow } from '../model/telemetry.ts';
import type { Fault } from './fault.ts';
import {
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
import { doubleText } from './json-text.ts';
import { parseListText } from './list-text.ts';

export type PointValues = Pick<
  PointRow,
  'valueInt' | 'valueDouble' | 'count' | 'sum' | 'min' | 'max' | 'distribution'
>;

const NO_VALUES: PointValues = {
  valueInt: null,
  valueDouble: null,
  count: null,
  sum: null,
  min: null,
  max: null,
  distribution: null,
};

/** Reads the value of a gauge's or sum's point: exactly one of asInt and asDouble. */
export function parseNumber(point: JsonObject, recorded: boolean, fault: Fault): PointValues {
  const { asInt, asDouble } = point;
  if (isUnset(asInt) && isUnset(asDouble)) {
    if (recorded) fault.refuse('no_value', '');
    return NO_VALUES;
  }
  if (isUnset(asInt)) {
    const valueDouble = toDouble(asDouble ?? null);
    if (valueDouble === null) fault.refuse('bad_value', 'asDouble');
    return { ...NO_VALUES, valueDouble };
  }
  const valueInt = toInt64(asInt);
  if (valueInt === null || !isUnset(asDouble)) fault.refuse('bad_value', 'asInt');
  return { ...NO_VALUES, valueInt };
}

/** Reads a histogram: `bucketCounts` one longer than the rising `explicitBounds`, or both empty. */
export function parseHistogram(point: JsonObject, recorded: boolean, fault: Fault): PointValues {
  const count = parseCount(point.count, recorded, fault);
  const counts = parseCounts(point.bucketCounts, 'bucketCounts', fault);
  const bounds = parseBounds(point.explicitBounds, fault);
  if (recorded && counts.length + bounds.length > 0) {
    if (counts.length !== bounds.length + 1) fault.refuse('bad_buckets', 'bucketCounts');
    if (sumOf(counts) !== count) fault.refuse('bad_buckets', 'count');
  }
  const boundTexts = bounds.map(doubleText);
  return {
    ...NO_VALUES,
    count,
    sum: parseOptionalDouble(point.sum, 'sum', fault),
    min: parseOptionalDouble(point.min, 'min', fault),
    max: parseOptionalDouble(point.max, 'max', fault),
    distribution: `{"bucketCounts":[${counts}],"explicitBounds":[${boundTexts}]}`,
  };
}

/** Reads an exponential histogram: buckets and `zeroCount` add up to `count` (metrics.proto). */
export function parseExponentialHistogram(
  point: JsonObject,
  recorded: boolean,
  fault: Fault,
): PointValues {
  const count = parseCount(point.count, recorded, fault);
  const scale = parseInt32(point.scale, 'bad_buckets', 'scale', fault);
  const zeroCount = parseUint64(point.zeroCount, 'bad_count', 'zeroCount', fault);
  const zeroThreshold = parseOptionalDouble(point.zeroThreshold, 'zeroThreshold', fault) ?? 0;
  const positive = parseBuckets(point.positive, 'positive', fault);
  const negative = parseBuckets(point.negative, 'negative', fault);
  const total = sumOf([zeroCount, ...positive.counts, ...negative.counts]);
  if (recorded && total !== count) fault.refuse('bad_buckets', 'count');
  return {
    ...NO_VALUES,
    count,
    sum: parseOptionalDouble(point.sum, 'sum', fault),
    min: parseOptionalDouble(point.min, 'min', fault),
    max: parseOptionalDouble(point.max, 'max', fault),
    distribution:
      `{"scale":${scale},"zeroCount":${zeroCount},"zeroThreshold":${doubleText(zeroThreshold)}` +
      `,"positive":${positive.text},"negative":${negative.text}}`,
  };
}

/** Reads a summary: count, sum and the values at some quantiles. */
export function parseSummary(point: JsonObject, recorded: boolean, fault: Fault): PointValues {
  const sum = parseOptionalDouble(point.sum, 'sum', fault);
  const quantiles = parseListText(point.quantileValues, 'quantileValues', parseQuantile, fault);
  return {
    ...NO_VALUES,
    count: parseCount(point.count, recorded, fault),
    // Unlike a histogram's, a summary's sum is not optional: absent means 0.
    sum: recorded ? (sum ?? 0) : sum,
    distribution: `{"quantileValues":${quantiles ?? '[]'}}`,
  };
}

function parseQuantile(raw: Raw, fault: Fault): JsonText {
  if (!isObject(raw)) {
    fault.refuse('not_an_object', '');
    return '';
  }
  const quantile = parseOptionalDouble(raw.quantile, 'quantile', fault) ?? 0;
  if (!(quantile >= 0 && quantile <= 1)) fault.refuse('bad_quantile', 'quantile');
  const value = parseOptionalDouble(raw.value, 'value', fault) ?? 0;
  return `{"quantile":${doubleText(quantile)},"value":${doubleText(value)}}`;
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

/** Reads strictly rising bounds (never NaN), up to the first fault. */
function parseBounds(raw: Raw, fault: Fault): readonly number[] {
  const list = parseList(raw, 'explicitBounds', fault);
  const bounds: number[] = [];
  for (const [index, value] of list.entries()) {
    const bound = toDouble(value);
    const below = bounds.at(-1);
    if (bound === null || Number.isNaN(bound) || (below !== undefined && bound <= below)) {
      fault.refuse('bad_buckets', `explicitBounds[${index}]`);
      break;
    }
    bounds.push(bound);
  }
  return bounds;
}

function parseBuckets(
  raw: Raw,
  field: string,
  fault: Fault,
): { readonly counts: readonly Int64[]; readonly text: JsonText } {
  const buckets = parseObject(raw, field, fault);
  const offset = parseInt32(buckets.offset, 'bad_buckets', `${field}.offset`, fault);
  const counts = parseCounts(buckets.bucketCounts, `${field}.bucketCounts`, fault);
  return { counts, text: `{"offset":${offset},"bucketCounts":[${counts}]}` };
}

/** Adds counts exactly; uses BigInt only if doubles would round. */
function sumOf(counts: readonly Int64[]): Int64 {
  let sum = 0;
  for (const count of counts) sum += Number(count);
  if (sum <= Number.MAX_SAFE_INTEGER) return String(sum);
  return String(counts.reduce((total, count) => total + BigInt(count), 0n));
}
