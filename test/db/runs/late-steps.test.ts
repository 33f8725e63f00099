/**
 * Steps that arrive after their run was read are evaluated by themselves, each once: which rows a claim is
 * for, whatever commits when, and what the run says afterwards.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PipelineStep } from '../../../src/db/pipeline.ts';
import { completeRuns, type EvaluatedRun } from '../../../src/db/runs/complete-runs.ts';
import { ATTEMPTS_MAX } from '../../../src/db/runs/due-runs.ts';
import {
  type ClaimedRun,
  claimRuns,
  giveUpRuns,
  releaseRun,
  requeueRuns,
} from '../../../src/db/runs/evaluation-queue.ts';
import { findRun } from '../../../src/db/runs/runs.ts';
import { ensureDay } from '../../../src/db/telemetry/partitions.ts';
import { checkOf, lateSteps } from '../../../src/model/run-check.ts';
import { NO_USAGE } from '../../../src/model/usage.ts';
import { readStepsOfRuns } from '../../../src/reads/steps-of-runs.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import {
  decodedRequest,
  findingDraft,
  hex8,
  logRow,
  runFacts,
  spanRow,
  TRACE_ID,
} from '../../support/rows.ts';
import { encodeRequests, storeRequests } from '../../support/stored-runs.ts';
import { waitFor } from '../../support/wait-for.ts';

const CORPUS = { version: '4.0.0', identity: 'c0'.repeat(20) };
const ALLOWANCE = { openMs: 3_600_000, finishedMs: 240_000 };
const NOW = Date.now();

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.database.query(`INSERT INTO workspaces (slug, name) VALUES ('one', 'One')`);
  await ensureDay(scratch.database, NOW);
});
afterAll(() => scratch.close());
beforeEach(() =>
  scratch.database.query(
    'TRUNCATE runs, leases, findings, hot_places, places, hot_blocks, blocks CASCADE',
  ),
);

/** A step of the run, named by its number, which is its time too. The first one is the root. */
const step = (number: number, fields: Parameters<typeof spanRow>[0] = {}) =>
  spanRow({
    traceId: TRACE_ID,
    spanId: hex8(number),
    parentSpanId: number === 1 ? null : hex8(1),
    startUnixNano: `${number}`,
    endUnixNano: `${number + 1}`,
    name: `${number}`,
    ...fields,
  });

const requestsOf = (spans: readonly ReturnType<typeof step>[], logs: number) =>
  encodeRequests(
    decodedRequest({
      spans: [...spans],
      logs: Array.from({ length: logs }, () => logRow({ traceId: TRACE_ID, eventName: 'log' })),
    }),
    1,
    NOW,
  );

async function send(
  spans: readonly ReturnType<typeof step>[],
  logs = 0,
  receipts: Iterable<PipelineStep> = [],
): Promise<void> {
  const connection = await scratch.database.connect();
  await storeRequests(connection, requestsOf(spans, logs), {
    allowance: ALLOWANCE,
    receipts,
  });
  connection.release();
}

const LOCK = 4711;

/** Sends spans in a transaction that has begun when this returns, and stores nothing before `finish`. */
async function beginSending(spans: readonly ReturnType<typeof step>[]) {
  const holder = await scratch.database.connect();
  await holder.query(`SELECT pg_advisory_lock(${LOCK})`);
  const waits = { text: `SELECT pg_advisory_xact_lock(${LOCK})`, columns: [] };
  const sent = send(spans, 0, [waits]);
  await waitFor(
    async () => (await scratch.rows('SELECT 1 FROM pg_locks WHERE NOT granted')).length > 0,
    { withinMs: 20_000, what: 'the transaction waits' },
  );
  return {
    finish: async () => {
      await holder.query(`SELECT pg_advisory_unlock(${LOCK})`);
      holder.release();
      await sent;
    },
  };
}

async function claim(): Promise<ClaimedRun | null> {
  const [run] = await claimRuns(scratch.database, { settleMs: 0, timeoutMs: 0, limit: 9 });
  return run ?? null;
}

async function mustClaim(): Promise<ClaimedRun> {
  const run = await claim();
  if (run === null) throw new Error('no run is due');
  return run;
}

async function read(run: ClaimedRun) {
  const [steps] = await readStepsOfRuns(scratch.database, [run]);
  if (steps == null) throw new Error('the run was not read');
  return steps;
}

/** The names of the steps that a claim is for, with their numbers in the run. */
async function namesOf(run: ClaimedRun): Promise<string[]> {
  return (await read(run)).steps.map(({ name, number }) => `${number}: ${name}`);
}

