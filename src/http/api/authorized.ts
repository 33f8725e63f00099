/**
 * A handler behind a key, and the parts that handlers use: the key is checked before it runs, and every exception
 * becomes an answer. Knows no path.
 */

import type { Databases } from '../../db/databases.ts';
import type { Hex16 } from '../../model/json.ts';
import type { Credential, KeyKind } from '../../model/people.ts';
import type { RuleBook } from '../../model/rules.ts';
import type { RunSearch, RunTurn, ShownSteps, StepsView } from '../../model/run-page.ts';
import type { RunSummary, SearchRuns, WaitTimes } from '../../model/runs.ts';
import type { ListLogs } from '../../model/shown/logs.ts';
import type { MetricReader } from '../../model/shown/metrics.ts';
import type { StepOutline } from '../../model/steps.ts';
import type { Events } from '../../observe/events.ts';
import { type AdmissionDependencies, admit } from '../limits/authentication.ts';
import { answeredError, problem, revocable } from '../transport/answers.ts';
import type { Answer, Exchange, StreamedAnswer } from '../transport/exchange.ts';
import { checkControls } from '../transport/input.ts';
import type { Handler, Parameters } from '../transport/router.ts';

/** Reads nothing of a request but its head, so that commands can call it too. */
export type AuthorizedHandler<Given extends Answer | StreamedAnswer = Answer> = (
  exchange: Pick<Exchange, 'query'> &
    Partial<Pick<Exchange, 'method' | 'signal' | 'clientAddress'>>,
  credential: Pick<Credential, 'workspaceId'> & {
    /** of a signed-in user; a key has none */
    readonly email?: string;
    readonly keyId?: number;
  },
  parameters: Parameters,
) => Given | Promise<Given>;

export interface AuthorizedDependencies extends AdmissionDependencies {
  readonly events: Pick<Events, 'requestFailed' | 'requestUnavailable'>;
}

/** A bad query is answered with all its faults. A stream is cut off when the key is revoked. */
export function authorized(
  kind: KeyKind | 'any',
  handler: AuthorizedHandler<Answer | StreamedAnswer>,
  deps: AuthorizedDependencies,
): Handler {
  return async (exchange, parameters) => {
    try {
      const credential = await admit(exchange, kind, deps);
      checkControls(exchange.query, parameters);
      const answer = await handler(exchange, credential, parameters);
      if ('chunks' in answer) {
        const check = () => deps.authenticator.authenticate(exchange, kind);
        await exchange.stream(revocable(answer, check));
      } else exchange.answer(answer);
    } catch (thrown) {
      const error = answeredError(thrown, 'read', exchange, deps.events);
      exchange.answer(problem(error));
    }
  };
}

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
