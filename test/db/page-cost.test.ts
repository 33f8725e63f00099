/**
 * What a page of the dashboard costs the database: every question is answered through an index, and
 * looks at a bounded number of rows however many there are. Plans and rows are asserted, never time.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { FINDINGS_READ_MAX, listFindings } from '../../src/db/findings/finding-list.ts';
import { EXPORT_READ_MAX, listFindingFacts } from '../../src/db/findings/findings.ts';
import { listIncidents } from '../../src/db/findings/incidents.ts';
import {
  DAY,
  DAY_NAMES,
  HOUR,
  readOverview,
  WAITING,
  WAITING_MAX,
} from '../../src/db/findings/overview.ts';
import { listAudit } from '../../src/db/people/audit.ts';
import { createWorkspace } from '../../src/db/people/workspaces.ts';
import { readEntity } from '../../src/db/runs/entities.ts';
import { findRun, listRuns, RUNS_READ_MAX } from '../../src/db/runs/runs.ts';
import type { FindingFilter } from '../../src/model/findings.ts';
import {
  HISTORY_FINDINGS_MAX,
  HISTORY_PAIRS_MAX,
  INCIDENT_RUNS_MAX,
} from '../../src/model/incidents/incidents.ts';
import type { RunFilter } from '../../src/model/runs.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { DIGESTED, hex16 } from '../support/rows.ts';

/** Findings and runs of the workspace; as many again belong to another. */
const STORED = 25_000;
const RULES = 60;
const PAGE = 50;
const EPOCH = "'2026-11-21T12:00:00Z'::timestamptz";

/** Rows that PostgreSQL sorts at a time where an index has a part of the order. */
const SORTED_TOGETHER = 32;

let scratch: MigratedDatabase;
let mine: number;

