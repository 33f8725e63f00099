/**
 * Owns the scanning of one metric: its points one by one, and what they have in common, which may
 * stand behind them. That is parsed and hashed once and remembered by its text, because a process
 * sends the same metrics over and over.
 */

import type { JsonObject, JsonValue, MetricRow } from '../../model.ts';
import { Fault } from '../fault.ts';
import { parseMetricRow } from '../metrics.ts';
import { FieldTable } from './field-table.ts';
import { scanPoint } from './point-scanner.ts';
import type { ScannedPoint } from './scanned-rows.ts';
import { LEFT_TO_PLAIN, type Scanner } from './scanner.ts';
import { once } from './span-scanner.ts';

/** Bounds the memory to some 16 MB; past it, it starts anew. */
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

const known = new Map<string, MetricRow>();

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
  /** texts of the members, empty when not sent; every other text is that of a kind's member */
  const texts = ['', '', '', '', '', ''];
  let kind = -1;
  let seen = 0;
  for (let field = scanner.firstField(METRIC); field >= 0; field = scanner.nextField(METRIC)) {
    seen = once(seen, field);
    if (field < NAMES.length) {
      texts[field] = scanner.textOfValue();
    } else if (!scanner.isNull()) {
      if (kind >= 0 || field - NAMES.length >= KINDS.length) throw LEFT_TO_PLAIN;
      kind = field - NAMES.length;
      scanData(scanner, point, kind, onPoint, texts);
    }
  }
  return metricOf(kind, texts);
}

function scanData(
  scanner: Scanner,
  point: ScannedPoint,
  kind: number,
  onPoint: (point: ScannedPoint) => void,
  texts: string[],
): void {
  let seen = 0;
  for (let field = scanner.firstField(DATA); field >= 0; field = scanner.nextField(DATA)) {
    seen = once(seen, field);
    if (field > 0) {
      texts[NAMES.length + field - 1] = scanner.textOfValue();
    } else if (!scanner.isNull()) {
      for (let next = scanner.openList(); next; next = scanner.nextElement()) {
        scanPoint(scanner, point, KINDS[kind] === 'histogram');
        onPoint(point);
      }
    }
  }
}

function metricOf(kind: number, texts: readonly string[]): MetricRow {
  // JSON values end where they end, so no two lists of texts look alike when joined.
  const key = `${kind}\n${texts.join('\n')}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const fault = new Fault();
  const row = parseMetricRow(toMetric(kind, texts), fault);
  if (row === null || fault.refused) throw LEFT_TO_PLAIN;
  if (key.length > TEXT_LENGTH_MAX) return row;
  if (known.size >= METRICS_MAX) known.clear();
  known.set(key, row);
  return row;
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
