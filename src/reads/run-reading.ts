/**
 * The steps of one run while its blocks are read: within limits, each span once, and numbered as on the
 * run's pages.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

import type { StepLimits } from '../db/runs/run-to-read.ts';
import type { PlacesOfRun, RunPlace } from '../db/telemetry/stored-places.ts';
import { countRecords, firstRecords } from '../model/record-ranges.ts';
import { possibleRepeats } from '../model/repeated-spans.ts';
import type { UnreadableBlocks } from '../model/runs.ts';
import { compareAsRead, inTimeOrder, type Numbered, numberSteps } from '../model/step-order.ts';
import type { Step } from '../model/steps.ts';
import type { BlockRecord } from '../otlp/lines/block-records.ts';
import { arrivedAs } from './placed-records.ts';
import { digestOf, readHead, readStep, type StepHead, type StepSignal } from './read-step.ts';

/** Steps that are sorted in one turn of the event loop. */
const TURN_STEPS = 4000;

/**
 * Most bytes of a run whose steps are made when they are used. So what one run needs is garbage before the
 * next one is used: of all runs of a task together, the collector would copy it again and again.
 */
const SHORT_BYTES_MAX = 1024 * 1024;

export interface StepsOfRun {
  /** each access makes those of a short run */
  readonly steps: readonly Step[];
  /** bytes of the records that were read */
  readonly bytes: number;
  /** steps stored but not read: past the limits, in an unreadable block, or no longer kept */
  readonly unread: number;
  /** spans that were read and left out, because they repeat another */
  readonly repeats: number;
  /** blocks that could not be read; `unread` includes their steps */
  readonly unreadable: UnreadableBlocks;
  /** the hot records that were read, if they are kept: all of a place, or none */
  readonly hot: readonly HotRecords[];
}

/** All records of a hot place, in their order. */
export interface HotRecords {
  readonly place: RunPlace;
  readonly signal: StepSignal;
  readonly records: BlockRecord[];
}

interface HeldRecord {
  readonly record: BlockRecord;
  readonly signal: StepSignal;
  readonly place: RunPlace;
}

