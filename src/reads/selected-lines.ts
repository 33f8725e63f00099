/**
 * Selects records of a block by their time and service, and makes lines of them again, grouped by the UTC
 * hour of their time. A block that is taken whole stays byte for byte as it is.
 */
import { countRecords, type RecordRanges } from '../model/record-ranges.ts';
import type { Signal } from '../model/telemetry.ts';
import { isObject } from '../otlp/fields.ts';
import { parseJson } from '../otlp/json.ts';
import { findRecords } from '../otlp/lines/block-records.ts';
import { cutLines } from '../otlp/lines/lines.ts';
import { readTime } from '../otlp/lines/narrow-record.ts';
import type { FoundRecord, Frame } from '../otlp/lines/record-finder.ts';
import { serviceNameIn } from '../otlp/origin.ts';
import type { Pieces } from '../otlp/pieces.ts';

const NANOS_DIGITS = 6;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LINE_FEED = Buffer.from('\n');
const ALL: RecordRanges = [0, Number.MAX_SAFE_INTEGER];

/** Lines of one signal that arrived on one UTC day. */
export interface LinesOfDay {
  readonly signal: Signal;
  /** each with a line feed at its end */
  readonly text: Buffer;
  /** the day of arrival, as `2026-11-20` */
  readonly arrivedOn: string;
  readonly records: number;
}

export interface RecordFilter {
  /** milliseconds since 1970; null: from the beginning */
  readonly sinceMs: number | null;
  /** not included; null: to the end */
  readonly untilMs: number | null;
  /** `service.name` of the resource; null: any */
  readonly service: string | null;
}

export interface SelectedLines {
  /**
   * the UTC hour of the records, as `2026-11-20T12`; null for times that are more than a day away from the day
   * of arrival, and records without a time
   */
  readonly hour: string | null;
  readonly text: Buffer;
  readonly records: number;
}

/** Selects records. @param wanted numbers of the records to choose from; null for all */
export function* selectLines(
  { signal, text, arrivedOn, records }: LinesOfDay,
  wanted: RecordRanges | null,
  filter: RecordFilter,
  byHour: boolean,
): Pieces<readonly SelectedLines[]> {
  const { sinceMs, untilMs, service } = filter;
  const isFiltered = sinceMs !== null || untilMs !== null || service !== null;
  if (wanted === null && !isFiltered && !byHour) return [{ hour: null, text, records }];
  const found = yield* findRecords(signal, text, wanted ?? ALL, (walk) =>
    readTime(signal, walk, text),
  );
  const missing = wanted === null ? 0 : countRecords(wanted) - found.length;
  if (missing > 0) throw new RangeError(`${missing} records are missing.`);
  const dayMs = Date.parse(arrivedOn);
  const services = new Services();
  const hours = new Map<string | null, FoundRecord<string>[]>();
  for (const record of found) {
    const ms = toMs(record.value);
    // A record without a time counts as one of the beginning of its day of arrival.
    const atMs = ms === 0 ? dayMs : ms;
    if (sinceMs !== null && atMs < sinceMs) continue;
    if (untilMs !== null && atMs >= untilMs) continue;
    if (service !== null && services.of(record.frame) !== service) continue;
    const hour = byHour ? hourOf(ms, dayMs) : null;
    const own = hours.get(hour);
    if (own === undefined) hours.set(hour, [record]);
    else own.push(record);
  }
  const [first] = hours;
  if (first !== undefined && wanted === null && first[1].length === found.length) {
    return [{ hour: first[0], text, records: found.length }];
  }
  const selected: SelectedLines[] = [];
  for (const [hour, own] of hours) {
    const lines = yield* cutLines(text, own);
    const parts = lines.flatMap((line) => [...line.parts, LINE_FEED]);
    selected.push({ hour, text: Buffer.concat(parts), records: own.length });
  }
  return selected;
}

function toMs(nanos: string): number {
  return Number(nanos.slice(0, -NANOS_DIGITS));
}

function hourOf(ms: number, dayMs: number): string | null {
  if (ms < dayMs - DAY_MS || ms >= dayMs + 2 * DAY_MS) return null;
  return new Date(ms).toISOString().slice(0, 'YYYY-MM-DDTHH'.length);
}

class Services {
  #resource: Frame | null = null;
  #service: string | null = null;

  of(frame: Frame): string | null {
    let resource = frame;
    // The outermost frame is the request; the resources are in it.
    while (resource.parent !== null && resource.parent.parent !== null) resource = resource.parent;
    if (resource !== this.#resource) {
      this.#resource = resource;
      this.#service = serviceIn(resource);
    }
    return this.#service;
  }
}

function serviceIn({ head, tail }: Frame): string | null {
  const parsed = parseJson(Buffer.concat([head, Buffer.from(tail)]));
  const entry = parsed.ok && isObject(parsed.value) ? parsed.value : {};
  return isObject(entry.resource) ? serviceNameIn(entry.resource.attributes) : null;
}
