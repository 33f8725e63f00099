/**
 * Decodes ExportMetricsServiceRequest: which data points are accepted. Points are stored as sent, so
 * nothing is read of them beyond what decides that. An invalid metric rejects its points, an invalid
 * point only itself.
 */
import type { Int64, JsonObject, JsonValue } from '../model/json.ts';
import { checkAttributes } from './any-value.ts';
import { type DecodeResult, decodeEnvelope, type Envelope, type RequestDraft } from './envelope.ts';
import { Fault } from './fault.ts';
import {
  checkElements,
  isObject,
  isUnset,
  parseBool,
  parseEnum,
  parseInt32,
  parseList,
  parseObject,
  parseOptionalDouble,
  parseText,
  parseTime,
  parseUint32,
  parseUint64,
  type Raw,
  toDouble,
  toInt64,
  toUint64,
} from './fields.ts';

interface Kind {
  /** the member of Metric that holds this kind's points */
  readonly field: string;
  readonly hasTemporality: boolean;
  readonly checkValues: (point: JsonObject, recorded: boolean, fault: Fault) => void;
}

const KINDS: readonly Kind[] = [
  { field: 'gauge', hasTemporality: false, checkValues: checkNumber },
  { field: 'sum', hasTemporality: true, checkValues: checkNumber },
  { field: 'histogram', hasTemporality: true, checkValues: checkHistogram },
  { field: 'exponentialHistogram', hasTemporality: true, checkValues: checkExponentialHistogram },
  { field: 'summary', hasTemporality: false, checkValues: checkSummary },
];

/** Beside the list of points. */
const DATA_KEYS = ['aggregationTemporality', 'isMonotonic'];

/** Bit 0 of a point's flags: no recorded value (DataPointFlags in metrics.proto). */
const NO_RECORDED_VALUE = 1;

export const METRICS: Envelope = {
  signal: 'metrics',
  resourceList: 'resourceMetrics',
  scopeList: 'scopeMetrics',
  itemList: 'metrics',
  countRecords: countPoints,
  parseItem: addMetric,
};

/**
 * Decodes the body of one metric export.
 *
 * @param body JSON bytes, decompressed; only read during the call
 * @returns the number of accepted `points`, or why the body is undecodable; never throws. Rejections
 *   count points; a metric without data has none and is reported with a count of 0
 */
export function decodeMetrics(body: Buffer): DecodeResult {
  return decodeEnvelope(body, METRICS);
}

/**
 * Reads everything of a metric except its points.
 *
 * @returns the name of the member with the list of points (`gauge`, `sum` …), or '' for a metric without points. Null
 *   when the plain decoder rejects the metric or notes something about it
 */
export function pointsOf(metric: JsonValue): string | null {
  const fault = new Fault();
  const kind = kindOf(metric, fault);
  if (kind === null || !isObject(metric)) return null;
  const data = parseObject(metric[kind.field], kind.field, fault);
  checkShared(metric, kind, data, fault);
  if (fault.refused) return null;
  if (Array.isArray(data.dataPoints)) return kind.field;
  const isKnown = (key: string): boolean => key === 'dataPoints' || DATA_KEYS.includes(key);
  return isUnset(data.dataPoints) && Object.keys(data).every(isKnown) ? '' : null;
}

function addMetric(item: JsonValue, draft: RequestDraft): void {
  const { fault } = draft;
  const kind = kindOf(item, fault);
  if (kind === null || !isObject(item)) {
    draft.rejectItem(countPoints(item));
    return;
  }
  const data = parseObject(item[kind.field], kind.field, fault);
  checkShared(item, kind, data, fault);
  if (isUnset(data.dataPoints)) {
    const dataPath = `${draft.itemsPath}[${draft.itemIndex}].${kind.field}`;
    draft.noteUnknown(data, 'dataPoints', DATA_KEYS, dataPath);
  }
  const pointsPath = `${kind.field}.dataPoints`;
  const points = parseList(data.dataPoints, pointsPath, fault);
  if (fault.refused) {
    draft.rejectItem(countPoints(item));
    return;
  }
  const accepted: number[] = [];
  for (let index = 0; index < points.length; index += 1) {
    fault.reset();
    checkPoint(points[index], kind, fault);
    if (fault.refused) draft.rejectItem(1, `${pointsPath}[${index}]`);
    else accepted.push(index);
  }
  draft.points += accepted.length;
  if (accepted.length === points.length) draft.accept();
  else draft.acceptPoints(accepted);
}

