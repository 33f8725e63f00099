/**
 * Reads the steps of a run for its tree and its pages: all of them, without names and documents, with their
 * numbers and with the addresses of their records.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Database } from '../db/database.ts';
import type { RunToRead } from '../db/runs/run-to-read.ts';
import { findPlaces } from '../db/telemetry/stored-places.ts';
import { addRange } from '../model/record-ranges.ts';
import { possibleRepeats, SentSpans } from '../model/repeated-spans.ts';
import type { StoredTree, TreeStep } from '../model/run-tree.ts';
import { compareAsRead, type Numbered, numberSteps } from '../model/step-order.ts';
import { findRecords, recordsOf } from '../otlp/lines/block-records.ts';
import { readNarrow } from '../otlp/lines/narrow-record.ts';
import type { Pieces } from '../otlp/pieces.ts';
import { type ReadBlock, type RecordsOfBlock, readRecords } from './read-records.ts';
import { digestOf } from './read-step.ts';
import { firstPlaces } from './run-reading.ts';

/** Most bytes of spans that are read to find repeats. Spans beyond it count separately. */
const REPEATS_BYTES_MAX = 64 * 1024 * 1024;

/** Steps that are sorted in one turn of the event loop, without others after them. */
const TURN_STEPS = 4_000;

type ReadStep = TreeStep & Numbered & { repeats: number };

/**
 * Reads the first steps of a run that arrived, with the numbers of its pages.
 *
 * @param stepsMax most of them
 */
export async function readTree(
  database: Database,
  run: RunToRead,
  stepsMax: number,
): Promise<StoredTree> {
  const [found] = await findPlaces(database, [run], stepsMax);
  const first = firstPlaces(found?.places ?? [], stepsMax);
  const steps: ReadStep[] = [];
  const unreadable = await readRecords(database, first, (block) => takeSteps(block, steps));
  steps.sort(compareAsRead);
  if (steps.length > TURN_STEPS) await nextTurn();
  const repeats = await findRepeats(database, steps);
  for (const step of repeats.values()) step.repeats += 1;
  if (steps.length > TURN_STEPS) await nextTurn();
  const once = repeats.size === 0 ? steps : steps.filter((step) => !repeats.has(step));
  const numbered = numberSteps(once);
  if (steps.length > TURN_STEPS) await nextTurn();
  return { steps: numbered, unreadable };
}

/** Adds the steps of a block. A literal, because copies of objects take a third of the time. */
function* takeSteps(
  { signal, text, records, blockId, arrivedOn }: ReadBlock,
  steps: ReadStep[],
): Pieces<number> {
  const source = signal === 'traces' ? 'span' : 'log';
  const found = yield* findRecords(signal, text, records, (walk) => readNarrow(source, walk, text));
  for (const { item: ordinal, start, end, value } of found) {
    const { spanId, parentSpanId, startUnixNano, endUnixNano, isError, nameKey } = value;
    steps.push({
      number: 0,
      source,
      spanId,
      parentSpanId,
      startUnixNano,
      endUnixNano,
      arrivedOn,
      twin: 0,
      isError,
      nameKey,
      stored: end - start,
      blockId,
      ordinal,
      repeats: 0,
    });
  }
  return found.length;
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
  await readRecords(
    database,
    recordsOfSteps(spans),
    function* ({ signal, text, blockId, records }) {
      const found = yield* recordsOf(signal, text, records);
      for (const record of found) {
        digests.set(addressOf({ blockId, ordinal: record.ordinal }), digestOf(record));
        yield;
      }
      return found.length;
    },
  );
  const sent = new SentSpans<ReadStep>();
  for (const span of spans) {
    const digest = digests.get(addressOf(span));
    if (digest === undefined || span.spanId === null) continue;
    // The digest includes the trace id.
    const earlier = sent.repeatedBy(span, '', span.spanId, digest);
    if (earlier !== null) repeats.set(span, earlier);
  }
  return repeats;
}

/** Returns what identifies a step in its run. */
export const addressOf = ({ blockId, ordinal }: Pick<TreeStep, 'blockId' | 'ordinal'>): string =>
  `${blockId} ${ordinal}`;

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
