/**
 * Reads the steps of a run that is shown or searched: a page that the caller chooses in the run's tree. The
 * database is the primary or a replica.
 */
import type { ReadChoice } from '../db/replica/read-choice.ts';
import type { RunToRead } from '../db/runs/run-to-read.ts';
import { findRun } from '../db/runs/runs.ts';
import { MissingBlockError } from '../db/telemetry/stored-blocks.ts';
import type { TreeStep } from '../model/run-tree.ts';
import type { ChosenSteps, StepPageLimits } from './chosen-steps.ts';
import type { ReportBlock } from './read-records.ts';
import { RunTrees } from './run-trees.ts';
import { readStepPage, type StepPage } from './step-page.ts';

export type FoundRun = NonNullable<Awaited<ReturnType<typeof findRun>>> & RunToRead;

export type ChooseSteps = (tree: readonly TreeStep[]) => Promise<ChosenSteps> | ChosenSteps;

export class RunSteps {
  readonly #choice: Pick<ReadChoice, 'read' | 'find'>;
  readonly #report: ReportBlock;
  readonly #trees: RunTrees;

  constructor(choice: Pick<ReadChoice, 'read' | 'find'>, report: ReportBlock = () => {}) {
    this.#choice = choice;
    this.#report = report;
    this.#trees = new RunTrees(report);
  }

  /** Retention may have dropped a block since the tree was read: without it, the tree is read again. */
  readonly #reportDamaged: ReportBlock = (blockId, error) => {
    if (!(error instanceof MissingBlockError)) this.#report(blockId, error);
  };

  async find(workspaceId: number, runId: string): Promise<FoundRun | null> {
    const reader = { workspaceId };
    const found = await this.#choice.find(reader, (db) => findRun(db, workspaceId, runId));
    return found === null ? null : { ...found, workspaceId, runId };
  }

  async page(found: FoundRun, limits: StepPageLimits, choose: ChooseSteps): Promise<StepPage> {
    const { read } = this.#choice;
    const tree = await read(found, (db) => this.#trees.read(db, found, found.run));
    const chosen = await choose(tree.steps);
    const page = await read(found, (db) =>
      readStepPage(db, tree, limits, chosen, this.#reportDamaged),
    );
    if (page.unreadable.blocks > tree.unreadable.blocks) this.#trees.forget(found);
    return page;
  }
}
