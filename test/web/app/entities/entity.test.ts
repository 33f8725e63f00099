/** The page of an entity, and the index of all. */
import { expect, test } from 'vitest';
import type { EntityFacts } from '../../../../src/model/shown/entities.ts';
import { NO_USAGE } from '../../../../src/model/usage.ts';
import {
  type EntityPage,
  entitiesPage,
  entityPage,
  type SessionTurn,
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
const USAGE = {
  ...NO_USAGE,
  inputTokens: 1200,
  outputTokens: 34,
  cacheReadTokens: 900,
  reasoningTokens: 0,
};
const facts = (fields: Partial<EntityFacts> = {}): EntityFacts => ({
  runs: 3,
  errors: 1,
  notEvaluated: 0,
  p50: 2000,
  p95: 65_000,
  ...USAGE,
  firstSeen: new Date(NOW_MS - 86_400_000),
  lastSeen: new Date(NOW_MS),
  days: [{ day: '2026-11-20', runs: 3, errors: 1, ...USAGE }],
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
    conversation: null,
    isRedacted: false,
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
    'Tokens of caches and reasoning by day',
    '<dt>Read from cache</dt><dd>900</dd>',
  ]) {
    expect(text).toContain(part);
  }
  expect(text).not.toContain('Cost by day');
  expect(text).toContain('href="/app/entities?kind=tool&amp;name=bash"');
  expect(text).toContain('href="/app/runs?agent=%22planner%22"');
  expect(text).toContain(
    'href="/app/findings?rule_id=ATR-2026-00001&amp;state=all&amp;agent=%22planner%22"',
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

const turn = (fields: Partial<SessionTurn> = {}): SessionTurn => ({
  run: run({ title: 'a title' }),
  said: null,
  answered: null,
  isWhole: true,
  tools: [],
  ...fields,
});
const SESSION = { entity: { kind: 'session', name: 's-1' } } as const;

test('a session reads as a conversation', () => {
  const turns = [
    turn({
      said: { text: 'first question', isCut: false },
      answered: { text: 'the beginning of an answer', isCut: true },
      tools: [
        { name: 'Bash', calls: 2 },
        { name: 'Read', calls: 1 },
      ],
    }),
    turn({ run: run({ title: 'second question', severities: ['high'] }) }),
  ];
  const text = page({ ...SESSION, conversation: { turns, earlier: 'c-1' } });
  expect(text).toMatch(
    /Earlier turns.*first question.*Bash × 2, Read.*beginning of an answer.*whole text.*second question.*1 finding/s,
  );
  expect(text).toContain('name=s-1&amp;days=30&amp;cursor=c-1');
  expect(text).not.toContain('a title');
});

test('a turn says what was not read of its run', () => {
  const part = turn({
    run: run({ unreadable: { blocks: 1, steps: 3 } }),
    isWhole: false,
    tools: [{ name: 'Bash', calls: 1 }],
  });
  const text = page({ ...SESSION, conversation: { turns: [part], earlier: null } });
  expect(text).toContain('Tools of the first and last steps: Bash');
  expect(text).toMatch(/1 block/);
});

test('a session without texts has titles, and says why', () => {
  const own = { conversation: { turns: [turn()], earlier: null }, isRedacted: true };
  const text = page({ ...SESSION, ...own });
  expect(text).toContain('a title');
  expect(text).toContain('This workspace redacts texts.');
  expect(text).not.toContain('Earlier turns');
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
  const said = { text: HOSTILE, isCut: false };
  const turns = [
    turn({ run: run({ title: HOSTILE }) }),
    turn({ said, answered: said, tools: [{ name: HOSTILE, calls: 1 }] }),
  ];
  const own = {
    facts: facts({ names }),
    entity: { kind: 'session', name: HOSTILE } as const,
    conversation: { turns, earlier: null },
  };
  expect(holdsAsText(page({ ...own, titleOf: () => HOSTILE }))).toBe(true);
});