async function complete(run: ClaimedRun, fields: Partial<EvaluatedRun> = {}) {
  const { steps, unread, repeats } = await read(run);
  const evaluation: EvaluatedRun = {
    run,
    facts: runFacts(),
    findings: [],
    redactExcerpts: false,
    ruleSetSha256: 'ab'.repeat(32),
    steps: steps.length + unread,
    repeatedSpans: repeats,
    unreadSteps: unread,
    texts: steps.length,
    surfaces: ['tool_result'],
    truncatedTexts: 0,
    textCapBytes: 65_536,
    unparsedValues: 0,
    usage: NO_USAGE,
    title: null,
    tools: [],
    ...fields,
  };
  return await completeRuns(scratch.database, [evaluation], CORPUS);
}

async function summary() {
  const found = await findRun(scratch.database, 1, TRACE_ID);
  if (found === null) throw new Error('there is no run');
  return found.run;
}

describe('late steps', () => {
  test('are claimed alone, with the numbers that they have in the run, and complete it', async () => {
    await send([step(1), step(3), step(5)], 1);
    const first = await mustClaim();
    expect(first).not.toHaveProperty('isLate');
    expect((await read(first)).steps).toHaveLength(4);
    await complete(first);
    expect(await claim()).toBe(null);
    expect(checkOf(await summary())).toEqual({ checked: 'fully', limits: [] });

    await send([step(4), step(2)]);
    const between = await summary();
    expect(between).toMatchObject({ evaluation: 'evaluated', lateWaits: true });
    expect(lateSteps(between)).toBe(2);
    expect(checkOf(between)).toEqual({ checked: 'partly', limits: ['late_steps'] });
    const late = await mustClaim();
    expect(late).toMatchObject({ isLate: true, steps: 2, attempt: 1, isRetry: false });
    const numbers = await namesOf(late);
    expect(numbers).toEqual(['2: 2', '4: 4']);
    await complete(late);
    const after = await summary();
    expect(checkOf(after)).toEqual({ checked: 'fully', limits: [] });
    expect(after).toMatchObject({
      evaluation: 'evaluated',
      lateWaits: false,
      evaluatedSteps: 6,
      texts: 6,
      lateEvaluatedSteps: 2,
      evaluatedAt: between.evaluatedAt,
      lateEvaluatedAt: expect.any(Date),
    });
    expect(await claim()).toBe(null);
  });

  test('each wave of them once, and none that was evaluated again', async () => {
    await send([step(1)]);
    await complete(await mustClaim());
    for (const wave of [2, 3, 4]) {
      await send([step(wave)]);
      const run = await mustClaim();
      expect(await namesOf(run)).toEqual([`${wave}: ${wave}`]);
      await complete(run);
      expect(await claim()).toBe(null);
    }
    expect(await summary()).toMatchObject({ evaluatedSteps: 4, lateEvaluatedSteps: 3 });
  });

  test('that arrive while the run is read, or while the late ones are, wait for the next claim', async () => {
    await send([step(1)]);
    const first = await mustClaim();
    await send([step(2)]);
    expect(await namesOf(first)).toEqual(['1: 1']);
    expect((await read(first)).unread).toBe(0);
    await complete(first);
    expect(lateSteps(await summary())).toBe(1);
    const second = await mustClaim();
    await send([step(3)]);
    expect(await namesOf(second)).toEqual(['2: 2']);
    await complete(second);
    const third = await mustClaim();
    expect(await namesOf(third)).toEqual(['3: 3']);
    await complete(third);
    expect(checkOf(await summary()).checked).toBe('fully');
  });

  test('of a transaction that began before the claim and committed after it are not lost', async () => {
    await send([step(1)]);
    const slow = await beginSending([step(2)]);
    const first = await mustClaim();
    await send([step(3)]);
    await slow.finish();
    expect(await namesOf(first)).toEqual(['1: 1']);
    await complete(first);
    const second = await mustClaim();
    expect(await namesOf(second)).toEqual(['2: 2', '3: 3']);
    await complete(second);
    expect(await claim()).toBe(null);
    expect(await summary()).toMatchObject({ evaluatedSteps: 3, unreadSteps: 0 });
  });

  test('nor when it began before one evaluation and committed after the next claim', async () => {
    await send([step(1)]);
    const slow = await beginSending([step(2)]);
    await complete(await mustClaim());
    await send([step(3)]);
    const second = await mustClaim();
    await slow.finish();
    expect(await namesOf(second)).toEqual(['3: 3']);
    await complete(second);
    const third = await mustClaim();
    expect(await namesOf(third)).toEqual(['2: 2']);
    await complete(third);
    expect(await summary()).toMatchObject({ evaluatedSteps: 3, lateEvaluatedSteps: 2 });
  });

  test('of a run that is evaluated again after a failure are in the next attempt', async () => {
    await send([step(1)]);
    const failed = await mustClaim();
    await send([step(2)]);
    await requeueRuns(scratch.database, [failed]);
    const again = await mustClaim();
    expect(await namesOf(again)).toEqual(['1: 1', '2: 2']);
    await complete(again);
    expect(await claim()).toBe(null);
  });

  test('that cannot be evaluated are tried as often as a run, and then it says so', async () => {
    await send([step(1)]);
    await complete(await mustClaim());
    await send([step(2)]);
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      expect(await giveUpRuns(scratch.database)).toBe(0);
      const run = await mustClaim();
      expect(run).toMatchObject({ isLate: true, attempt });
      if (attempt === 2) await send([step(3)]);
      await releaseRun(scratch.database, run, 'broken');
      await scratch.rows(`UPDATE leases SET lease_until = now() - interval '1 second'`);
      if (attempt > 2) expect(await namesOf(run)).toEqual(['2: 2', '3: 3']);
    }
    expect(await claim()).toBe(null);
    expect(await giveUpRuns(scratch.database)).toBe(1);
    const run = await summary();
    expect(run).toMatchObject({ evaluation: 'evaluation_failed', lateWaits: false });
    expect(checkOf(run)).toEqual({ checked: 'failed', limits: ['late_steps'] });
    await send([step(4)]);
    expect(await claim()).toBe(null);
  });

  test('whose evaluation was lost to another process change nothing', async () => {
    await send([step(1)]);
    await complete(await mustClaim());
    await send([step(2)]);
    const lost = await mustClaim();
    await requeueRuns(scratch.database, [lost]);
    expect(await complete(lost)).toEqual([null]);
    expect(lateSteps(await summary())).toBe(1);
    await complete(await mustClaim());
    expect(lateSteps(await summary())).toBe(0);
  });

  test('that repeat evaluated spans are no steps', async () => {
    await send([step(1), step(2)]);
    await complete(await mustClaim());
    await send([step(2)]);
    await send([step(3), step(3)]);
    const late = await mustClaim();
    expect(await read(late)).toMatchObject({ repeats: 2, unread: 0 });
    expect(await namesOf(late)).toEqual(['3: 3']);
    await complete(late);
    const run = await summary();
    expect(run).toMatchObject({ spans: 3, repeatedSpans: 2, evaluatedSteps: 3 });
    expect(checkOf(run)).toEqual({ checked: 'fully', limits: [] });
    expect(await claim()).toBe(null);
  });

  test('wait for the settle time after the last of them, and no longer than its maximum', async () => {
    await send([step(1)]);
    await complete(await mustClaim());
    await send([step(2)]);
    const settings = { settleMs: 60_000, timeoutMs: 900_000, limit: 9 };
    const age = (column: string, seconds: number) =>
      scratch.rows(`UPDATE runs SET ${column} = now() - make_interval(secs => $1)`, [seconds]);
    const [row] = await scratch.rows(
      `SELECT extract(epoch FROM settles_until - last_arrival_at)::int AS longest FROM runs`,
    );
    expect(row?.longest).toBe(ALLOWANCE.finishedMs / 1000);
    const due = async () => (await claimRuns(scratch.database, settings)).length;
    await age('last_arrival_at', 59);
    expect(await due()).toBe(0);
    await age('settles_until', 61);
    expect(await due()).toBe(1);
  });
});

