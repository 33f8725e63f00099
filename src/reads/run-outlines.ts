/**
 * Pages of a run's steps, with the shown parts of their texts, and the search in them. Computed on the
 * thread that takes requests, a few milliseconds at a time.
 */
import { type OutlineView, outlineInPieces } from '../engine/run-outline.ts';
import { FoundTexts, searchInPieces } from '../engine/run-search.ts';
import { treeInPieces } from '../engine/run-tree.ts';
import { turnInPieces } from '../engine/run-turn.ts';
import type { Finding } from '../model/findings.ts';
import type { Hex16 } from '../model/json.ts';
import { withRepeats } from '../model/repeated-spans.ts';
import { FOUND_TEXTS_MAX, type StepsView } from '../model/run-page.ts';
import type { TreeRow, TreeStep } from '../model/run-tree.ts';
import type { RunSummary, UnreadableBlocks } from '../model/runs.ts';
import { isReported, type Usage, usageFrom } from '../model/usage.ts';
import type { SoughtStep, StepPageLimits } from './chosen-steps.ts';
import type { PieceWork } from './piece-work.ts';
import type { ChooseSteps, FoundRun, RunSteps } from './run-steps.ts';
import type { StepPage } from './step-page.ts';

/**
 * Maximum that a turn of the event loop reads of a step: 24 KiB of anything, or 8,000 structures, which
 * take 10 to 20 ms, and some times that before V8 has compiled the code. A step of more is cut.
 */
const STEP = {
  cutBytes: 24 * 1024,
  ordinaryBytes: 48 * 1024,
  wholeBytes: 1024 * 1024,
  structuresMax: 8_000,
};
/** A page of the dashboard, and the outline of the API. */
const PAGE = { ...STEP, pageSteps: 50, bytesMax: 4 * 1024 * 1024 };
/** Of steps beside the one that is open, a tree shows kind, name and tokens. */
const TREE = { ...PAGE, ordinaryBytes: 4 * 1024 };
/** Turns of the event loop that a tree of so many steps counts as. */
const TREE_BYTES = 1024 * 1024;
const OUTLINE = { ...STEP, pageSteps: 1_000, bytesMax: 1024 * 1024 };
/** The first steps of a run, for its title. */
const TITLE = { ...STEP, pageSteps: 5, bytesMax: 128 * 1024 };
/** The first and last steps of a run, for the page of its session. */
const TURN = { ...STEP, ordinaryBytes: 256 * 1024, pageSteps: 16, bytesMax: 1024 * 1024 };
/** One search reads steps in slices, and ends after so many slices or hits. */
const SEARCH = { ...STEP, pageSteps: 100, bytesMax: 2 * 1024 * 1024 };
const SEARCH_SLICES_MAX = 8;

/** Returns the sums that the evaluation stored; null without them. */
function storedUsage(run: RunSummary): Usage | null {
  const usage = usageFrom((field) => run[field]);
  return isReported(usage) ? usage : null;
}

function soughtStep({ place, stepSpanId }: Finding): SoughtStep {
  const { step: number, source, startUnixNano, arrivedOn = null, twin } = place;
  return { number, source, startUnixNano, spanId: stepSpanId ?? '', arrivedOn, twin };
}

interface Parts {
  readonly steps: RunSteps;
  readonly turns: PieceWork;
}

/** Reads and outlines a page; without `viewOf` with the texts of all steps and no findings. */
async function readOutlined(
  { steps, turns }: Parts,
  found: FoundRun,
  limits: StepPageLimits,
  choose: ChooseSteps = () => ({}),
  viewOf: (page: StepPage) => Partial<OutlineView> = () => ({}),
) {
  const page = await steps.page(found, limits, choose);
  const hiddenNames = new Set(found.redactedNames);
  const view = { findings: [], open: null, only: null, hiddenNames, ...viewOf(page) };
  const pieces = outlineInPieces(page, view);
  const outlined = await turns.takeInPieces(found.workspaceId, pieces, limits.bytesMax);
  return { ...page, ...outlined };
}

/** Reads the title of a run whose evaluation stored none and whose first steps are on another page. */
async function titleOf(parts: Parts, found: FoundRun): Promise<string | null> {
  return (await readOutlined(parts, found, TITLE, undefined, () => ({ only: 0 }))).title;
}

async function textsOf(parts: Parts, found: FoundRun, view: StepsView) {
  const { page, step, finding, findings, open } = view;
  const from = (page - 1) * PAGE.pageSteps + 1;
  const byNumber = step === null ? null : { number: step };
  const sought = finding === null ? byNumber : soughtStep(finding);
  const choose = () => ({ from, sought });
  return {
    ...(await readOutlined(parts, found, PAGE, choose, () => ({ findings, open }))),
    tree: null,
    places: new Map<string, number>(),
  };
}

