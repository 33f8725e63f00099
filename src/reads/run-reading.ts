/**
 * The steps of one run while its blocks are read: within limits, each span once, and numbered as on the
 * run's pages.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

import type { StepLimits } from '../db/runs/run-to-read.ts';
import type { PlacesOfRun, RunPlace } from '../db/telemetry/stored-places.ts';
import { countRecords, firstRecords } from '../model/record-ranges.ts';
import type { UnreadableBlocks } from '../model/runs.ts';
import { compareAsRead, inTimeOrder, type Numbered, numberSteps } from '../model/step-order.ts';
import type { Step } from '../model/steps.ts';
import type { BlockRecord } from '../otlp/lines/block-records.ts';
import { digestOf, readHead, readStep, type StepHead, type StepSignal } from './read-step.ts';

/** Steps that are sorted in one turn of the event loop. */
const TURN_STEPS = 4000;

export interface StepsOfRun {
  readonly steps: readonly Step[];
  /** bytes of the records that were read */
  readonly bytes: number;
  /** steps stored but not read: past the limits, in an unreadable block, or no longer kept */
  readonly unread: number;
  /** spans that were read and left out, because they repeat another */
  readonly repeats: number;
  /** blocks that could not be read; `unread` includes their steps */
  readonly unreadable: UnreadableBlocks;
}

/** A record that was read. */
interface ReadRecord
  extends Pick<StepHead, 'source' | 'spanId' | 'parentSpanId' | 'startUnixNano' | 'endUnixNano'> {
  readonly arrivedOn: string;
  readonly blockId: string;
  readonly ordinal: number;
  /** null for log records */
  readonly digest: string | null;
  /** null for a step that the claim is not for */
  readonly step: Step | null;
}

/** Reads one run. The records of all of its blocks are taken, then it is finished. */
export class RunReading {
  /** where the records are that are read, in the order of arrival */
  readonly places: readonly RunPlace[];
  /** some of its records are counted and have no place */
  readonly lacksPlaces: boolean;
  readonly #total: number;
  readonly #bytesMax: number;
  readonly #records: ReadRecord[] = [];
  #read = 0;
  #isFull = false;
  #unreadable: UnreadableBlocks = { blocks: 0, steps: 0 };
  bytes = 0;

  /** @param places up to `stepsMax` of them */
  constructor({ total, places }: PlacesOfRun, { stepsMax, bytesMax }: StepLimits) {
    const own = places.filter(({ isInPart }) => isInPart);
    this.lacksPlaces = places.length < stepsMax && countOf(own) < total;
    this.#total = total;
    this.#bytesMax = bytesMax;
    this.places = firstPlaces(places, stepsMax);
  }

  /** No further block is needed: what is left of its claim is past the limits. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Takes a record of a place. */
  take(record: BlockRecord, signal: StepSignal, { blockId, arrivedOn, isInPart }: RunPlace): void {
    const { bytes, ordinal } = record;
    if (isInPart) {
      this.#isFull ||= this.#read > 0 && this.bytes + bytes.length > this.#bytesMax;
      if (this.#isFull) return;
      this.#read += 1;
      this.bytes += bytes.length;
    }
    const step = isInPart ? Object.assign(readStep(signal, record), { arrivedOn }) : null;
    const { source, spanId, parentSpanId, startUnixNano, endUnixNano } =
      step ?? readHead(signal, record);
    this.#records.push({
      source,
      spanId,
      parentSpanId,
      startUnixNano,
      endUnixNano,
      arrivedOn,
      blockId,
      ordinal,
      digest: source === 'span' ? digestOf(record) : null,
      step,
    });
  }

  /** Counts records of a place that could not be read. */
  lose({ isInPart }: RunPlace, records: number): void {
    if (!isInPart || records === 0) return;
    const { blocks, steps } = this.#unreadable;
    this.#unreadable = { blocks: blocks + 1, steps: steps + records };
  }

  /** Numbers the steps among all steps of the run that were read. */
  async finish(): Promise<StepsOfRun> {
    const records = this.#records.sort(compareAsRead);
    if (records.length > TURN_STEPS) await nextTurn();
    const numbered = numberSteps(withoutRepeats(records));
    if (records.length > TURN_STEPS) await nextTurn();
    const steps = inTimeOrder(numbered.flatMap(toNumberedStep));
    const { steps: lost } = this.#unreadable;
    return {
      steps,
      bytes: this.bytes,
      // More steps may have arrived since the total was read.
      unread: Math.max(lost, this.#total - this.#read),
      repeats: this.#read - steps.length,
      unreadable: this.#unreadable,
    };
  }
}

const countOf = (places: readonly RunPlace[]): number =>
  places.reduce((sum, { records }) => sum + countRecords(records), 0);

/** The places cut to the first records that arrived; those that a claim is for are counted apart. */
function firstPlaces(places: readonly RunPlace[], stepsMax: number): RunPlace[] {
  let all = 0;
  let own = 0;
  return places.flatMap((place) => {
    const before = place.isInPart ? own : all;
    const records = firstRecords(place.records, stepsMax - before);
    all += countRecords(place.records);
    if (place.isInPart) own += countRecords(place.records);
    return records.length === 0 ? [] : [{ ...place, records }];
  });
}

/**
 * Leaves out spans that repeat another one (`src/model/repeated-spans.ts`). Of equal spans one that the claim
 * is not for counts first, because it was evaluated, then the one that arrived first.
 */
function withoutRepeats(records: readonly ReadRecord[]): ReadRecord[] {
  const known = new Set<string>();
  const repeats = new Set<ReadRecord>();
  for (const isEvaluated of [true, false]) {
    for (const record of records) {
      const { digest, step } = record;
      if (digest === null || (step === null) !== isEvaluated) continue;
      if (known.has(digest)) repeats.add(record);
      else known.add(digest);
    }
  }
  return repeats.size === 0 ? [...records] : records.filter((record) => !repeats.has(record));
}

function toNumberedStep({ step, number, twin }: ReadRecord & Numbered): Step[] {
  return step === null ? [] : [Object.assign(step, { number, twin })];
}
