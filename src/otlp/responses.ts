/**
 * Encodes the body of every response to an OTLP request, in JSON like the request. Messages give
 * the reason, the count and the path; they must never contain a value that a client sent. Only the keys of an
 * object in which nothing is known are named, a few and cut (`envelope.ts`).
 */

import { ERRORS, type ErrorCode } from '../errors.ts';
import type { DecodedRequest, Signal } from '../model/telemetry.ts';
import { REASONS } from './fault.ts';

/** Limit for a message; clients may limit the size of a response that they read. */
export const MESSAGE_BYTES_MAX = 4096;

const SUCCESS = Buffer.from('{}');

const REJECTED_FIELD: Readonly<Record<Signal, string>> = {
  traces: 'rejectedSpans',
  metrics: 'rejectedDataPoints',
  logs: 'rejectedLogRecords',
};

/** One google.rpc.BadRequest.FieldViolation: the field's path and what is wrong with it. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

/**
 * Encodes Export{Trace,Metrics,Logs}ServiceResponse: `{}` when everything was accepted, else a
 * partial success with the rejected count as a decimal string. A count of 0 with a message is a
 * warning.
 *
 * @param request the decoded request, once its rows are stored
 * @returns JSON bytes for status 200; shared between callers, so never write to them
 */
export function encodeExportResponse(
  request: Pick<DecodedRequest, 'signal' | 'rejections'>,
): Buffer {
  const { signal, rejections } = request;
  if (rejections.length === 0) return SUCCESS;
  let rejected = 0;
  const sentences: string[] = [];
  for (const { reason, count, firstPath, message } of rejections) {
    rejected += count;
    const where = `(${count}, first at ${firstPath}): ${explanation(reason)}`;
    sentences.push(message ?? `${reason} ${where}`);
  }
  const partialSuccess = {
    [REJECTED_FIELD[signal]]: String(rejected),
    errorMessage: cutToBytes(sentences.join('; '), MESSAGE_BYTES_MAX),
  };
  return Buffer.from(JSON.stringify({ partialSuccess }));
}

/**
 * Encodes google.rpc.Status, the body of every OTLP response other than 200.
 *
 * @param message for a person; without client data
 * @param violations sent as one google.rpc.BadRequest in `details`
 */
export function encodeStatus(
  code: ErrorCode,
  message: string,
  violations: readonly FieldViolation[] = [],
): Buffer {
  const status = { code: ERRORS[code].rpcCode, message: cutToBytes(message, MESSAGE_BYTES_MAX) };
  if (violations.length === 0) return Buffer.from(JSON.stringify(status));
  const details = [
    { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations },
  ];
  return Buffer.from(JSON.stringify({ ...status, details }));
}

function explanation(reason: string): string {
  return Object.entries(REASONS).find(([known]) => known === reason)?.[1] ?? 'refused';
}

/** Cuts to at most `bytesMax` bytes of UTF-8, never inside a character. */
function cutToBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  let end = bytesMax;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
