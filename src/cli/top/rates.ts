/** Rates per second between two readings of a server's metrics. Pure. */
import { type MetricSamples, sumOf } from './metrics-text.ts';

export interface Reading {
  /** by a clock that never jumps */
  readonly atMs: number;
  readonly metrics: MetricSamples;
}

export interface Rates {
  readonly rows: number;
  readonly bytes: number;
  /** requests of each signal that were stored */
  readonly traces: number;
  readonly metrics: number;
  readonly logs: number;
  /** requests that were refused for a fault of their sender */
  readonly refused: number;
  /** answered 503 */
  readonly unavailable: number;
  readonly inflightBytes: number;
  /** average of the batches; null without one */
  readonly commitMs: number | null;
  readonly evaluated: number;
  readonly failed: number;
  readonly findings: number;
  /** of all processes together */
  readonly waitingRuns: number;
  readonly oldestWaitSeconds: number;
  readonly alertsPending: number;
}

const MS = 1000;
const STORED = /^2\d\d$/;
/** Those that are tried again, and those that are not any more. */
const FAILED_RUN = /^(undecided|evaluation_failed)$/;

/**
 * The rates between two readings. A counter that went down belongs to a process that was started
 * again: it began at 0.
 */
export function ratesBetween(before: Reading, after: Reading): Rates {
  const seconds = Math.max((after.atMs - before.atMs) / MS, Number.EPSILON);
  const grown = (name: string, where: Readonly<Record<string, RegExp>> = {}): number => {
    const now = sumOf(after.metrics, `sluice_${name}`, where);
    const then = sumOf(before.metrics, `sluice_${name}`, where);
    return now < then ? now : now - then;
  };
  const rate = (...args: Parameters<typeof grown>): number => grown(...args) / seconds;
  const gauge = (name: string): number => sumOf(after.metrics, `sluice_${name}`);
  const stored = (signal: string): number =>
    rate('ingest_requests_total', { signal: new RegExp(`^${signal}$`), status: STORED });
  const batches = grown('store_batch_seconds_count');
  return {
    rows: rate('store_rows_total'),
    bytes: rate('store_bytes_total'),
    traces: stored('traces'),
    metrics: stored('metrics'),
    logs: stored('logs'),
    refused: rate('ingest_refused_requests_total'),
    unavailable: rate('unavailable_answers_total', { place: /^(?!ready$)/ }),
    inflightBytes: gauge('store_inflight_bytes'),
    commitMs: batches === 0 ? null : (grown('store_batch_seconds_sum') / batches) * MS,
    evaluated: rate('pass_runs_total', { outcome: /^evaluated$/ }),
    failed: rate('pass_runs_total', { outcome: FAILED_RUN }),
    findings: rate('pass_findings_total'),
    waitingRuns: gauge('pass_waiting_runs'),
    oldestWaitSeconds: gauge('pass_oldest_wait_seconds'),
    alertsPending: gauge('alert_pending_findings'),
  };
}

/** The same everywhere: of several servers the largest counts. */
const SHARED = ['waitingRuns', 'oldestWaitSeconds', 'alertsPending'] as const;

/** All servers together. */
export function totalOf(all: readonly Rates[]): Rates {
  const sum = (name: Exclude<keyof Rates, 'commitMs'>): number =>
    all.reduce((rest, one) => rest + one[name], 0);
  const most = (name: (typeof SHARED)[number]): number =>
    Math.max(0, ...all.map((one) => one[name]));
  const commits = all.flatMap(({ commitMs }) => (commitMs === null ? [] : [commitMs]));
  return {
    rows: sum('rows'),
    bytes: sum('bytes'),
    traces: sum('traces'),
    metrics: sum('metrics'),
    logs: sum('logs'),
    refused: sum('refused'),
    unavailable: sum('unavailable'),
    inflightBytes: sum('inflightBytes'),
    commitMs: commits.length === 0 ? null : Math.max(...commits),
    evaluated: sum('evaluated'),
    failed: sum('failed'),
    findings: sum('findings'),
    waitingRuns: most('waitingRuns'),
    oldestWaitSeconds: most('oldestWaitSeconds'),
    alertsPending: most('alertsPending'),
  };
}
