/** Reading findings: filters, pages that neither skip nor repeat, redaction, and whose they are. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findFinding, listFindings } from '../../src/db/findings-read.ts';
import { createWorkspace } from '../../src/db/workspaces.ts';
import type { FindingCursor, FindingFilter } from '../../src/model.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/migrated-database.ts';
import { hex8, hex16 } from '../support/rows.ts';

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
       condition_description, field, surface, step_span_id, step_name, excerpt, recommended_actions)
     VALUES ($1, $2, $3, $4, $5, '1.0', 'stable', $6, $7, 'sub', '4.0.0', 'described', 2, 'asks',
       'content', 'tool_result', decode($8, 'hex'), 'execute_tool', 'the excerpt', '["alert"]')`,
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
    let cursor: FindingCursor | null = null;
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
