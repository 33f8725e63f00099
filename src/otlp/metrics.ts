/**
 * Decodes ExportMetricsServiceRequest: which data points are accepted. Points are stored as sent, so
 * nothing is read of them beyond what decides that. An invalid metric rejects its points, an invalid
 * point only itself. The values of each kind are checked by `point-values.ts`.
 */

import type { JsonObject, JsonValue } from '../model/json.ts';
import { checkAttributes } from './any-value.ts';
import { type DecodeResult, decodeEnvelope, type Envelope, type RequestDraft } from './envelope.ts';
import { checkExemplar } from './exemplar.ts';
import type { Fault } from './fault.ts';
import {
  checkElements,
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
import {
  checkExponentialHistogram,
  checkHistogram,
  checkNumber,
  checkSummary,
} from './point-values.ts';

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
 * @returns the number of accepted `points`, or why the body is undecodable; never throws. Rejections
 *   count points; a metric without data has none and is reported with a count of 0
 */
export function decodeMetrics(body: Buffer): DecodeResult {
  return decodeEnvelope(body, METRICS);
}

/** Checks the members that a metric's points share, and that it has exactly one kind. */
export function checkMetric(item: JsonObject, fault: Fault): void {
  const kind = kindOf(item, fault);
  if (kind === null) return;
  checkShared(item, kind, parseObject(item[kind.field], kind.field, fault), fault);
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
