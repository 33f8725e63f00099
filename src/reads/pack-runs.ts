/**
 * Packs records by run (docs/decisions/0009-hot-and-packed-blocks.md): the runs of a workspace that arrived on the
 * same day share blocks; what arrived on another day is in other blocks. Each record keeps the address at which it arrived.
 */
import { newBlockId } from '../db/telemetry/blocks.ts';
import { compressPacked } from '../db/telemetry/packed/packed-block.ts';
import type { NewPackedBlock, PackedPlace } from '../db/telemetry/packed/store-packed.ts';
import { groupBy } from '../model/groups.ts';
import { createFilter } from '../model/packed/text-filter.ts';
import { addRange } from '../model/record-ranges.ts';
import type { BlockRecord } from '../otlp/lines/block-records.ts';
import { type PackedLines, type PackedRun, packLines } from './packed-lines.ts';
import { inTurns } from './piece-work.ts';
import type { StepSignal } from './read-step.ts';
import type { HotRecords } from './run-reading.ts';

const MICROS_PER_MS = 1000;

/** A run, or a part of it, with all records of some of its hot places. */
export interface RunToPack {
  readonly workspaceId: number;
  /** null for log records without a run: they have no place */
  readonly runId: string | null;
  /** in the order of arrival */
  readonly hot: readonly HotRecords[];
}

/** The records of a run of one signal that arrived on one day. */
interface SignalOfRun {
  readonly run: RunToPack;
  readonly signal: StepSignal;
  readonly arrivedOn: string;
  readonly arrivedAtMicros: number;
  readonly records: BlockRecord[];
  readonly sources: { readonly blockId: string }[];
}

/** Packs runs. Lines are joined in turns of the event loop; compression runs in the thread pool. */
export async function packRuns(runs: readonly RunToPack[]): Promise<readonly NewPackedBlock[]> {
  const groups = groupBy(
    runs.flatMap(signalsOf),
    ({ run, signal, arrivedOn }) => `${run.workspaceId} ${signal} ${arrivedOn}`,
  );
  const packed: NewPackedBlock[] = [];
  for (const group of groups.values()) {
    const blocks = await inTurns(packLines(group.map(({ records }) => records)));
    for (const block of blocks) packed.push(await toBlock(group, block));
  }
  return packed;
}

function signalsOf(run: RunToPack): readonly SignalOfRun[] {
  const signals = new Map<string, SignalOfRun>();
  const times = run.hot.map(({ place }) => place.arrivedAtMicros);
  const arrivedAtMicros = times.reduce((latest, time) => Math.max(latest, time), 0);
  for (const { signal, place, records } of run.hot) {
    const { arrivedOn } = place;
    const key = `${signal} ${arrivedOn}`;
    const known = signals.get(key);
    const own = known ?? { run, arrivedOn, arrivedAtMicros, signal, records: [], sources: [] };
    if (known === undefined) signals.set(key, own);
    for (const record of records) {
      own.records.push(record);
      own.sources.push(place);
    }
  }
  return [...signals.values()];
}

async function toBlock(group: readonly SignalOfRun[], lines: PackedLines): Promise<NewPackedBlock> {
  const places = lines.runs.flatMap((packed) => toPlace(group[packed.run] as SignalOfRun, packed));
  const { run, signal, arrivedOn } = group[0] as SignalOfRun;
  const latest = group.reduce((time, { arrivedAtMicros }) => Math.max(time, arrivedAtMicros), 0);
  const packed = await compressPacked(lines.text);
  return {
    ...packed,
    filter: createFilter(
      lines.text.hashes,
      packed.narrow.data.length + packed.documents.data.length,
    ),
    id: newBlockId(latest / MICROS_PER_MS),
    workspaceId: run.workspaceId,
    arrivedOn,
    signal,
    records: lines.records,
    places,
  };
}

function toPlace(
  { run, arrivedAtMicros, records, sources }: SignalOfRun,
  { from, start, end }: PackedRun,
): PackedPlace[] {
  const { workspaceId, runId } = run;
  if (runId === null) return [];
  const own: { readonly blockId: string; readonly records: number[] }[] = [];
  for (let index = from; index < from + end - start; index += 1) {
    const { blockId } = sources[index] as { readonly blockId: string };
    const { ordinal } = records[index] as BlockRecord;
    const last = own.at(-1);
    if (last?.blockId === blockId) addRange(last.records, ordinal, ordinal + 1);
    else own.push({ blockId, records: [ordinal, ordinal + 1] });
  }
  return [{ workspaceId, runId, arrivedAtMicros, start, end, sources: own }];
}
