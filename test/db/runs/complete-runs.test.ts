/** Many evaluated runs in one statement: each gets what is its own, and all or none are stored. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Queryable } from '../../../src/db/database.ts';
import { COMMAND_LINE } from '../../../src/db/people/audit.ts';
import { setRedaction } from '../../../src/db/people/workspace-writes.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { completeRuns, type EvaluatedRun } from '../../../src/db/runs/complete-runs.ts';
import { type ClaimedRun, claimRuns, requeueRuns } from '../../../src/db/runs/evaluation-queue.ts';
import { removeOutdatedTitles } from '../../../src/db/runs/run-titles.ts';
import { findRun, listRuns } from '../../../src/db/runs/runs.ts';
import { NO_USAGE, usageFrom } from '../../../src/model/usage.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { findingDraft, hex16, runFacts } from '../../support/rows.ts';

/** The corpus that evaluates. */
const CORPUS = { version: '4.0.0', identity: 'c0'.repeat(20) };

let scratch: MigratedDatabase;
let mine: number;
let theirs: number;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  mine = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
  theirs = (await createWorkspace(scratch.database, 'theirs', 'Theirs')).id;
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE runs, leases, findings CASCADE');
  await scratch.database.query('UPDATE workspaces SET redact_excerpts = false');
});

/** Claims runs 1, 2, 3 …, each of the workspace that is named in its place. */
async function claimed(...workspaceIds: readonly number[]): Promise<ClaimedRun[]> {
  for (const [index, workspaceId] of workspaceIds.entries()) {
    await scratch.database.query(
      `INSERT INTO runs (workspace_id, run_id, state, spans, log_records)
       VALUES ($1, $2, 'completed', 1, 0)`,
      [workspaceId, hex16(index + 1)],
    );
  }
  const runs = await claimRuns(scratch.database, { settleMs: 0, timeoutMs: 0, limit: 100 });
  return runs.sort((a, b) => (a.runId < b.runId ? -1 : 1));
}

/** One per run, at the run's index. */
function evaluations(
  runs: readonly ClaimedRun[],
  fields: readonly Partial<EvaluatedRun>[],
): EvaluatedRun[] {
  return runs.map((run, index) => ({
    run,
    facts: runFacts(),
    findings: [],
    redactExcerpts: false,
    ruleSetSha256: 'ab'.repeat(32),
    steps: 1,
    repeatedSpans: 0,
    unreadSteps: 0,
    texts: 1,
    surfaces: ['step_input'],
    truncatedTexts: 0,
    textCapBytes: 65_536,
    unparsedValues: 0,
    usage: NO_USAGE,
    title: null,
    tools: [],
    ...fields[index],
  }));
}

test('every run gets its own findings, facts and counts', async () => {
  const runs = await claimed(mine, mine, mine);
  const stored = await completeRuns(
    scratch.database,
    evaluations(runs, [
      { findings: [findingDraft({ ruleId: 'A' }), findingDraft({ ruleId: 'B', severity: 'low' })] },
      { steps: 7, facts: runFacts({ agentName: 'a', textGaps: ['cut_by_sender'] }) },
      { findings: [findingDraft({ ruleId: 'A' })], ruleSetSha256: 'cd'.repeat(32), texts: 0 },
    ]),
    CORPUS,
  );
  expect(stored).toEqual([['high', 'low'], [], ['high']]);
  expect(
    await scratch.rows('SELECT run_id, rule_id FROM findings ORDER BY run_id, rule_id'),
  ).toEqual([
    { run_id: hex16(1), rule_id: 'A' },
    { run_id: hex16(1), rule_id: 'B' },
    { run_id: hex16(3), rule_id: 'A' },
  ]);
  expect(
    await scratch.rows(
      `SELECT evaluation, evaluated_steps AS steps, texts, agent_name AS agent, text_gaps AS gaps,
              encode(rule_set_sha256, 'hex') = repeat('ab', 32) AS usual
         FROM runs JOIN rule_sets ON rule_sets.id = rule_set_id ORDER BY run_id`,
    ),
  ).toEqual([
    { evaluation: 'evaluated', steps: 1, texts: 1, agent: null, gaps: null, usual: true },
    {
      evaluation: 'evaluated',
      steps: 7,
      texts: 1,
      agent: 'a',
      gaps: ['cut_by_sender'],
      usual: true,
    },
    { evaluation: 'evaluated', steps: 1, texts: 0, agent: null, gaps: null, usual: false },
  ]);
});

test('version and identity of the corpus are stored with the run and with its findings', async () => {
  const runs = await claimed(mine);
  await completeRuns(scratch.database, evaluations(runs, [{ findings: [findingDraft()] }]), CORPUS);
  for (const table of ['runs JOIN rule_sets ON rule_sets.id = rule_set_id', 'findings']) {
    expect(
      await scratch.rows(
        `SELECT corpus_version AS version, encode(corpus_identity, 'hex') AS identity FROM ${table}`,
      ),
    ).toEqual([CORPUS]);
  }
});

