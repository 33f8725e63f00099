/** Messages about a run and about many, and titles and texts whose parts are longer or stranger than any today. */
import { expect, test } from 'vitest';

import {
  type Alert,
  type AlertedFinding,
  DIGEST_RUNS_MAX,
  emailOf,
  FINDINGS_DESCRIBED_MAX,
  type MessageSource,
  SENT_NAME_CHARS,
  SLACK_TEXT_CHARS,
  TITLE_CHARS,
  webhookBody,
} from '../../src/alerts/messages.ts';
import type { Destination } from '../../src/model/alerts.ts';
import type { ChainLink, Incident } from '../../src/model/incidents/incidents.ts';
import { showInvisible } from '../../src/model/invisible.ts';
import { hex16 } from '../support/rows.ts';
import { finding as foundBy, NOW_MS } from '../web/app/fixtures.ts';

const TITLE = `${'😀'.repeat(200)}\r\nBcc: evil@mail.test`;
const SOURCE: MessageSource = {
  brand: 'sluice',
  baseUrl: 'https://sluice.test',
  ruleTitle: () => TITLE,
  toOcsf: () => ({}),
};
const DESTINATION: Destination = {
  id: 1,
  workspaceId: 1,
  workspace: '<!channel> @here & more',
  name: 'one',
  target: { format: 'slack', url: 'https://a.test' },
  secrets: [],
  showsUser: false,
};
const AT = new Date(NOW_MS);
const finding = (fields: Partial<AlertedFinding> = {}) =>
  foundBy({ agentName: 'shopper', serviceName: 'shop', userId: 'user-1', ...fields });

function link(fields: Partial<ChainLink> = {}): ChainLink {
  const { id: findingId, runId, ruleId, severity, category } = finding();
  const one = { runId, findingId, ruleId, severity, category, step: 12, tool: 'fetch' };
  return { ...one, surface: 'tool_result', moreRules: 0, role: null, ...fields };
}

/** A message about a run. */
function alertOf(
  fields: Partial<AlertedFinding> = {},
  incident: Partial<Incident> = {},
  others: readonly AlertedFinding[] = [],
): Alert {
  const own = finding(fields);
  return {
    kind: 'incident',
    findings: [own, ...others],
    at: AT,
    incident: {
      ...own,
      findingId: own.id,
      firstSeenAt: own.createdAt,
      lastSeenAt: own.createdAt,
      findings: 1,
      rules: 1,
      runs: 1,
      repeats: 1,
      states: { new: 1 },
      chain: [link()],
      moreLinks: 0,
      score: 45,
      reasons: [],
      ...incident,
    },
  };
}
const ALERT = alertOf();
const inJson = (alert: Alert, fields: Partial<Destination> = {}) => {
  const destination = {
    ...DESTINATION,
    target: { format: 'json' as const, url: 'https://a.test' },
  };
  return JSON.parse(webhookBody(alert, { ...destination, ...fields }, SOURCE));
};
const linesOf = (alert: Alert, source = SOURCE, fields: Partial<Destination> = {}) =>
  emailOf(alert, { ...DESTINATION, ...fields }, source).text.split('\n');

test('a message about a run has its names, its chain in order and a link to the match', () => {
  const chain = [
    link({ ruleId: 'R-1', role: 'injection' }),
    link({ ruleId: 'R-2', step: 14, surface: 'tool_args', role: 'act', moreRules: 2 }),
  ];
  const alert = alertOf({ ruleId: 'R-1', severity: 'high' }, { chain, moreLinks: 3 });
  const source = { ...SOURCE, ruleTitle: (id: string) => `Title of ${id}` };
  const lines = linesOf(alert, source);
  const { id, runId } = finding();
  expect(lines).toEqual(
    expect.arrayContaining([
      'Agent: shopper',
      'Service: shop',
      'New: 1 finding of 1 rule',
      '→ Step 12, tool result: Title of R-1',
      '→ Step 14, tool arguments: Title of R-2 and 2 other rules',
      'and 3 more steps with matches',
      `Open run: https://sluice.test/app/runs/${runId}?finding=${id}#found`,
    ]),
  );
  expect(lines.join()).not.toMatch(/user-1|fetch/);
  expect(inJson(alert)).toMatchObject({
    type: 'incident.created',
    version: 2,
    data: {
      incident: {
        run_id: runId,
        agent: 'shopper',
        new_findings: 1,
        chain: [
          { step: 12, surface: 'tool_result', role: 'injection', rule_id: 'R-1' },
          { step: 14, surface: 'tool_args', role: 'act', more_rules: 2 },
        ],
        more_links: 3,
      },
      findings: [{ id, severity: 'high' }],
      finding_ids: [id],
    },
  });
});

