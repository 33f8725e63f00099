/**
 * The change that one request makes to each run: counts, the time it spans, and its root span if it has arrived.
 * Pure; `copy-transaction.ts` merges the deltas of a batch and upserts them once.
 *
 * Requests arrive in any order, so merging is commutative: where two differ, the lesser text
 * counts.
 */
import { SluiceError } from '../../errors.ts';
import { compareInt64, type Hex16, type Int64 } from '../../model/json.ts';
import { addRange } from '../../model/record-ranges.ts';
import type { DecodedRequest, RootFacts, SpanFacts } from '../../model/telemetry.ts';
import type { LogRun, RecordFacts } from './log-runs.ts';

export interface RunDelta {
  readonly workspaceId: number;
  readonly runId: Hex16;
  spans: number;
  logRecords: number;
  startUnixNano: Int64 | null;
  endUnixNano: Int64 | null;
  /** the root span has arrived */
  finished: boolean;
  /** the root span's status is ERROR */
  failed: boolean;
  /** the root span's; null before it has arrived */
  name: string | null;
  /** the root span's service; any step's before the root span has arrived */
  serviceName: string | null;
  /** the session whose marks complete the run; null for runs of a trace */
  sessionKey: Hex16 | null;
  /** its records in the request, by their numbers in the order of the body */
  readonly records: number[];
}

export type RunDeltas = Map<string, RunDelta>;

/** UTF-16 units kept of a run's name and service: lists show hundreds of runs at a time. */
const NAME_UNITS_MAX = 256;
/** A cut within a surrogate pair removes the half that is left. */
const HALF = /[\ud800-\udbff]$/;

const NUL = /\0/g;

/** The part of a name that is kept. PostgreSQL stores neither U+0000 nor lone surrogates: they become U+FFFD. */
export function cutName(name: string): string {
  const cut =
    name.length <= NAME_UNITS_MAX ? name : name.slice(0, NAME_UNITS_MAX).replace(HALF, '');
  return cut.toWellFormed().replace(NUL, '\ufffd');
}

/**
 * Most runs of one request; their rows are locked until its commit. By default a batch of an
 * OpenTelemetry SDK has 512 spans and one of the Collector 8,192, and a run has several. Upserting
 * this many runs takes PostgreSQL about half a second.
 */
export const RUNS_MAX = 20_000;

export function checkRuns(runs: number): void {
  if (runs <= RUNS_MAX) return;
  throw new SluiceError(
    'body_too_large',
    `The body holds more than ${RUNS_MAX} traces or prompts; send smaller batches.`,
  );
}

function widen(delta: RunDelta, start: Int64, end: Int64): void {
  if (delta.startUnixNano === null || compareInt64(start, delta.startUnixNano) < 0) {
    delta.startUnixNano = start;
  }
  if (delta.endUnixNano === null || compareInt64(delta.endUnixNano, end) < 0)
    delta.endUnixNano = end;
}

/** The lesser of two texts in the order of their UTF-8 bytes, PostgreSQL's collation "C". */
export function least(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return a === b || Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0 ? a : b;
}

/** Call before `into.finished` takes the other's value in. */
function mergeService(
  into: RunDelta,
  { finished, serviceName }: Pick<RunDelta, 'finished' | 'serviceName'>,
): void {
  if (into.finished === finished) into.serviceName = least(into.serviceName, serviceName);
  else if (finished) into.serviceName = serviceName;
}

export function deltaOf(deltas: RunDeltas, workspaceId: number, runId: Hex16): RunDelta {
  const key = `${workspaceId}/${runId}`;
  const known = deltas.get(key);
  if (known !== undefined) return known;
  const fresh: RunDelta = {
    workspaceId,
    runId,
    spans: 0,
    logRecords: 0,
    startUnixNano: null,
    endUnixNano: null,
    finished: false,
    failed: false,
    name: null,
    serviceName: null,
    sessionKey: null,
    records: [],
  };
  deltas.set(key, fresh);
  checkRuns(deltas.size);
  return fresh;
}

/** Adds a delta, which must not be used otherwise: it becomes one of the deltas, or part of one. */
export function addDelta(deltas: RunDeltas, delta: RunDelta): void {
  const key = `${delta.workspaceId}/${delta.runId}`;
  const known = deltas.get(key);
  if (known === undefined) {
    deltas.set(key, delta);
    checkRuns(deltas.size);
    return;
  }
  merge(known, delta);
  for (let at = 0; at < delta.records.length; at += 2) {
    addRange(known.records, delta.records[at] as number, delta.records[at + 1] as number);
  }
}