interface ReadRecord
  extends Pick<StepHead, 'source' | 'spanId' | 'parentSpanId' | 'startUnixNano' | 'endUnixNano'> {
  readonly arrivedOn: string;
  readonly blockId: string;
  readonly ordinal: number;
  /** of a span: its digest, or the record to make it from */
  readonly content: string | BlockRecord;
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
  /** hot records by place; null: not kept */
  readonly #hot: Map<RunPlace, HotRecords> | null;
  /** of a short run */
  #held: HeldRecord[] = [];
  readonly #records: ReadRecord[] = [];
  #read = 0;
  #isFull = false;
  #unreadable: UnreadableBlocks = { blocks: 0, steps: 0 };
  bytes = 0;

  /** @param places up to `stepsMax` of them */
  constructor(
    { total, places }: PlacesOfRun,
    { stepsMax, bytesMax }: StepLimits,
    keepsRecords = false,
  ) {
    const own = places.filter(({ isInPart }) => isInPart);
    this.lacksPlaces = places.length < stepsMax && countOf(own) < total;
    this.#total = total;
    this.#bytesMax = bytesMax;
    this.#hot = keepsRecords ? new Map() : null;
    this.places = firstPlaces(places, stepsMax);
  }

  /** No further block is needed: what is left of its claim is past the limits. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Takes a record of a place. @param record does not hold much more memory than its own */
  take(record: BlockRecord, signal: StepSignal, place: RunPlace): void {
    const { length } = record.bytes;
    if (place.isInPart) {
      this.#isFull ||= this.#read > 0 && this.bytes + length > this.#bytesMax;
      if (this.#isFull) return;
      this.#read += 1;
      this.bytes += length;
    }
    this.#held.push({ record, signal, place });
    if (place.isInPart && place.isHot) this.#keep(record, signal, place);
    // Records that the claim is not for have no limit in bytes.
    if (place.isInPart && this.bytes <= SHORT_BYTES_MAX) return;
    for (const held of this.#held) {
      const content = held.signal === 'traces' ? digestOf(held.record) : '';
      this.#records.push(toReadRecord(held, content));
    }
    this.#held = [];
  }

  #keep(record: BlockRecord, signal: StepSignal, place: RunPlace): void {
    const known = this.#hot?.get(place);
    if (known === undefined) this.#hot?.set(place, { place, signal, records: [record] });
    else known.records.push(record);
  }

  #hotRecords(): readonly HotRecords[] {
    return this.places.flatMap((place) => {
      const own = this.#hot?.get(place);
      const isWhole = own?.records.length === countRecords(place.records);
      return own === undefined || !isWhole ? [] : [own];
    });
  }

  lose(records: number): void {
    if (records === 0) return;
    const { blocks, steps } = this.#unreadable;
    this.#unreadable = { blocks: blocks + 1, steps: steps + records };
  }

  async finish(): Promise<StepsOfRun> {
    const counts = {
      bytes: this.bytes,
      // More steps may have arrived since the total was read.
      unread: Math.max(this.#unreadable.steps, this.#total - this.#read),
      unreadable: this.#unreadable,
      hot: this.#hotRecords(),
    };
    if (this.bytes <= SHORT_BYTES_MAX) return this.#shortSteps(counts);
    if (this.#records.length > TURN_STEPS) await nextTurn();
    const steps = toSteps(this.#records);
    return { ...counts, steps, repeats: this.#read - steps.length };
  }

  #shortSteps(counts: Omit<StepsOfRun, 'steps' | 'repeats'>): StepsOfRun {
    const [held, records, read] = [this.#held, this.#records, this.#read];
    let repeats: number | null = null;
    const make = (): Step[] => {
      const own = held.map((one) => toReadRecord(one, one.record));
      const steps = toSteps([...records, ...own]);
      repeats = read - steps.length;
      return steps;
    };
    return {
      ...counts,
      get steps() {
        return make();
      },
      get repeats() {
        return repeats ?? read - make().length;
      },
    };
  }
}

function toReadRecord(
  { record, signal, place }: HeldRecord,
  content: ReadRecord['content'],
): ReadRecord {
  const { blockId, arrivedOn, isInPart } = place;
  const step = isInPart ? readStep(signal, record) : null;
  const head = step ?? readHead(signal, record);
  return {
    source: head.source,
    spanId: head.spanId,
    parentSpanId: head.parentSpanId,
    startUnixNano: head.startUnixNano,
    endUnixNano: head.endUnixNano,
    arrivedOn,
    blockId,
    ordinal: arrivedAs(place, record.ordinal),
    content,
    step,
  };
}

/** Numbers the steps that a claim is for among all steps of the run. */
function toSteps(records: ReadRecord[]): Step[] {
  const numbered = numberSteps(withoutRepeats(records.sort(compareAsRead)));
  return inTimeOrder(numbered.flatMap(toNumberedStep));
}

const countOf = (places: readonly RunPlace[]): number =>
  places.reduce((sum, { records }) => sum + countRecords(records), 0);

/** The places cut to the first records that arrived; those that a claim is for are counted apart. */
export function firstPlaces(places: readonly RunPlace[], stepsMax: number): RunPlace[] {
  let all = 0;
  let own = 0;
  return places.flatMap((place) => {
    const before = place.isInPart ? own : all;
    const count = countRecords(place.records);
    all += count;
    if (place.isInPart) own += count;
    const rest = stepsMax - before;
    if (count === 0 || rest <= 0) return [];
    return [count <= rest ? place : cutPlace(place, rest)];
  });
}

function cutPlace(place: RunPlace, recordsMax: number): RunPlace {
  const { records, stored } = place;
  return {
    ...place,
    records: firstRecords(records, recordsMax),
    stored: { ...stored, records: firstRecords(stored.records, recordsMax) },
    isHot: false,
  };
}

/**
 * Leaves out spans that repeat another one (`src/model/repeated-spans.ts`). Of equal spans one that the claim
 * is not for counts first, because it was evaluated, then the one that arrived first.
 */
function withoutRepeats(records: readonly ReadRecord[]): readonly ReadRecord[] {
  const spans = possibleRepeats(records, (record) => record);
  if (spans.length === 0) return records;
  const known = new Set<string>();
  const repeats = new Set<ReadRecord>();
  for (const isEvaluated of [true, false]) {
    for (const record of spans) {
      if ((record.step === null) !== isEvaluated) continue;
      const { content } = record;
      const digest = typeof content === 'string' ? content : digestOf(content);
      if (known.has(digest)) repeats.add(record);
      else known.add(digest);
    }
  }
  return records.filter((record) => !repeats.has(record));
}

/** Sets the members in place: a copy of each step takes longer than the rest of this module. */
function toNumberedStep({ step, arrivedOn, number, twin }: ReadRecord & Numbered): Step[] {
  if (step === null) return [];
  const own: { -readonly [Name in keyof Step]: Step[Name] } = step;
  own.arrivedOn = arrivedOn;
  own.number = number;
  own.twin = twin;
  return [step];
}