test('the user is in messages of a destination that wants it', () => {
  expect(linesOf(ALERT, SOURCE, { showsUser: true })).toContain('User: user-1');
  expect(inJson(ALERT, { showsUser: true }).data.incident.user_id).toBe('user-1');
  expect(JSON.stringify(inJson(ALERT))).not.toContain('user');
});

test('a message about a run is titled by its new findings, not by one that was sent before', () => {
  const alert = alertOf({ severity: 'low', ruleId: 'R-new' }, { findingId: hex16(9) }, [
    finding({ severity: 'medium', ruleId: 'R-worst', id: hex16(2) }),
  ]);
  const source = { ...SOURCE, ruleTitle: () => undefined };
  expect(emailOf(alert, DESTINATION, source).subject).toBe('[Sluice] Medium: R-worst');
});

test('many findings of a run are described up to a bound, the most severe first', () => {
  const others = Array.from({ length: FINDINGS_DESCRIBED_MAX }, (_, at) =>
    finding({ id: hex16(at + 1), severity: 'low' }),
  );
  const worst = finding({ id: hex16(0xff), severity: 'critical' });
  const { data } = inJson(alertOf({ severity: 'low' }, {}, [...others, worst]));
  expect(data.findings).toHaveLength(FINDINGS_DESCRIBED_MAX);
  expect(data.findings[0].id).toBe(worst.id);
  expect(data.finding_ids).toHaveLength(FINDINGS_DESCRIBED_MAX + 2);
});

test('a digest groups findings by run, the worst run first, and links to their time', () => {
  const early = new Date(NOW_MS - 60_000);
  const findings = [
    finding({ id: hex16(1), runId: hex16(11), severity: 'low', createdAt: early }),
    finding({ id: hex16(2), runId: hex16(12), severity: 'high', createdAt: AT, ruleId: 'R-2' }),
    finding({ id: hex16(3), runId: hex16(12), severity: 'low', createdAt: AT }),
  ] as const;
  const digest: Alert = { kind: 'digest', findings, at: AT };
  const source = { ...SOURCE, ruleTitle: (id: string) => id };
  const lines = linesOf(digest, source);
  expect(lines.slice(1, 3)).toEqual([
    'High: R-2 and 1 other rule · Agent: shopper · Service: shop',
    expect.stringMatching(/^Low: ATR-\S+ · Agent: shopper · Service: shop$/),
  ]);
  expect(emailOf(digest, DESTINATION, source).subject).toBe(
    '[Sluice] 3 new findings in 2 runs: 1 high, 2 low',
  );
  const { type, data } = inJson(digest);
  expect([type, data.count, data.more_runs]).toEqual(['incidents.digest', 3, 0]);
  expect(data.runs.map(({ run_id, new_findings }: never) => [run_id, new_findings])).toEqual([
    [hex16(12), 2],
    [hex16(11), 1],
  ]);
  const url = new URL(data.url);
  expect([url.pathname, url.searchParams.get('since')]).toEqual([
    '/app/incidents',
    early.toISOString(),
  ]);
  expect(Date.parse(url.searchParams.get('until') ?? '')).toBe(NOW_MS + 1);
});

test('a long name is cut', () => {
  const lines = linesOf(alertOf({ agentName: 'x'.repeat(SENT_NAME_CHARS + 1) }));
  expect(lines).toContain(`Agent: ${'x'.repeat(SENT_NAME_CHARS - 1)}…`);
});

test('a giant title is cut to whole characters, for Slack and as a subject', () => {
  const { text, blocks } = JSON.parse(webhookBody(ALERT, DESTINATION, SOURCE));
  const { subject } = emailOf(ALERT, DESTINATION, SOURCE);
  for (const title of [text, blocks[0].text.text, subject.replace('[Sluice] ', '')]) {
    expect(title.length).toBeLessThanOrEqual(TITLE_CHARS);
    expect(title.isWellFormed()).toBe(true);
    expect(title.endsWith('😀…')).toBe(true);
  }
});

