/** The list's filters by name and text, its orders, totals, groups and suggestions, in PostgreSQL. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Connection, Database, Queryable } from '../../../src/db/database.ts';
import { listFindingGroups } from '../../../src/db/findings/finding-groups.ts';
import {
  FINDINGS_READ_MAX,
  findNeighbours,
  listFindings,
} from '../../../src/db/findings/finding-list.ts';
import {
  countFindings,
  FINDINGS_COUNTED_MAX,
  suggestNames,
} from '../../../src/db/findings/finding-totals.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import type { FindingFilter, FindingOrder } from '../../../src/model/findings.ts';
import type { PageCursor } from '../../../src/model/runs.ts';
import type { FindingState } from '../../../src/model/triage.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { DIGESTED, hex16, PLACED } from '../../support/rows.ts';

let scratch: MigratedDatabase;
let mine: number;
let redacted: number;
let many: number;

interface Stored {
  readonly id: number;
  readonly rule?: string;
  readonly severity?: string;
  readonly run?: number;
  readonly agent?: string | null;
  readonly service?: string | null;
  readonly user?: string;
  readonly text?: string;
  readonly excerpt?: string;
}

async function insert(workspaceId: number, stored: Stored): Promise<void> {
  const { id, rule = '00001', severity = 'high', run = id, agent = 'planner' } = stored;
  const { service = 'shop', user = 'ada', text = `text ${id}`, excerpt = 'an excerpt' } = stored;
  await scratch.database.query(
    `INSERT INTO findings (workspace_id, id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, corpus_version, description, condition_index, condition_description,
       field, surface, step_name, excerpt, recommended_actions,
       ${PLACED.columns}, agent_name, service_name, user_id,
       session_id, model, match_digest)
     VALUES ($1, $2, '2026-11-20T10:00:00Z'::timestamptz + $3::int * interval '1 minute', $4, $5,
       '1', 'stable', $6, 'prompt-injection', '4', $5 || ' "A title" matched the tool result', 0, '',
       'content', CASE WHEN $3::int % 2 = 0 THEN 'tool_result' ELSE 'tool_args' END, 's', $7, '[]', ${PLACED.values},
       $8, $9, $10, 'session-1', 'model-1', $11)`,
    [
      workspaceId,
      hex16(id),
      id,
      hex16(1000 + run),
      `ATR-2026-${rule}`,
      severity,
      excerpt,
      agent,
      service,
      user,
      Buffer.from(text),
    ],
  );
}

/** Findings of these ids, one a second. */
async function insertNumbered(workspaceId: number, from: number, to: number): Promise<void> {
  await scratch.database.query(
    `INSERT INTO findings (workspace_id, id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, corpus_version, description, condition_index, condition_description,
       field, surface, step_name, excerpt, recommended_actions, ${DIGESTED.columns}, agent_name)
     SELECT $1, lpad(to_hex(n), 32, '0')::uuid, '2026-11-20T10:00:00Z'::timestamptz
            + n * interval '1 second', gen_random_uuid(), 'R', '1', 'stable', 'high',
            'prompt-injection', '4', 'd', 0, '', 'content', 'tool_args', 's', 'e', '[]', ${DIGESTED.values},
            'somebody'
       FROM generate_series($2::int, $3::int) AS n`,
    [workspaceId, from, to],
  );
}

/** The database, which changes once the first statement has read findings. */
function changedAfterReading(change: () => Promise<void>): Database {
  let isChanged = false;
  const changing = <Target extends Queryable>(target: Target): Target =>
    new Proxy(target, {
      get: (_target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]) => {
          const result: unknown = await Reflect.apply(value, target, given);
          if (name === 'connect') return changing(result as Connection);
          if (name !== 'query' || isChanged || !String(given[0]).includes('FROM findings'))
            return result;
          isChanged = true;
          await change();
          return result;
        };
      },
    });
  return changing(scratch.database);
}

