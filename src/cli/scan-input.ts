/**
 * The input of `sluice scan`: an OTLP export of traces or logs, or one export per line, as the OpenTelemetry
 * Collector's file exporter writes them; else plain text.
 */
import { LogRuns } from '../db/telemetry/log-runs.ts';
import { OperatorError } from '../errors.ts';
import { parsedJson } from '../model/json.ts';
import { SentSpans } from '../model/repeated-spans.ts';
import { inTimeOrder } from '../model/step-order.ts';
import type { Step } from '../model/steps.ts';
import type { Rejection } from '../model/telemetry.ts';
import type { DecodeResult } from '../otlp/envelope.ts';
import { recordsOf } from '../otlp/lines/block-records.ts';
import { linesOf } from '../otlp/lines/lines.ts';
import { decodeLogs } from '../otlp/logs.ts';
import { toEnd } from '../otlp/pieces.ts';
import { decodeTraces } from '../otlp/traces.ts';
import { digestOf, readStep, type StepSignal } from '../reads/read-step.ts';

export type ScanInput =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'runs';
      readonly runs: ReadonlyMap<string, readonly Step[]>;
      readonly rejections: readonly Rejection[];
    };

const TRACES = /^\s*\{\s*"resourceSpans"\s*:/;
const METRICS = /^\s*\{\s*"resourceMetrics"\s*:/;
const LINE_FEED = Buffer.from('\n');
const EXPORT = /^\s*\{\s*"resource(?:Spans|Logs|Metrics)"\s*:/;

interface Export extends Extract<DecodeResult, { readonly ok: true }> {
  readonly signal: StepSignal;
  readonly body: Buffer;
}

function toRuns(exports: readonly Export[]): Map<string, readonly Step[]> {
  const runs = new Map<string, Step[]>();
  const logRuns = new LogRuns();
  const sent = new SentSpans<true>();
  for (const { signal, body, request, accepted } of exports) {
    const { runs: assigned } = logRuns.assign(request, 0);
    const facts = [...request.spans, ...request.logs];
    const lines = toEnd(linesOf(signal, body, facts.length, accepted));
    const text = Buffer.concat(lines.flatMap(({ parts }) => [...parts, LINE_FEED]));
    for (const record of toEnd(recordsOf(signal, text, [0, facts.length]))) {
      const fact = facts[record.ordinal];
      if (fact === undefined) continue;
      const step = readStep(signal, record);
      const { traceId } = fact;
      const isSpan = signal === 'traces' && traceId !== null && step.spanId !== null;
      if (isSpan && sent.repeatedBy(true, traceId, step.spanId, digestOf(record)) !== null)
        continue;
      const runId = assigned.get(fact)?.runId ?? traceId;
      if (runId === null) continue;
      const steps = runs.get(runId);
      if (steps === undefined) runs.set(runId, [step]);
      else steps.push(step);
    }
  }
  return new Map([...runs].map(([runId, steps]) => [runId, inTimeOrder(steps)]));
}

/** @throws {OperatorError} when it starts like an OTLP export and is not one */
export function parseScanInput(bytes: Buffer): ScanInput {
  const text = bytes.toString('utf8');
  const first = firstLine(text);
  if (EXPORT.test(first) && isWhole(first)) return parseLines(text);
  if (!EXPORT.test(text)) return { kind: 'text', text };
  return runsOf([decoded(bytes, text, 'Not an OTLP export')]);
}

function firstLine(text: string): string {
  const trimmed = text.trimStart();
  const end = trimmed.indexOf('\n');
  return end === -1 || trimmed.slice(end).trim() === '' ? '' : trimmed.slice(0, end);
}

const isWhole = (line: string): boolean => parsedJson(line) !== undefined;

function parseLines(text: string): ScanInput {
  const exports: Export[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    // Metrics have no text that a rule could match.
    if (line.trim() === '' || METRICS.test(line)) continue;
    exports.push(decoded(Buffer.from(line), line, `Line ${index + 1} is not an OTLP export`));
  }
  return runsOf(exports);
}

function decoded(body: Buffer, text: string, fault: string): Export {
  const signal = TRACES.test(text) ? 'traces' : 'logs';
  const result = signal === 'traces' ? decodeTraces(body) : decodeLogs(body);
  if (result.ok) return { ...result, signal, body };
  throw new OperatorError(`${fault}: ${result.path} ${result.message}`);
}

function runsOf(exports: readonly Export[]): ScanInput {
  const rejections = exports.flatMap(({ request }) => request.rejections);
  return { kind: 'runs', runs: toRuns(exports), rejections };
}
