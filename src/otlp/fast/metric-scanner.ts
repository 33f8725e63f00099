/**
 * Owns the scanning of one metric: its points one by one, and what they have in common, which may
 * stand behind them. That is parsed and hashed once and remembered by its text, because a process
 * sends the same metrics over and over.
 */

import type { JsonObject, JsonValue } from '../../model/json.ts';
import type { MetricRow } from '../../model/telemetry.ts';
import { Fault } from '../fault.ts';
import { parseMetricRow } from '../metrics.ts';
import { FieldTable } from './field-table.ts';
import { KnownMetric, Members } from './known-metric.ts';
import { scanPoint } from './point-scanner.ts';
import type { ScannedPoint } from './scanned-rows.ts';
import { LEFT_TO_PLAIN, type Scanner } from './scanner.ts';
import { once } from './span-scanner.ts';

/** Bounds the memory to some 30 MB, twice that of texts beyond Latin-1; past it, it starts anew. */
const METRICS_MAX = 4000;
/** Longer texts are not remembered. */
const TEXT_LENGTH_MAX = 2048;

const METRIC = new FieldTable([
  'name',
  'description',
  'unit',
  'metadata',
  'gauge',
  'sum',
  'histogram',
  'exponentialHistogram',
  'summary',
]);
const NAMES = ['name', 'description', 'unit', 'metadata'] as const;
const KINDS = ['gauge', 'sum', 'histogram'] as const;
const DATA = new FieldTable(['dataPoints', 'aggregationTemporality', 'isMonotonic']);
const DATA_NAMES = ['dataPoints', 'aggregationTemporality', 'isMonotonic'] as const;

/** of the metric at hand; of the data's members, those behind the points' */
const members = new Members(NAMES.length + DATA_NAMES.length - 1);
const known = new Map<string, KnownMetric>();
let latest: KnownMetric | null = null;

/**
 * Scans one metric.
 *
 * @param onPoint is called after each point
 * @returns what the points share
 */
export function scanMetric(
  scanner: Scanner,
  point: ScannedPoint,
  onPoint: (point: ScannedPoint) => void,
): MetricRow {
  members.reset();
  let kind = -1;
  let seen = 0;
  for (let field = scanner.firstField(METRIC); field >= 0; field = scanner.nextField(METRIC)) {
    seen = once(seen, field);
    if (field < NAMES.length) {
      noteMember(scanner, field);
    } else if (!scanner.isNull()) {
      if (kind >= 0 || field - NAMES.length >= KINDS.length) throw LEFT_TO_PLAIN;
      kind = field - NAMES.length;
      scanData(scanner, point, kind, onPoint);
    }
  }
  return metricOf(scanner, kind);
}

function scanData(
  scanner: Scanner,
  point: ScannedPoint,
  kind: number,
  onPoint: (point: ScannedPoint) => void,
): void {
  let seen = 0;
  for (let field = scanner.firstField(DATA); field >= 0; field = scanner.nextField(DATA)) {
    seen = once(seen, field);
    if (field > 0) {
      noteMember(scanner, NAMES.length + field - 1);
    } else if (!scanner.isNull()) {
      for (let next = scanner.openList(); next; next = scanner.nextElement()) {
        scanPoint(scanner, point, KINDS[kind] === 'histogram');
        onPoint(point);
      }
    }
  }
}

function noteMember(scanner: Scanner, member: number): void {
  scanner.peek();
  const start = scanner.at;
  scanner.skipValue();
  members.note(member, start, scanner.at);
}

function metricOf(scanner: Scanner, kind: number): MetricRow {
  const expected = latest?.next ?? null;
  if (expected?.isAgain(scanner.view, kind, members) === true) {
    latest = expected;
    return expected.row;
  }
  const texts = Array.from(members.starts, (start, member) =>
    scanner.slice(start, members.ends[member] as number),
  );
  // JSON values end where they end, so no two lists of texts look alike when joined.
  const key = `${kind}\n${texts.join('\n')}`;
  const found = known.get(key);
  if (found !== undefined) {
    follow(found);
    return found.row;
  }
  const fault = new Fault();
  const row = parseMetricRow(toMetric(kind, texts), fault);
  if (row === null || fault.refused) throw LEFT_TO_PLAIN;
  if (key.length <= TEXT_LENGTH_MAX) {
    if (known.size >= METRICS_MAX) known.clear();
    const metric = new KnownMetric(kind, scanner.body, members, row);
    known.set(key, metric);
    follow(metric);
  }
  return row;
}

/** This metric came now: after the one before it is expected the next time. */
function follow(metric: KnownMetric): void {
  if (latest !== null) latest.next = metric;
  latest = metric;
}

/** The metric as it was sent, without its points. */
function toMetric(kind: number, texts: readonly string[]): JsonObject {
  const data: JsonObject = {};
  const metric: JsonObject = {};
  for (const [place, text] of texts.entries()) {
    if (text === '') continue;
    const value = JSON.parse(text) as JsonValue;
    const name = NAMES[place];
    if (name !== undefined) metric[name] = value;
    else data[DATA_NAMES[place - NAMES.length + 1] ?? ''] = value;
  }
  const kindName = KINDS[kind];
  if (kindName !== undefined) metric[kindName] = data;
  return metric;
}