test('a title is cut when it is longer than its bound', () => {
  const severity = 'High: ';
  const titleOf = (length: number) => {
    const source = { ...SOURCE, ruleTitle: () => 'x'.repeat(length - severity.length) };
    const alert = alertOf({ severity: 'high' });
    return JSON.parse(webhookBody(alert, DESTINATION, source)).text;
  };
  const whole = severity.padEnd(TITLE_CHARS, 'x');
  expect(titleOf(TITLE_CHARS)).toBe(whole);
  expect(titleOf(TITLE_CHARS + 1)).toBe(`${whole.slice(0, -1)}…`);
});

test.each([
  [DIGEST_RUNS_MAX, []],
  [DIGEST_RUNS_MAX + 1, ['and 1 more run']],
  [DIGEST_RUNS_MAX + 2, ['and 2 more runs']],
])('a digest of %i runs ends with %j', (runs, more) => {
  const others = Array.from({ length: runs - 1 }, (_, at) => finding({ runId: hex16(at + 1) }));
  const digest: Alert = { kind: 'digest', findings: [finding(), ...others], at: AT };
  const lines = linesOf(digest, { ...SOURCE, ruleTitle: () => 'R' });
  expect(lines.filter((line) => line.includes(': R · '))).toHaveLength(DIGEST_RUNS_MAX);
  expect(lines.filter((line) => line.startsWith('and '))).toEqual(more);
});

test('the text of a Slack message is cut when it is longer than its bound', () => {
  const textOf = (length: number) => {
    const alert = alertOf({ description: 'x'.repeat(length) }, { chain: [] });
    return JSON.parse(webhookBody(alert, DESTINATION, SOURCE)).blocks[1].text.text;
  };
  const others = textOf(0).length;
  expect(textOf(SLACK_TEXT_CHARS - others)).toHaveLength(SLACK_TEXT_CHARS);
  expect(textOf(SLACK_TEXT_CHARS - others)).not.toMatch(/…$/);
  expect(textOf(SLACK_TEXT_CHARS - others + 1)).toHaveLength(SLACK_TEXT_CHARS);
  expect(textOf(SLACK_TEXT_CHARS - others + 1)).toMatch(/…$/);
});

test('a name is no mention in Slack', () => {
  const { blocks } = JSON.parse(webhookBody(ALERT, DESTINATION, SOURCE));
  expect(blocks[1].text).toMatchObject({ type: 'mrkdwn', verbatim: true });
  expect(blocks[1].text.text).toContain('&lt;!channel&gt; @here &amp; more');
});

/** Letters beside an override, a line separator, a zero-width space, an escape and a tag character. */
const HIDING = 'a\u202eb\u2028c\u200bd\u001be\u{e0041}f';
const SHOWN = 'a⟨U+202E⟩b⟨U+2028⟩c⟨U+200B⟩d⟨U+001B⟩e⟨tag characters: A⟩f';
const HIDDEN = alertOf({ description: HIDING });
const SOURCE_OF_HIDING: MessageSource = {
  ...SOURCE,
  ruleTitle: () => HIDING,
  toOcsf: ({ agentName }) => ({ agentName }),
};

test('people read invisible characters by name: subject, text, title, notification and lines', () => {
  const { subject, text } = emailOf(HIDDEN, DESTINATION, SOURCE_OF_HIDING);
  const slack = JSON.parse(webhookBody(HIDDEN, DESTINATION, SOURCE_OF_HIDING));
  const [header, lines] = slack.blocks;
  for (const shown of [subject, text, slack.text, header.text.text, lines.text.text]) {
    expect(shown).toContain(SHOWN);
  }
});

test.each(['json', 'ocsf'] as const)(
  'a program reads the same text (%s), and a log of the body shows it',
  (format) => {
    const destination = { ...DESTINATION, target: { format, url: 'https://a.test' } };
    const alert = alertOf({ description: HIDING, agentName: HIDING });
    const body = webhookBody(alert, destination, SOURCE_OF_HIDING);
    expect(showInvisible(body)).toBe(body);
    const { agentName, data } = JSON.parse(body);
    expect(format === 'ocsf' ? agentName : data.findings[0].description).toBe(HIDING);
  },
);
