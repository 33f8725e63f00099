/** Reading runs: filters, pages that neither skip nor repeat, findings beside them, and whose they are. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { findRun, listRuns, listSortedRuns, suggestRunNames } from '../../../src/db/runs/runs.ts';
import { toBits } from '../../../src/db/runs/surface-bits.ts';
import { checkOf } from '../../../src/model/run-check.ts';
import type { PageCursor, RunFilter } from '../../../src/model/runs.ts';
import { CHECKED } from '../../../src/model/runs.ts';
import { CHECKED_CASES, checkedFields } from '../../support/checked-runs.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { DIGESTED, hex16 } from '../../support/rows.ts';

let scratch: MigratedDatabase;
let mine: number;
let theirs: number;

interface Stored {
  readonly arrivedAt: string;
  readonly state?: string;
  readonly evaluation?: string;
  readonly agent?: string;
  readonly session?: string;
  readonly gaps?: readonly string[];
}

async function insertRun(workspaceId: number, id: number, run: Stored): Promise<void> {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, evaluation, name, service_name, spans,
       log_records, first_arrival_at, last_arrival_at, agent_name, model, session_id, user_id,
       text_gaps, texts)
     VALUES ($1, $2, $3, $4, 'root', 'shop', 3, 1, $5, $5, $6, 'm-1', $7, 'u-1', $8,
       CASE WHEN $8::text[] IS NOT NULL THEN 5 END)`,
    [
      workspaceId,
      hex16(id),
      run.state ?? 'completed',
      run.evaluation ?? 'evaluated',
      run.arrivedAt,
      run.agent ?? null,
      run.session ?? null,
      run.gaps ?? null,
    ],
  );
}

async function insertFinding(workspaceId: number, run: number, severity: string): Promise<void> {
  await scratch.database.query(
    `INSERT INTO findings (workspace_id, run_id, rule_id, rule_version, rule_status, severity,
       category, corpus_version, description, condition_index, condition_description, field,
       surface, step_name, excerpt, recommended_actions,
       ${DIGESTED.columns})
     VALUES ($1, $2, 'ATR-2026-' || $3::text, '1', 'stable', $3, 'prompt-injection', '4', '', 0, '',
       'content', 'tool_args', '', '', '[]', ${DIGESTED.values})`,
    [workspaceId, hex16(run), severity],
  );
}

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  const { database } = scratch;
  mine = (await createWorkspace(database, 'mine', 'Mine')).id;
  theirs = (await createWorkspace(database, 'theirs', 'Theirs')).id;
  const at = '2026-11-20T10:00:00';
  await insertRun(mine, 1, {
    arrivedAt: `${at}.000001Z`,
    agent: 'planner',
    session: 's-1',
    gaps: [],
  });
  await insertRun(mine, 2, { arrivedAt: `${at}.000002Z`, state: 'failed', session: 's-1' });
  await insertRun(mine, 3, { arrivedAt: `${at}.000002Z`, gaps: ['cut_by_sender'] });
  await insertRun(mine, 4, {
    arrivedAt: '2026-11-21T10:00:00Z',
    state: 'running',
    evaluation: 'pending',
  });
  await insertRun(theirs, 5, { arrivedAt: `${at}.000001Z`, session: 's-1' });
  await insertFinding(mine, 2, 'low');
  await insertFinding(mine, 2, 'high');
  await insertFinding(theirs, 5, 'high');
});
afterAll(() => scratch.close());

async function ids(filter: RunFilter, workspaceId = mine): Promise<string[]> {
  const { runs } = await listRuns(scratch.database, workspaceId, filter, null, 100);
  return runs.map(({ runId }) => runId);
}

test('runs come by the arrival of their first step, newest first', async () => {
  expect(await ids({})).toEqual([4, 3, 2, 1].map(hex16));
});

test.each<[RunFilter, number[]]>([
  [{ state: 'failed' }, [2]],
  [{ evaluation: 'pending' }, [4]],
  [{ agentName: 'planner' }, [1]],
  // Any part of a name, in any case.
  [{ agentName: 'LAN' }, [1]],
  [{ agentName: 'planners' }, []],
  [{ agentName: '%' }, []],
  // The whole name in quotes.
  [{ agentName: '"Planner"' }, [1]],
  [{ agentName: '"lan"' }, []],
  [{ serviceName: '"sho_"' }, []],
  [{ sessionId: '"s-1"' }, [2, 1]],
  [{ sessionId: '"s-"' }, []],
  [{ serviceName: 'shop', model: 'm-1', userId: 'u-1' }, [4, 3, 2, 1]],
  [{ serviceName: 'HO', model: '-', userId: '1' }, [4, 3, 2, 1]],
  [{ sessionId: 's-1' }, [2, 1]],
  [{ sessionId: 'S-' }, [2, 1]],
  [{ textIncomplete: true }, [3]],
  // A run that is not evaluated is neither.
  [{ textIncomplete: false }, [1]],
  [{ hasFindings: true }, [2]],
  [{ hasFindings: false }, [4, 3, 1]],
  [{ since: new Date('2026-11-21T00:00:00Z') }, [4]],
  [{ since: new Date('2026-11-21T10:00:00Z') }, [4]],
  [{ until: new Date('2026-11-21T00:00:00Z') }, [3, 2, 1]],
  // A time range includes its beginning, not its end.
  [{ until: new Date('2026-11-21T10:00:00Z') }, [3, 2, 1]],
  [{ sessionId: 's-1', state: 'completed' }, [1]],
])('%o fits %o', async (filter, expected) => {
  expect(await ids(filter)).toEqual(expected.map(hex16));
});

test('a whole session is that one alone; names are suggested, the most frequent first', async () => {
  const { id } = await createWorkspace(scratch.database, 'sessions', 'Sessions');
  for (const [run, session] of ['s-1', 's-10', 's-10'].entries()) {
    await insertRun(id, run + 1, { arrivedAt: `2026-11-2${run}T10:00:00Z`, session, agent: 'a' });
  }
  expect(await ids({ sessionId: 's-1' }, id)).toEqual([hex16(1)]);
  expect(await ids({ sessionId: 's-10' }, id)).toEqual([hex16(3), hex16(2)]);
  expect(await ids({ sessionId: 's-' }, id)).toEqual([3, 2, 1].map(hex16));
  expect(await suggestRunNames(scratch.database, id)).toEqual({
    agents: ['a'],
    services: ['shop'],
    users: ['u-1'],
    sessions: ['s-10', 's-1'],
    models: ['m-1'],
  });
});

test('pages neither skip nor repeat a run, also of one and the same microsecond', async () => {
  const seen: string[] = [];
  let cursor: PageCursor | null = null;
  do {
    const page: Awaited<ReturnType<typeof listRuns>> = await listRuns(
      scratch.database,
      mine,
      {},
      cursor,
      1,
    );
    seen.push(...page.runs.map(({ runId }) => runId));
    cursor = page.next;
  } while (cursor !== null);
  expect(seen).toEqual([4, 3, 2, 1].map(hex16));
});

test('runs are sorted by length, tokens or findings, page by page; the unknown come last', async () => {
  const lengths = [5, 7, 7].map((length, at) => [hex16(at + 1), length, at === 1 ? null : length]);
  for (const [id, length, tokens] of lengths) {
    await scratch.rows(
      `UPDATE runs SET start_unix_nano = 100, end_unix_nano = 100 + $3, input_tokens = $4
        WHERE workspace_id = $1 AND run_id = $2`,
      [mine, id, length, tokens],
    );
  }
  const sorted = async (order: 'longest' | 'tokens' | 'findings', filter: RunFilter = {}) => {
    const seen: string[] = [];
    for (let skip: number | null = 0; skip !== null; ) {
      const page = await listSortedRuns(scratch.database, mine, filter, order, skip, 2);
      expect(page.searchedTo).toBeNull();
      seen.push(...page.runs.map(({ runId }) => runId));
      skip = page.next;
    }
    return seen;
  };
  expect(await sorted('longest')).toEqual([3, 2, 1, 4].map(hex16));
  expect(await sorted('tokens')).toEqual([3, 1, 4, 2].map(hex16));
  expect(await sorted('findings')).toEqual([2, 4, 3, 1].map(hex16));
  expect(await sorted('longest', { hasFindings: false })).toEqual([3, 1, 4].map(hex16));
});

test('a run tells the severities of its own findings', async () => {
  const found = await findRun(scratch.database, mine, hex16(2));
  expect(found?.run.severities.toSorted()).toEqual(['high', 'low']);
  expect(found).toMatchObject({ firstArrivalOn: '2026-11-20', lastArrivalOn: '2026-11-20' });
  const clean = await findRun(scratch.database, mine, hex16(1));
  expect(clean?.run).toMatchObject({ severities: [], textGaps: [], texts: 5, spans: 3 });
});

test.each(CHECKED.map((checked) => [checked]))(
  '%s runs are those that are shown as such',
  async (checked) => {
    const cases = CHECKED_CASES.map((one, index) => ({ ...one, id: hex16(100 + index) }));
    await scratch.database.query('DELETE FROM runs WHERE run_id >= $1', [hex16(100)]);
    for (const one of cases) {
      const { textCapBytes, surfaces, ...fields } = checkedFields(one);
      await scratch.database.query(
        `INSERT INTO rule_sets SELECT cap, cap, '4.0.0', '', '' FROM unnest($1::int[]) AS cap
          WHERE cap IS NOT NULL ON CONFLICT DO NOTHING`,
        [[textCapBytes]],
      );
      await scratch.database.query(
        `INSERT INTO runs (workspace_id, run_id, state, evaluation, spans, log_records, evaluated_steps,
         unread_steps, texts, truncated_texts, unparsed_values, text_gaps,
         unread_texts, unread_keys, unknown_roles, capture_hint, surfaces, rule_set_id, first_arrival_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
               '2026-11-22')`,
        [theirs, one.id, ...Object.values(fields), surfaces && toBits(surfaces), textCapBytes],
      );
    }
    const since = new Date('2026-11-22T00:00:00Z');
    const { runs } = await listRuns(scratch.database, theirs, { checked, since }, null, 100);
    const expected = cases.filter((one) => one.checked === checked);
    expect(expected.length).toBeGreaterThan(0);
    expect(runs.map(({ runId }) => runId).toSorted()).toEqual(expected.map(({ id }) => id));
    for (const run of runs) {
      const stored = cases.find(({ id }) => id === run.runId);
      expect(run).toMatchObject(stored === undefined ? {} : checkedFields(stored));
      expect(checkOf(run).checked).toBe(checked);
    }
  },
);

test("another workspace's runs are neither listed nor found", async () => {
  expect(await ids({ sessionId: 's-1' }, theirs)).toEqual([hex16(5)]);
  expect(await findRun(scratch.database, mine, hex16(5))).toBeNull();
  expect(await findRun(scratch.database, theirs, hex16(1))).toBeNull();
});
