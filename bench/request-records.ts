/** The records of an export request, each with what encloses it. Pure. */
import type { JsonObject } from '../src/model/json.ts';
import type { Signal } from '../src/model/telemetry.ts';

/** A span, a log record or a data point. */
export interface EnclosedRecord {
  readonly resource: JsonObject;
  readonly scope: JsonObject;
  /** of a data point, without its points; `{}` otherwise */
  readonly metric: JsonObject;
  readonly record: JsonObject;
}

const LISTS: Readonly<Record<Signal, readonly [resources: string, scopes: string, items: string]>> =
  {
    traces: ['resourceSpans', 'scopeSpans', 'spans'],
    logs: ['resourceLogs', 'scopeLogs', 'logRecords'],
    metrics: ['resourceMetrics', 'scopeMetrics', 'metrics'],
  };
const POINT_LISTS = ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary'];

const listOf = (object: JsonObject, name: string): JsonObject[] =>
  (object[name] ?? []) as JsonObject[];

function* pointsOf(item: JsonObject): Generator<Pick<EnclosedRecord, 'metric' | 'record'>> {
  const kind = POINT_LISTS.find((name) => item[name] !== undefined) ?? '';
  const { dataPoints, ...data } = item[kind] as JsonObject;
  const metric = { ...item, [kind]: data };
  for (const record of dataPoints as JsonObject[]) yield { metric, record };
}

export function* recordsIn(signal: Signal, request: JsonObject): Generator<EnclosedRecord> {
  const [resources, scopes, items] = LISTS[signal];
  for (const ofResource of listOf(request, resources)) {
    const { [scopes]: _scopes, ...resource } = ofResource;
    for (const ofScope of listOf(ofResource, scopes)) {
      const { [items]: _items, ...scope } = ofScope;
      for (const item of listOf(ofScope, items)) {
        if (signal !== 'metrics') yield { resource, scope, metric: {}, record: item };
        else for (const point of pointsOf(item)) yield { resource, scope, ...point };
      }
    }
  }
}
