/**
 * Whole HTTP requests as bytes, built before the measurement, so that sending one is one write.
 *
 * Requests that are sent more than once get different trace ids each time: the first eight digits
 * of each are overwritten in place, which takes microseconds and saves gigabytes of memory.
 * Compressed requests cannot be stamped.
 */
import { gzipSync } from 'node:zlib';

import type { Signal } from '../../src/model/telemetry.ts';
import type { RunData } from '../agent-runs/data.ts';
import { runBody, runLogBody } from '../agent-runs/runs.ts';
import { traceBody } from '../bodies.ts';
import { logBody, metricBody } from '../signal-bodies.ts';

export interface BodyKind {
  readonly signal: Signal;
  /** spans, log records or data points of one body */
  readonly rows: number;
  readonly gzip: boolean;
  /** absent: the benchmark's own bodies */
  readonly data?: RunData;
}

export interface PreparedRequest {
  readonly bytes: Buffer;
  /** as sent, without the head */
  readonly bodyBytes: number;
  /** offsets of trace ids */
  readonly stamps: readonly number[];
}

const MAKERS: Readonly<Record<Signal, (seed: number, rows: number) => Buffer>> = {
  traces: traceBody,
  logs: logBody,
  metrics: metricBody,
};
const TRACE_ID = Buffer.from('"traceId":"');
const STAMP_DIGITS = 8;
/** zlib's own default, and that of the exporters that compress. */
const GZIP_LEVEL = 6;

/** The body with a seed, as an exporter would write it. */
export function bodyOf({ signal, rows, data }: BodyKind, seed: number): Buffer {
  if (data === undefined) return MAKERS[signal](seed, rows);
  if (signal === 'traces') return runBody(data, seed, rows);
  if (signal === 'logs' && data !== 'plain') return runLogBody(data, seed, rows);
  throw new Error(`there are no ${signal} of ${data}`);
}

function placesOf(bytes: Buffer): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(TRACE_ID); at !== -1; at = bytes.indexOf(TRACE_ID, at + 1)) {
    places.push(at + TRACE_ID.length);
  }
  return places;
}

export function prepareRequest(
  kind: BodyKind,
  seed: number,
  { host, pathname }: Pick<URL, 'host' | 'pathname'>,
  key: string,
): PreparedRequest {
  const plain = bodyOf(kind, seed);
  const body = kind.gzip ? gzipSync(plain, { level: GZIP_LEVEL }) : plain;
  const head = [
    `POST ${pathname} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    ...(kind.gzip ? ['Content-Encoding: gzip'] : []),
    `Content-Length: ${body.length}`,
    '\r\n',
  ].join('\r\n');
  const bytes = Buffer.concat([Buffer.from(head), body]);
  return { bytes, bodyBytes: body.length, stamps: kind.gzip ? [] : placesOf(bytes) };
}

/** Gives every trace of a request another id, the same one where it was the same. */
export function stamp({ bytes, stamps }: PreparedRequest, number: number): void {
  const digits = (number >>> 0).toString(16).padStart(STAMP_DIGITS, '0');
  for (const place of stamps) bytes.write(digits, place, STAMP_DIGITS, 'latin1');
}
