/** Titles and texts of messages whose parts are longer or stranger than any today. */
import { expect, test } from 'vitest';

import {
  type Alert,
  DIGEST_RULES_MAX,
  emailOf,
  type MessageSource,
  SLACK_TEXT_CHARS,
  TITLE_CHARS,
  webhookBody,
} from '../../src/alerts/messages.ts';
import type { Destination } from '../../src/model/alerts.ts';
import { showInvisible } from '../../src/model/invisible.ts';
import { finding } from '../web/app/fixtures.ts';

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
};
const ALERT: Alert = { kind: 'finding', finding: finding() };

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
    const alert: Alert = { kind: 'finding', finding: finding({ severity: 'high' }) };
    return JSON.parse(webhookBody(alert, DESTINATION, source)).text;
  };
  const whole = severity.padEnd(TITLE_CHARS, 'x');
  expect(titleOf(TITLE_CHARS)).toBe(whole);
  expect(titleOf(TITLE_CHARS + 1)).toBe(`${whole.slice(0, -1)}…`);
});

test.each([
  [DIGEST_RULES_MAX, []],
  [DIGEST_RULES_MAX + 1, ['and 1 more rule']],
  [DIGEST_RULES_MAX + 2, ['and 2 more rules']],
])('a digest of %i rules ends with %j', (rules, more) => {
  const findings = Array.from({ length: rules }, (_, at) => finding({ ruleId: `R-${at}` }));
  const digest: Alert = { kind: 'digest', findings, at: new Date(0) };
  const source = { ...SOURCE, ruleTitle: () => undefined };
  const lines = emailOf(digest, DESTINATION, source).text.split('\n');
  expect(lines.filter((line) => line.startsWith('1 × R-'))).toHaveLength(DIGEST_RULES_MAX);
  expect(lines.filter((line) => line.startsWith('and '))).toEqual(more);
});

test('the text of a Slack message is cut when it is longer than its bound', () => {
  const textOf = (length: number) => {
    const alert: Alert = { kind: 'finding', finding: finding({ description: 'x'.repeat(length) }) };
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
const HIDDEN: Alert = { kind: 'finding', finding: finding({ description: HIDING }) };
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
    const alert: Alert = {
      kind: 'finding',
      finding: finding({ description: HIDING, agentName: HIDING }),
    };
    const body = webhookBody(alert, destination, SOURCE_OF_HIDING);
    expect(showInvisible(body)).toBe(body);
    const { agentName, data } = JSON.parse(body);
    expect(format === 'ocsf' ? agentName : data.finding.description).toBe(HIDING);
  },
);
