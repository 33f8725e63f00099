/** Spans as an SDK exports them, and when the steps of a run begin and end. */
import type { JsonValue } from '../../src/model/json.ts';
import { hex, START_UNIX_NANO } from '../bodies.ts';
import { between, type Random } from './conversation.ts';

export interface Attribute {
  readonly key: string;
  readonly value: AnyValue;
}

export type AnyValue =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly arrayValue: { readonly values: readonly AnyValue[] } }
  | { readonly kvlistValue: { readonly values: readonly Attribute[] } };

/** A value of JSON as OTLP has it; null becomes an empty text. */
export function anyValue(value: JsonValue): AnyValue {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') {
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  }
  if (value === null) return { stringValue: '' };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return { kvlistValue: { values: attributesOf(value) } };
}

export const attributesOf = (values: Readonly<Record<string, JsonValue>>): Attribute[] =>
  Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }));

export const SPAN_KINDS = { internal: 1, server: 2, client: 3 } as const;

export interface Draft {
  readonly name: string;
  readonly kind: keyof typeof SPAN_KINDS;
  readonly attributes: Readonly<Record<string, JsonValue>>;
}

/** Runs of a service begin about this long after each other. */
const RUN_EVERY_NANOS = 700_000_000n;

export const startOf = (random: Random, run: number): bigint =>
  START_UNIX_NANO + BigInt(run) * RUN_EVERY_NANOS + BigInt(between(random, 0, 400_000_000));

/** Milliseconds, with digits below them as clocks have them. */
const nanosOf = (random: Random, msFrom: number, msTo: number): bigint =>
  BigInt(between(random, msFrom * 1000, msTo * 1000)) * 1000n + BigInt(between(random, 0, 999));

export interface Times {
  readonly start: bigint;
  readonly end: bigint;
}

/** The times of steps that follow one another, each a moment after the one before. */
export function clockFrom(random: Random, start: bigint) {
  let now = start;
  return (msFrom: number, msTo: number): Times => {
    now += nanosOf(random, 0, 3);
    const begun = now;
    now += nanosOf(random, msFrom, msTo);
    return { start: begun, end: now };
  };
}

/** The span of a draft, with what SDKs write beside it. */
export function toSpan(
  random: Random,
  { name, kind, attributes }: Draft,
  ids: { readonly traceId: string; readonly parentSpanId: string | null },
  { start, end }: Times,
  spanId = hex(random, 16),
) {
  const { traceId, parentSpanId } = ids;
  return {
    traceId,
    spanId,
    ...(parentSpanId === null ? {} : { parentSpanId }),
    name,
    kind: SPAN_KINDS[kind],
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(end),
    attributes: attributesOf(attributes),
    droppedAttributesCount: 0,
    events: [],
    droppedEventsCount: 0,
    status: { code: 0 },
    links: [],
    droppedLinksCount: 0,
    flags: 257,
  };
}

export type Span = ReturnType<typeof toSpan>;
