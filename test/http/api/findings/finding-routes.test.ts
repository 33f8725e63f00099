/** The findings list as HTTP shows it: the record's form, cursors that come back, bad queries. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { WorkspaceReader } from '../../../../src/db/connection-turns.ts';
import type { ApiContext } from '../../../../src/http/api/authorized.ts';
import { listFindings, showFinding } from '../../../../src/http/api/findings/finding-routes.ts';
import type { Exchange } from '../../../../src/http/transport/exchange.ts';
import { InvalidInput } from '../../../../src/http/transport/input.ts';
import type { Finding, FindingFilter, FindingOrder } from '../../../../src/model/findings.ts';
import type { Credential } from '../../../../src/model/people.ts';
import { referenceIndex } from '../../../../src/model/references/rule-references.ts';
import type { PageCursor } from '../../../../src/model/runs.ts';
import { findingDraft, hex16, NO_FACTS } from '../../../support/rows.ts';

const CREDENTIAL: Credential = {
  keyId: 1,
  workspaceId: 7,
  kind: 'workspace',
  rateLimitPerMinute: 10,
  redaction: null,
};
const RECORD: Finding = {
  ...findingDraft(),
  ...NO_FACTS,
  state: 'confirmed',
  assignee: 'ann@crew.test',
  isExcepted: true,
  agentName: 'planner',
  serviceName: 'shop',
  userId: 'user-1',
  sessionId: 'session-1',
  model: 'model-1',
  toolName: 'shell',
  id: hex16(1),
  createdAt: new Date('2026-11-20T12:00:00.123Z'),
  runId: hex16(2),
  corpusVersion: '4.0.0',
  corpusIdentity: 'c0'.repeat(20),
  excerpt: null,
};

let queries: [number, FindingFilter, PageCursor | null, number, FindingOrder?][];
let groupQueries: unknown[][];
let next: PageCursor | null;
let searchedTo: Date | null;

beforeEach(() => {
  queries = [];
  groupQueries = [];
  next = null;
  searchedTo = null;
});

type Question = (typeof queries)[number];

const reads = {
  listFindings: async (...[workspaceId, filter, cursor, limit, sort = 'newest']: Question) => {
    queries.push([workspaceId, filter, cursor, limit, sort]);
    return { findings: [RECORD], next, endedEarly: false, searchedTo };
  },
  listFindingGroups: async (...question: unknown[]) => {
    groupQueries.push(question);
    const seen = { firstSeenAt: RECORD.createdAt, lastSeenAt: RECORD.createdAt };
    const counts = { findings: 3, rules: 2, runs: 1, days: [1, 2], severities: { high: 3 } };
    const group = { top: RECORD, ...counts, ...seen };
    return { groups: [group], next: 51, searchedTo };
  },
  countFindings: async () => ({ count: 10_000, isExact: false, within: null }),
};

const context = {
  baseUrl: 'https://sluice.test/',
  nowMs: () => Date.parse('2026-11-21T12:00:00Z'),
  rules: {
    references: referenceIndex([
      { id: 'ATR-2026-00001', references: { mitre_atlas: ['AML.T0051.001 - Indirect'] } },
      { id: 'ATR-2026-00002', references: { owasp_llm: ['LLM01:2025'] } },
    ]),
  },
  db: {
    read: async (
      { name }: { readonly name: keyof typeof reads },
      { workspaceId }: WorkspaceReader,
      ...given: unknown[]
    ) => await (reads[name] as (...question: unknown[]) => unknown)(workspaceId, ...given),
    find: async (_find: unknown, _workspaceId: number, id: string) =>
      id === RECORD.id ? RECORD : null,
  },
} as unknown as ApiContext;

async function list(query: string): Promise<Record<string, unknown>> {
  // The handler reads the query and nothing else of the exchange.
  const exchange = { query } as Exchange;
  const answer = await listFindings(context)(exchange, CREDENTIAL, {});
  return JSON.parse(String(answer.body));
}

async function show(findingId: string): Promise<unknown> {
  const answer = await showFinding(context)({ query: '' } as Exchange, CREDENTIAL, { findingId });
  return JSON.parse(String(answer.body));
}

const ITEM = {
  id: hex16(1),
  created_at: '2026-11-20T12:00:00.123Z',
  category: 'atr_prompt_injection',
  severity: 'high',
  description: 'Rule ATR-2026-00001 matched tool_result.',
  metadata: {
    detector: 'agent-threat-rules',
    corpus_version: '4.0.0',
    corpus_identity: 'c0'.repeat(20),
    rule_id: 'ATR-2026-00001',
    rule_version: '1.0.0',
    rule_status: 'stable',
    category: 'prompt-injection',
    subcategory: null,
    condition: 0,
    condition_description: 'asks to ignore instructions',
    field: 'tool_response',
    surface: 'tool_result',
    step: { span_id: '0000000000000001', name: 'execute_tool', number: 1 },
  },
  reference_ids: ['AML.T0051.001'],
  run_id: hex16(2),
  url: `https://sluice.test/app/findings/${hex16(1)}`,
  state: 'confirmed',
  assignee: 'ann@crew.test',
  is_excepted: true,
  agent: 'planner',
  service: 'shop',
  user_id: 'user-1',
  session_id: 'session-1',
  model: 'model-1',
  tool: 'shell',
  excerpt: null,
  excerpt_match: null,
  recommended_actions: ['alert'],
  group: null,
};

test('a page, with every member of a finding', async () => {
  const total = { count: 10_000, is_exact: false };
  expect(await list('')).toEqual({
    findings: [ITEM],
    next_cursor: null,
    searched_to: null,
    total,
  });
  expect(queries).toEqual([[7, {}, null, 50, 'newest']]);
});

test('groups have a finding for each, and a cursor of their own', async () => {
  const { findings, next_cursor: cursor } = await list('group_by=match&sort=count&limit=51');
  const time = '2026-11-20T12:00:00.123Z';
  const seen = { first_seen_at: time, last_seen_at: time };
  const counts = { findings: 3, rules: 2, runs: 1, by_day: [1, 2], severities: { high: 3 } };
  const group = { ...counts, ...seen };
  expect(findings).toEqual([{ ...ITEM, group }]);
  const second = await list(`group_by=match&sort=count&cursor=${cursor}`);
  expect(second.total).toBe(null);
  expect(groupQueries).toEqual([
    [7, {}, 'match', 'count', 0, 51],
    [7, {}, 'match', 'count', 51, 50],
  ]);
  expect(queries).toEqual([]);
});

test.each([
  ['state=open', { states: ['new', 'acknowledged', 'confirmed'], isExcepted: false }],
  ['state=excepted', { isExcepted: true }],
  ['state=false_positive', { states: ['false_positive'] }],
  ['state=all', {}],
  ['assignee=ann@crew.test', { assignee: 'ann@crew.test' }],
  ['assignee=none', { assignee: null }],
  ['assignee=', {}],
])('%s is the filter %j', async (query, filter) => {
  await list(query);
  expect(queries[0]?.[1]).toEqual(filter);
});

test('a time before now is one by the clock of the server', async () => {
  await list('since=24h&until=2026-11-21');
  const [since, until] = [new Date('2026-11-20T12:00:00Z'), new Date('2026-11-21')];
  expect(queries[0]?.[1]).toEqual({ since, until });
});

test('me is the signed-in user; a key is nobody', async () => {
  await expect(list('assignee=me')).rejects.toMatchObject({ faults: [{ path: 'assignee' }] });
  expect(queries).toEqual([]);
  const exchange = { query: 'assignee=me' } as Exchange;
  await listFindings(context)(exchange, { ...CREDENTIAL, email: 'ann@crew.test' }, {});
  expect(queries[0]?.[1]).toEqual({ assignee: 'ann@crew.test' });
});

test.each(['sort=severity', 'group_by=run'])('%s says what was not searched', async (query) => {
  expect(await list(query)).toMatchObject({ searched_to: null });
  searchedTo = new Date('2026-11-19T01:02:03.456Z');
  expect(await list(query)).toMatchObject({ searched_to: '2026-11-19T01:02:03.456Z' });
});

test('filters reach the reader in its own words', async () => {
  await list(
    'severity=low&category=atr_tool_poisoning&rule_id=ATR-2026-00001&limit=500' +
      `&run_id=${hex16(0xab).toUpperCase()}&since=2026-11-01&until=2026-11-02T00:00:00Z&sort=severity` +
      `&agent=plan&service=sho&user_id=u&session_id=s&model=m&surface=tool_args&q=two%20words` +
      `&same_as=${hex16(0xcd)}&reference=aml.t0051`,
  );
  const filter = {
    severity: 'low',
    category: 'tool-poisoning',
    ruleId: 'ATR-2026-00001',
    ruleIds: ['ATR-2026-00001'],
    runId: hex16(0xab),
    since: new Date('2026-11-01'),
    until: new Date('2026-11-02'),
    agentName: 'plan',
    serviceName: 'sho',
    userId: 'u',
    sessionId: 's',
    model: 'm',
    surface: 'tool_args',
    search: 'two words',
    sameAs: hex16(0xcd),
  };
  expect(queries).toEqual([[7, filter, null, 500, 'severity']]);
});

test.each([
  'limit=0',
  'limit=501',
  ...['agent', 'service', 'user_id', 'session_id', 'model', 'q', 'assignee'].map(
    (name) => `${name}=${'x'.repeat(259)}`,
  ),
])('%s is a bad query', async (query) => {
  await expect(list(query)).rejects.toThrow(InvalidInput);
  expect(queries).toEqual([]);
});

test.each(['agent', 'service', 'user_id', 'session_id', 'model', 'q', 'assignee'])(
  'the filter %s takes a stored name in double quotes',
  async (name) => {
    await list(`${name}=${'x'.repeat(258)}`);
    expect(queries).toHaveLength(1);
  },
);

describe('cursors', () => {
  test('come back as they were given', async () => {
    next = { atMicros: '1763640000123456', id: hex16(9) };
    const { next_cursor: cursor } = await list('');
    await list(`cursor=${cursor}`);
    expect(queries[1]?.[2]).toEqual(next);
  });

  const forged = (text: string): string => Buffer.from(text).toString('base64url');

  test.each([
    ['text', 'x'],
    ['a time of letters', forged(`abc.${hex16(1)}`)],
    ['a short id', forged('1.00')],
    ['a time that no timestamptz holds', forged(`99999999999999999.${hex16(1)}`)],
    ['a time past bigint', forged(`9999999999999999999.${hex16(1)}`)],
    ['something after it', forged(`1.${hex16(1)} `)],
  ])('that nobody gave are refused: %s', async (_what, cursor) => {
    await expect(list(`cursor=${cursor}`)).rejects.toBeInstanceOf(InvalidInput);
    expect(queries).toEqual([]);
  });
});

test('one finding, by its id in any spelling', async () => {
  expect(await show(hex16(1))).toEqual(ITEM);
  expect(await show('00000000-0000-0000-0000-000000000001')).toEqual(ITEM);
});

test.each(['', 'x', hex16(2), `${hex16(1)}0`])('"%s" is no finding', async (id) => {
  await expect(show(id)).rejects.toMatchObject({ code: 'not_found' });
});