const STORED: readonly Stored[] = [
  { id: 1, severity: 'critical', run: 1, text: 'same' },
  { id: 2, severity: 'low', run: 1, rule: '00002', text: 'same' },
  { id: 3, run: 3, text: 'same', user: '50%_off' },
  { id: 4, run: 4, text: 'other', agent: 'Writer', excerpt: 'Read the SECRET 50% now' },
  { id: 5, severity: 'critical', run: 5, text: 'same', agent: null },
  { id: 6, severity: 'critical', run: 6, text: 'same', agent: null, service: 'planner' },
];

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  mine = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
  redacted = (await createWorkspace(scratch.database, 'redacted', 'Redacted')).id;
  many = (await createWorkspace(scratch.database, 'many', 'Many')).id;
  await scratch.database.query('UPDATE workspaces SET redact_excerpts = true WHERE id = $1', [
    redacted,
  ]);
  for (const one of STORED) await insert(mine, one);
  await insert(redacted, { id: 7, excerpt: 'a secret' });
  await scratch.database.query(
    `INSERT INTO findings (workspace_id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, corpus_version, description, condition_index, condition_description,
       field, surface, step_name, excerpt, recommended_actions,
       ${DIGESTED.columns}, agent_name)
     SELECT $1, '2026-11-20T10:00:00Z'::timestamptz - n * interval '1 second', gen_random_uuid(),
            'R', '1', 'stable', 'high', 'prompt-injection', '4', 'd', 0, '', 'content', 'tool_args',
            's', 'e', '[]', ${DIGESTED.values}, CASE WHEN n > ${FINDINGS_READ_MAX} THEN 'rare' ELSE 'frequent' END
       FROM generate_series(1, ${FINDINGS_COUNTED_MAX + 1}) AS n`,
    [many],
  );
});
afterAll(() => scratch.close());

const numberOf = ({ id }: { readonly id: string }): number => Number.parseInt(id, 16);

async function ids(
  filter: FindingFilter,
  workspaceId = mine,
  order: FindingOrder = 'newest',
): Promise<number[]> {
  const page = await listFindings(scratch.database, workspaceId, filter, null, 50, order);
  return page.findings.map(numberOf);
}

