/** The page of an entity, and the index of all. */
import { expect, test } from 'vitest';
import type { EntityFacts } from '../../../../src/model/shown/entities.ts';
import {
  type EntityPage,
  entitiesPage,
  entityPage,
} from '../../../../src/web/app/entities/entity.ts';
import { HOSTILE, holdsAsText, LOOK, MEMBER, NOW_MS, run } from '../fixtures.ts';

const NAMES = {
  agent: [],
  service: [],
  user: [],
  session: [],
  model: [],
  tool: [],
  mcp_server: [],
};
const facts = (fields: Partial<EntityFacts> = {}): EntityFacts => ({
  runs: 3,
  errors: 1,
  notEvaluated: 0,
  p50: 2000,
  p95: 65_000,
  inputTokens: 1200,
  outputTokens: 34,
  costUsd: null,
  firstSeen: new Date(NOW_MS - 86_400_000),
  lastSeen: new Date(NOW_MS),
  days: [
    { day: '2026-11-20', runs: 3, errors: 1, inputTokens: 1200, outputTokens: 34, costUsd: null },
  ],
  names: { ...NAMES, tool: [{ name: 'bash', runs: 2 }], user: [{ name: 'tom', runs: 3 }] },
  rules: [
    {
      ruleId: 'ATR-2026-00001',
      severity: 'high',
      findings: 4,
      dismissed: 1,
      lastAt: new Date(NOW_MS),
    },
  ],
  readTo: null,
  ...fields,
});
const page = (fields: Partial<EntityPage> = {}): string =>
  entityPage(LOOK, MEMBER, {
    entity: { kind: 'agent', name: 'planner' },
    facts: facts(),
    days: 30,
    conversation: [],
    titleOf: (ruleId) => `title of ${ruleId}`,
    nowMs: NOW_MS,
    ...fields,
  }).text;

test('an agent has its numbers, days, findings and what it talks to', () => {
  const text = page();
  for (const part of [
    'Duration, median',
    '2.0 s',
    '1 min 5 s',
    '1,200',
    'Runs by day',
    'Tokens by day',
  ]) {
    expect(text).toContain(part);
  }
  expect(text).not.toContain('Cost by day');
  expect(text).toContain('href="/app/entities?kind=tool&amp;name=bash"');
  expect(text).toContain('href="/app/runs?agent=planner"');
  expect(text).toContain(
    'href="/app/findings?rule_id=ATR-2026-00001&amp;state=all&amp;agent=planner"',
  );
  expect(text).toContain('title of ATR-2026-00001');
  expect(text).toContain('href="/app/entities?kind=agent&amp;name=planner&amp;days=7"');
});

test('a tool has no filter of lists; a cut range is named; no runs is said', () => {
  const tool = page({ entity: { kind: 'tool', name: 'bash' } });
  expect(tool).not.toContain('/app/runs?');
  expect(tool).not.toContain('/app/findings?');
  expect(page({ facts: facts({ readTo: new Date(NOW_MS - 3_600_000) }) })).toContain(
    'The newest 10,000 runs are counted',
  );
  expect(page({ facts: facts({ runs: 0 }) })).toContain('No runs in this range');
  expect(page({ facts: facts({ rules: [] }) })).toContain('None in these runs');
});

test('a session reads as a conversation', () => {
  const conversation = [
    run({ title: 'first question' }),
    run({ title: 'second question', severities: ['high'] }),
  ];
  const text = page({ entity: { kind: 'session', name: 's-1' }, conversation });
  expect(text).toMatch(/first question.*second question.*1 finding/s);
});

test('the index has every kind', () => {
  const text = entitiesPage(LOOK, MEMBER, { facts: facts(), days: 7, nowMs: NOW_MS }).text;
  expect(text).toContain('<h2>Tools</h2>');
  expect(text).toContain('<h2>Users</h2>');
  expect(text).not.toContain('<h2>Agents</h2>');
  expect(text).toContain('href="/app/entities?days=30"');
});

test('hostile names are text', () => {
  const names = { ...NAMES, agent: [{ name: HOSTILE, runs: 1 }] };
  const conversation = [run({ title: HOSTILE })];
  const own = {
    facts: facts({ names }),
    entity: { kind: 'session', name: HOSTILE } as const,
    conversation,
  };
  expect(holdsAsText(page({ ...own, titleOf: () => HOSTILE }))).toBe(true);
});
