/** What the overview counts is what its links list: open findings that no exception covers, as of the last decision. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { createException, endException } from '../../../src/db/findings/exception-writes.ts';
import { countFindings } from '../../../src/db/findings/finding-totals.ts';
import { createOverviewReader } from '../../../src/db/findings/overview.ts';
import { triageFindings } from '../../../src/db/findings/triage-writes.ts';
import { findSession } from '../../../src/db/people/sessions.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { fromPrimary } from '../../../src/db/replica/read-choice.ts';
import type { FindingFilter } from '../../../src/model/findings.ts';
import type { Actor } from '../../../src/model/people.ts';
import type { Severity } from '../../../src/model/rules.ts';
import { FINDING_STATES, type FindingState, OPEN_STATES } from '../../../src/model/triage.ts';
import { type ClockedDatabase, openClockedDatabase, START } from '../../support/database.ts';
import { addPerson } from '../../support/people.ts';
import { PLACED } from '../../support/rows.ts';

const NOW_MS = Date.parse(START);
const MS_PER_DAY = 86_400_000;

let scratch: ClockedDatabase;
let workspaceId: number;
let actor: Actor;
let workspaces = 0;
let read: ReturnType<typeof createOverviewReader>;

beforeAll(async () => {
  scratch = await openClockedDatabase();
});
afterAll(() => scratch.close());
afterEach(() => {
  vi.restoreAllMocks();
});
beforeEach(async () => {
  // A view on a busy machine may leave the oldest slots out.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  await scratch.setClock('0');
  workspaces += 1;
  workspaceId = (await createWorkspace(scratch.database, `w${workspaces}`, 'A workspace')).id;
  const person = await addPerson(scratch.database, workspaceId, 'owner');
  const session = await findSession(scratch.database, person.token);
  actor = { userId: person.id, name: person.email, origin: 'test', sessionId: session?.id ?? '' };
  // One reader for all views: what it has counted stays cached.
  read = createOverviewReader(fromPrimary(() => scratch.database).read, () => NOW_MS);
});

interface Given {
  readonly daysAgo?: number;
  readonly severity?: Severity;
  readonly agent?: string;
  readonly text?: string;
}

async function add({ daysAgo = 3, severity = 'high', agent = 'bot', text = 'd' }: Given = {}) {
  const rows = await scratch.rows(
    `INSERT INTO findings (workspace_id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, corpus_version, description, condition_index, condition_description,
       field, surface, step_name, excerpt, recommended_actions,
       ${PLACED.columns}, agent_name, service_name, match_digest)
     VALUES ($1, $2, gen_random_uuid(), 'R', '1', 'stable', $3, 'c', '4', 'd', 0, 'c', 'f', 's', 'n',
             'e', '[]', ${PLACED.values}, $4, 'service', sha256(convert_to($5, 'UTF8'))) RETURNING id`,
    [workspaceId, new Date(NOW_MS - daysAgo * MS_PER_DAY), severity, agent, text],
  );
  return String(rows[0]?.id);
}

const decide = (ids: readonly string[], state: FindingState) =>
  triageFindings(scratch.database, workspaceId, { ids, state }, actor);

/** What the overview counts: in all, by severity, and by agent. */
async function counted() {
  const { days, top } = await read(workspaceId);
  const kinds = days.flatMap(({ counts }) => counts ?? []);
  const sum = (severity: Severity) =>
    kinds.reduce((all, kind) => all + (kind.severity === severity ? kind.findings : 0), 0);
  const agents = top.filter(({ by }) => by === 'agent');
  return {
    high: sum('high'),
    low: sum('low'),
    agents: Object.fromEntries(agents.map(({ name, findings }) => [name, findings])),
    since: new Date(days[0]?.atMs ?? 0),
  };
}

/** What the lists show to which its numbers link. */
async function listed(agents: readonly string[], since: Date) {
  const total = async (filter: FindingFilter) => {
    const open = { states: OPEN_STATES, isExcepted: false, since, ...filter };
    return (await countFindings(scratch.database, workspaceId, open)).count;
  };
  const ofAgent = async (name: string) => [name, await total({ agentName: `"${name}"` })] as const;
  return {
    high: await total({ severity: 'high' }),
    low: await total({ severity: 'low' }),
    agents: Object.fromEntries(await Promise.all(agents.map(ofAgent))),
    since,
  };
}

/** Checks a view of the overview against the lists. */
async function expectCounts(high: number, low: number, agents: Record<string, number>) {
  const seen = await counted();
  expect(seen).toMatchObject({ high, low });
  expect(seen.agents).toEqual(agents);
  expect(await listed(Object.keys(agents), seen.since)).toEqual(seen);
}

test('counts the open states alone, today and on days that are over', async () => {
  const today = await add({ daysAgo: 0 });
  const before = await add();
  await expectCounts(2, 0, { bot: 2 });
  for (const state of FINDING_STATES) {
    await decide([today, before], state);
    const isOpen = OPEN_STATES.includes(state);
    await expectCounts(isOpen ? 2 : 0, 0, isOpen ? { bot: 2 } : {});
  }
  await decide([before], 'new');
  await expectCounts(1, 0, { bot: 1 });
});

test('a name is the whole name, and what is older than 14 days is in neither', async () => {
  await add();
  await add({ agent: 'robot%' });
  await add({ agent: 'bot "2"', severity: 'low' });
  await add({ daysAgo: 14 });
  await expectCounts(2, 1, { bot: 1, 'robot%': 1, 'bot "2"': 1 });
});

test('leaves out what an exception covers, until it ends', async () => {
  const excepted = await add({ text: 'known' });
  await add({ text: 'known', severity: 'low' });
  await add({ text: 'other' });
  // Closed and covered: left out once.
  await decide([await add({ text: 'known', agent: 'closed' })], 'closed');
  await expectCounts(2, 1, { bot: 3 });
  const options = { parts: ['text'], reason: 'known', days: 30 } as const;
  await createException(scratch.database, workspaceId, excepted, options, actor);
  await expectCounts(1, 0, { bot: 1 });
  const [{ id } = { id: 0 }] = await scratch.rows(
    'SELECT id FROM finding_exceptions WHERE workspace_id = $1',
    [workspaceId],
  );
  await endException(scratch.database, workspaceId, Number(id), actor);
  await expectCounts(2, 1, { bot: 3 });
});

test('counts again at the moment at which an exception expires', async () => {
  const excepted = await add();
  const options = { parts: ['agent'], reason: 'known', days: 1 } as const;
  await createException(scratch.database, workspaceId, excepted, options, actor);
  await scratch.setClock('1 day -1 us');
  await expectCounts(0, 0, {});
  await scratch.setClock('1 day');
  await expectCounts(1, 0, { bot: 1 });
});