describe('a filter', () => {
  test.each<[string, FindingFilter, number[]]>([
    ['part of a name, in any case', { agentName: 'RITE' }, [4]],
    ['a name that others begin with', { serviceName: 'shop' }, [5, 4, 3, 2, 1]],
    ['signs that patterns have', { userId: '%_' }, [3]],
    ['a surface', { surface: 'tool_args' }, [5, 3, 1]],
    ['a session and a model', { sessionId: 'ion-1', model: 'MODEL' }, [6, 5, 4, 3, 2, 1]],
    ['names of which one is another', { agentName: 'planner', model: 'other' }, []],
    ['rules', { ruleIds: ['ATR-2026-00002', 'ATR-2026-00009'] }, [2]],
    ['rules and a name', { ruleIds: ['ATR-2026-00001'], agentName: 'rite' }, [4]],
    ['rules of which none is found', { ruleIds: [] }, []],
    ['words of the title and the id', { search: 'title 00002' }, [2]],
    ['text of an excerpt', { search: 'secret 50%' }, [4]],
    ['words that no text has together', { search: 'title secret' }, []],
    ['repetitions: rule, agent (or else service) and text', { sameAs: hex16(1) }, [6, 3, 1]],
    ['repetitions by service without an agent', { sameAs: hex16(5) }, [5]],
    ['repetitions of what has other text', { sameAs: hex16(4) }, [4]],
    ['repetitions of nothing', { sameAs: hex16(99) }, []],
  ])('by %s', async (_what, filter, expected) => {
    expect(await ids(filter)).toEqual(expected);
    expect(await countFindings(scratch.database, mine, filter)).toEqual({
      count: expected.length,
      isExact: true,
      within: null,
    });
  });

  test('does not search excerpts that are redacted', async () => {
    expect(await ids({ search: 'secret' }, redacted)).toEqual([]);
    expect(await ids({ search: 'title' }, redacted)).toEqual([7]);
  });

  test('reads a bounded number of findings, says so, and continues after them', async () => {
    const list = (cursor: PageCursor | null) =>
      listFindings(scratch.database, many, { agentName: 'rare' }, cursor, 10);
    const first = await list(null);
    expect([first.findings.length, first.endedEarly]).toEqual([0, true]);
    const second = await list(first.next);
    expect([second.findings.length, second.endedEarly]).toEqual([10, false]);
    expect(await countFindings(scratch.database, many, { agentName: 'rare' })).toEqual({
      count: 0,
      isExact: false,
      within: { count: FINDINGS_READ_MAX, by: 'newest' },
    });
  });

  test.each([
    ['newest', FINDINGS_READ_MAX + 1],
    ['oldest', FINDINGS_READ_MAX],
  ] as const)(
    'continues behind what a page read, whatever is deleted or added meanwhile: %s',
    async (order, last) => {
      const own = (await createWorkspace(scratch.database, order, order)).id;
      await insertNumbered(own, 1, 2 * FINDINGS_READ_MAX);
      const database = changedAfterReading(async () => {
        // As retention does.
        await scratch.database.query(
          'DELETE FROM findings WHERE workspace_id = $1 AND id <= $2::uuid',
          [own, hex16(10)],
        );
        await insertNumbered(own, 2 * FINDINGS_READ_MAX + 1, 2 * FINDINGS_READ_MAX + 10);
      });
      const page = await listFindings(database, own, { agentName: 'nobody' }, null, 50, order);
      expect(page).toMatchObject({ findings: [], endedEarly: true });
      expect(page.next?.id).toBe(hex16(last));
      const newest = await listFindings(scratch.database, own, {}, null, 1);
      expect(newest.findings.map(numberOf)).toEqual([2 * FINDINGS_READ_MAX + 10]);
    },
  );

  test('counts what nobody has decided among the newest findings, also of a severity', async () => {
    const bound = { count: FINDINGS_READ_MAX, isExact: false };
    const undecided = { states: ['new'], isExcepted: false } as const;
    for (const filter of [undecided, { ...undecided, severity: 'high' } as const]) {
      expect(await countFindings(scratch.database, many, filter)).toMatchObject(bound);
      const { findings, endedEarly } = await listFindings(scratch.database, many, filter, null, 10);
      expect([findings.length, endedEarly]).toEqual([10, false]);
      const { findings: oldest } = await listFindings(
        scratch.database,
        many,
        filter,
        null,
        10,
        'oldest',
      );
      expect(oldest[0]?.createdAt.getTime()).toBeLessThan(findings[0]?.createdAt.getTime() ?? 0);
    }
  });

  test('has a total that is exact up to a bound', async () => {
    expect(await countFindings(scratch.database, many, {})).toEqual({
      count: FINDINGS_COUNTED_MAX,
      isExact: false,
      within: null,
    });
  });
});

test('of states has the findings that were decided so', async () => {
  await scratch.database.query(
    `INSERT INTO finding_states (workspace_id, finding_id, state)
     VALUES ($1, $2, 'closed'), ($1, $3, 'acknowledged')`,
    [mine, hex16(2), hex16(4)],
  );
  try {
    const states = async (...of: FindingState[]) => await ids({ states: of });
    expect(await states('closed')).toEqual([2]);
    expect(await states('closed', 'acknowledged')).toEqual([4, 2]);
    expect(await states('new')).toEqual([6, 5, 3, 1]);
    expect(await ids({ states: ['new'], severity: 'high' })).toEqual([3]);
    expect(await ids({ states: ['closed'], severity: 'high' })).toEqual([]);
    expect(await ids({ states: ['closed'], agentName: 'plan' })).toEqual([2]);
    const counted = await countFindings(scratch.database, mine, { states: ['closed'] });
    expect(counted).toEqual({ count: 1, isExact: true, within: null });
  } finally {
    await scratch.database.query('TRUNCATE finding_states CASCADE');
  }
});

