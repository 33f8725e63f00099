/**
 * Counts what the scanned rows of one scope add to each run: the fast counterpart of `runDeltas` in
 * `src/db/telemetry/run-delta.ts`. The scope's resource may follow its rows in the body.
 */
import {
  checkRuns,
  cutName,
  deltaOf,
  least,
  merge,
  type RunDelta,
  type RunDeltas,
} from '../db/telemetry/run-delta.ts';
import type { Hex16 } from '../model/json.ts';
import { addRange } from '../model/record-ranges.ts';
import { LOG_LAYOUT } from '../otlp/fast/log-scanner.ts';
import type { ScannedRow } from '../otlp/fast/scanned-row.ts';
import { SPAN_LAYOUT } from '../otlp/fast/span-scanner.ts';
import {
  RUN_END,
  RUN_FLAGS,
  RUN_IS_FAILED,
  RUN_IS_FINISHED,
  RUN_IS_NONE,
  RUN_IS_TIMED,
  RUN_NAME_AT,
  RUN_NAME_LENGTH,
  RUN_RECORDS,
  RUN_START,
} from './assembly/codes.ts';
import type { OrdinaryRows } from './ordinary-rows.ts';

const STATUS_ERROR = 2;

const SPAN_START = SPAN_LAYOUT.slot('start_unix_nano');
const SPAN_END = SPAN_LAYOUT.slot('end_unix_nano');
const SPAN_STATUS = SPAN_LAYOUT.slot('status_code');
const SPAN_PARENT = SPAN_LAYOUT.slot('parent_span_id');
const SPAN_NAME = SPAN_LAYOUT.slot('name');
const SPAN_TRACE_ID_OFFSET = SPAN_LAYOUT.idOffset('trace_id');
const LOG_TIME = LOG_LAYOUT.slot('time_unix_nano');
const LOG_OBSERVED = LOG_LAYOUT.slot('observed_unix_nano');
const LOG_TRACE_ID = LOG_LAYOUT.slot('trace_id');
const LOG_TRACE_ID_OFFSET = LOG_LAYOUT.idOffset('trace_id');

/** An id of 16 bytes, also as hexadecimal text. */
export class IdBytes {
  readonly #bytes = Buffer.allocUnsafeSlow(16);
  readonly view = new DataView(this.#bytes.buffer);

  /** @returns the bytes, until the next call */
  set(id: Hex16): DataView {
    this.#bytes.write(id, 'hex');
    return this.view;
  }

  toHex(): Hex16 {
    return this.#bytes.toString('hex');
  }
}

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
  /** numbers in the request (`src/model/record-ranges.ts`) */
  readonly records: number[];
}

/** The runs of one scope. Rows may be added to the newest tally only. */
export class RunTally {
  readonly #tallies = new Map<Hex16, Tally>();
  readonly #seen: Set<Hex16>;
  readonly #latestId: IdBytes;
  #latest: Tally | null = null;

  /**
   * @param seen the runs of the whole request, to enforce the limit while it is scanned
   * @param latestId shared by all tallies: the run of the latest row
   */
  constructor(seen: Set<Hex16>, latestId: IdBytes) {
    this.#seen = seen;
    this.#latestId = latestId;
  }

  /**
   * Counts a span.
   *
   * @param number of the span in the request
   * @throws {SluiceError} `body_too_large` for more than `RUNS_MAX` runs
   */
  addSpan({ numbers, ids, ranges, texts }: ScannedRow, number: number): void {
    const tally = this.#tallyOf(ids, SPAN_TRACE_ID_OFFSET);
    tally.spans += 1;
    addRange(tally.records, number, number + 1);
    widen(
      tally,
      numbers[SPAN_START] as number,
      numbers[SPAN_START + 1] as number,
      numbers[SPAN_END] as number,
      numbers[SPAN_END + 1] as number,
    );
    if (numbers[SPAN_PARENT] === 1) return;
    tally.finished = true;
    tally.failed ||= numbers[SPAN_STATUS] === STATUS_ERROR;
    const name = texts.string(ranges[SPAN_NAME] as number, ranges[SPAN_NAME + 1] as number);
    tally.name = least(tally.name, cutName(name));
  }

