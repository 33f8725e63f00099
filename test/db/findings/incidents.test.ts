/** Incidents in PostgreSQL: which runs are ranked, their places, and the history of rules and names. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { incidentOfRun, listIncidents } from '../../../src/db/findings/incidents.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import type { FindingFilter } from '../../../src/model/findings.ts';
import { INCIDENT_RUNS_MAX } from '../../../src/model/incidents/incidents.ts';
import { OPEN_STATES } from '../../../src/model/triage.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { hex16 } from '../../support/rows.ts';

let scratch: MigratedDatabase;
let workspaces = 0;

async function newWorkspace(redacts = false): Promise<number> {
  workspaces += 1;
  const { id } = await createWorkspace(scratch.database, `w-${workspaces}`, 'One');
  await scratch.database.query('UPDATE workspaces SET redact_excerpts = $2 WHERE id = $1', [
    id,
    redacts,
  ]);
  return id;
}

beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());

interface Stored {
  readonly run: number;
  readonly rule?: string;
  readonly severity?: string;
  readonly category?: string;
  readonly agent?: string | null;
  readonly user?: string | null;
  readonly session?: string | null;
  readonly surface?: string;
  readonly tool?: string | null;
  readonly step?: number;
  readonly text?: string;
  readonly state?: string;
  readonly hours?: number;
  readonly end?: string;
  readonly more?: object[];
}

let ids = 0;
async function insert(workspaceId: number, stored: Stored): Promise<string> {
  ids += 1;
  const { step = 1, end, text = `text ${ids}`, rule = 'ATR-2026-00001', hours = 1 } = stored;
  const at = { startUnixNano: String(step), ...(end && { endUnixNano: end }) };
  const place = { step, source: 'span', ...at, twin: 0, text: 0, nameDigests: [] };
  await scratch.database.query(
    `INSERT INTO findings (workspace_id, id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, corpus_version, corpus_identity, description, condition_index,
       condition_description, field, surface, step_name, step_name_matched, excerpt, place,
       recommended_actions, agent_name, user_id, session_id, tool_name, match_digest, more_places)
     VALUES ($1, $2, now() - $3 * interval '1 hour', $4, $5, '1', 'stable', $6, $7, '4', '', 'd', 0,
       '', 'content', $8, 's', false, 'e', $9, '[]', $10, $11, $12, $13, sha256($14), $15)`,
    [
      workspaceId,
      hex16(ids),
      hours,
      hex16(1000 + stored.run),
      rule,
      stored.severity ?? 'high',
      stored.category ?? 'prompt-injection',
      stored.surface ?? 'tool_result',
      JSON.stringify(place),
      stored.agent === undefined ? 'planner' : stored.agent,
      stored.user ?? null,
      stored.session ?? null,
      stored.tool ?? null,
      Buffer.from(text),
      stored.more === undefined ? null : JSON.stringify(stored.more),
    ],
  );
  if (stored.state !== undefined) {
    await scratch.database.query(
      'INSERT INTO finding_states (workspace_id, finding_id, state) VALUES ($1, $2, $3)',
      [workspaceId, hex16(ids), stored.state],
    );
  }
  return hex16(ids);
}

const OPEN: FindingFilter = { states: OPEN_STATES, isExcepted: false };
const list = (workspaceId: number, filter = OPEN, skip = 0, limit = 50) =>
  listIncidents(scratch.database, workspaceId, filter, skip, limit);
const runOf = ({ runId }: { readonly runId: string }): string => runId;

test('the chain has all places of a run in the order of time, also of findings that do not match', async () => {
  const mine = await newWorkspace();
  const further = {
    surface: 'tool_args',
    tool: 'bash',
    digest: 'ab'.repeat(32),
    rest: false,
    place: { step: 4, startUnixNano: '4', text: 2 },
  };
  await insert(mine, { run: 1, step: 2, more: [further, { ...further, rest: true }] });
  await insert(mine, {
    run: 1,
    rule: 'ATR-2026-00002',
    category: 'context-exfiltration',
    surface: 'agent_output',
    severity: 'critical',
    step: 1,
    end: '9',
  });
  const { incidents } = await list(mine, { ...OPEN, severity: 'high' });
  expect(incidents).toHaveLength(1);
  expect(incidents[0]?.chain).toMatchObject([
    { step: 2, surface: 'tool_result', role: 'injection', tool: null },
    { step: 4, surface: 'tool_args', tool: 'bash', role: null },
    { step: 1, surface: 'agent_output', role: 'act', ruleId: 'ATR-2026-00002' },
  ]);
  const own = await incidentOfRun(scratch.database, mine, hex16(1001));
  expect(own).toEqual(incidents[0]);
  expect(await incidentOfRun(scratch.database, mine, hex16(77))).toBeNull();
});

test('a tool whose name matched is not shown where the workspace redacts', async () => {
  const mine = await newWorkspace(true);
  await insert(mine, { run: 1, surface: 'tool_name', tool: 'secret' });
  await insert(mine, { run: 2, surface: 'tool_args', tool: 'bash' });
  const { incidents } = await list(mine);
  const tools = new Map(incidents.map((one) => [runOf(one), one.chain[0]?.tool]));
  expect(tools.get(hex16(1001))).toBeNull();
  expect(tools.get(hex16(1002))).toBe('bash');
});

test('rarity counts runs and sessions of the agent in thirty days, and dismissals', async () => {
  const mine = await newWorkspace();
  await insert(mine, { run: 1, session: 's-1' });
  await insert(mine, { run: 2, session: 's-1' });
  await insert(mine, { run: 3, state: 'false_positive' });
  await insert(mine, { run: 4, hours: 31 * 24 });
  await insert(mine, { run: 5, agent: 'other' });
  const { incidents } = await list(mine, { ...OPEN, agentName: '"planner"', since: new Date(0) });
  const reasons = (part: string) =>
    incidents.map((one) => one.reasons.find((reason) => reason.part === part)?.text);
  expect(reasons('rarity')).toEqual([
    'ATR-2026-00001 fired in 2 runs or sessions of this agent in the last 30 days.',
    'ATR-2026-00001 fired in 2 runs or sessions of this agent in the last 30 days.',
  ]);
  expect(reasons('dismissed')[0]).toBe(
    'People set ATR-2026-00001 to false positive once for this agent in the last 30 days.',
  );
});

test('novelty is of the first finding of an agent, tool or user', async () => {
  const mine = await newWorkspace();
  await insert(mine, { run: 1, hours: 3, tool: 'bash', user: 'ada' });
  await insert(mine, { run: 2, hours: 2, tool: 'bash', user: 'bob' });
  await insert(mine, { run: 3, hours: 1, tool: 'bash', user: 'bob', agent: null });
  const { incidents } = await list(mine);
  const novelty = new Map(
    incidents.map((one) => [
      runOf(one),
      one.reasons.find(({ part }) => part === 'novelty')?.text ?? null,
    ]),
  );
  expect(novelty.get(hex16(1001))).toBe(
    'It has the first finding of this agent, this tool and this user.',
  );
  expect(novelty.get(hex16(1002))).toBe('It has the first finding of this user.');
  // Nobody: neither agent nor service is known.
  expect(novelty.get(hex16(1003))).toBeNull();
});

test('pages follow each other, and end', async () => {
  const mine = await newWorkspace();
  for (const run of [1, 2, 3]) await insert(mine, { run, hours: run });
  const first = await list(mine, OPEN, 0, 2);
  expect(first).toMatchObject({ next: 2, total: 3, searchedTo: null });
  const second = await list(mine, OPEN, 2, 2);
  expect(second.next).toBeNull();
  // The oldest one has the first finding of the agent.
  expect([...first.incidents, ...second.incidents].map(runOf)).toEqual(
    [1003, 1001, 1002].map(hex16),
  );
});

test.each([
  [INCIDENT_RUNS_MAX, false],
  [INCIDENT_RUNS_MAX + 1, true],
])('of %i runs the newest are ranked', async (runs, isCut) => {
  const mine = await newWorkspace();
  const first = await insert(mine, { run: 1, hours: 0 });
  await scratch.database.query(
    `INSERT INTO findings (workspace_id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, corpus_version, corpus_identity, description, condition_index,
       condition_description, field, surface, step_name_matched, place, recommended_actions,
       match_digest)
     SELECT workspace_id, created_at - n * interval '1 second', gen_random_uuid(), rule_id,
            rule_version, rule_status, severity, category, corpus_version, corpus_identity,
            description, 0, '', field, surface, false, place, '[]', sha256(n::text::bytea)
       FROM findings, generate_series(1, $3::int - 1) AS n WHERE workspace_id = $1 AND id = $2`,
    [mine, first, runs],
  );
  const { total, searchedTo } = await list(mine);
  expect(total).toBe(INCIDENT_RUNS_MAX);
  expect(searchedTo !== null).toBe(isCut);
  if (searchedTo === null) return;
  const rest = await list(mine, { ...OPEN, until: searchedTo });
  expect(rest.total).toBe(1);
});