describe('an order', () => {
  test.each<[FindingOrder, FindingFilter, number[]]>([
    ['oldest', {}, [1, 2, 3, 4, 5, 6]],
    ['oldest', { severity: 'critical' }, [1, 5, 6]],
    ['severity', {}, [6, 5, 1, 4, 3, 2]],
    ['severity', { serviceName: 'shop' }, [5, 1, 4, 3, 2]],
    ['count', {}, [6, 5, 4, 3, 2, 1]],
  ])('%s, page by page', async (order, filter, expected) => {
    expect(await ids(filter, mine, order)).toEqual(expected);
    const seen: number[] = [];
    let cursor: PageCursor | null = null;
    do {
      const page: Awaited<ReturnType<typeof listFindings>> = await listFindings(
        scratch.database,
        mine,
        filter,
        cursor,
        2,
        order,
      );
      seen.push(...page.findings.map(numberOf));
      cursor = page.next;
    } while (cursor !== null);
    expect(seen).toEqual(expected);
  });
});

describe('the neighbours of a finding', () => {
  const filters: FindingFilter[] = [
    {},
    { severity: 'critical' },
    { agentName: 'planner' },
    { states: ['new'] },
    { runId: hex16(1001) },
    { sameAs: hex16(5) },
  ];
  test.each(
    filters.flatMap((filter) =>
      (['newest', 'oldest', 'severity'] as const).map((order) => ({ filter, order })),
    ),
  )('are those of the list: $filter, $order', async ({ filter, order }) => {
    const listed = (await listFindings(scratch.database, mine, filter, null, 50, order)).findings;
    expect(listed.length).toBeGreaterThan(0);
    for (const [index, { id }] of listed.entries()) {
      expect(await findNeighbours(scratch.database, mine, filter, order, id)).toEqual({
        previous: listed[index - 1]?.id ?? null,
        next: listed[index + 1]?.id ?? null,
      });
    }
  });

  test('are those beside its place when it is in the list no more; of another workspace it has none', async () => {
    const of = (filter: FindingFilter, order: FindingOrder, workspaceId = mine) =>
      findNeighbours(scratch.database, workspaceId, filter, order, hex16(4));
    const critical = { severity: 'critical' } as const;
    expect(await of(critical, 'newest')).toEqual({ previous: hex16(5), next: hex16(1) });
    expect(await of({ agentName: 'planner' }, 'severity')).toEqual({
      previous: hex16(1),
      next: hex16(3),
    });
    expect(await of({}, 'newest', redacted)).toEqual({ previous: null, next: null });
  });
});

