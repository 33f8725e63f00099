/** One finding: the hit marked, the excerpt withheld when it is redacted, and where it leads. */
import { describe, expect, test } from 'vitest';

import { type FindingPage, findingPage } from '../../../src/web/app/finding.ts';
import { hex16 } from '../../support/rows.ts';
import { finding, HOSTILE, holdsAsText, LOOK, NOW_MS, run, viewer } from './fixtures.ts';

const page = (fields: Partial<FindingPage> = {}): string =>
  findingPage(LOOK, viewer(), {
    finding: finding(),
    list: null,
    references: ['LLM01:2025', 'AML.T0051'],
    title: 'Asks to ignore instructions',
    run: run(),
    triage: { state: 'new', assignee: null, history: [] },
    members: [],
    exceptions: [],
    ofRun: [finding()],
    repeated: null,
    decided: null,
    titleOf: (id) => `title of ${id}`,
    nowMs: NOW_MS,
    ...fields,
  }).text;

describe('a finding', () => {
  test('shows its excerpt with the match marked', () => {
    const excerpt = 'please ignore all of it';
    const { place } = finding();
    const marked = { ...place, inExcerpt: { start: 7, end: 17 } };
    expect(page({ finding: finding({ excerpt, place: marked }) })).toContain(
      'please <mark>ignore all</mark> of it</pre>',
    );
  });

  test('says that an excerpt was redacted, and shows none', () => {
    const redacted = page({ finding: finding({ excerpt: null }) });
    expect(redacted).toContain('this workspace redacts excerpts');
    expect(redacted).not.toContain('<pre');
  });

  test('leads to its neighbours in the list that it was opened from, and back to its row', () => {
    const [previous, next] = [hex16(0xa1), hex16(0xa2)];
    const list = { query: 'severity=high&cursor=c', previous, next, isListed: true };
    const text = page({ list });
    const query = 'severity%3Dhigh%26cursor%3Dc';
    expect(text).toContain(`href="/app/findings/${previous}?list=${query}" data-on-key="k"`);
    expect(text).toContain(`href="/app/findings/${next}?list=${query}" data-on-key="j"`);
    const back = 'href="/app/findings?severity=high&amp;cursor=c#f-';
    expect(text).toContain(`${back}${hex16(0xf1)}">Findings</a>`);
    expect(text).toContain(`name="next" value="${next}"`);
    const closed = page({ list: { ...list, isListed: false } });
    expect(closed).toContain(`${back}${next}">Findings</a>`);
    const alone = page({ list: { ...list, previous: null, next: null, isListed: false } });
    expect(alone).toContain('href="/app/findings?severity=high&amp;cursor=c">Findings</a>');
    expect(alone).not.toMatch(/data-on-key="[jk]"/);
    expect(alone).not.toContain('Save and open next');
    expect(page()).not.toContain('neighbours');
  });

  test('is assigned to its reader by one button, unless it is', () => {
    expect(page()).toContain('name="assign" value="me" data-on-key="a">Assign to me</button>');
    const { email } = viewer();
    const assignee = { userId: 1, email, displayName: 'A', isMember: true };
    const own = page({ triage: { state: 'new', assignee, history: [] } });
    expect(own).not.toContain('Assign to me');
  });

  test('is labelled while an exception covers it', () => {
    expect(page()).not.toContain('>excepted</span>');
    expect(page({ finding: finding({ isExcepted: true }) })).toContain('>excepted</span>');
  });

  test('leads to the findings of what its rule refers to', () => {
    expect(page()).toContain('<a href="/app/findings?reference=LLM01%3A2025">LLM01:2025</a>');
    expect(page({ references: [] })).not.toContain('Refers to');
  });

  test('names the corpus that found it by version and identity', () => {
    expect(page()).toContain(
      `<dt>Corpus</dt><dd>4.0.0 (<code title="identity ${'c0'.repeat(20)}">c0c0c0c0c0c0</code>)</dd>`,
    );
  });

  test('leads to its step, its run, its rule and the rule’s other findings', () => {
    const text = page();
    expect(text).toContain(`href="/app/runs/${hex16(0xc1)}?finding=${hex16(0xf1)}#found"`);
    expect(text).toContain(`href="/app/runs/${hex16(0xc1)}"`);
    expect(text).toContain('href="/app/rules/ATR-2026-00001"');
    expect(text).toContain('href="/app/findings?rule_id=ATR-2026-00001"');
  });

  test('tells the author’s recommendations as words, and that nothing acts on them', () => {
    const text = page({ finding: finding({ recommendedActions: ['block_input'] }) });
    expect(text).toContain('<li>block input</li>');
    expect(text).toContain('does not block');
    expect(page({ finding: finding({ recommendedActions: [] }) })).toContain('<p>None.</p>');
  });

  test('leads to its repetitions and to what else was found in its run', () => {
    const alone = page();
    expect(alone).toContain('none among the newest 5,000 findings');
    expect(alone).toContain('<dt>Others in this run</dt><dd>none</dd>');
    const others = Array.from({ length: 10 }, (_, n) =>
      finding({ id: hex16(0xa0 + n), ruleId: `ATR-2026-0010${n}`, state: 'closed' }),
    );
    const repeated = {
      top: finding(),
      findings: 1204,
      rules: 1,
      runs: 3,
      firstSeenAt: new Date(NOW_MS - 7 * 86_400_000),
      lastSeenAt: new Date(NOW_MS - 60_000),
      days: [],
      severities: {},
    };
    const decided = finding({ id: hex16(0xdd), state: 'false_positive' });
    const text = page({ repeated, decided, ofRun: [finding(), ...others] });
    expect(alone).not.toContain('Decided before');
    expect(text).toMatch(
      new RegExp(`>false positive</span> <a href="/app/findings/${hex16(0xdd)}">the one found`),
    );
    const query = `same_as=${hex16(0xf1)}&amp;state=all`;
    expect(text).toContain(`<a href="/app/findings?${query}">1,204 findings</a> in 3 runs`);
    expect(text).toContain('7 days ago');
    expect(text).toContain(`<a href="/app/findings/${hex16(0xa7)}">title of ATR-2026-00107</a>`);
    // Eight are listed, then a link to all of them.
    expect(text).not.toContain(`/app/findings/${hex16(0xa8)}"`);
    expect(text).toContain(`/app/findings?run_id=${hex16(0xc1)}&amp;state=all`);
  });

  test('names every key that its page acts on, and no other', () => {
    const acts = (text: string) =>
      [...text.matchAll(/data-on-key="(.)"/g)].map(([, key]) => key).sort();
    const named = (text: string) =>
      [...text.matchAll(/<kbd>(.)<\/kbd>/g)].map(([, key]) => key).filter((key) => key !== '?');
    const list = { query: '', previous: hex16(0xa1), next: hex16(0xa2), isListed: true };
    const own = { userId: 1, email: viewer().email, displayName: 'A', isMember: true };
    const exception = {
      id: 1,
      text: true,
      tool: null,
      agent: null,
      service: null,
      reason: 'r',
      expiresAt: new Date(NOW_MS),
    };
    const pages = [
      page(),
      page({ list }),
      page({ run: null }),
      page({ exceptions: [exception] }),
      page({ triage: { state: 'new', assignee: own, history: [] } }),
    ];
    for (const text of pages) {
      expect(named(text).sort()).toEqual(acts(text));
    }
  });

  test('outlives its run', () => {
    expect(page({ run: null })).toContain('is no longer stored');
  });

  test('shows what a sender wrote as text, marked or not', () => {
    const hostile = finding({ excerpt: HOSTILE, stepName: HOSTILE });
    expect(holdsAsText(page({ finding: hostile }))).toBe(true);
    const inPieces = page({ finding: hostile });
    expect(inPieces).toContain('<mark>');
    expect(inPieces).not.toMatch(/<img|<script>alert/);
  });

  test('shows its state, assignee and history as text, and a form that names what it showed', () => {
    const at = new Date(NOW_MS - 60_000);
    const ada = { userId: 1, email: 'ada@people.test', displayName: 'Ada' };
    const text = page({
      members: [{ userId: 2, email: 'ben@people.test', displayName: 'Ben' }, ada],
      triage: {
        state: 'false_positive',
        assignee: { userId: 3, email: 'gone@people.test', displayName: HOSTILE, isMember: false },
        history: [
          { id: '3', at, actor: 'ben@people.test', kind: 'note', before: null, after: HOSTILE },
          { id: '2', at, actor: 'ben@people.test', kind: 'assignee', before: null, after: 'x@y' },
          { id: '1', at, actor: 'ben@people.test', kind: 'state', before: 'new', after: 'closed' },
        ],
      },
    });
    expect(holdsAsText(text)).toBe(true);
    expect(text).toContain('<span class="state false_positive">false positive</span>');
    expect(text).toContain('name="shown_state" value="false_positive"');
    expect(text).toContain('name="shown_assignee" value="3"');
    expect(text).toContain('<option value="3" selected>gone@people.test (former member)</option>');
    expect(text).toMatch(/<option value="1">ada@people.test \(you\).*ben@people.test/);
    expect(text).toContain('changed the state from new to <b>closed</b>');
    expect(text).toContain('assigned it to <b>x@y</b>');
  });
});