  /** Counts a log record if it has a trace id. @throws as `addSpan` */
  addLog({ numbers, ids }: ScannedRow, number: number): void {
    if (numbers[LOG_TRACE_ID] === 0) return;
    const tally = this.#tallyOf(ids, LOG_TRACE_ID_OFFSET);
    tally.logRecords += 1;
    addRange(tally.records, number, number + 1);
    const isKnown = numbers[LOG_TIME] !== 0 || numbers[LOG_TIME + 1] !== 0;
    const time = isKnown ? LOG_TIME : LOG_OBSERVED;
    const seconds = numbers[time] as number;
    const nanos = numbers[time + 1] as number;
    if (seconds !== 0 || nanos !== 0) widen(tally, seconds, nanos, seconds, nanos);
  }

  /**
   * Counts records of one run that follow each other, or records without a run.
   *
   * @param at of the run, as `assembly/codes.ts` has it, in `rows`
   * @param number of the first record in the request
   * @returns the number of the record after them
   * @throws as `addSpan`
   */
  addRun(rows: OrdinaryRows, at: number, isOfSpans: boolean, number: number): number {
    const { view } = rows;
    const records = view.getUint32(at + RUN_RECORDS, true);
    const flags = view.getUint32(at + RUN_FLAGS, true);
    const next = number + records;
    if ((flags & RUN_IS_NONE) !== 0) return next;
    const tally = this.#tallyOf(view, at);
    addRange(tally.records, number, next);
    if (isOfSpans) tally.spans += records;
    else tally.logRecords += records;
    if ((flags & RUN_IS_TIMED) !== 0) {
      widen(
        tally,
        view.getFloat64(at + RUN_START, true),
        view.getFloat64(at + RUN_START + 8, true),
        view.getFloat64(at + RUN_END, true),
        view.getFloat64(at + RUN_END + 8, true),
      );
    }
    if ((flags & RUN_IS_FINISHED) === 0) return next;
    tally.finished = true;
    tally.failed ||= (flags & RUN_IS_FAILED) !== 0;
    const nameAt = view.getUint32(at + RUN_NAME_AT, true);
    const name = rows.text(nameAt, view.getUint32(at + RUN_NAME_LENGTH, true));
    tally.name = least(tally.name, cutName(name));
    return next;
  }

  /** The tally of the run with this id; usually the latest one. */
  #tallyOf(ids: DataView, offset: number): Tally {
    const latest = this.#latestId.view;
    if (this.#latest !== null && isSameId(ids, offset, latest)) return this.#latest;
    for (let at = 0; at < 16; at += 4) latest.setInt32(at, ids.getInt32(offset + at));
    const runId = this.#latestId.toHex();
    let tally = this.#tallies.get(runId);
    if (tally === undefined) {
      tally = newTally(runId);
      this.#tallies.set(runId, tally);
      checkRuns(this.#seen.add(runId).size);
    }
    this.#latest = tally;
    return tally;
  }

  /** Adds the counts to a request's deltas. */
  addTo(runs: RunDeltas, workspaceId: number, service: string | null): void {
    const serviceName = service === null ? null : cutName(service);
    for (const tally of this.#tallies.values()) {
      const delta = deltaOf(runs, workspaceId, tally.runId);
      merge(delta, deltaFrom(tally, workspaceId, serviceName));
      for (let at = 0; at < tally.records.length; at += 2) {
        addRange(delta.records, tally.records[at] as number, tally.records[at + 1] as number);
      }
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
    records: tally.records,
  };
}

function isSameId(ids: DataView, offset: number, id: DataView): boolean {
  return (
    ids.getInt32(offset) === id.getInt32(0) &&
    ids.getInt32(offset + 4) === id.getInt32(4) &&
    ids.getInt32(offset + 8) === id.getInt32(8) &&
    ids.getInt32(offset + 12) === id.getInt32(12)
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
    records: [],
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