test('tokens, cost, title and tools are stored with it; no title and no tools where the workspace redacts', async () => {
  await scratch.database.query('UPDATE workspaces SET redact_excerpts = true WHERE id = $1', [
    theirs,
  ]);
  const runs = await claimed(mine, theirs);
  const usage = usageFrom((field) => (field === 'costUsd' ? 0.125 : 2 ** 40 + field.length));
  const fields = { usage, title: 'What is it?', tools: ['bash', 'read'] };
  await completeRuns(scratch.database, evaluations(runs, [fields, fields]), CORPUS);
  const { runs: listed } = await listRuns(scratch.database, mine, {}, null, 10);
  expect(listed).toMatchObject([{ ...usage, title: 'What is it?' }]);
  expect(await scratch.rows('SELECT title, tools FROM runs ORDER BY run_id')).toEqual([
    { title: 'What is it?', tools: ['bash', 'read'] },
    { title: null, tools: null },
  ]);
});

test('a title is not read once its workspace redacts, and removed by the next upkeep', async () => {
  const runs = await claimed(mine, mine);
  await completeRuns(
    scratch.database,
    evaluations(runs, [{ title: 'one' }, { title: 'two', tools: ['bash'] }]),
    CORPUS,
  );
  await scratch.database.query(
    "UPDATE runs SET first_arrival_at = '2026-01-01T12:00Z' WHERE run_id = $1",
    [hex16(2)],
  );
  const titles = async () =>
    (await scratch.rows('SELECT title FROM runs ORDER BY run_id')).map(({ title }) => title);
  const tools = async () =>
    (await scratch.rows('SELECT tools FROM runs ORDER BY run_id')).map((row) => row.tools);
  const nowMs = Date.UTC(2026, 0, 31);
  await removeOutdatedTitles(scratch.database, nowMs, 0);
  expect(await titles()).toEqual(['one', 'two']);
  await removeOutdatedTitles(scratch.database, nowMs, 30);
  expect(await titles()).toEqual(['one', 'two']);
  await removeOutdatedTitles(scratch.database, nowMs, 29);
  expect(await titles()).toEqual(['one', null]);
  expect(await tools()).toEqual([null, null]);

  await scratch.database.query('UPDATE workspaces SET redact_excerpts = true WHERE id = $1', [
    mine,
  ]);
  expect((await findRun(scratch.database, mine, hex16(1)))?.run.title).toBeNull();
  expect(await titles()).toEqual(['one', null]);
  await removeOutdatedTitles(scratch.database, nowMs, 0);
  expect(await titles()).toEqual([null, null]);
});

test('what of a run was checked is stored with it', async () => {
  const runs = await claimed(mine);
  const checked = {
    surfaces: ['step_input', 'tool_name'] as const,
    truncatedTexts: 2,
    textCapBytes: 1024,
    unparsedValues: 3,
    facts: runFacts({
      captureHint: 'A=1',
      unreadTexts: 4,
      unreadKeys: ['a.b', 'c'],
      unknownRoles: ['oracle'],
    }),
  };
  await completeRuns(scratch.database, evaluations(runs, [checked]), CORPUS);
  expect(
    await scratch.rows(
      `SELECT surfaces, truncated_texts, text_cap_bytes, unparsed_values, capture_hint,
              unread_texts, unread_keys, unknown_roles
         FROM runs JOIN rule_sets ON rule_sets.id = rule_set_id`,
    ),
  ).toEqual([
    {
      surfaces: 0b1000001,
      truncated_texts: 2,
      text_cap_bytes: 1024,
      unparsed_values: 3,
      capture_hint: 'A=1',
      unread_texts: 4,
      unread_keys: ['a.b', 'c'],
      unknown_roles: ['oracle'],
    },
  ]);
});

test('what runs were evaluated with is stored once for all of them', async () => {
  const runs = await claimed(mine, theirs, mine, mine, mine);
  await scratch.database.query('TRUNCATE rule_sets');
  const others = [
    {},
    {},
    { ruleSetSha256: 'cd'.repeat(32) },
    { textCapBytes: 65_537 },
    { ruleSetSha256: 'cd'.repeat(32) },
  ];
  await completeRuns(scratch.database, evaluations(runs.slice(0, 4), others), CORPUS);
  await completeRuns(scratch.database, evaluations(runs.slice(4), others.slice(4)), CORPUS);
  expect(
    await scratch.rows(
      `SELECT encode(rule_set_sha256, 'hex') AS digest, text_cap_bytes, corpus_version,
              encode(corpus_identity, 'hex') AS identity, count(*)::int AS runs
         FROM rule_sets JOIN runs ON rule_set_id = rule_sets.id GROUP BY rule_sets.id ORDER BY 1, 2`,
    ),
  ).toEqual(
    [
      { digest: 'ab'.repeat(32), text_cap_bytes: 65_536, runs: 2 },
      { digest: 'ab'.repeat(32), text_cap_bytes: 65_537, runs: 1 },
      { digest: 'cd'.repeat(32), text_cap_bytes: 65_536, runs: 2 },
    ].map((one) => ({ corpus_version: CORPUS.version, identity: CORPUS.identity, ...one })),
  );
});

