/** The spans that packing is measured with, in two orders of arrival. Runs of a service overlap. */

import { type BlockRecord, recordsOf } from '../../src/otlp/lines/block-records.ts';
import { toEnd } from '../../src/otlp/pieces.ts';
import type { RunData } from '../agent-runs/data.ts';
import { runBody } from '../agent-runs/runs.ts';
import { bodyOf } from '../ingest/requests.ts';

export type PackData = 'bench' | RunData;
export const PACK_DATA: readonly PackData[] = ['bench', 'plain', 'conv3', 'conv10', 'conv30'];

/** Spans of a request, and requests. */
const SIZES: Readonly<Record<PackData, readonly [spans: number, requests: number]>> = {
  bench: [100, 48],
  plain: [100, 48],
  conv3: [100, 48],
  conv10: [50, 96],
  conv30: [30, 96],
};

export interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** A span of OTLP/JSON, as the generators write it. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: number };
}

export interface ArrivedSpan {
  readonly record: BlockRecord;
  readonly span: Span;
  readonly resource: readonly Attribute[];
  readonly scope: { readonly name: string; readonly version?: string };
}

/** The spans in the order of the generator's requests: the runs of a stream follow one another. */
export function spansOf(data: PackData): readonly ArrivedSpan[] {
  const [spans, requests] = SIZES[data];
  return Array.from({ length: requests }, (_, seed) =>
    data === 'bench'
      ? bodyOf({ signal: 'traces', rows: spans, gzip: false }, seed + 1)
      : runBody(data, seed, spans),
  ).flatMap((body) =>
    toEnd(recordsOf('traces', body, [0, spans])).map((record): ArrivedSpan => {
      const { resource, scope } = record.origin as unknown as {
        resource: { resource: { attributes: readonly Attribute[] } };
        scope: { scope: ArrivedSpan['scope'] };
      };
      const span = JSON.parse(record.bytes.toString()) as Span;
      return { record, span, resource: resource.resource.attributes, scope: scope.scope };
    }),
  );
}

/** The spans in the order in which they end, as the exporters of concurrent runs send them. */
export function byEnd(spans: readonly ArrivedSpan[]): readonly ArrivedSpan[] {
  const end = ({ span }: ArrivedSpan): string => span.endTimeUnixNano.padStart(20, '0');
  return [...spans].sort((one, other) => (end(one) < end(other) ? -1 : 1));
}

export function runsOf(spans: readonly ArrivedSpan[]): readonly (readonly BlockRecord[])[] {
  const runs = new Map<string, BlockRecord[]>();
  for (const { record, span } of spans) {
    const run = runs.get(span.traceId);
    if (run === undefined) runs.set(span.traceId, [record]);
    else run.push(record);
  }
  return [...runs.values()];
}
