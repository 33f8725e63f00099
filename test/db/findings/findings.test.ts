/**
 * Reading findings: filters, pages that neither skip nor repeat, redaction, and whose they are; and
 * for the export also in the order in which they can be relied on, and never an excerpt.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Connection, createDatabase } from '../../../src/db/database.ts';
import { listFindings } from '../../../src/db/findings/finding-list.ts';
import {
  EXPORT_READ_MAX,
  findFinding,
  findPlace,
  listFindingFacts,
  settledBefore,
} from '../../../src/db/findings/findings.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import type { FindingFilter } from '../../../src/model/findings.ts';
import type { PageCursor } from '../../../src/model/runs.ts';
import { casesOf } from '../../support/cases.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { DIGESTED, hex8, hex16 } from '../../support/rows.ts';
import { waitFor } from '../../support/wait-for.ts';

let scratch: MigratedDatabase;
let mine: number;
let theirs: number;
let redacted: number;

/** One stored finding; `id` doubles as what tells it apart. */
async function insertFinding(
  workspaceId: number,
  id: number,
  createdAt: string,
  fields: { ruleId?: string; severity?: string; category?: string; runId?: string } = {},
): Promise<void> {
  await scratch.database.query(
    `INSERT INTO findings (workspace_id, id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, subcategory, corpus_version, description, condition_index,
       condition_description, field, surface, step_span_id, step_name, excerpt, recommended_actions,
       ${DIGESTED.columns})
     VALUES ($1, $2, $3, $4, $5, '1.0', 'stable', $6, $7, 'sub', '4.0.0', 'described', 2, 'asks',
       'content', 'tool_result', decode($8, 'hex'), 'execute_tool', 'the excerpt', '["alert"]', ${DIGESTED.values})`,
    [
      workspaceId,
      hex16(id),
      createdAt,
      fields.runId ?? hex16(1000 + id),
      fields.ruleId ?? 'ATR-2026-00001',
      fields.severity ?? 'high',
      fields.category ?? 'prompt-injection',
      hex8(5),
    ],
  );
}

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  const { database } = scratch;
  mine = (await createWorkspace(database, 'mine', 'Mine')).id;
  theirs = (await createWorkspace(database, 'theirs', 'Theirs')).id;
  redacted = (await createWorkspace(database, 'redacted', 'Redacted')).id;
  await database.query('UPDATE workspaces SET redact_excerpts = true WHERE id = $1', [redacted]);
  // Times that differ by a microsecond, and many that do not differ at all.
  await insertFinding(mine, 1, '2026-11-20T10:00:00.000001Z', { severity: 'critical' });
  await insertFinding(mine, 2, '2026-11-20T10:00:00.000002Z', { category: 'tool-poisoning' });
  await insertFinding(mine, 3, '2026-11-20T11:00:00Z', { ruleId: 'ATR-2026-00007' });
  await insertFinding(mine, 4, '2026-11-20T12:00:00Z', { runId: hex16(77) });
  for (let id = 10; id < 35; id += 1) await insertFinding(mine, id, '2026-11-20T13:00:00.123456Z');
  await insertFinding(theirs, 1, '2026-11-20T10:00:00Z');
  await insertFinding(redacted, 1, '2026-11-20T10:00:00Z');
});
afterAll(() => scratch.close());

async function ids(filter: FindingFilter = {}, workspace = mine): Promise<number[]> {
  const { findings } = await listFindings(scratch.database, workspace, filter, null, 100);
  return findings.map(({ id }) => Number.parseInt(id, 16));
}

const TWINS = Array.from({ length: 25 }, (_, index) => 34 - index);

test('newest first, equal times by id, downwards', async () => {
  expect(await ids()).toEqual([...TWINS, 4, 3, 2, 1]);
});

