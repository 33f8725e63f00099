/**
 * Scans a body: the fast counterpart of `plain-decoder.ts`, with identical results
 * (`test/otlp/fast-decode.test.ts`). Records are checked and counted; their lines are cut from the body.
 */
import { type EncodedRequest, heldBytes } from '../db/telemetry/encoded-request.ts';
import type { RunDeltas } from '../db/telemetry/run-delta.ts';
import type { Hex16 } from '../model/json.ts';
import type { DecodedRequest, Origin, Rejection, Signal } from '../model/telemetry.ts';
import type { OrdinaryTaken, RecordSink } from '../otlp/fast/record-sink.ts';
import { RequestScanner } from '../otlp/fast/request-scanner.ts';
import { LINE_BYTES_MAX, linesOf } from '../otlp/lines/lines.ts';
import type { Pieces } from '../otlp/pieces.ts';
import * as codes from './assembly/codes.ts';
import { type OrdinaryRecords, ordinaryRecords } from './ordinary-records.ts';
import { IdBytes, RunTally } from './run-tally.ts';

export interface ReadyRequest extends Pick<DecodedRequest, 'signal' | 'rejections'> {
  readonly encoded: EncodedRequest;
}

const NO_REJECTIONS: readonly Rejection[] = [];

/**
 * Checks one request at a time; the next one drops what the scanner gave up. A request with too many runs is
 * refused at once with `body_too_large`.
 */
export class RequestChecker implements RecordSink {
  readonly #scanner = new RequestScanner();
  readonly #noteFailure: (error: unknown) => void;
  /** the current request's, shared by the thread's checkers, and its number of the request */
  #ordinary: OrdinaryRecords | null = null;
  #ordinaryRequest = 0;
  readonly #runId = new IdBytes();
  #isBusy = false;
  #workspaceId = 0;
  #signal: Signal = 'traces';
  #records = 0;
  /** where each record ends; null for a body that is one line */
  #ends: number[] | null = null;
  #scopes: RunTally[] = [];
  #runs: RunDeltas = new Map();
  #runsSeen = new Set<Hex16>();
  #tally = new RunTally(this.#runsSeen, this.#runId);

  /** @param noteFailure as `ordinaryRecords` */
  constructor(noteFailure: (error: unknown) => void = () => undefined) {
    this.#noteFailure = noteFailure;
  }

  /**
   * Scans a body, pausing every 128 KiB; null when the plain decoder must decode it. The generator must end,
   * or be closed by `return`, before the next one.
   */
  *scan(
    signal: Signal,
    body: Buffer,
    workspaceId: number,
    arrivedAtMs: number,
    recordBytesMax = Number.POSITIVE_INFINITY,
  ): Pieces<ReadyRequest | null> {
    if (this.#isBusy) throw new Error('another request is being scanned');
    this.#isBusy = true;
    try {
      this.#open(signal, workspaceId, body);
      if (!(yield* this.#scanner.scan(signal, body, this, recordBytesMax))) return null;
      const records = this.#records;
      const lines = yield* linesOf(signal, body, records, null, this.#ends);
      const held = { lines, runs: [...this.#runs.values()], sessionMarks: [] };
      const bytes = heldBytes(held);
      const encoded = { workspaceId, signal, arrivedAtMs, ...held, records, bytes };
      return { signal, rejections: NO_REJECTIONS, encoded };
    } finally {
      this.#isBusy = false;
      this.#ends = null;
    }
  }

  #open(signal: Signal, workspaceId: number, body: Buffer): void {
    this.#ordinary = ordinaryRecords(signal, this.#noteFailure);
    this.#ordinaryRequest = this.#ordinary?.nextRequest() ?? 0;
    this.#workspaceId = workspaceId;
    this.#signal = signal;
    this.#ends = body.length > LINE_BYTES_MAX ? [] : null;
    this.restart();
  }

  restart(): void {
    this.#records = 0;
    if (this.#ends !== null) this.#ends = [];
    this.#scopes = [];
    this.#runs = new Map();
    this.#runsSeen = new Set();
    this.#tally = new RunTally(this.#runsSeen, this.#runId);
  }

  takeOrdinary(
    body: Buffer,
    at: number,
    until: number,
    end: number,
    isHistogram: boolean,
  ): OrdinaryTaken | null {
    const ordinary = this.#ordinary;
    const kind = kindOf(this.#signal, isHistogram);
    if (!ordinary?.take(this.#ordinaryRequest, body, at, until, end, kind)) return null;
    for (let run = 0; run < ordinary.runs; run += 1) {
      const runAt = ordinary.runsAt + run * codes.RUN_BYTES;
      this.#tally.addRun(ordinary, runAt, kind === codes.SPANS, this.#records);
    }
    this.#records += ordinary.records;
    if (this.#ends !== null) ordinary.addEnds(this.#ends);
    return ordinary;
  }

  closeScope(): number {
    this.#scopes.push(this.#tally);
    this.#tally = new RunTally(this.#runsSeen, this.#runId);
    return this.#scopes.length - 1;
  }

  /** Must be called once for every scope, in order. */
  setOrigin(scope: number, { serviceName }: Origin): void {
    this.#scopes[scope]?.addTo(this.#runs, this.#workspaceId, serviceName);
  }
}

function kindOf(signal: Signal, isHistogram: boolean): number {
  if (signal === 'metrics') return isHistogram ? codes.HISTOGRAM_POINTS : codes.NUMBER_POINTS;
  return signal === 'traces' ? codes.SPANS : codes.LOG_RECORDS;
}
