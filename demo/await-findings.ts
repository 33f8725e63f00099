/**
 * Waits for the pass until every run is evaluated, then reads its findings.
 *
 * Whether a run is evaluated is read from the database, because over HTTP a run without findings
 * looks the same before and after. The findings are read over the API.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

import type { Config } from '../src/config/config.ts';
import type { Database } from '../src/db/database.ts';
import { OperatorError } from '../src/errors.ts';
import type { Hex16 } from '../src/model/json.ts';
import type { Session } from './session.ts';

const POLL_EVERY_MS = 500;
const REQUEST_TIMEOUT_MS = 10_000;
/** For the first pass of a fresh server, which compiles every rule, and for a busy machine. */
const EXTRA_WAIT_MS = 120_000;
const FINDINGS_MAX = 500;

const findingPage = z.object({
  findings: z.array(
    z.object({
      id: z.string(),
      severity: z.string(),
      excerpt: z.string().nullable(),
      metadata: z.object({ rule_id: z.string(), surface: z.string() }),
    }),
  ),
});

export type FoundItem = z.infer<typeof findingPage>['findings'][number];

/** The longest time between the last span of a run and its evaluation. */
export function expectedWaitMs({ runSettleMs, passIntervalMs }: Config): number {
  return runSettleMs + passIntervalMs;
}

async function evaluatedRuns(
  database: Database,
  workspaceId: number,
  runIds: readonly Hex16[],
): Promise<Set<Hex16>> {
  const { rows } = await database.query<{ runId: Hex16; evaluation: string }>(
    `SELECT run_id AS "runId", evaluation FROM runs
      WHERE workspace_id = $1 AND run_id = ANY ($2::uuid[]) AND evaluation <> 'pending'`,
    [workspaceId, runIds],
  );
  const failed = rows.filter(({ evaluation }) => evaluation === 'evaluation_failed');
  if (failed.length > 0) {
    const ids = failed.map(({ runId }) => runId).join(', ');
    throw new OperatorError(`The server could not evaluate ${ids}. See its log.`);
  }
  return new Set(rows.map(({ runId }) => runId));
}

async function readFindings(session: Session, runId: Hex16): Promise<FoundItem[]> {
  const url = `${session.baseUrl}/platform/v1/risk-findings?run_id=${runId}&limit=${FINDINGS_MAX}`;
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${session.workspaceKey}` },
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  if (!response.ok) {
    throw new OperatorError(`${url} answers ${response.status}: ${await response.text()}`);
  }
  return findingPage.parse(await response.json()).findings;
}

/**
 * Waits until all runs are evaluated.
 *
 * @param onEvaluated called once per run, with its findings, as soon as it is evaluated
 * @param signal ends the wait at once
 * @throws {OperatorError} when a run is not evaluated in time, or cannot be
 */
export async function awaitFindings(
  session: Session,
  config: Config,
  runIds: readonly Hex16[],
  onEvaluated: (runId: Hex16, findings: readonly FoundItem[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const waitMs = expectedWaitMs(config) + EXTRA_WAIT_MS;
  const deadline = performance.now() + waitMs;
  const waiting = new Set(runIds);
  for (;;) {
    for (const runId of await evaluatedRuns(session.database, session.workspace.id, [...waiting])) {
      waiting.delete(runId);
      onEvaluated(runId, await readFindings(session, runId));
    }
    if (waiting.size === 0) return;
    if (performance.now() > deadline) {
      throw new OperatorError(
        `${waiting.size} of ${runIds.length} runs were not evaluated within ` +
          `${Math.round(waitMs / 1000)} s: look at the server's log and at ` +
          `${session.baseUrl}/ready`,
      );
    }
    await sleep(POLL_EVERY_MS, undefined, { signal });
  }
}
