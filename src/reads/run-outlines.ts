/**
 * Pages of a run's steps, with the shown parts of their texts, and the search in them. Computed on the
 * thread that takes requests, a few milliseconds at a time.
 */
import type { ReadChoice } from '../db/replica/read-choice.ts';
import type { RunToRead } from '../db/runs/run-to-read.ts';
import { findRun } from '../db/runs/runs.ts';
import {
  type ChosenSteps,
  readStepPage,
  type SoughtStep,
  type StepPage,
  type StepPageLimits,
} from '../db/runs/step-page.ts';
import { outlineInPieces } from '../engine/run-outline.ts';
import { searchInPieces } from '../engine/run-search.ts';
import { treeInPieces } from '../engine/run-tree.ts';
import type { Finding } from '../model/findings.ts';
import type { Hex16 } from '../model/json.ts';
import { withRepeats } from '../model/repeated-spans.ts';
import type { FoundText, StepsView } from '../model/run-page.ts';
import type { TreeRow, TreeStep } from '../model/run-tree.ts';
import type { RunSummary } from '../model/runs.ts';
import type { Usage } from '../model/step-details.ts';
import type { PieceWork } from './piece-work.ts';
import { RunTrees } from './run-trees.ts';

/** The steps of one evaluation: later ones are in no finding, and on no page. */
const STEPS_MAX = 20_000;
/**
 * What a turn of the event loop reads of a step at most: 24 KiB of anything, or 8,000 structures, which
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
const PAGED = { pageSteps: PAGE.pageSteps };
/** Of steps beside the one that is open, a tree shows kind, name and tokens. */
const TREE = { ...PAGE, ordinaryBytes: 4 * 1024 };
/** What making a tree of so many steps counts as, in turns of the event loop. */
const TREE_BYTES = 1024 * 1024;
const OUTLINE = { ...STEP, pageSteps: 1_000, bytesMax: 1024 * 1024 };
/** The first steps of a run, for its title. */
const TITLE = { ...STEP, pageSteps: 5, bytesMax: 128 * 1024 };
/** One search reads steps in slices, and ends after so many slices or hits. */
const SEARCH = { ...STEP, pageSteps: 100, bytesMax: 2 * 1024 * 1024 };
const SEARCH_SLICES_MAX = 8;
const SEARCH_HITS_MAX = 50;

type FoundRun = NonNullable<Awaited<ReturnType<typeof findRun>>>;
type Ref = FoundRun & RunToRead;

/** The sums that the evaluation stored, of all steps; null without one. */
function storedUsage({ inputTokens, outputTokens, costUsd }: RunSummary): Usage | null {
  const usage = { inputTokens, outputTokens, costUsd };
  return Object.values(usage).some((amount) => amount !== null) ? usage : null;
}

const hiddenIn = ({ redactedNames }: FoundRun) => new Set(redactedNames);

const NOTHING_HIDDEN = new Set<string>();

/** Returns the step of a finding. */
function soughtStep({ place, stepSpanId }: Finding): SoughtStep {
  const { step: number, source, startUnixNano, arrivedOn = null, twin } = place;
  return { number, source, startUnixNano, spanId: stepSpanId ?? '', arrivedOn, twin };
}

type Reads = Pick<ReadChoice, 'read' | 'find'>;

/** Reads pages of the steps of runs, whose trees it keeps. */
class StepReader {
  readonly #choice: Reads;
  readonly #turns: PieceWork;
  readonly #trees = new RunTrees(STEPS_MAX);

  constructor(choice: Reads, turns: PieceWork) {
    this.#choice = choice;
    this.#turns = turns;
  }

  /** Null if there is no such run. */
  async find(workspaceId: number, runId: string): Promise<Ref | null> {
    const reader = { workspaceId };
    const found = await this.#choice.find(reader, (db) => findRun(db, workspaceId, runId));
    return found === null ? null : { ...found, workspaceId, runId };
  }