test('a finding, whole', async () => {
  const finding = await findFinding(scratch.database, mine, hex16(3));
  expect(finding).toMatchObject({
    id: hex16(3),
    createdAt: new Date('2026-11-20T11:00:00Z'),
    runId: hex16(1003),
    ruleId: 'ATR-2026-00007',
    ruleVersion: '1.0',
    ruleStatus: 'stable',
    severity: 'high',
    category: 'prompt-injection',
    subcategory: 'sub',
    corpusVersion: '4.0.0',
    corpusIdentity: expect.stringMatching(/^[0-9a-f]+$/),
    description: 'described',
    conditionIndex: 2,
    conditionDescription: 'asks',
    field: 'content',
    surface: 'tool_result',
    stepSpanId: hex8(5),
    stepName: 'execute_tool',
    excerpt: 'the excerpt',
    recommendedActions: ['alert'],
  });
});

describe('filters', () => {
  test.each<[string, FindingFilter, number[]]>([
    ['severity', { severity: 'critical' }, [1]],
    ['category', { category: 'tool-poisoning' }, [2]],
    ['rule', { ruleId: 'ATR-2026-00007' }, [3]],
    ['run', { runId: hex16(77) }, [4]],
    ['since, which is inclusive', { since: new Date('2026-11-20T12:00:00Z') }, [...TWINS, 4]],
    ['until, which is exclusive', { until: new Date('2026-11-20T12:00:00Z') }, [3, 2, 1]],
    [
      'both ends',
      { since: new Date('2026-11-20T11:00:00Z'), until: new Date('2026-11-20T13:00:00Z') },
      [4, 3],
    ],
    ['several together', { severity: 'high', ruleId: 'ATR-2026-00007' }, [3]],
    ['several that exclude each other', { severity: 'critical', runId: hex16(77) }, []],
    ['an absent one', { severity: undefined, runId: hex16(77) }, [4]],
  ])('by %s', async (_what, filter, expected) => {
    expect(await ids(filter)).toEqual(expected);
  });
});

describe('pages', () => {
  async function walk(limit: number, filter: FindingFilter = {}): Promise<number[][]> {
    const pages: number[][] = [];
    let cursor: PageCursor | null = null;
    do {
      const page: Awaited<ReturnType<typeof listFindings>> = await listFindings(
        scratch.database,
        mine,
        filter,
        cursor,
        limit,
      );
      pages.push(page.findings.map(({ id }) => Number.parseInt(id, 16)));
      cursor = page.next;
    } while (cursor !== null);
    return pages;
  }

  test.each([1, 2, 3, 7, 28, 29, 30])(
    'of %d walk all, without gap or repetition',
    async (limit) => {
      const pages = await walk(limit);
      expect(pages.flat()).toEqual([...TWINS, 4, 3, 2, 1]);
      expect(pages).toHaveLength(Math.ceil(29 / limit));
    },
  );

  test('keep to their filter', async () => {
    expect(await walk(2, { until: new Date('2026-11-20T12:30:00Z') })).toEqual([
      [4, 3],
      [2, 1],
    ]);
  });

  test('are not disturbed by what is found meanwhile', async () => {
    const first = await listFindings(scratch.database, mine, {}, null, 5);
    await insertFinding(mine, 99, '2026-11-20T14:00:00Z');
    const second = await listFindings(scratch.database, mine, {}, first.next, 5);
    expect(second.findings.map(({ id }) => Number.parseInt(id, 16))).toEqual(TWINS.slice(5, 10));
    await scratch.database.query('DELETE FROM findings WHERE id = $1', [hex16(99)]);
  });

  test('of nothing are one, empty', async () => {
    expect(await walk(10, { severity: 'low' })).toEqual([[]]);
  });
});

describe('whose they are', () => {
  test('another workspace’s findings are neither listed nor found', async () => {
    expect(await ids({}, theirs)).toEqual([1]);
    expect(await findFinding(scratch.database, theirs, hex16(3))).toBeNull();
    expect(await ids({}, 12_345)).toEqual([]);
  });

  test('an unknown id is null', async () => {
    expect(await findFinding(scratch.database, mine, hex16(404))).toBeNull();
  });

  test('a workspace that redacts shows no excerpt, in the list and alone', async () => {
    const { findings } = await listFindings(scratch.database, redacted, {}, null, 10);
    expect(findings.map(({ excerpt }) => excerpt)).toEqual([null]);
    expect((await findFinding(scratch.database, redacted, hex16(1)))?.excerpt).toBeNull();
  });
});

