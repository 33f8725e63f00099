/** The newest runs of an agent, user, tool … are counted. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { readEntity } from '../../../src/db/runs/entities.ts';
import { RUNS_READ_MAX } from '../../../src/db/runs/runs.ts';
import type { EntityRef } from '../../../src/model/shown/entities.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { DIGESTED, hex16 } from '../../support/rows.ts';

let scratch: MigratedDatabase;
let mine: number;
let theirs: number;
const UNTIL = new Date('2026-11-21T00:00:00Z');
const SINCE = new Date('2026-11-10T00:00:00Z');

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  mine = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
  theirs = (await createWorkspace(scratch.database, 'theirs', 'Theirs')).id;
  await insert(1, {
    at: '2026-11-19T10:00:00Z',
    seconds: 1,
    tokens: 10,
    tools: ['bash', 'mcp__git hub__search'],
  });
  await insert(2, {
    at: '2026-11-19T11:00:00Z',
    seconds: 3,
    tokens: null,
    state: 'failed',
    tools: ['bash'],
  });
  await insert(3, { at: '2026-11-20T10:00:00Z', seconds: 2, tokens: 5, user: 'eve', tools: null });
  await insert(4, { at: '2026-11-20T10:00:00Z', seconds: 9, tokens: 5, agent: 'other' });
  await insert(5, { at: '2026-11-01T10:00:00Z', seconds: 9, tokens: 5 });
  await insert(6, { at: '2026-11-20T10:00:00Z', seconds: 9, tokens: 5, workspace: theirs });
  await found(1, 'ATR-2026-00001', 'bash');
  await found(1, 'ATR-2026-00002', 'mcp__git hub__search');
  await found(2, 'ATR-2026-00001', null, 'false_positive');
  await found(4, 'ATR-2026-00003', null);
});
afterAll(() => scratch.close());

interface Run {
  readonly at: string;
  readonly seconds: number;
  readonly tokens: number | null;
  readonly state?: string;
  readonly agent?: string;
  readonly user?: string;
  readonly tools?: readonly string[] | null;
  readonly workspace?: number;
}

async function insert(run: number, given: Run): Promise<void> {
  const {
    at,
    seconds,
    tokens,
    state = 'completed',
    agent = 'planner',
    user = 'tom',
    tools = null,
  } = given;
  await scratch.rows(
    `INSERT INTO runs (workspace_id, run_id, state, evaluation, service_name, agent_name, user_id, session_id, model,
       spans, log_records, first_arrival_at, last_arrival_at, start_unix_nano, end_unix_nano, input_tokens, tools, texts)
     VALUES ($1, $2, $3, 'evaluated', 'api', $4, $5, 's-1', 'm', 2, 0, $6, $6, 0, $7, $8, $9, 1)`,
    [given.workspace ?? mine, hex16(run), state, agent, user, at, seconds * 1e9, tokens, tools],
  );
}

async function found(
  run: number,
  rule: string,
  tool: string | null,
  state?: string,
): Promise<void> {
  const [row] = await scratch.rows(
    `INSERT INTO findings (workspace_id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, corpus_version, description, condition_index, condition_description,
       field, surface, step_name, tool_name, recommended_actions, ${DIGESTED.columns})
     VALUES ($1, $2, $3, $4, '1', 'stable', 'high', 'tool-poisoning', '4', 'd', 0, '', 'content', 'tool_args', 's', $5,
             '[]', ${DIGESTED.values}) RETURNING id`,
    [mine, UNTIL, hex16(run), rule, tool],
  );
  if (state === undefined) return;
  await scratch.rows(
    'INSERT INTO finding_states (workspace_id, finding_id, state) VALUES ($1, $2, $3)',
    [mine, row?.id, state],
  );
}

const read = (entity: EntityRef | null, workspaceId = mine) =>
  readEntity(scratch.database, workspaceId, entity, SINCE, UNTIL);
const rulesOf = ({ rules }: Awaited<ReturnType<typeof read>>) =>
  rules.map(({ ruleId, findings, dismissed }) => [ruleId, findings, dismissed]);

test('an agent has its runs, errors, durations, tokens, days, neighbours and findings', async () => {
  const facts = await read({ kind: 'agent', name: 'planner' });
  expect(facts).toMatchObject({
    runs: 3,
    errors: 1,
    notEvaluated: 0,
    p50: 2000,
    p95: 2900,
    inputTokens: 15,
    outputTokens: null,
    costUsd: null,
    firstSeen: new Date('2026-11-19T10:00:00Z'),
    lastSeen: new Date('2026-11-20T10:00:00Z'),
    days: [
      { day: '2026-11-19', runs: 2, errors: 1, inputTokens: 10 },
      { day: '2026-11-20', runs: 1, errors: 0, inputTokens: 5 },
    ],
    readTo: null,
  });
  expect(facts.names).toEqual({
    agent: [{ name: 'planner', runs: 3 }],
    service: [{ name: 'api', runs: 3 }],
    user: [
      { name: 'tom', runs: 2 },
      { name: 'eve', runs: 1 },
    ],
    session: [{ name: 's-1', runs: 3 }],
    model: [{ name: 'm', runs: 3 }],
    tool: [
      { name: 'bash', runs: 2 },
      { name: 'mcp__git hub__search', runs: 1 },
    ],
    mcp_server: [{ name: 'git hub', runs: 1 }],
  });
  expect(rulesOf(facts)).toEqual([
    ['ATR-2026-00001', 2, 1],
    ['ATR-2026-00002', 1, 0],
  ]);
});

test('a tool and an MCP server have the runs that name them, and the findings in their calls', async () => {
  const tool = await read({ kind: 'tool', name: 'bash' });
  expect(tool.runs).toBe(2);
  expect(rulesOf(tool)).toEqual([['ATR-2026-00001', 1, 0]]);
  const server = await read({ kind: 'mcp_server', name: 'git hub' });
  expect(server).toMatchObject({ runs: 1, names: { agent: [{ name: 'planner', runs: 1 }] } });
  expect(rulesOf(server)).toEqual([['ATR-2026-00002', 1, 0]]);
});

test('a session, a user, and what is not there', async () => {
  expect((await read({ kind: 'session', name: 's-1' })).runs).toBe(4);
  expect((await read({ kind: 'user', name: 'eve' })).runs).toBe(1);
  expect(await read({ kind: 'agent', name: 'plan' })).toMatchObject({
    runs: 0,
    p50: null,
    firstSeen: null,
    days: [],
    rules: [],
  });
});

test('without a name it has the names of all runs of the workspace', async () => {
  const { runs, names, rules } = await read(null);
  expect({ runs, rules }).toEqual({ runs: 4, rules: [] });
  expect(names.agent).toEqual([
    { name: 'planner', runs: 3 },
    { name: 'other', runs: 1 },
  ]);
  expect((await read(null, theirs)).runs).toBe(1);
});

test('names of tools are not shown where the workspace redacts', async () => {
  await scratch.rows('UPDATE workspaces SET redact_excerpts = true WHERE id = $1', [mine]);
  expect((await read(null)).names).toMatchObject({ tool: [], mcp_server: [] });
  expect((await read({ kind: 'tool', name: 'bash' })).runs).toBe(0);
  await scratch.rows('UPDATE workspaces SET redact_excerpts = false WHERE id = $1', [mine]);
});

test('only the newest runs are read, and it says so', async () => {
  const many = (await createWorkspace(scratch.database, 'many', 'Many')).id;
  await scratch.rows(
    `INSERT INTO runs (workspace_id, run_id, state, evaluation, agent_name, spans, log_records, first_arrival_at, last_arrival_at)
     SELECT $1, md5('run' || n)::uuid, 'completed', 'pending', 'planner', 1, 0, $2::timestamptz - n * interval '1 second', $2
       FROM generate_series(1, ${RUNS_READ_MAX + 5}) n`,
    [many, UNTIL],
  );
  const facts = await read({ kind: 'agent', name: 'planner' }, many);
  expect(facts).toMatchObject({ runs: RUNS_READ_MAX, notEvaluated: RUNS_READ_MAX });
  expect(facts.readTo).toEqual(new Date(UNTIL.getTime() - RUNS_READ_MAX * 1000));
});