  /** A page of the steps that `choose` names; with a new tree where rows have moved. */
  async page(
    found: Ref,
    limits: StepPageLimits,
    choose: (tree: readonly TreeStep[]) => Promise<ChosenSteps> | ChosenSteps,
  ): Promise<StepPage> {
    const { read } = this.#choice;
    const readOnce = async () => {
      const tree = await read(found, (db) => this.#trees.read(db, found, found.run));
      const chosen = await choose(tree);
      return await read(found, (db) => readStepPage(db, found, tree, limits, chosen));
    };
    const page = await readOnce();
    if (!page.isOutdated) return page;
    this.#trees.forget(found);
    return await readOnce();
  }

  /** The title of a run that has none stored, whose first steps are on another page. */
  async title(found: Ref): Promise<string | null> {
    const page = await this.page(found, TITLE, () => ({}));
    const view = { findings: [], open: null, only: 0, hiddenNames: NOTHING_HIDDEN };
    const pieces = outlineInPieces(page, view);
    return (await this.#turns.takeInPieces(found.workspaceId, pieces, TITLE.bytesMax)).title;
  }

  /** Texts of a page of steps. */
  async texts(found: Ref, { page, step, finding, findings, open }: StepsView) {
    const from = (page - 1) * PAGE.pageSteps + 1;
    const byNumber = step === null ? null : { number: step };
    const sought = finding === null ? byNumber : soughtStep(finding);
    const stored = await this.page(found, PAGE, () => ({ from, sought }));
    const { steps, ...rest } = await this.#turns.takeInPieces(
      found.workspaceId,
      outlineInPieces(stored, { findings, open, only: null, hiddenNames: hiddenIn(found) }),
      PAGE.bytesMax,
    );
    return { ...stored, ...PAGED, tree: null, steps: { ...rest, outlined: steps } };
  }

  /** The tree of the whole run, and one step in full. */
  async tree(found: Ref, { page, step, finding, findings, open }: StepsView) {
    const number = step ?? (page - 1) * PAGE.pageSteps + 1;
    let rows: readonly TreeRow[] = [];
    const stored = await this.page(found, TREE, async (all) => {
      const tree = await this.#turns.takeInPieces(
        found.workspaceId,
        treeInPieces(all, findings, { number, findingId: finding?.id ?? null }),
        TREE_BYTES,
      );
      rows = tree.rows;
      const numbers = rows.map((row) => row.number);
      return { sought: { number: tree.current }, numbers };
    });
    const { steps, ...rest } = await this.#turns.takeInPieces(
      found.workspaceId,
      outlineInPieces(stored, {
        findings,
        open,
        only: stored.sought,
        hiddenNames: hiddenIn(found),
      }),
      TREE.bytesMax,
    );
    return { ...stored, ...PAGED, tree: rows, steps: { ...rest, outlined: steps } };
  }

  /** The steps of a run as the API gives them, as many as its limits allow. */
  async outline(found: Ref) {
    const stored = await this.page(found, OUTLINE, () => ({}));
    const view = { findings: [], open: null, only: null, hiddenNames: hiddenIn(found) };
    const { steps } = await this.#turns.takeInPieces(
      found.workspaceId,
      outlineInPieces(stored, view),
      OUTLINE.bytesMax,
    );
    return { steps: steps.map(({ outline }) => outline), repeats: stored.repeats };
  }

  /** Where a phrase occurs from a step on; `next` is the step at which a further search begins. */
  async search(found: Ref, phrase: string, from: number) {
    const hits: FoundText[] = [];
    let cut = 0;
    let next: number | null = from;
    const read = (first: number): Promise<StepPage> => {
      const reading = this.page(found, SEARCH, () => ({ from: first, sought: 'slice' }));
      // The search may end, or fail, before this is awaited.
      reading.catch(() => undefined);
      return reading;
    };
    let reading = read(from);
    for (let slice = 0; slice < SEARCH_SLICES_MAX && next !== null; slice += 1) {
      const stored: StepPage = await reading;
      const end = stored.steps.at(-1)?.number ?? stored.count;
      // PostgreSQL reads the next slice while this one is searched.
      if (end < stored.count && slice + 1 < SEARCH_SLICES_MAX) reading = read(end + 1);
      const room = SEARCH_HITS_MAX - hits.length;
      const result = await this.#turns.takeInPieces(
        found.workspaceId,
        searchInPieces(stored, phrase, room),
        SEARCH.bytesMax,
      );
      hits.push(...result.hits);
      cut += result.cut;
      const last = result.lastStep;
      next = last === null || last >= stored.count ? null : last + 1;
      if (hits.length >= SEARCH_HITS_MAX) break;
    }
    return { phrase, from, hits, next, cut };
  }
}

/** Reads a run and a page of its steps, or its outline; null if there is no such run. */
export function createOutliner(choice: Reads, turns: PieceWork) {
  const reader = new StepReader(choice, turns);
  return {
    findSteps: async (workspaceId: number, runId: Hex16, view: StepsView) => {
      const found = await reader.find(workspaceId, runId);
      if (found === null) return null;
      const shown = view.isList ? reader.texts(found, view) : reader.tree(found, view);
      const { steps, repeats, ...rest } = await shown;
      const isWhole = steps.outlined.length === rest.count;
      const isFromStart = steps.outlined[0]?.number === 1 && (view.isList || isWhole);
      const own = isFromStart ? steps.title : null;
      const title = found.run.title ?? own ?? (await reader.title(found));
      const usage = storedUsage(found.run) ?? (isWhole ? steps.usage : null);
      const run = withRepeats(found.run, repeats);
      return { run, shown: { ...rest, steps: steps.outlined, title, usage } };
    },
    searchSteps: async (workspaceId: number, runId: Hex16, phrase: string, from: number) => {
      const found = await reader.find(workspaceId, runId);
      return found === null ? null : await reader.search(found, phrase, from);
    },
    find: async (workspaceId: number, runId: Hex16) => {
      const found = await reader.find(workspaceId, runId);
      if (found === null) return null;
      const { steps, repeats } = await reader.outline(found);
      const run = withRepeats(found.run, repeats);
      return { run, steps, stepsLeftOut: run.spans + run.logRecords - steps.length };
    },
  };
}
