/** The parts that the handlers of the read API, of pages and of `/mcp` use. */
import type { Databases } from '../../db/databases.ts';
import type { Hex16 } from '../../model/json.ts';
import type { RuleBook } from '../../model/rules.ts';
import type { RunSearch, RunTurn, ShownSteps, StepsView } from '../../model/run-page.ts';
import type { RunSummary, SearchRuns, WaitTimes } from '../../model/runs.ts';
import type { ListLogs } from '../../model/shown/logs.ts';
import type { MetricReader } from '../../model/shown/metrics.ts';
import type { StepOutline } from '../../model/steps.ts';

/** Reads the steps of runs, log records and metrics (src/reads/). */
export interface RunReader {
  readonly times: WaitTimes;
  /** @throws {SluiceError} `conflict` where the workspace redacts */
  readonly search: SearchRuns;
  /**
   * log records with and without a run
   * @throws {SluiceError} `conflict` for a text where the workspace redacts
   */
  readonly logs: ListLogs;
  readonly metrics: MetricReader;
  /** with the first steps in time, and the number of further ones */
  readonly find: (
    workspaceId: number,
    id: Hex16,
  ) => Promise<{
    run: RunSummary;
    steps: readonly StepOutline[];
    stepsLeftOut: number;
  } | null>;
  /** a page of a run's steps with their texts; null when the workspace has no such run */
  readonly findSteps: (
    workspaceId: number,
    runId: Hex16,
    view: StepsView,
  ) => Promise<{ readonly run: RunSummary; readonly shown: ShownSteps } | null>;
  /** a run as a turn of its session; null when the workspace has no such run */
  readonly findTurn: (
    workspaceId: number,
    runId: Hex16,
  ) => Promise<({ readonly run: RunSummary } & RunTurn) | null>;
  /** searches the texts of a run from a step on; null when the workspace has no such run */
  readonly searchSteps: (
    workspaceId: number,
    runId: Hex16,
    phrase: string,
    from: number,
  ) => Promise<RunSearch | null>;
  /**
   * the run as a request of OTLP
   * @throws {SluiceError} `not_found` without such a run, `conflict` where the workspace redacts
   */
  readonly exportOtlp: (
    workspaceId: number,
    id: Hex16,
    signal: 'traces' | 'logs',
    /** false for a part of something that has taken one of `exportSlots` */
    isCounted?: boolean,
  ) => Promise<AsyncIterable<Buffer>>;
  readonly exportSlots: Readonly<Record<'take' | 'release', (workspaceId: number) => void>>;
}

export interface ApiContext {
  readonly db: Databases;
  readonly rules: RuleBook;
  /** reads a file of the rules' corpus, as the manifest names it */
  readonly readRuleFile: (path: string) => Promise<Buffer>;
  readonly runs: RunReader;
  readonly version: string;
  readonly baseUrl: string;
  /** milliseconds since 1970, by PostgreSQL's clock */
  readonly nowMs: () => number;
}
