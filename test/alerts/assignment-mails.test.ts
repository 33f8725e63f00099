/** The text of e-mails about assignments: counts, limits, and names that people choose. */
import { describe, expect, test } from 'vitest';

import {
  assignmentEmail,
  FINDINGS_LISTED_MAX,
  NAME_CHARS,
} from '../../src/alerts/assignment-mails.ts';
import { type AssignmentNotice, MAIL_FINDINGS_MAX } from '../../src/db/alerts/assignment-mails.ts';

const SOURCE = {
  brand: 'sluice',
  baseUrl: 'https://sluice.test',
  ruleTitle: (ruleId: string) => (ruleId === 'R' ? 'A rule' : undefined),
};

function noticeWith(count: number, others: Partial<AssignmentNotice> = {}): AssignmentNotice {
  return {
    kind: 'assigned',
    to: 'bob@people.test',
    workspace: 'Production',
    actorName: 'Alice',
    actorEmail: 'alice@people.test',
    findings: Array.from({ length: count }, (_, at) => ({
      id: String(at).padStart(32, '0'),
      severity: 'high',
      ruleId: 'R',
    })),
    isFull: false,
    ...others,
  };
}

const email = (notice: AssignmentNotice) => assignmentEmail(notice, SOURCE);

test('one finding, in full', () => {
  expect(email(noticeWith(1))).toEqual({
    subject: '[Sluice] Alice assigned you 1 finding in Production',
    text: `Alice (alice@people.test) assigned you 1 finding in Production:

High: A rule
https://sluice.test/app/findings/00000000000000000000000000000000

Findings assigned to you: https://sluice.test/app/findings?assignee=me

-- \nSent because somebody else changed who these findings are assigned to.
`,
  });
});

test('findings that were taken away', () => {
  const { subject, text } = email(noticeWith(2, { kind: 'unassigned' }));
  expect(subject).toBe('[Sluice] Alice unassigned you from 2 findings in Production');
  expect(text).toMatch(
    /^Alice \(alice@people\.test\) unassigned you from 2 findings in Production:/,
  );
});

test.each([
  [FINDINGS_LISTED_MAX, []],
  [FINDINGS_LISTED_MAX + 1, ['and 1 more']],
  [FINDINGS_LISTED_MAX + 2, ['and 2 more']],
])('of %i findings the first ones are listed, then %j', (count, more) => {
  const lines = email(noticeWith(count)).text.split('\n');
  expect(lines.filter((line) => line === 'High: A rule')).toHaveLength(FINDINGS_LISTED_MAX);
  expect(lines.filter((line) => line.startsWith('and '))).toEqual(more);
});

test('an e-mail that is full says that there may be more', () => {
  const { subject } = email(noticeWith(MAIL_FINDINGS_MAX, { isFull: true }));
  expect(subject).toContain(' 1,000+ findings in ');
});

test('a rule that the corpus no longer has is named by its id', () => {
  const findings = [{ id: 'f'.repeat(32), severity: 'low', ruleId: 'R-2' }] as const;
  expect(email(noticeWith(1, { findings })).text).toContain('\nLow: R-2\n');
});

describe('names', () => {
  test('are cut beyond their limit', () => {
    const nameOf = (length: number) =>
      email(noticeWith(1, { actorName: 'x'.repeat(length), workspace: 'y'.repeat(length) }))
        .subject;
    const subject = (actor: string, workspace: string) =>
      `[Sluice] ${actor} assigned you 1 finding in ${workspace}`;
    const whole = [NAME_CHARS, NAME_CHARS - 1] as const;
    expect(nameOf(NAME_CHARS)).toBe(subject('x'.repeat(whole[0]), 'y'.repeat(whole[0])));
    expect(nameOf(NAME_CHARS + 1)).toBe(
      subject(`${'x'.repeat(whole[1])}…`, `${'y'.repeat(whole[1])}…`),
    );
  });

  test('show their invisible characters', () => {
    const hiding = 'a\u202eb';
    const { subject, text } = email(noticeWith(1, { actorName: hiding, workspace: hiding }));
    const shown = 'a⟨U+202E⟩b';
    expect(subject).toBe(`[Sluice] ${shown} assigned you 1 finding in ${shown}`);
    expect(text).toContain(`${shown} (alice@people.test) assigned you 1 finding in ${shown}:`);
  });
});
