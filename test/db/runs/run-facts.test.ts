/** What a claim tells of a run, and what an evaluation leaves on it for people to filter by. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ClaimedRun, claimRuns } from '../../../src/db/runs/evaluation-queue.ts';
import type { RunFacts } from '../../../src/model/runs.ts';
import { NO_USAGE } from '../../../src/model/usage.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { completeRun } from '../../support/evaluation.ts';
import { hex16, runFacts } from '../../support/rows.ts';

const RUN = hex16(1);
const CORPUS = { version: '4.0.0', identity: 'c0'.repeat(20), ruleSetSha256: 'ab'.repeat(32) };

let store: MigratedDatabase;
beforeAll(async () => {
  store = await openMigratedDatabase();
});
afterAll(() => store.close());
beforeEach(async () => {
  await store.database.query('TRUNCATE runs, leases');
  await store.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, first_arrival_at, last_arrival_at)
     VALUES (1, $1, 'running', 1, 0, '2026-03-01T23:59:59Z', '2026-03-03T00:00Z')`,
    [RUN],
  );
});

async function claim(): Promise<ClaimedRun> {
  const settings = { settleMs: 60_000, timeoutMs: 900_000, limit: 10 };
  const [run] = await claimRuns(store.database, settings);
  if (run === undefined) throw new Error('nothing was claimed');
  return run;
}

async function complete(facts: RunFacts): Promise<unknown> {
  const rest = {
    redactExcerpts: false,
    steps: 1,
    repeatedSpans: 0,
    unreadSteps: 0,
    texts: 0,
    surfaces: [],
    truncatedTexts: 0,
    textCapBytes: 65_536,
    unparsedValues: 0,
    usage: NO_USAGE,
    title: null,
    tools: [],
  };
  const evaluation = { run: await claim(), facts, findings: [], ...rest };
  expect(await completeRun(store.database, evaluation, CORPUS)).toEqual([]);
  const [row] = await store.rows(
    'SELECT state, agent_name, model, session_id, user_id, text_gaps FROM runs',
  );
  return row;
}

test('a claim tells the state, the UTC days of the first and the last arrival, and the steps', async () => {
  expect(await claim()).toEqual({
    workspaceId: 1,
    runId: RUN,
    claim: expect.any(Number),
    attempt: 1,
    isRetry: false,
    state: 'timed_out',
    firstArrivalOn: '2026-03-01',
    lastArrivalOn: '2026-03-03',
    steps: 1,
  });
});

test('an evaluated run keeps the facts that its steps show', async () => {
  const facts = runFacts({
    state: 'failed',
    agentName: 'planner',
    model: 'model-1',
    sessionId: 's-1',
    userId: 'u-1',
    textGaps: ['dropped_by_sender', 'stored_elsewhere'],
  });
  expect(await complete(facts)).toEqual({
    state: 'failed',
    agent_name: 'planner',
    model: 'model-1',
    session_id: 's-1',
    user_id: 'u-1',
    text_gaps: ['dropped_by_sender', 'stored_elsewhere'],
  });
});

test('what they do not say is null, and so is an empty list', async () => {
  expect(await complete(runFacts({ state: 'timed_out' }))).toEqual({
    state: 'timed_out',
    agent_name: null,
    model: null,
    session_id: null,
    user_id: null,
    text_gaps: null,
  });
});