/** The kind of the metric; null, with a fault, unless exactly one member is set. */
function kindOf(metric: JsonValue, fault: Fault): Kind | null {
  if (!isObject(metric)) {
    fault.refuse('not_an_object', '');
    return null;
  }
  let found: Kind | null = null;
  for (const kind of KINDS) {
    if (isUnset(metric[kind.field])) continue;
    if (found !== null) fault.refuse('bad_metric_kind', '');
    found = kind;
  }
  if (found === null) fault.refuse('bad_metric_kind', '');
  return fault.refused ? null : found;
}

/** The number of points of a metric; 1 if unknown, because something is lost. */
function countPoints(metric: JsonValue): number {
  if (!isObject(metric)) return 1;
  let count = 0;
  for (const { field } of KINDS) {
    const data = metric[field];
    if (isUnset(data)) continue;
    const points = isObject(data) ? data.dataPoints : data;
    if (Array.isArray(points)) count += points.length;
    else if (!isUnset(points)) count += 1;
  }
  return count;
}

function checkShared(metric: JsonObject, kind: Kind, data: JsonObject, fault: Fault): void {
  parseText(metric.name, 'name', fault);
  parseText(metric.description, 'description', fault);
  parseText(metric.unit, 'unit', fault);
  if (kind.hasTemporality) checkTemporality(data, kind.field, fault);
  if (kind.field === 'sum') parseBool(data.isMonotonic, 'sum.isMonotonic', fault);
  checkAttributes(metric.metadata, 'metadata', fault);
}

function checkTemporality(data: JsonObject, field: string, fault: Fault): void {
  const path = `${field}.aggregationTemporality`;
  const value = parseEnum(data.aggregationTemporality, 'bad_temporality', path, fault);
  if (value === 0) fault.refuse('bad_temporality', path);
}

function checkPoint(point: Raw, kind: Kind, fault: Fault): void {
  if (!isObject(point)) {
    fault.refuse('not_an_object', '');
    return;
  }
  parseTime(point.startTimeUnixNano, 'startTimeUnixNano', fault);
  const timeUnixNano = parseTime(point.timeUnixNano, 'timeUnixNano', fault);
  if (timeUnixNano === '0') fault.refuse('bad_time', 'timeUnixNano');
  const flags = parseUint32(point.flags, 'bad_flags', 'flags', fault);
  kind.checkValues(point, (flags & NO_RECORDED_VALUE) === 0, fault);
  checkAttributes(point.attributes, 'attributes', fault);
  checkElements(point.exemplars, 'exemplars', checkExemplar, fault);
}

function checkExemplar(exemplar: Raw, fault: Fault): void {
  if (!isObject(exemplar)) {
    fault.refuse('not_an_object', '');
    return;
  }
  parseTime(exemplar.timeUnixNano, 'timeUnixNano', fault);
  const { asInt, asDouble } = exemplar;
  if (!isUnset(asInt)) {
    if (toInt64(asInt) === null) fault.refuse('bad_value', 'asInt');
  } else if (!isUnset(asDouble) && toDouble(asDouble) === null) {
    fault.refuse('bad_value', 'asDouble');
  }
  checkAttributes(exemplar.filteredAttributes, 'filteredAttributes', fault);
}

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
function checkHistogram(point: JsonObject, recorded: boolean, fault: Fault): void {
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
function checkExponentialHistogram(point: JsonObject, recorded: boolean, fault: Fault): void {
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

function checkSummary(point: JsonObject, recorded: boolean, fault: Fault): void {
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
