/**
 * Counts what the checked records of one scope add to each run: the fast counterpart of `runDeltas` in
 * `src/db/telemetry/run-delta.ts`. The scope's resource may follow its records in the body.
 */
import { addDelta, checkRuns, cutName, least, type RunDeltas } from '../db/telemetry/run-delta.ts';
import type { Hex16 } from '../model/json.ts';
import { addRange } from '../model/record-ranges.ts';
import * as codes from './assembly/codes.ts';
import type { OrdinaryRecords } from './ordinary-records.ts';

/** An id of 16 bytes, also as hexadecimal text. */
export class IdBytes {
  readonly #bytes = Buffer.allocUnsafeSlow(16);
  readonly view = new DataView(this.#bytes.buffer);

  toHex(): Hex16 {
    return this.#bytes.toString('hex');
  }
}

interface Tally {
  readonly runId: Hex16;
  spans: number;
  logRecords: number;
  /** nanoseconds since 1970 */
  start: bigint | null;
  end: bigint | null;
  finished: boolean;
  failed: boolean;
  name: string | null;
  /** numbers in the request (`src/model/record-ranges.ts`) */
  readonly records: number[];
}

/** The runs of one scope. Records may be added to the newest tally only. */
export class RunTally {
  readonly #tallies = new Map<Hex16, Tally>();
  readonly #seen: Set<Hex16>;
  readonly #latestId: IdBytes;
  #latest: Tally | null = null;

  /**
   * @param seen the runs of the whole request, to enforce the limit while it is scanned
   * @param latestId shared by all tallies: the latest run
   */
  constructor(seen: Set<Hex16>, latestId: IdBytes) {
    this.#seen = seen;
    this.#latestId = latestId;
  }

  /**
   * Counts records of one run that follow each other.
   *
   * @param at of the run in `taken`, as `assembly/codes.ts` has it
   * @param before how many records of the request come before those of `taken`
   * @throws {SluiceError} `body_too_large` for more than `RUNS_MAX` runs
   */
  addRun(taken: OrdinaryRecords, at: number, isOfSpans: boolean, before: number): void {
    const { view } = taken;
    const tally = this.#tallyOf(view, at);
    const records = view.getUint32(at + codes.RUN_RECORDS, true);
    const first = before + view.getUint32(at + codes.RUN_FIRST, true);
    addRange(tally.records, first, first + records);
    if (isOfSpans) tally.spans += records;
    else tally.logRecords += records;
    const flags = view.getUint32(at + codes.RUN_FLAGS, true);
    if ((flags & codes.RUN_IS_TIMED) !== 0) {
      const start = view.getBigUint64(at + codes.RUN_START, true);
      const end = view.getBigUint64(at + codes.RUN_END, true);
      if (tally.start === null || start < tally.start) tally.start = start;
      if (tally.end === null || end > tally.end) tally.end = end;
    }
    if ((flags & codes.RUN_IS_FINISHED) === 0) return;
    tally.finished = true;
    tally.failed ||= (flags & codes.RUN_IS_FAILED) !== 0;
    const nameAt = view.getUint32(at + codes.RUN_NAME_AT, true);
    const name = taken.text(nameAt, view.getUint32(at + codes.RUN_NAME_LENGTH, true));
    tally.name = least(tally.name, cutName(name));
  }

  /** The tally of the run with this id; usually the latest one. */
  #tallyOf(ids: DataView, at: number): Tally {
    const latest = this.#latestId.view;
    if (this.#latest !== null && isSameId(ids, at, latest)) return this.#latest;
    for (let byte = 0; byte < 16; byte += 4) latest.setInt32(byte, ids.getInt32(at + byte));
    const runId = this.#latestId.toHex();
    let tally = this.#tallies.get(runId);
    if (tally === undefined) {
      tally = {
        runId,
        spans: 0,
        logRecords: 0,
        start: null,
        end: null,
        finished: false,
        failed: false,
        name: null,
        records: [],
      };
      this.#tallies.set(runId, tally);
      checkRuns(this.#seen.add(runId).size);
    }
    this.#latest = tally;
    return tally;
  }

  /** Adds the counts to a request's deltas. Call once. */
  addTo(runs: RunDeltas, workspaceId: number, service: string | null): void {
    const serviceName = service === null ? null : cutName(service);
    for (const {
      start,
      end,
      runId,
      spans,
      logRecords,
      finished,
      failed,
      name,
      records,
    } of this.#tallies.values()) {
      const startUnixNano = start === null ? null : String(start);
      const endUnixNano = end === null ? null : String(end);
      const counts = {
        spans,
        logRecords,
        startUnixNano,
        endUnixNano,
        finished,
        failed,
        name,
        records,
      };
      addDelta(runs, { workspaceId, runId, serviceName, sessionKey: null, ...counts });
    }
  }
}

function isSameId(ids: DataView, offset: number, id: DataView): boolean {
  return (
    ids.getInt32(offset) === id.getInt32(0) &&
    ids.getInt32(offset + 4) === id.getInt32(4) &&
    ids.getInt32(offset + 8) === id.getInt32(8) &&
    ids.getInt32(offset + 12) === id.getInt32(12)
  );
}
