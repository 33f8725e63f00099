/**
 * The records of a body in the form in which stored ones are compared with them (`stored-records.ts`),
 * by row number. Written for what chaos bodies use; must never use the decoder, which it is there to
 * judge.
 */
import { hash } from 'node:crypto';

import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { parseExactly } from '../support/exact-records.ts';
import { LISTS } from '../support/otlp-requests.ts';
import { type Body, ROW_NUMBERS, TIME_BASE } from './bodies.ts';

/** The workspace of all bodies: the first one of an installation. */
export const WORKSPACE = 1;

/** The body and row numbers of a time. */
export function placeOf(time: string): { readonly body: number; readonly row: number } {
  const since = BigInt(time) - TIME_BASE;
  const row = ((since % BigInt(ROW_NUMBERS)) + BigInt(ROW_NUMBERS)) % BigInt(ROW_NUMBERS);
  return { body: Number((since - row) / BigInt(ROW_NUMBERS)), row: Number(row) };
}

/** Digest of a body, which is one line of a block as it was sent. */
export const digestOf = ({ bytes }: Pick<Body, 'bytes'>): string => digestOfLine(bytes.toString());
export const digestOfLine = (text: string): string => hash('md5', text);

/** A span, log record or data point with all that encloses it; numbers are their texts. */
export interface SentRecord {
  readonly time: string;
  /** the trace of a span or log record; null without one */
  readonly runId: string | null;
  /** by the part of the request */
  readonly content: Readonly<Record<string, JsonValue>>;
}

type Parsed = Readonly<Record<string, JsonValue>>;
const listOf = (value: JsonValue | undefined): Parsed[] => (value ?? []) as JsonObject[];

/** The records of an export request, in order. @throws SyntaxError */
export function recordsOf(signal: Signal, request: string): SentRecord[] {
  const [resourceList, scopeList, itemList] = LISTS[signal];
  const records: SentRecord[] = [];
  const { [resourceList]: resources, ...rest } = parseExactly(request) as Parsed;
  for (const { [scopeList]: scopes, ...resource } of listOf(resources)) {
    for (const { [itemList]: items, ...scope } of listOf(scopes)) {
      for (const item of listOf(items)) {
        const around = { rest, resource, scope };
        const own = signal === 'metrics' ? pointsOf(item) : [stepOf(signal, item)];
        for (const { content, ...about } of own) {
          records.push({ ...about, content: { ...around, ...content } as Parsed });
        }
      }
    }
  }
  return records;
}

function stepOf(signal: Signal, record: Parsed): SentRecord {
  const time = signal === 'traces' ? record.startTimeUnixNano : record.timeUnixNano;
  const runId = typeof record.traceId === 'string' ? record.traceId : null;
  return { time: String(time), runId, content: { record } as Parsed };
}

function pointsOf(metric: Parsed): SentRecord[] {
  const [kind, data] =
    Object.entries(metric).find(([, value]) => Object.hasOwn(Object(value), 'dataPoints')) ?? [];
  if (kind === undefined) return [];
  const { [kind]: _data, ...identity } = metric;
  const { dataPoints, ...aggregation } = data as JsonObject;
  return listOf(dataPoints).map((record) => ({
    time: String(record.timeUnixNano),
    runId: null,
    content: { identity, kind, aggregation, record } as Parsed,
  }));
}