/** A moment past every finding of these tests, in microseconds. */
const LATER = String(Date.UTC(2026, 10, 21) * 1000);

describe('the export', () => {
  async function walk(
    limit: number,
    filter: FindingFilter = {},
    before = LATER,
    start: PageCursor | null = null,
  ): Promise<number[][]> {
    const pages: number[][] = [];
    let after = start;
    do {
      const page = await listFindingFacts(scratch.database, mine, filter, { after, before }, limit);
      pages.push(page.findings.map(({ id }) => Number.parseInt(id, 16)));
      after = page.next;
    } while (after !== null);
    return pages;
  }

  const ALL = [1, 2, 3, 4, ...TWINS.toReversed()];

  test.each([1, 2, 3, 7, 28, 29, 30])(
    'is oldest first, in pages of %d without gap or repetition',
    async (limit) => {
      const pages = await walk(limit);
      expect(pages.flat()).toEqual(ALL);
      expect(pages).toHaveLength(Math.ceil(29 / limit));
    },
  );

  test.each<[string, FindingFilter, number[]]>([
    ['severity', { severity: 'critical' }, [1]],
    ['category', { category: 'tool-poisoning' }, [2]],
    ['rule', { ruleId: 'ATR-2026-00007' }, [3]],
    ['run', { runId: hex16(77) }, [4]],
    ['since, inclusive', { since: new Date('2026-11-20T11:00:00Z') }, ALL.slice(2)],
    ['until, exclusive', { until: new Date('2026-11-20T12:00:00Z') }, [1, 2, 3]],
  ])('keeps to its filter: %s', async (_what, filter, expected) => {
    expect((await walk(3, filter)).flat()).toEqual(expected);
  });

  test('ends before the given time, to the microsecond', async () => {
    const at = Date.UTC(2026, 10, 20, 10) * 1000;
    expect(await walk(9, {}, String(at + 1))).toEqual([[]]);
    expect(await walk(9, {}, String(at + 2))).toEqual([[1]]);
    expect(await walk(9, {}, String(at + 3))).toEqual([[1, 2]]);
  });

  test('looks at so many findings for a page, and continues behind the last of them', async () => {
    const { id: many } = await createWorkspace(scratch.database, 'many', 'Many');
    const stored = 2 * EXPORT_READ_MAX + 1;
    // Three at a time have the same moment; every 4000th and the last are of an agent of their own.
    await scratch.database.query(
      `INSERT INTO findings (workspace_id, id, created_at, run_id, rule_id, rule_version, rule_status,
         severity, category, corpus_version, description, condition_index, condition_description,
         field, surface, excerpt, recommended_actions,
         ${DIGESTED.columns}, agent_name)
       SELECT $1, lpad(to_hex(n), 32, '0')::uuid,
              '2026-11-20T10:00:00Z'::timestamptz + n / 3 * interval '1 second',
              lpad(to_hex(n), 32, '0')::uuid, 'ATR-2026-00001', '1', 'stable', 'high',
              'prompt-injection', '4', 'd', 0, 'c', 'content', 'tool_args', 'e', '[]', ${DIGESTED.values},
              CASE WHEN n % 4000 = 0 OR n = $2 THEN 'rare' ELSE 'frequent' END
         FROM generate_series(1, $2::int) AS n`,
      [many, stored],
    );
    const range = { before: String(Date.UTC(2026, 10, 21) * 1000) };
    const pagesOf = async (filter: FindingFilter, most = 200): Promise<number[][]> => {
      const pages: number[][] = [];
      let after: PageCursor | null = null;
      do {
        const page: Awaited<ReturnType<typeof listFindingFacts>> = await listFindingFacts(
          scratch.database,
          many,
          filter,
          { ...range, after },
          most,
        );
        pages.push(page.findings.map(({ id }) => Number.parseInt(id, 16)));
        after = page.next;
      } while (after !== null);
      return pages;
    };
    expect(await pagesOf({ search: 'nowhere' })).toEqual([[], [], []]);
    expect(await pagesOf({ agentName: 'rare' })).toEqual([[4000], [8000], [stored]]);
    const since = new Date('2026-11-20T10:00:01Z');
    // Without the first two, a second page looks at all that are left: one fewer than it may.
    expect(await pagesOf({ agentName: 'rare', since })).toEqual([[4000], [8000, stored]]);
    expect((await pagesOf({ agentName: 'frequent' }, 999)).flat()).toHaveLength(stored - 3);
    await scratch.database.query('DELETE FROM findings WHERE workspace_id = $1', [many]);
  });

  test('continues after any of its findings', async () => {
    for (const [index, id] of ALL.entries()) {
      const place = await findPlace(scratch.database, mine, hex16(id));
      expect(place).toMatchObject({ id: hex16(id) });
      expect((await walk(100, {}, LATER, place)).flat()).toEqual(ALL.slice(index + 1));
    }
    expect(await findPlace(scratch.database, mine, hex16(404))).toBeNull();
    expect(await findPlace(scratch.database, theirs, hex16(3))).toBeNull();
  });

  test('has the facts of a finding and no excerpt', async () => {
    const range = { after: null, before: LATER };
    const { findings } = await listFindingFacts(scratch.database, mine, {}, range, 3);
    const whole = await findFinding(scratch.database, mine, hex16(3));
    const { excerpt, ...facts } = whole ?? { excerpt: null };
    expect(excerpt).toBe('the excerpt');
    expect(findings[2]).toEqual({ ...facts, atMicros: expect.any(String) });
    expect(findings[2]).not.toHaveProperty('excerpt');
  });

  test('cuts names of steps, which are as long as their sender likes', async () => {
    await insertFinding(theirs, 9, '2026-11-20T10:00:01Z');
    await scratch.database.query(
      'UPDATE findings SET step_name = $1 WHERE workspace_id = $2 AND id = $3',
      ['ä'.repeat(100_000), theirs, hex16(9)],
    );
    const range = { after: null, before: LATER };
    const { findings } = await listFindingFacts(scratch.database, theirs, {}, range, 9);
    expect(findings.map(({ stepName }) => stepName)).toEqual(['execute_tool', 'ä'.repeat(256)]);
    await scratch.database.query('DELETE FROM findings WHERE id = $1', [hex16(9)]);
  });

  test('does not even read excerpts', async () => {
    const { rows } = await scratch.database.query<{ name: string }>(
      `SELECT column_name AS name FROM information_schema.columns
        WHERE table_name = 'findings' AND column_name <> 'excerpt'`,
    );
    const role = `no_excerpts_${process.pid}`;
    const url = new URL(scratch.url);
    url.username = role;
    url.password = 'test';
    await scratch.database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'test'`);
    const limited = createDatabase(url.href, 1, { connectionLost: () => {} });
    try {
      const columns = rows.map(({ name }) => name).join(', ');
      await scratch.database.query(`GRANT SELECT (${columns}) ON findings TO ${role}`);
      await scratch.database.query(
        `GRANT SELECT ON workspaces, users, finding_states, finding_exceptions TO ${role}`,
      );
      const range = { after: null, before: LATER };
      const page = await listFindingFacts(limited, mine, {}, range, 100);
      expect(page.findings).toHaveLength(29);
      // The role really may not: reading excerpts is refused.
      await expect(listFindings(limited, mine, {}, null, 1)).rejects.toThrow(/permission denied/);
    } finally {
      await limited.end();
      await scratch.database.query(`DROP OWNED BY ${role}`);
      await scratch.database.query(`DROP ROLE ${role}`);
    }
  });
});

describe('what is settled', () => {
  const microsOf = async (connection: Pick<Connection, 'query'>): Promise<bigint> => {
    const { rows } = await connection.query<{ micros: string }>(
      'SELECT (extract(epoch FROM now()) * 1000000)::bigint AS micros',
    );
    return BigInt(rows[0]?.micros ?? 0);
  };
  /** Instead of the five seconds, for tests that wait until they have passed. */
  const UNSEEN_SECONDS = 0.25;
  const settled = async (unseenSeconds?: number): Promise<bigint> =>
    BigInt(await settledBefore(scratch.database, unseenSeconds));

  test('is a few seconds old', async () => {
    const before = await microsOf(scratch.database);
    const micros = await settled();
    const after = await microsOf(scratch.database);
    expect(micros >= before - 5_000_000n && micros <= after - 5_000_000n).toBe(true);
  });

  test('is nothing that a transaction under way may still store', async () => {
    const writer = await scratch.database.connect();
    try {
      await writer.query('BEGIN');
      const begun = await microsOf(writer);
      await waitFor(async () => (await microsOf(scratch.database)) > begun + 500_000n, {
        withinMs: 60_000,
        what: 'the transaction is older than what is settled without it',
      });
      expect(await settled(UNSEEN_SECONDS)).toBe(begun);
      await writer.query('COMMIT');
      expect((await settled(UNSEEN_SECONDS)) > begun).toBe(true);
    } finally {
      writer.release();
    }
  });

  test('is not held up by somebody else', async () => {
    const url = new URL(scratch.url);
    url.searchParams.set('application_name', 'backup');
    const other = createDatabase(url.href, 1, { connectionLost: () => {} });
    const backup = await other.connect();
    try {
      await backup.query('BEGIN');
      const begun = await microsOf(backup);
      await waitFor(async () => (await settled(UNSEEN_SECONDS)) > begun, {
        withinMs: 60_000,
        what: 'what is settled moves past a foreign transaction',
      });
      await backup.query('COMMIT');
    } finally {
      backup.release();
      await other.end();
    }
  });

  test('is polled without gap or repetition while many transactions store', async () => {
    const workspace = (await createWorkspace(scratch.database, 'busy', 'Busy')).id;
    const writers = createDatabase(scratch.url, 8, { connectionLost: () => {} });
    const perWriter = casesOf(12, 4);
    const store = async (first: number): Promise<void> => {
      for (let id = first; id < first + perWriter; id += 1) {
        // Dated when it begins, seen when it ends: a transaction that began sooner may end later.
        const connection = await writers.connect();
        try {
          await connection.query('BEGIN');
          await connection.query(
            `INSERT INTO findings (workspace_id, id, run_id, rule_id, rule_version, rule_status,
               severity, category, corpus_version, description, condition_index,
               condition_description, field, surface, recommended_actions, ${DIGESTED.columns})
             VALUES ($1, $2, $2, 'R', '1', 'stable', 'high', 'c', '4', 'd', 0, 'c', 'f', 's', '[]',
               ${DIGESTED.values})`,
            [workspace, hex16(id)],
          );
          await connection.query('SELECT pg_sleep(random() * 1.5)');
          await connection.query('COMMIT');
        } finally {
          connection.release();
        }
      }
    };
    try {
      const writing = Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((writer) => store(writer * 100)));
      const polled: string[] = [];
      const poll = async (): Promise<boolean> => {
        const lastId = polled.at(-1);
        let after =
          lastId === undefined ? null : await findPlace(scratch.database, workspace, lastId);
        const before = await settledBefore(scratch.database);
        do {
          const range = { after, before };
          const page = await listFindingFacts(scratch.database, workspace, {}, range, 5);
          polled.push(...page.findings.map(({ id }) => id));
          after = page.next;
        } while (after !== null);
        return polled.length >= 8 * perWriter;
      };
      await waitFor(poll, { withinMs: 90_000, what: () => `all are polled; ${polled.length} are` });
      await writing;
      const { rows } = await scratch.database.query<{ id: string }>(
        'SELECT id FROM findings WHERE workspace_id = $1 ORDER BY created_at, id',
        [workspace],
      );
      expect(polled).toEqual(rows.map(({ id }) => id));
    } finally {
      await writers.end();
    }
  });
});