test('spans that were sent again are taken off its sums, once however often it is evaluated', async () => {
  const { database } = scratch;
  const counts = async () =>
    (await scratch.rows('SELECT spans, repeated_spans, evaluated_steps FROM runs'))[0];
  await claimed(mine);
  await database.query('UPDATE runs SET spans = 5');
  for (const [repeatedSpans, steps] of [
    [2, 3],
    [2, 3],
    [3, 2],
    [1, 4],
  ] as const) {
    await database.query("UPDATE runs SET evaluation = 'pending'");
    await database.query('TRUNCATE leases');
    const runs = await claimRuns(database, { settleMs: 0, timeoutMs: 0, limit: 1 });
    await completeRuns(database, evaluations(runs, [{ repeatedSpans, steps }]), CORPUS);
    expect(await counts()).toEqual({
      spans: steps,
      repeated_spans: repeatedSpans,
      evaluated_steps: steps,
    });
  }
});

test('a run that went to somebody else is left alone, its neighbours are stored', async () => {
  const runs = await claimed(mine, mine);
  const stale = runs.map((run, index) => (index === 0 ? { ...run, claim: 0 } : run));
  const found = { findings: [findingDraft()] };
  const stored = await completeRuns(scratch.database, evaluations(stale, [found, found]), CORPUS);
  expect(stored).toEqual([null, ['high']]);
  expect(await scratch.rows('SELECT run_id FROM findings')).toEqual([{ run_id: hex16(2) }]);
});

test('each run is found by its key, also where the planner knows of no pending ones', async () => {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, evaluation)
     SELECT $1, gen_random_uuid(), 'completed', 1, 0, 'evaluated' FROM generate_series(1, 3000)`,
    [mine],
  );
  await scratch.database.query('ANALYZE runs');
  const runs = await claimed(...Array.from({ length: 64 }, () => mine));
  let plan = '';
  const explaining = {
    query: async ({ text, values }: { text: string; values: unknown[] }) => {
      const { rows } = await scratch.database.query(`EXPLAIN ${text}`, values);
      plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      return { rows: [] };
    },
  };
  await completeRuns(explaining as unknown as Queryable, evaluations(runs, []), CORPUS);
  const [, own] = /CTE own\n(.*?)\n {2}CTE /s.exec(plan) ?? [];
  expect(own).toMatch(/Index Scan using runs_pkey on runs\b/);
  expect(own).not.toContain('Seq Scan');
});

test('who gave a run back and stores it all the same: its findings are stored once', async () => {
  const before = await claimed(mine);
  await requeueRuns(scratch.database, before);
  const again = await claimRuns(scratch.database, { settleMs: 0, timeoutMs: 0, limit: 100 });
  expect(again.map(({ attempt }) => attempt)).toEqual([1]);
  const found = { findings: [findingDraft({ ruleId: 'A' })] };
  const both = [];
  for (const run of [...before, ...again]) {
    both.push(...(await completeRuns(scratch.database, evaluations([run], [found]), CORPUS)));
  }
  expect(both).toEqual([null, ['high']]);
  expect(await scratch.rows('SELECT rule_id FROM findings')).toEqual([{ rule_id: 'A' }]);
});

test('all or none: what cannot be stored of one run keeps the others from it', async () => {
  const runs = await claimed(mine, mine);
  const unstorable = { findings: [findingDraft({ excerpt: 'a\u0000b' })] };
  await expect(
    completeRuns(scratch.database, evaluations(runs, [{}, unstorable]), CORPUS),
  ).rejects.toMatchObject({ code: '22021' });
  expect(await scratch.rows('SELECT DISTINCT evaluation FROM runs')).toEqual([
    { evaluation: 'pending' },
  ]);
});

test('a workspace that redacts keeps no excerpt, the other one in the statement does', async () => {
  const runs = await claimed(mine, theirs, mine);
  await setRedaction(scratch.database, mine, true, COMMAND_LINE);
  const found = { findings: [findingDraft({ excerpt: 'said' })] };
  await completeRuns(scratch.database, evaluations(runs, [found, found, found]), CORPUS);
  expect(await scratch.rows('SELECT run_id, excerpt FROM findings ORDER BY run_id')).toEqual([
    { run_id: hex16(1), excerpt: null },
    { run_id: hex16(2), excerpt: 'said' },
    { run_id: hex16(3), excerpt: null },
  ]);
});
