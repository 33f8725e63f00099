/**
 * The limit on runs of a request, in both ways of decoding: each is a row that the transaction locks, and a
 * small compressed body can contain half a million.
 */

import { expect, test } from 'vitest';
import { RUNS_MAX } from '../../src/db/telemetry/run-delta.ts';
import { decodePlainly } from '../../src/ingest/plain-decoder.ts';
import type { JsonObject } from '../../src/model/json.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { isExhaustive } from '../support/cases.ts';
import { decodeInPieces, scanOrNull } from '../support/decoding.ts';
import { hex16 } from '../support/rows.ts';
import { logsBody, SPAN_ID, toBody, tracesBody } from './bodies.ts';
import { freshContext } from './both-ways.ts';

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

const spansOfTraces = (traces: number): Buffer =>
  tracesBody(numbers(traces).map((at) => ({ traceId: hex16(at), spanId: SPAN_ID })));

const recordsOfTraces = (traces: number): Buffer =>
  logsBody(numbers(traces).map((at) => ({ traceId: hex16(at) })));

/** One trace to a scope, so that no scope holds many. */
const scopesOfTraces = (traces: number): Buffer =>
  toBody({
    resourceSpans: [
      {
        scopeSpans: numbers(traces).map((at) => ({
          spans: [{ traceId: hex16(at), spanId: SPAN_ID }],
        })),
      },
    ],
  });

/** One prompt of a session per record, from a product that sends no traces. */
const prompts = (count: number): Buffer => {
  const text = (key: string, value: string): JsonObject => ({ key, value: { stringValue: value } });
  const record = (at: number): JsonObject => ({
    timeUnixNano: `${at}`,
    body: { stringValue: 'claude_code.user_prompt' },
    attributes: [text('session.id', 's'), text('prompt.id', `p${at}`), text('prompt', 'hello')],
  });
  const resource = { attributes: [text('service.name', 'claude-code')] };
  const scope = { name: 'com.anthropic.claude_code.events' };
  const logRecords = numbers(count).map(record);
  return toBody({ resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] });
};

/** The plain way takes a second for some of these, and counts them all in one place. */
const countsPlainly = (signal: Signal, bodyOf: (count: number) => Buffer): boolean =>
  isExhaustive || signal !== 'traces' || bodyOf === spansOfTraces;

const tooLarge = expect.objectContaining({ code: 'body_too_large' });

test.each<[string, Signal, (count: number) => Buffer, number]>([
  ['spans of traces', 'traces', spansOfTraces, RUNS_MAX],
  ['spans of traces, a scope each', 'traces', scopesOfTraces, RUNS_MAX],
  ['log records of traces', 'logs', recordsOfTraces, RUNS_MAX],
])('%s are taken up to the limit, and refused past it', (_what, signal, bodyOf, most) => {
  const whole = bodyOf(most);
  expect(scanOrNull(signal, whole, freshContext())?.ok).toBe(true);
  const oneMore = bodyOf(most + 1);
  expect(() => scanOrNull(signal, oneMore, freshContext())).toThrow(tooLarge);
  if (!countsPlainly(signal, bodyOf)) return;
  expect(decodePlainly(signal, whole, freshContext()).ok).toBe(true);
  expect(() => decodePlainly(signal, oneMore, freshContext())).toThrow(tooLarge);
});

test('prompts of a session are bounded like traces', () => {
  expect(decodePlainly('logs', prompts(50), freshContext())).toMatchObject({
    request: { encoded: { runs: { length: 50 } } },
  });
  expect(() => decodePlainly('logs', prompts(RUNS_MAX + 1), freshContext())).toThrow(tooLarge);
});

const notElsewhere = () => Promise.reject(new Error('an ordinary body is scanned here'));

test('a body with far more is read no further than the limit', () => {
  const countPieces = (body: Buffer): number => {
    const pieces = decodeInPieces('traces', body, freshContext(), notElsewhere);
    let count = 1;
    try {
      while (pieces.next().done !== true) count += 1;
    } catch (error) {
      expect(error).toEqual(tooLarge);
    }
    return count;
  };
  const taken = countPieces(spansOfTraces(RUNS_MAX));
  expect(taken).toBeGreaterThan(5);
  expect(countPieces(spansOfTraces(4 * RUNS_MAX))).toBeLessThanOrEqual(taken + 1);
});
