/** The pages of tools: text of strangers stays text, and a change shows what it changed. */
import { expect, test } from 'vitest';
import { createDescriptionMatcher } from '../../../../src/engine/rules/rule-book.ts';
import type { Rule } from '../../../../src/model/rules.ts';
import type { ListedTool, ToolVersion } from '../../../../src/model/shown/tools.ts';
import {
  type ToolData,
  toolChanges,
  toolPage,
  toolsPage,
} from '../../../../src/web/app/tools/tools.ts';
import { html } from '../../../../src/web/html.ts';
import { hex16 } from '../../../support/rows.ts';
import { HOSTILE, holdsAsText, LOOK, MEMBER, NOW_MS } from '../fixtures.ts';

const AT = new Date(NOW_MS - 60_000);
const version = (number: number, fields: Partial<ToolVersion> = {}): ToolVersion => ({
  id: hex16(number),
  version: number,
  isChange: number > 1,
  firstSeenAt: AT,
  lastSeenAt: AT,
  firstRunId: hex16(7),
  acknowledgedAt: null,
  acknowledgedBy: null,
  runs: 41,
  isExact: true,
  newestRuns: [hex16(8)],
  description: 'Sends a mail.',
  schema: '{"type":"object"}',
  descriptionChars: 13,
  schemaChars: 17,
  descriptionHash: hex16(number),
  schemaHash: hex16(1),
  ...fields,
});
const page = (fields: Partial<ToolData> = {}): string =>
  toolPage(LOOK, MEMBER, {
    tool: { id: hex16(5), agent: 'planner', server: 'mail', name: 'send', isRedacted: false },
    versions: [version(2, { description: 'Sends a secret mail.' }), version(1)],
    matching: [],
    nowMs: NOW_MS,
    ...fields,
  }).text;
const listed: ListedTool = {
  id: hex16(5),
  agent: HOSTILE,
  server: HOSTILE,
  name: HOSTILE,
  version: 2,
  versions: 2,
  firstSeenAt: AT,
  lastSeenAt: AT,
  changes: 1,
  changedAt: AT,
};

test('a change is marked in the words, says how many runs used it, and can be marked as seen', () => {
  const text = page();
  expect(text).toContain('Sends a <ins>secret </ins>mail.');
  expect(text).toContain('41 runs used the newest definition');
  expect(text).toMatch(/action="\/app\/tools\/[0-9a-f]{32}\/seen\?workspace=/);
  expect(text).toContain('name="version" value="2"');
  const seen = version(2, { acknowledgedAt: AT, acknowledgedBy: 'ada@crew.test' });
  expect(page({ versions: [seen, version(1)] })).not.toContain('/seen?workspace=');
});

test('hostile names and texts are text', () => {
  const tool = { id: hex16(5), agent: HOSTILE, server: HOSTILE, name: HOSTILE, isRedacted: false };
  const versions = [
    version(2, { description: HOSTILE, schema: HOSTILE }),
    version(1, { description: 'x', schema: '{' }),
  ];
  expect(holdsAsText(page({ tool, versions }))).toBe(true);
  const list = { tools: [listed], next: null, isFull: true, leftOut: 3, query: '', nowMs: NOW_MS };
  const text = toolsPage(LOOK, MEMBER, list).text;
  expect(holdsAsText(text)).toBe(true);
  expect(text).toContain('new ones are not kept');
  expect(text).toContain('3 definitions that were not kept');
  const changes = html`${toolChanges(MEMBER, { tools: [listed], next: 5 }, NOW_MS)}`.text;
  expect(holdsAsText(changes)).toBe(true);
  expect(changes).toContain('That is no finding.');
});

test('without changes there is nothing above the findings', () => {
  expect(toolChanges(MEMBER, { tools: [], next: null }, NOW_MS)).toBe(false);
});

test('a workspace that redacts sees that something changed, and no text', () => {
  const none = { description: null, schema: null };
  const text = page({
    tool: { id: hex16(5), agent: 'planner', server: null, name: null, isRedacted: true },
    versions: [version(2, none), version(1, none)],
  });
  expect(text).toContain('its description changed.');
  expect(text).toContain(`tool ${hex16(5).slice(0, 8)}`);
  expect(text).not.toContain('Rules about descriptions');
});

test('rules about descriptions are shown as no finding', () => {
  const rule = (id: string, field: string, pattern: string) =>
    ({ id, title: id, conditions: [{ field, operator: 'regex', pattern }] }) as unknown as Rule;
  const matching = createDescriptionMatcher([
    rule('A', 'tool_description', 'secret'),
    rule('B', 'content', 'secret'),
    rule('C', 'tool_description', 'other'),
    rule('D', 'tool_description', '(?=no re2)'),
  ]);
  expect(matching('a se\u200Bcret mail').map(({ id }) => id)).toEqual(['A']);
  expect(matching('')).toEqual([]);
  const text = page({ matching: matching('Secret') });
  expect(text).toContain('<a href="/app/rules/A">A</a> <span class="badge">not a finding</span>');
});
