/**
 * Reads the steps of a run for its tree and its pages: all of them, without names and documents, with their
 * numbers and with the addresses of their records.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Database } from '../db/database.ts';
import type { RunToRead } from '../db/runs/run-to-read.ts';
import type { RecordsOfBlock } from '../db/telemetry/stored-blocks.ts';
import { findPlaces, type RunPlace } from '../db/telemetry/stored-places.ts';
import { addRange } from '../model/record-ranges.ts';
import { possibleRepeats, SentSpans } from '../model/repeated-spans.ts';
import type { StoredTree, TreeStep } from '../model/run-tree.ts';
import { compareAsRead, type Numbered, numberSteps } from '../model/step-order.ts';
import { findRecords, recordsOf } from '../otlp/lines/block-records.ts';
import { readNarrow } from '../otlp/lines/narrow-record.ts';
import type { Pieces } from '../otlp/pieces.ts';
import { arrivedAs, byStoredBlock, PlacedRecords, storedRecordsOf } from './placed-records.ts';
import { type ReadBlock, type ReportBlock, readRecords } from './read-records.ts';
import { digestOf } from './read-step.ts';
import { firstPlaces } from './run-reading.ts';

/** Most bytes of spans that are read to find repeats. Spans beyond it count separately. */
const REPEATS_BYTES_MAX = 64 * 1024 * 1024;

/** Steps that are sorted in one turn of the event loop, without others after them. */
const TURN_STEPS = 4_000;

type ReadStep = TreeStep & Numbered & { repeats: number };

/** Reads the first steps of a run that arrived, with the numbers of its pages. */
export async function readTree(
  database: Database,
  run: RunToRead,
  stepsMax: number,
  report: ReportBlock = () => {},
): Promise<StoredTree> {
  const [found] = await findPlaces(database, [run], stepsMax);
  const first = firstPlaces(found?.places ?? [], stepsMax);
  const steps: ReadStep[] = [];
  const blocks = byStoredBlock(first);
  const wanted = [...blocks.values()].flatMap(storedRecordsOf);
  const unreadable = await readRecords(
    database,
    wanted,
    (block) => takeSteps(block, blocks.get(block.blockId) ?? [], steps),
    report,
    'narrow',
  );
  steps.sort(compareAsRead);
  if (steps.length > TURN_STEPS) await nextTurn();
  const repeats = await findRepeats(database, steps, report);
  for (const step of repeats.values()) step.repeats += 1;
  if (steps.length > TURN_STEPS) await nextTurn();
  const once = repeats.size === 0 ? steps : steps.filter((step) => !repeats.has(step));
  const numbered = numberSteps(once);
  if (steps.length > TURN_STEPS) await nextTurn();
  return { steps: numbered, unreadable };
}

/** Adds the steps of a block. A literal, because copies of objects take a third of the time. */
function* takeSteps(
  { signal, text, holes, records, blockId, arrivedOn }: ReadBlock,
  places: readonly { readonly place: RunPlace }[],
  steps: ReadStep[],
): Pieces<number> {
  const source = signal === 'traces' ? 'span' : 'log';
  const found = yield* findRecords(signal, text, records, (walk) => readNarrow(source, walk, text));
  const storedIn = { blockId, arrivedOn };
  const placed = new PlacedRecords(places);
  for (const { item, start, end, value } of found) {
    const place = placed.ownerOf(item)?.place;
    if (place === undefined) break;
    const { spanId, parentSpanId, startUnixNano, endUnixNano, isError, nameKey } = value;
    steps.push({
      number: 0,
      source,
      spanId,
      parentSpanId,
      startUnixNano,
      endUnixNano,
      arrivedOn: place.arrivedOn,
      twin: 0,
      isError,
      nameKey,
      stored: end - start + (holes?.bytesIn(start, end) ?? 0),
      blockId: place.blockId,
      ordinal: arrivedAs(place, item),
      storedIn,
      storedAs: item,
      repeats: 0,
    });
  }
  return found.length;
}

/** Finds spans that repeat an earlier one; returns them with the first of their kind. */
async function findRepeats(
  database: Database,
  steps: readonly ReadStep[],
  report: ReportBlock,
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
        digests.set(addressOf(blockId, record.ordinal), digestOf(record));
        yield;
      }
      return found.length;
    },
    report,
  );
  const sent = new SentSpans<ReadStep>();
  for (const span of spans) {
    const digest = digests.get(storedAddressOf(span));
    if (digest === undefined || span.spanId === null) continue;
    // The digest includes the trace id.
    const earlier = sent.repeatedBy(span, '', span.spanId, digest);
    if (earlier !== null) repeats.set(span, earlier);
  }
  return repeats;
}

export const addressOf = (blockId: string, ordinal: number): string => `${blockId} ${ordinal}`;

export const storedAddressOf = ({
  storedIn,
  storedAs,
}: Pick<TreeStep, 'storedIn' | 'storedAs'>): string => addressOf(storedIn.blockId, storedAs);

export function recordsOfSteps(
  steps: readonly Pick<TreeStep, 'storedIn' | 'storedAs'>[],
): readonly RecordsOfBlock[] {
  const blocks = new Map<string, { arrivedOn: string; ordinals: Set<number> }>();
  for (const { storedIn, storedAs } of steps) {
    const { blockId, arrivedOn } = storedIn;
    const block = blocks.get(blockId) ?? { arrivedOn, ordinals: new Set() };
    block.ordinals.add(storedAs);
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