/** Reads the tree of the whole run, and one step in full. */
async function treeOf(parts: Parts, found: FoundRun, view: StepsView) {
  const { page, step, finding, findings, open } = view;
  const number = step ?? (page - 1) * PAGE.pageSteps + 1;
  let tree: readonly TreeRow[] = [];
  let before: number | null = null;
  let places: ReadonlyMap<string, number> = new Map();
  const choose: ChooseSteps = async (all) => {
    const shown = await parts.turns.takeInPieces(
      found.workspaceId,
      treeInPieces(all, findings, { number, findingId: finding?.id ?? null }),
      TREE_BYTES,
    );
    const { rows, current } = shown;
    tree = rows;
    places = shown.places;
    before = callBefore(all, current);
    const listed = new Set(rows.map((row) => row.number));
    if (before !== null) listed.add(before);
    const numbers = [...listed].sort((one, another) => one - another);
    return { sought: { number: current }, numbers, before };
  };
  const viewOf = ({ sought: only }: StepPage) => ({ findings, open, only, before });
  return { ...(await readOutlined(parts, found, TREE, choose, viewOf)), tree, places };
}

/** Returns the number of the last step before this one that has its name; null without one. */
function callBefore(tree: readonly TreeStep[], number: number): number | null {
  const own = tree[number - 1];
  for (let at = number - 2; own !== undefined && at >= 0; at -= 1) {
    const step = tree[at];
    if (step?.nameKey === own.nameKey && step.source === own.source) return step.number;
  }
  return null;
}

function asRead(
  { run }: FoundRun,
  { repeats, unreadable }: Pick<StepPage, 'repeats' | 'unreadable'>,
): RunSummary {
  return { ...withRepeats(run, repeats), unreadable };
}

async function outlineOf(parts: Parts, found: FoundRun) {
  const page = await readOutlined(parts, found, OUTLINE);
  return { steps: page.steps.map(({ outline }) => outline), run: asRead(found, page) };
}

/** Reads a run as a turn of its session, with the steps in the middle left out. */
async function turnOf({ steps, turns }: Parts, found: FoundRun) {
  const half = TURN.pageSteps / 2;
  const page = await steps.page(found, TURN, ({ length }) => {
    const last = Math.max(length - half, Math.min(half, length));
    const ends = [...Array(length).keys()].filter((at) => at < half || at >= last);
    return { sought: { number: 1 }, numbers: ends.map((at) => at + 1) };
  });
  const pieces = turnInPieces(page, new Set(found.redactedNames));
  const turn = await turns.takeInPieces(found.workspaceId, pieces, TURN.bytesMax);
  return { run: asRead(found, page), isWhole: page.steps.length === page.count, ...turn };
}

/** Searches for a phrase from a step on; `next` is the step at which a further search begins. */
async function searchIn({ steps, turns }: Parts, run: FoundRun, phrase: string, from: number) {
  const found = new FoundTexts();
  let cut = 0;
  let unreadable: UnreadableBlocks = { blocks: 0, steps: 0 };
  let next: number | null = from;
  const read = (first: number): Promise<StepPage> => {
    const reading = steps.page(run, SEARCH, () => ({ from: first, sought: 'slice' }));
    // The search may end, or fail, before this is awaited.
    reading.catch(() => undefined);
    return reading;
  };
  let reading = read(from);
  for (let slice = 0; slice < SEARCH_SLICES_MAX && next !== null; slice += 1) {
    const stored: StepPage = await reading;
    if (stored.unreadable.blocks > unreadable.blocks) unreadable = stored.unreadable;
    const end = stored.steps.at(-1)?.number ?? stored.count;
    // The next slice is read while this one is searched.
    if (end < stored.count && slice + 1 < SEARCH_SLICES_MAX) reading = read(end + 1);
    const result = await turns.takeInPieces(
      run.workspaceId,
      searchInPieces(stored, phrase, found, FOUND_TEXTS_MAX),
      SEARCH.bytesMax,
    );
    cut += result.cut;
    const last = result.lastStep;
    next = last === null || last >= stored.count ? null : last + 1;
    if (found.size >= FOUND_TEXTS_MAX) break;
  }
  return { phrase, from, hits: found.hits, next, cut, unreadable };
}

/** Reads a run and a page of its steps, or its outline; null if there is no such run. */
export function createOutliner(parts: Parts) {
  return {
    findSteps: async (workspaceId: number, runId: Hex16, view: StepsView) => {
      const found = await parts.steps.find(workspaceId, runId);
      if (found === null) return null;
      const show = view.isList ? textsOf : treeOf;
      const { repeats, unreadable, ...rest } = await show(parts, found, view);
      const isWhole = rest.steps.length === rest.count;
      const isFromStart = rest.steps[0]?.number === 1 && (view.isList || isWhole);
      const own = isFromStart ? rest.title : null;
      const title = found.run.title ?? own ?? (await titleOf(parts, found));
      const usage = storedUsage(found.run) ?? (isWhole ? rest.usage : null);
      const { pageSteps } = PAGE;
      const run = asRead(found, { repeats, unreadable });
      return { run, shown: { ...rest, pageSteps, title, usage } };
    },
    findTurn: async (workspaceId: number, runId: Hex16) => {
      const found = await parts.steps.find(workspaceId, runId);
      return found === null ? null : await turnOf(parts, found);
    },
    searchSteps: async (workspaceId: number, runId: Hex16, phrase: string, from: number) => {
      const found = await parts.steps.find(workspaceId, runId);
      return found === null ? null : await searchIn(parts, found, phrase, from);
    },
    find: async (workspaceId: number, runId: Hex16) => {
      const found = await parts.steps.find(workspaceId, runId);
      if (found === null) return null;
      const { steps, run } = await outlineOf(parts, found);
      return { run, steps, stepsLeftOut: run.spans + run.logRecords - steps.length };
    },
  };
}
