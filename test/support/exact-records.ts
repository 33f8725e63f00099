/** The records of an export request as JSON that differs wherever their texts differ. */
import type { Signal } from '../../src/model/telemetry.ts';

/** A string, or a number or word outside of strings. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs;

/** Parses JSON with every number as an object with its text, so that `1`, `1.0` and `1e0` differ. @throws SyntaxError */
export function parseExactly(text: string): unknown {
  return JSON.parse(
    text.replace(TOKEN, (token) => (token.startsWith('"') ? token : `{"number":"${token}"}`)),
  );
}

const LISTS: Readonly<Record<Signal, readonly string[]>> = {
  traces: ['resourceSpans', 'scopeSpans', 'spans'],
  logs: ['resourceLogs', 'scopeLogs', 'logRecords'],
  metrics: ['resourceMetrics', 'scopeMetrics', 'metrics', 'dataPoints'],
};
const KINDS = ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary'];

type Members = Record<string, unknown>;
const elementsOf = (list: unknown): readonly unknown[] => (Array.isArray(list) ? list : []);

/** Every record with all that encloses it as JSON, in the order of the body. */
export function recordsIn(signal: Signal, text: string): string[] {
  const records: string[] = [];
  const enter = (object: unknown, depth: number, around: readonly unknown[]): void => {
    if (typeof object !== 'object' || object === null || Array.isArray(object)) return;
    const { [LISTS[signal][depth] as string]: list, ...others } = object as Members;
    if (depth === 3) {
      // A metric: its points are in the only kind that is set.
      const name = KINDS.find((kind) => (object as Members)[kind] ?? false) ?? '';
      const { [name]: data, ...metric } = object as Members;
      const { dataPoints, ...shared } = (data ?? {}) as Members;
      for (const point of elementsOf(dataPoints)) {
        records.push(JSON.stringify([...around, metric, name, shared, point]));
      }
      return;
    }
    for (const element of elementsOf(list)) {
      if (depth === 2 && signal !== 'metrics') {
        records.push(JSON.stringify([...around, others, element]));
      } else enter(element, depth + 1, [...around, others]);
    }
  };
  enter(parseExactly(text), 0, []);
  return records;
}
