/**
 * Reads a page of a run's steps, in time order, for display. The page is chosen in the run's tree, so only the
 * blocks with its steps are read. Steps above a size are cut, so that a page never exceeds its limits.
 */
import type { Database } from '../db/database.ts';
import { compareInt64, type Int64 } from '../model/json.ts';
import type { StoredTree, TreeStep } from '../model/run-tree.ts';
import type { UnreadableBlocks } from '../model/runs.ts';
import type { Step } from '../model/steps.ts';
import { type BlockRecord, recordsOf } from '../otlp/lines/block-records.ts';
import { cutRecord, isDense } from '../otlp/lines/cut-record.ts';
import type { Pieces } from '../otlp/pieces.ts';
import {
  type ChosenSteps,
  choosePage,
  depthOf,
  type KeptStep,
  type StepPageLimits,
} from './chosen-steps.ts';
import { type ReportBlock, readRecords, type TakeRecords } from './read-records.ts';
import { readStep, type StepSignal, toStep } from './read-step.ts';
import { addressOf, recordsOfSteps, storedAddressOf } from './run-tree.ts';

export interface PagedStep {
  readonly step: Step;
  /** in the order of `numberSteps`, from 1 */
  readonly number: number;
  /** number of steps of the run before it with its source, start, span id and day of arrival */
  readonly twin: number;
  /** spans of the run above it, at most `DEPTH_MAX` */
  readonly depth: number;
  /** the step is too large to be read whole */
  readonly isCut: boolean;
}

export interface StepPage {
  readonly steps: readonly PagedStep[];
  /** spans on other pages to which log records of this page belong; a record's kind is its span's */
  readonly owners: readonly Step[];
  /** number of steps on all pages */
  readonly count: number;
  /** number of the step that was sought; null when none was, or the run has none like it */
  readonly sought: number | null;
  /** of all steps, not only of this page */
  readonly startUnixNano: Int64;
  readonly endUnixNano: Int64;
  /** spans of the run that were sent again, and are on no page */
  readonly repeats: number;
  /** blocks of the run, not only of this page */
  readonly unreadable: UnreadableBlocks;
}

type Extent = Pick<StepPage, 'startUnixNano' | 'endUnixNano' | 'repeats'>;

/** Of trees, which do not change: a search reads several pages of one. */
const EXTENTS = new WeakMap<readonly TreeStep[], Extent>();

function extentOf(tree: readonly TreeStep[]): Extent {
  const extent = EXTENTS.get(tree) ?? measureExtent(tree);
  EXTENTS.set(tree, extent);
  return extent;
}

/** The start of the first step, the latest end, and how many spans are left out. */
function measureExtent(tree: readonly TreeStep[]): Extent {
  let endUnixNano = tree[0]?.endUnixNano ?? '0';
  let repeats = 0;
  for (const step of tree) {
    repeats += step.repeats;
    if (compareInt64(step.endUnixNano, endUnixNano) > 0) endUnixNano = step.endUnixNano;
  }
  return { startUnixNano: tree[0]?.startUnixNano ?? '0', endUnixNano, repeats };
}

/** Reads a page of a run's steps. @param tree all steps of the run (`readTree`) */
export async function readStepPage(
  database: Database,
  tree: StoredTree,
  limits: StepPageLimits,
  chosen: ChosenSteps = {},
  report: ReportBlock = () => {},
): Promise<StepPage> {
  const { steps: kept, sought, above } = choosePage(tree.steps, limits, chosen);
  const byAddress = new Map(kept.map((one) => [storedAddressOf(one.step), one]));
  const read = new Map<KeptStep, ReadOne>();
  const wanted = recordsOfSteps(kept.map(({ step }) => step));
  const take: TakeRecords = function* ({ signal, text, blockId, records }) {
    const found = yield* recordsOf(signal, text, records);
    for (const record of found) {
      const one = byAddress.get(addressOf(blockId, record.ordinal));
      if (one !== undefined) read.set(one, yield* readOne(signal, record, one, limits));
      yield;
    }
    return found.length;
  };
  const damaged = await readRecords(database, wanted, take, report);
  const steps: PagedStep[] = [];
  const owners: Step[] = [];
  for (const one of kept) {
    const found = read.get(one);
    if (found === undefined) continue;
    const { number, twin } = one.step;
    if (one.isOwner) owners.push(found.step);
    else steps.push({ ...found, number, twin, depth: depthOf(one.step, above) });
  }
  return {
    steps,
    owners,
    count: tree.steps.length,
    sought,
    ...extentOf(tree.steps),
    unreadable: {
      blocks: tree.unreadable.blocks + damaged.blocks,
      steps: tree.unreadable.steps + damaged.steps,
    },
  };
}

type ReadOne = Pick<PagedStep, 'step' | 'isCut'>;

function* readOne(
  signal: StepSignal,
  record: BlockRecord,
  { step: known, cut, whole }: KeptStep,
  { structuresMax }: StepPageLimits,
): Pieces<ReadOne> {
  const { source, spanId, parentSpanId, startUnixNano, endUnixNano, arrivedOn } = known;
  const { bytes, origin } = record;
  const isCut = bytes.length > cut && (bytes.length > whole || isDense(bytes, structuresMax));
  const step = isCut
    ? toStep(signal, yield* cutRecord(bytes, cut), origin)
    : readStep(signal, record);
  const place = { source, spanId, parentSpanId, startUnixNano, endUnixNano, arrivedOn };
  return { step: { ...step, ...place }, isCut };
}