test('what is found late is added: findings of new rules, and places of the others', async () => {
  await send([step(1)]);
  const early = { ...findingDraft({ ruleId: 'A' }), matchSha256: 'a1'.repeat(32) };
  await complete(await mustClaim(), { facts: runFacts({ agentName: 'buyer' }), findings: [early] });
  await send([step(2)]);
  const again = { ...early, matchSha256: 'a2'.repeat(32), excerpt: 'late' };
  const fresh = findingDraft({ ruleId: 'B', severity: 'low' });
  const stored = await complete(await mustClaim(), {
    facts: runFacts({ agentName: null, textGaps: ['cut_by_sender'] }),
    findings: [again, fresh],
    surfaces: ['step_input'],
    usage: { ...NO_USAGE, inputTokens: 3 },
    unparsedValues: 2,
    title: 'a title',
    tools: ['bash', 'fetch'],
  });
  expect(await scratch.rows('SELECT tools FROM runs')).toEqual([{ tools: ['bash', 'fetch'] }]);
  expect(stored).toEqual([['low']]);
  expect(
    await scratch.rows(
      `SELECT rule_id AS rule, agent_name AS agent, excerpt, more_places->0->>'excerpt' AS more
         FROM findings ORDER BY rule_id`,
    ),
  ).toEqual([
    { rule: 'A', agent: 'buyer', excerpt: early.excerpt, more: 'late' },
    { rule: 'B', agent: 'buyer', excerpt: fresh.excerpt, more: null },
  ]);
  expect(await summary()).toMatchObject({
    agentName: 'buyer',
    surfaces: ['step_input', 'tool_result'],
    textGaps: ['cut_by_sender'],
    unparsedValues: 2,
    inputTokens: 3,
    outputTokens: null,
    title: 'a title',
    texts: 2,
  });
});