async function fill(workspaceId: number): Promise<void> {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, evaluation, service_name, spans, log_records,
       first_arrival_at, last_arrival_at, evaluated_at, texts)
     SELECT $1, md5('run' || n)::uuid, 'completed',
            CASE WHEN n % 2 = 0 THEN 'pending' ELSE 'evaluated' END, 'service', 5, 0,
            ${EPOCH} - n * interval '10 seconds', ${EPOCH} - n * interval '10 seconds',
            ${EPOCH} - n * interval '10 seconds' + interval '1 minute', 3
       FROM generate_series(1, ${STORED}) n`,
    [workspaceId],
  );
  await scratch.database.query(
    `INSERT INTO findings (workspace_id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, corpus_version, description, condition_index, condition_description,
       field, surface, step_name, excerpt, recommended_actions,
       ${DIGESTED.columns})
     SELECT $1, ${EPOCH} - n * interval '10 seconds', md5('run' || n)::uuid,
            'ATR-2026-' || lpad((n % ${RULES})::text, 5, '0'), '1', 'stable',
            CASE WHEN n = ${STORED} THEN 'low' WHEN n % ${RULES} < 30 THEN 'critical' ELSE 'high' END,
            CASE WHEN n % ${RULES} < 10 THEN 'tool-poisoning' ELSE 'prompt-injection' END,
            '4', repeat('description ', 20), 0, '', 'content', 'tool_args', 'step',
            repeat('excerpt ', 30), '[]', ${DIGESTED.values}
       FROM generate_series(1, ${STORED}) n`,
    [workspaceId],
  );
}

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  mine = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
  const theirs = (await createWorkspace(scratch.database, 'theirs', 'Theirs')).id;
  await fill(mine);
  await fill(theirs);
  await scratch.vacuum('runs, findings');
});
afterAll(() => scratch.close());

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Heap Fetches'?: number;
  readonly Plans?: readonly Node[];
}

interface Scan {
  readonly type: string;
  readonly table: string;
  readonly index: string;
  /** rows looked at, whether they fitted or not */
  readonly rows: number;
  readonly heapFetches: number;
}

function scansOf(node: Node): Scan[] {
  const table = node['Relation Name'] ?? '';
  const removed =
    (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  const own: Scan = {
    type: node['Node Type'],
    table,
    index: node['Index Name'] ?? '',
    rows: (node['Actual Rows'] + removed) * node['Actual Loops'],
    heapFetches: node['Heap Fetches'] ?? 0,
  };
  const below = (node.Plans ?? []).flatMap(scansOf);
  return ['runs', 'findings', 'audit_ledger'].includes(table) ? [own, ...below] : below;
}

async function explained(text: string, values: readonly unknown[]): Promise<Scan[]> {
  const [row] = await scratch.rows(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
  const plans = (row?.['QUERY PLAN'] ?? []) as readonly { readonly Plan: Node }[];
  return plans.flatMap(({ Plan }) => scansOf(Plan));
}

/** How what `read` asks is answered. */
async function scansFor(read: (database: Database) => Promise<unknown>): Promise<Scan[]> {
  const queries: { text: string; values: readonly unknown[] }[] = [];
  const listening = new Proxy(scratch.database, {
    get: (target, name) => {
      if (name === 'query') {
        return (text: string, values: readonly unknown[]) => {
          queries.push({ text, values });
          return target.query(text, [...values]);
        };
      }
      return Reflect.get(target, name, target);
    },
  });
  await read(listening);
  const scans = await Promise.all(queries.map(({ text, values }) => explained(text, values)));
  return scans.flat();
}

const rowsOf = (scans: readonly Scan[], table: string): number =>
  scans.filter((scan) => scan.table === table).reduce((sum, { rows }) => sum + rows, 0);
const fullScans = (scans: readonly Scan[]): Scan[] =>
  scans.filter(({ type }) => type === 'Seq Scan' || type === 'Bitmap Heap Scan');

describe('findings', () => {
  /** The kinds there are, and a page of each: the merge of all looks at no more. */
  const BOUND = 2 * (RULES + 2) * (PAGE + 2);
  const OLD = { atMicros: String(Date.UTC(2026, 10, 19) * 1000), id: hex16(1) };

  test.each<[string, FindingFilter]>([
    ['all', {}],
    ['a common severity', { severity: 'critical' }],
    ['a severity of one finding', { severity: 'low' }],
    ['a severity of none', { severity: 'informational' }],
    ['a category', { category: 'tool-poisoning' }],
    ['a severity and a category that never meet', { severity: 'high', category: 'tool-poisoning' }],
    ['a rule', { ruleId: 'ATR-2026-00007' }],
    ['a rule without findings', { ruleId: 'ATR-2026-99999' }],
    ['a run', { runId: hex16(1) }],
    ['before a day', { until: new Date('2026-11-19') }],
    ['a severity before a day', { severity: 'high', until: new Date('2026-11-19') }],
  ])('%s: a page and one far back look at a bounded number', async (_what, filter) => {
    for (const cursor of [null, OLD]) {
      const scans = await scansFor((database) => {
        return listFindings(database, mine, filter, cursor, PAGE);
      });
      expect(fullScans(scans)).toEqual([]);
      expect(rowsOf(scans, 'findings')).toBeLessThanOrEqual(BOUND);
    }
  });

  test('without a filter look at the page', async () => {
    const scans = await scansFor((database) => listFindings(database, mine, {}, null, PAGE));
    expect(rowsOf(scans, 'findings')).toBe(PAGE + 1);
    expect(scans.map(({ index }) => index)).toEqual(['findings_by_time']);
  });

  test.each<[string, FindingFilter]>([
    ['a text that none has', { search: 'nowhere' }],
    ['a text and a rule', { search: 'nowhere', ruleId: 'ATR-2026-00007' }],
    ['a name that none has', { agentName: 'nobody' }],
    ['a severity of the oldest one', { severity: 'low' }],
    ['a rule without findings', { ruleId: 'ATR-2026-99999' }],
    ['a state that none has', { states: ['closed'] }],
    ['an assignee', { assignee: 'nobody@example.com' }],
    ['repetitions of one that is not there', { sameAs: hex16(404) }],
  ])('%s: a page of the export looks at a bounded number', async (_what, filter) => {
    for (const after of [null, OLD]) {
      const scans = await scansFor((database) => {
        const range = { after, before: String(Date.UTC(2026, 10, 22) * 1000) };
        return listFindingFacts(database, mine, filter, range, PAGE);
      });
      expect(scans.filter(({ type }) => type === 'Seq Scan')).toEqual([]);
      // Once for the end of what it looks at, once for the page.
      expect(rowsOf(scans, 'findings')).toBeLessThanOrEqual(2 * EXPORT_READ_MAX + 2);
    }
  });

  test('of a run, or all, are exported by looking at the page', async () => {
    const [row] = await scratch.rows('SELECT run_id AS id FROM findings LIMIT 1');
    for (const filter of [{}, { runId: String(row?.id) }]) {
      const scans = await scansFor((database) => {
        const range = { after: null, before: String(Date.UTC(2026, 10, 22) * 1000) };
        return listFindingFacts(database, mine, filter, range, PAGE);
      });
      expect(rowsOf(scans, 'findings')).toBeLessThanOrEqual(PAGE + 1);
    }
  });

  test('by kind are the same as sought one by one', async () => {
    const all = await scratch.rows(
      `SELECT id FROM findings WHERE workspace_id = $1 AND severity = 'high'
          AND category = 'prompt-injection' AND created_at < '2026-11-21'
        ORDER BY created_at DESC, id DESC LIMIT 120`,
      [mine],
    );
    const filter: FindingFilter = {
      severity: 'high',
      category: 'prompt-injection',
      until: new Date('2026-11-21'),
    };
    const first = await listFindings(scratch.database, mine, filter, null, 60);
    const second = await listFindings(scratch.database, mine, filter, first.next, 60);
    const ids = [...first.findings, ...second.findings].map(({ id }) => id);
    expect(ids).toEqual(all.map(({ id }) => id));
  });
});

test.each<[string, FindingFilter]>([
  ['open ones', { states: ['new'], isExcepted: false }],
  ['a severity', { severity: 'critical' }],
  ['a name that none has', { agentName: 'nobody' }],
  ['a run', { runId: hex16(1) }],
])('incidents (%s) look at a bounded number of findings', async (_what, filter) => {
  const scans = await scansFor((database) => listIncidents(database, mine, filter, 0, PAGE));
  expect(scans.filter(({ type }) => type === 'Seq Scan')).toEqual([]);
  // Twice for the candidates and for the end of what was read; the history is read once, and firsts.
  const history = HISTORY_PAIRS_MAX * (HISTORY_FINDINGS_MAX + 1);
  const most = 3 * (FINDINGS_READ_MAX + INCIDENT_RUNS_MAX) + history;
  expect(rowsOf(scans, 'findings')).toBeLessThanOrEqual(most);
});

describe('runs', () => {
  test('without a filter look at the page, and at its findings', async () => {
    const scans = await scansFor((database) => listRuns(database, mine, {}, null, PAGE));
    expect(rowsOf(scans, 'runs')).toBeLessThanOrEqual(PAGE + 1 + SORTED_TOGETHER);
    expect(rowsOf(scans, 'findings')).toBeLessThanOrEqual(PAGE + 1);
    expect(fullScans(scans)).toEqual([]);
  });

  test.each<[string, RunFilter]>([
    ['an agent that is not there', { agentName: 'nobody' }],
    ['no findings, where every run has some', { hasFindings: false }],
    ['another state', { state: 'failed' }],
  ])(
    'with a filter that fits none (%s) look at so many, and continue from there',
    async (_what, filter) => {
      const scans = await scansFor((database) => listRuns(database, mine, filter, null, PAGE));
      expect(fullScans(scans)).toEqual([]);
      // Once for the page, once for the place to continue from.
      expect(rowsOf(scans, 'runs')).toBeLessThanOrEqual(2 * (RUNS_READ_MAX + SORTED_TOGETHER));
      const places: (string | undefined)[] = [];
      let cursor = null;
      do {
        const page = await listRuns(scratch.database, mine, filter, cursor, PAGE);
        expect(page.runs).toEqual([]);
        cursor = page.next;
        places.push(cursor?.id);
      } while (cursor !== null);
      expect(places).toHaveLength(Math.ceil(STORED / RUNS_READ_MAX));
    },
  );

  test.each([
    ['a service', { kind: 'service', name: 'service' }],
    ['a tool that is not there', { kind: 'tool', name: 'none' }],
    ['a session that is not there', { kind: 'session', name: 'none' }],
    ['all entities', null],
  ] as const)('the page of %s reads so many of them', async (_what, entity) => {
    const [from, to] = [new Date(0), new Date('2100-01-01')];
    const scans = await scansFor((database) => readEntity(database, mine, entity, from, to));
    expect(fullScans(scans)).toEqual([]);
    expect(rowsOf(scans, 'runs')).toBeLessThanOrEqual(RUNS_READ_MAX + SORTED_TOGETHER);
    expect(rowsOf(scans, 'findings')).toBeLessThanOrEqual(RUNS_READ_MAX);
  });

  test('one is found by its id', async () => {
    const [row] = await scratch.rows('SELECT run_id AS id FROM runs LIMIT 1');
    const scans = await scansFor((database) => findRun(database, mine, String(row?.id)));
    expect(rowsOf(scans, 'runs')).toBe(1);
  });
});

describe('the overview', () => {
  const HOUR_MS = 3_600_000;
  const at = Date.UTC(2026, 10, 21, 10);

  test('counts an hour from the runs of that hour', async () => {
    const scans = await explained(HOUR, [mine, at, at + HOUR_MS]);
    expect(fullScans(scans).filter(({ type }) => type === 'Seq Scan')).toEqual([]);
    expect(rowsOf(scans, 'runs')).toBe(360);
  });

  test('counts a day from an index alone', async () => {
    const scans = await explained(DAY, [mine, at - 10 * HOUR_MS, at + 14 * HOUR_MS]);
    // Without exceptions, those that they cover are not looked for.
    expect(scans.filter(({ rows }) => rows > 0)).toEqual([
      {
        type: 'Index Only Scan',
        table: 'findings',
        index: 'findings_by_time',
        rows: 4320,
        heapFetches: 0,
      },
    ]);
  });

  test('counts the names of a day from the findings of that day', async () => {
    const scans = await explained(DAY_NAMES, [mine, at - 10 * HOUR_MS, at + 14 * HOUR_MS]);
    expect(fullScans(scans).filter(({ type }) => type === 'Seq Scan')).toEqual([]);
    expect(rowsOf(scans, 'findings')).toBe(4320);
  });

  test('counts what waits up to a limit, however much it is', async () => {
    const scans = await explained(WAITING, [mine]);
    const waiting = scans.filter(({ index }) => index === 'runs_finished');
    expect(waiting.map(({ rows }) => rows)).toEqual([WAITING_MAX + 1]);
    expect(rowsOf(scans, 'runs')).toBeLessThanOrEqual(WAITING_MAX + 2);
    const { runs } = await readOverview(scratch.database, mine, at);
    expect(runs.moreWait).toBe(true);
  });
});

test('a page of the ledger is found by its key', async () => {
  const scans = await scansFor((database) => listAudit(database, mine, '1000', PAGE));
  expect(rowsOf(scans, 'audit_ledger')).toBeLessThanOrEqual(PAGE + 1);
});
