/**
 * Reads the steps of a run for its tree and its pages: all of them, without names and documents, with their
 * numbers and with the addresses of their records.
 */
import type { Database } from '../db/database.ts';
import type { RunToRead } from '../db/runs/run-to-read.ts';
import { findPlaces } from '../db/telemetry/stored-places.ts';
import { addRange } from '../model/record-ranges.ts';
import { possibleRepeats, SentSpans } from '../model/repeated-spans.ts';
import type { StoredTree, TreeStep } from '../model/run-tree.ts';
import { compareAsRead, type Numbered, numberSteps } from '../model/step-order.ts';
import { readNarrow } from '../otlp/lines/narrow-record.ts';
import { type RecordsOfBlock, readRecords } from './read-records.ts';
import { digestOf } from './read-step.ts';

/** Most bytes of spans that are read to find repeats. Spans beyond it count separately. */
const REPEATS_BYTES_MAX = 64 * 1024 * 1024;
/** Steps beyond the maximum that are held before the last ones in time are dropped. */
const SPARE_STEPS = 4_000;
/** Records after which the event loop turns. */
const PIECE_RECORDS = 500;

type ReadStep = TreeStep & Numbered & { repeats: number };

/**
 * Reads the first steps of a run in time order, with the numbers of its pages.
 *
 * @param stepsMax most of them, and of the blocks that are read: the first that arrived
 */
export async function readTree(
  database: Database,
  run: RunToRead,
  stepsMax: number,
): Promise<StoredTree> {
  const [found] = await findPlaces(database, [run], stepsMax);
  const first = new FirstSteps(stepsMax);
  const unreadable = await readRecords(
    database,
    found?.places ?? [],
    function* (records, signal, block) {
      const source = signal === 'traces' ? 'span' : 'log';
      const { blockId, arrivedOn } = block;
      for (const [index, { ordinal, bytes }] of records.entries()) {
        if (index % PIECE_RECORDS === PIECE_RECORDS - 1) yield;
        const narrow = yield* readNarrow(source, bytes);
        const address = { arrivedOn, blockId, ordinal, stored: bytes.length };
        first.add({ number: 0, twin: 0, source, ...narrow, ...address, repeats: 0 });
      }
    },
  );
  const steps = first.inOrder();
  const repeats = await findRepeats(database, steps);
  const once = repeats.size === 0 ? steps : steps.filter((step) => !repeats.has(step));
  for (const step of repeats.values()) step.repeats += 1;
  return { steps: numberSteps(once), unreadable };
}

/** Keeps the first steps in time. */
class FirstSteps {
  readonly #stepsMax: number;
  readonly #steps: ReadStep[] = [];

  constructor(stepsMax: number) {
    this.#stepsMax = stepsMax;
  }

  add(step: ReadStep): void {
    if (this.#steps.push(step) >= this.#stepsMax + SPARE_STEPS) this.inOrder();
  }

  inOrder(): readonly ReadStep[] {
    this.#steps.sort(compareAsRead);
    this.#steps.splice(this.#stepsMax);
    return this.#steps;
  }
}

/** Finds spans that repeat an earlier one; returns them with the first of their kind. */
async function findRepeats(
  database: Database,
  steps: readonly ReadStep[],
): Promise<ReadonlyMap<ReadStep, ReadStep>> {
  let bytes = 0;
  const spans = possibleRepeats(steps, (step) => step).filter(({ stored }) => {
    bytes += stored;
    return bytes <= REPEATS_BYTES_MAX;
  });
  const repeats = new Map<ReadStep, ReadStep>();
  if (spans.length === 0) return repeats;
  const digests = new Map<string, string>();
  await readRecords(database, recordsOfSteps(spans), function* (records, _signal, { blockId }) {
    for (const record of records) {
      digests.set(`${blockId} ${record.ordinal}`, digestOf(record));
      yield;
    }
  });
  const sent = new SentSpans<ReadStep>();
  for (const span of spans) {
    const digest = digests.get(`${span.blockId} ${span.ordinal}`);
    if (digest === undefined || span.spanId === null) continue;
    // The digest includes the trace id.
    const earlier = sent.repeatedBy(span, '', span.spanId, digest);
    if (earlier !== null) repeats.set(span, earlier);
  }
  return repeats;
}

/** Returns the records of steps by block. */
export function recordsOfSteps(
  steps: readonly Pick<TreeStep, 'blockId' | 'arrivedOn' | 'ordinal'>[],
): readonly RecordsOfBlock[] {
  const blocks = new Map<string, { arrivedOn: string; ordinals: Set<number> }>();
  for (const { blockId, arrivedOn, ordinal } of steps) {
    const block = blocks.get(blockId) ?? { arrivedOn, ordinals: new Set() };
    block.ordinals.add(ordinal);
    blocks.set(blockId, block);
  }
  return [...blocks].map(([blockId, { arrivedOn, ordinals }]) => {
    const records: number[] = [];
    for (const ordinal of [...ordinals].sort((one, other) => one - other)) {
      addRange(records, ordinal, ordinal + 1);
    }
    return { blockId, arrivedOn, records };
  });
}
