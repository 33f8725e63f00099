/**
 * Decodes ExportMetricsServiceRequest: metrics, and the members that points of all five kinds
 * share. An invalid metric rejects its points, an invalid point only itself. The values of each
 * kind are read by `point-values.ts`.
 */

import type { JsonObject, JsonValue } from '../model/json.ts';
import type { MetricKind, MetricRow, PointRow } from '../model/telemetry.ts';
import { parseAttributes } from './any-value.ts';
import { type DecodeResult, decodeEnvelope, type Envelope, type RequestDraft } from './envelope.ts';
import { parseExemplar } from './exemplar.ts';
import type { Fault } from './fault.ts';
import {
  isObject,
  isUnset,
  parseBool,
  parseEnum,
  parseList,
  parseObject,
  parseText,
  parseTime,
  parseUint32,
  type Raw,
} from './fields.ts';
import { parseListText } from './list-text.ts';
import { contentId } from './origin.ts';
import {
  type PointValues,
  parseExponentialHistogram,
  parseHistogram,
  parseNumber,
  parseSummary,
} from './point-values.ts';

interface Kind {
  readonly kind: MetricKind;
  /** the member of Metric that holds this kind's points */
  readonly field: string;
  readonly hasTemporality: boolean;
  readonly parseValues: (point: JsonObject, recorded: boolean, fault: Fault) => PointValues;
}

const KINDS: readonly Kind[] = [
  { kind: 'gauge', field: 'gauge', hasTemporality: false, parseValues: parseNumber },
  { kind: 'sum', field: 'sum', hasTemporality: true, parseValues: parseNumber },
  { kind: 'histogram', field: 'histogram', hasTemporality: true, parseValues: parseHistogram },
  {
    kind: 'exponential_histogram',
    field: 'exponentialHistogram',
    hasTemporality: true,
    parseValues: parseExponentialHistogram,
  },
  { kind: 'summary', field: 'summary', hasTemporality: false, parseValues: parseSummary },
];

/** Beside the list of points. */
const DATA_KEYS = ['aggregationTemporality', 'isMonotonic'];

/** Bit 0 of a point's flags: no recorded value (DataPointFlags in metrics.proto). */
const NO_RECORDED_VALUE = 1;

const METRICS: Envelope = {
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
 * @returns `points` and the `metrics` and `resources` they name, or why the body is undecodable;
 *   never throws. Rejections count points; a metric without data has none and is reported with a
 *   count of 0
 */
export function decodeMetrics(body: Buffer): DecodeResult {
  return decodeEnvelope(body, METRICS);
}

/** Reads the members that a metric's points share; null, with a fault, if its kind is not clear. */
export function parseMetricRow(item: JsonObject, fault: Fault): MetricRow | null {
  const kind = kindOf(item, fault);
  if (kind === null) return null;
  return parseMetric(item, kind, parseObject(item[kind.field], kind.field, fault), fault);
}

function addMetric(item: JsonValue, draft: RequestDraft): void {
  const { fault } = draft;
  const kind = kindOf(item, fault);
  if (kind === null || !isObject(item)) {
    draft.rejectItem(countPoints(item));
    return;
  }
  const data = parseObject(item[kind.field], kind.field, fault);
  const metric = parseMetric(item, kind, data, fault);
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
    const row = parsePoint(points[index], kind, metric.id, draft);
    if (row === null) {
      draft.rejectItem(1, `${pointsPath}[${index}]`);
    } else {
      draft.metrics.set(metric.id, metric);
      draft.points.push(row);
      accepted.push(index);
    }
  }
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

function parseMetric(metric: JsonObject, kind: Kind, data: JsonObject, fault: Fault): MetricRow {
  const name = parseText(metric.name, 'name', fault);
  const description = parseText(metric.description, 'description', fault);
  const unit = parseText(metric.unit, 'unit', fault);
  const temporality = kind.hasTemporality ? parseTemporality(data, kind.field, fault) : null;
  const monotonic =
    kind.kind === 'sum' ? parseBool(data.isMonotonic, 'sum.isMonotonic', fault) : null;
  const metadata = parseAttributes(metric.metadata, 'metadata', fault);
  const content = [name, description, unit, kind.kind, temporality, monotonic, metadata];
  return {
    id: contentId(content),
    name,
    description,
    unit,
    kind: kind.kind,
    temporality,
    monotonic,
    metadata,
  };
}

function parseTemporality(data: JsonObject, field: string, fault: Fault): number {
  const path = `${field}.aggregationTemporality`;
  const value = parseEnum(data.aggregationTemporality, 'bad_temporality', path, fault);
  if (value === 0) fault.refuse('bad_temporality', path);
  return value;
}

function parsePoint(
  point: Raw,
  kind: Kind,
  metricId: string,
  draft: RequestDraft,
): PointRow | null {
  const { fault } = draft;
  if (!isObject(point)) {
    fault.refuse('not_an_object', '');
    return null;
  }
  const startUnixNano = parseTime(point.startTimeUnixNano, 'startTimeUnixNano', fault);
  const timeUnixNano = parseTime(point.timeUnixNano, 'timeUnixNano', fault);
  if (timeUnixNano === '0') fault.refuse('bad_time', 'timeUnixNano');
  const flags = parseUint32(point.flags, 'bad_flags', 'flags', fault);
  const recorded = (flags & NO_RECORDED_VALUE) === 0;
  const values = kind.parseValues(point, recorded, fault);
  const attributes = parseAttributes(point.attributes, 'attributes', fault);
  const exemplars = parseListText(point.exemplars, 'exemplars', parseExemplar, fault);
  if (fault.refused) return null;
  return {
    resourceId: draft.origin().id,
    metricId,
    startUnixNano: startUnixNano === '0' ? null : startUnixNano,
    timeUnixNano,
    flags,
    attributes,
    valueInt: values.valueInt,
    valueDouble: values.valueDouble,
    count: values.count,
    sum: values.sum,
    min: values.min,
    max: values.max,
    distribution: values.distribution,
    exemplars,
  };
}
