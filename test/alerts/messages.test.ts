/** Titles and texts of messages whose parts are longer or stranger than any today. */
import { expect, test } from 'vitest';

import { type Alert, emailOf, type MessageSource, webhookBody } from '../../src/alerts/messages.ts';
import type { Destination } from '../../src/model/alerts.ts';
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
    expect(title.length).toBeLessThanOrEqual(140);
    expect(title.isWellFormed()).toBe(true);
    expect(title.endsWith('😀…')).toBe(true);
  }
});

test('a name is no mention in Slack', () => {
  const { blocks } = JSON.parse(webhookBody(ALERT, DESTINATION, SOURCE));
  expect(blocks[1].text).toMatchObject({ type: 'mrkdwn', verbatim: true });
  expect(blocks[1].text.text).toContain('&lt;!channel&gt; @here &amp; more');
});