/** @param root facts of a root span, whose end is the end of its run; null for other spans */
function addSpan(
  delta: RunDelta,
  { startUnixNano, endUnixNano, serviceName }: SpanFacts,
  root: RootFacts | null,
): void {
  delta.spans += 1;
  widen(delta, startUnixNano, endUnixNano);
  mergeService(delta, { finished: root !== null, serviceName: cutService(serviceName) });
  if (root === null) return;
  delta.finished = true;
  delta.failed ||= root.isFailed;
  delta.name = least(delta.name, cutName(root.name));
}

const cutService = (name: string | null): string | null => (name === null ? null : cutName(name));

/** The runs that a request touches. @param logRuns the runs of records that do not belong to their trace */
export function runDeltas(
  request: DecodedRequest,
  workspaceId: number,
  logRuns: ReadonlyMap<RecordFacts, LogRun> = new Map(),
): RunDelta[] {
  const deltas: RunDeltas = new Map();
  for (const [number, span] of request.spans.entries()) {
    const own = span.session === null ? undefined : logRuns.get(span);
    const delta = deltaOf(deltas, workspaceId, own?.runId ?? span.traceId);
    addRange(delta.records, number, number + 1);
    addSpan(delta, span, own === undefined ? span.root : null);
    delta.sessionKey ??= own?.sessionKey ?? null;
  }
  for (const [number, log] of request.logs.entries()) {
    const own = log.session === null ? undefined : logRuns.get(log);
    const runId = own?.runId ?? log.traceId;
    if (runId === null) continue;
    const delta = deltaOf(deltas, workspaceId, runId);
    addRange(delta.records, number, number + 1);
    delta.logRecords += 1;
    delta.sessionKey ??= own?.sessionKey ?? null;
    mergeService(delta, { finished: false, serviceName: cutService(log.serviceName) });
    const time = log.timeUnixNano === '0' ? log.observedUnixNano : log.timeUnixNano;
    if (time !== '0') widen(delta, time, time);
  }
  return [...deltas.values()];
}

/** Folds `delta` into `into`, except its records; both belong to the same run. */
export function merge(into: RunDelta, delta: RunDelta): void {
  into.spans += delta.spans;
  into.logRecords += delta.logRecords;
  if (delta.startUnixNano !== null && delta.endUnixNano !== null) {
    widen(into, delta.startUnixNano, delta.endUnixNano);
  }
  mergeService(into, delta);
  into.finished ||= delta.finished;
  into.failed ||= delta.failed;
  into.name = least(into.name, delta.name);
  into.sessionKey ??= delta.sessionKey;
}

/** Records of a merged delta. Each request numbers its records from 0, so several requests have no common numbers. */
const NO_RECORDS: number[] = [];

/**
 * The deltas of several requests, one per run, without records, in the order of their keys: every writer locks runs
 * in the same order, so that transactions may wait for each other but never in a circle.
 */
export function mergeDeltas(lists: readonly (readonly RunDelta[])[]): RunDelta[] {
  const merged: RunDeltas = new Map();
  for (const list of lists) {
    for (const delta of list) {
      const key = orderedKey(delta.workspaceId, delta.runId);
      const known = merged.get(key);
      if (known === undefined) merged.set(key, { ...delta, records: NO_RECORDS });
      else merge(known, delta);
    }
  }
  return inKeyOrder(merged);
}

// Sorts rows of several workspaces by key, the order in which every writer locks them. Twenty thousand
// are sorted in one turn of the event loop; sorting prepared texts costs half of comparing rows.

const WORKSPACE_DIGITS = 10;

export function orderedKey(workspaceId: number, id: Hex16): string {
  return `${String(workspaceId).padStart(WORKSPACE_DIGITS, '0')}/${id}`;
}

export function inKeyOrder<Row>(rows: ReadonlyMap<string, Row>): Row[] {
  const ordered: Row[] = [];
  for (const key of [...rows.keys()].sort()) {
    const row = rows.get(key);
    if (row !== undefined) ordered.push(row);
  }
  return ordered;
}