describe('groups', () => {
  const at = (minutes: number) => new Date(Date.UTC(2026, 10, 20, 10, minutes));

  test('of runs have their most severe finding, and count what they hold', async () => {
    const { groups, next } = await listFindingGroups(
      scratch.database,
      mine,
      {},
      'run',
      'oldest',
      0,
      2,
    );
    expect(next).toBe(2);
    expect(groups).toMatchObject([
      {
        top: { id: hex16(1) },
        findings: 2,
        rules: 2,
        runs: 1,
        firstSeenAt: at(1),
        lastSeenAt: at(2),
        severities: { critical: 1, low: 1 },
      },
      { top: { id: hex16(3) }, findings: 1, severities: { high: 1 } },
    ]);
  });

  test('of repetitions have the newest, and when the first and the last were found', async () => {
    const { groups } = await listFindingGroups(scratch.database, mine, {}, 'match', 'count', 0, 50);
    expect(groups.map(({ top, findings }) => [numberOf(top), findings])).toEqual([
      [6, 3],
      [5, 1],
      [4, 1],
      [2, 1],
    ]);
    expect(groups[0]).toMatchObject({ runs: 3, firstSeenAt: at(1), lastSeenAt: at(6) });
  });

  test('count their findings of each of the last days', async () => {
    const recent = (await createWorkspace(scratch.database, 'recent', 'Recent')).id;
    await scratch.database.query(
      `INSERT INTO findings (workspace_id, created_at, run_id, rule_id, rule_version, rule_status,
         severity, category, corpus_version, description, condition_index, condition_description,
         field, surface, step_name, excerpt, recommended_actions,
         ${PLACED.columns}, match_digest)
       SELECT $1, (now() AT TIME ZONE 'UTC')::date::timestamp AT TIME ZONE 'UTC' - age * interval '1 day',
              gen_random_uuid(), 'R', '1', 'stable', 'high', 'prompt-injection', '4', 'd', 0, '', 'content',
              'tool_args', 's', 'e', '[]', ${PLACED.values}, 'same'::bytea
         FROM unnest('{0,0,1,13,14,40}'::int[]) AS age`,
      [recent],
    );
    const { groups } = await listFindingGroups(
      ...([scratch.database, recent, {}, 'match', 'count', 0, 5] as const),
    );
    expect(groups).toMatchObject([
      { findings: 6, days: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2] },
    ]);
  });

  test('are of the filter, and end', async () => {
    const filter = { agentName: 'planner' };
    const page = await listFindingGroups(scratch.database, mine, filter, 'run', 'severity', 1, 9);
    expect(page.groups.map(({ top }) => numberOf(top))).toEqual([3]);
    expect(page.next).toBe(null);
  });
});

describe('a list that is not in the order of time', () => {
  const all = { agentName: 'rare' };

  /** Follows it to its end. */
  async function followed(read: (filter: FindingFilter) => Promise<[string[], Date | null]>) {
    const seen: string[] = [];
    let filter: FindingFilter = all;
    for (let lists = 1; ; lists += 1) {
      const [found, searchedTo] = await read(filter);
      seen.push(...found);
      if (searchedTo === null) return { lists, seen };
      filter = { ...all, until: searchedTo };
    }
  }
  const findingsOf = async () => {
    const { rows } = await scratch.database.query<{ id: string }>(
      "SELECT id FROM findings WHERE workspace_id = $1 AND agent_name ILIKE '%rare%' ORDER BY id",
      [many],
    );
    return rows.map(({ id }) => id);
  };

  test('by severity continues with older findings', async () => {
    const { lists, seen } = await followed(async (filter) => {
      const page = await listFindings(scratch.database, many, filter, null, 5000, 'severity');
      return [page.findings.map(({ id }) => id), page.searchedTo];
    });
    expect(lists).toBeGreaterThan(1);
    expect([...new Set(seen)].sort()).toEqual(await findingsOf());
  });

  test('of groups continues with older findings', async () => {
    const { lists, seen } = await followed(async (filter) => {
      const page = await listFindingGroups(
        ...([scratch.database, many, filter, 'match', 'count', 0, 5000] as const),
      );
      return [page.groups.map(({ top }) => top.id), page.searchedTo];
    });
    expect(lists).toBeGreaterThan(1);
    expect(seen.length).toBeGreaterThan(0);
  });

  test('has searched all of few findings', async () => {
    const page = await listFindings(scratch.database, mine, {}, null, 50, 'severity');
    expect(page.searchedTo).toBe(null);
    const groups = await listFindingGroups(scratch.database, mine, {}, 'run', 'newest', 0, 50);
    expect(groups.searchedTo).toBe(null);
  });
});

test('names are suggested, the most frequent first', async () => {
  expect(await suggestNames(scratch.database, mine)).toEqual({
    agents: ['planner', 'Writer'],
    services: ['shop', 'planner'],
    users: ['ada', '50%_off'],
    sessions: ['session-1'],
    models: ['model-1'],
    assignees: [],
  });
});
