/**
 * What the scanned rows of one scope add to each run, counted on numbers and bytes: the fast
 * counterpart of `runDeltas` in `run-delta.ts`. Where the rows came from is told afterwards.
 */
import type { Hex16 } from '../../model/json.ts';
import type { LogSource, SpanSource } from './row-sources.ts';
import {
  checkRuns,
  cutName,
  deltaOf,
  least,
  merge,
  type RunDelta,
  type RunDeltas,
} from './run-delta.ts';

const STATUS_ERROR = 2;

interface Tally {
  readonly runId: Hex16;
  spans: number;
  logRecords: number;
  isTimed: boolean;
  startSeconds: number;
  startNanos: number;
  endSeconds: number;
  endNanos: number;
  finished: boolean;
  failed: boolean;
  name: string | null;
}

// One for all tallies, since rows are counted one after the other: the run of the latest row.
const latestBytes = Buffer.allocUnsafeSlow(16);
const latestId = new DataView(latestBytes.buffer);

/** The runs of one scope. Of several, only the one made last may be added to. */
export class RunTally {
  readonly #tallies = new Map<Hex16, Tally>();
  readonly #seen: Set<Hex16>;
  #latest: Tally | null = null;

  /** @param seen the runs of the whole request, to enforce the limit while it is scanned */
  constructor(seen: Set<Hex16>) {
    this.#seen = seen;
  }

  /** Counts a span. @throws {SluiceError} `body_too_large` for more than `RUNS_MAX` runs */
  addSpan(row: SpanSource): void {
    const tally = this.#tallyOf(row.ids);
    tally.spans += 1;
    widen(tally, row.startSeconds, row.startNanos, row.endSeconds, row.endNanos);
    if (row.hasParent) return;
    tally.finished = true;
    tally.failed ||= row.statusCode === STATUS_ERROR;
    tally.name = least(tally.name, cutName(row.texts.string(row.name.start, row.name.end)));
  }

  /** Counts a log record that has a trace id. @throws as `addSpan` */
  addLog(row: LogSource): void {
    const tally = this.#tallyOf(row.ids);
    tally.logRecords += 1;
    const isKnown = row.timeSeconds !== 0 || row.timeNanos !== 0;
    const seconds = isKnown ? row.timeSeconds : row.observedSeconds;
    const nanos = isKnown ? row.timeNanos : row.observedNanos;
    if (seconds !== 0 || nanos !== 0) widen(tally, seconds, nanos, seconds, nanos);
  }

  /** The tally of the run that the first 16 bytes name; mostly it is the latest. */
  #tallyOf(ids: DataView): Tally {
    if (this.#latest !== null && isSameId(ids, latestId)) return this.#latest;
    for (let at = 0; at < 16; at += 4) latestId.setInt32(at, ids.getInt32(at));
    const runId = latestBytes.toString('hex');
    let tally = this.#tallies.get(runId);
    if (tally === undefined) {
      tally = newTally(runId);
      this.#tallies.set(runId, tally);
      checkRuns(this.#seen.add(runId).size);
    }
    this.#latest = tally;
    return tally;
  }

  /** Adds what was counted to a request's deltas. */
  addTo(runs: RunDeltas, workspaceId: number, service: string | null): void {
    const serviceName = service === null ? null : cutName(service);
    for (const tally of this.#tallies.values()) {
      merge(deltaOf(runs, workspaceId, tally.runId), deltaFrom(tally, workspaceId, serviceName));
    }
  }
}

function deltaFrom(tally: Tally, workspaceId: number, serviceName: string | null): RunDelta {
  const { startSeconds, startNanos, endSeconds, endNanos } = tally;
  return {
    workspaceId,
    runId: tally.runId,
    spans: tally.spans,
    logRecords: tally.logRecords,
    startUnixNano: tally.isTimed ? nanosText(startSeconds, startNanos) : null,
    endUnixNano: tally.isTimed ? nanosText(endSeconds, endNanos) : null,
    finished: tally.finished,
    failed: tally.failed,
    name: tally.name,
    serviceName,
    sessionKey: null,
  };
}

function isSameId(a: DataView, b: DataView): boolean {
  return (
    a.getInt32(0) === b.getInt32(0) &&
    a.getInt32(4) === b.getInt32(4) &&
    a.getInt32(8) === b.getInt32(8) &&
    a.getInt32(12) === b.getInt32(12)
  );
}

function newTally(runId: Hex16): Tally {
  return {
    runId,
    spans: 0,
    logRecords: 0,
    isTimed: false,
    startSeconds: 0,
    startNanos: 0,
    endSeconds: 0,
    endNanos: 0,
    finished: false,
    failed: false,
    name: null,
  };
}

function widen(
  tally: Tally,
  startSeconds: number,
  startNanos: number,
  endSeconds: number,
  endNanos: number,
): void {
  if (!tally.isTimed || isBefore(startSeconds, startNanos, tally.startSeconds, tally.startNanos)) {
    tally.startSeconds = startSeconds;
    tally.startNanos = startNanos;
  }
  if (!tally.isTimed || isBefore(tally.endSeconds, tally.endNanos, endSeconds, endNanos)) {
    tally.endSeconds = endSeconds;
    tally.endNanos = endNanos;
  }
  tally.isTimed = true;
}

function isBefore(aSeconds: number, aNanos: number, bSeconds: number, bNanos: number): boolean {
  return aSeconds < bSeconds || (aSeconds === bSeconds && aNanos < bNanos);
}

function nanosText(seconds: number, nanos: number): string {
  return seconds === 0 ? String(nanos) : `${seconds}${String(nanos).padStart(9, '0')}`;
}
