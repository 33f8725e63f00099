/** The list of findings: what a row says, that filters go along, what an empty list says to do. */
import { describe, expect, test } from 'vitest';
import type { FindingGroup } from '../../../src/model/findings.ts';
import {
  changedPath,
  findingPath,
  NO_NAMES,
} from '../../../src/web/app/findings/finding-filters.ts';
import {
  type FindingsPage,
  findingLink,
  findingRows,
  findingsPage,
} from '../../../src/web/app/findings.ts';
import { hex16 } from '../../support/rows.ts';
import { finding, HOSTILE, holdsAsText, LOOK, NOW_MS, viewer } from './fixtures.ts';

function data(fields: Partial<FindingsPage> = {}): FindingsPage {
  return {
    findings: [finding()],
    groups: null,
    endedEarly: false,
    searchedTo: null,
    total: { count: 1, isExact: true, within: null },
    hidden: null,
    names: NO_NAMES,
    views: [],
    query: '',
    address: '',
    next: null,
    titleOf: (id) => `title of ${id}`,
    nowMs: NOW_MS,
    ...fields,
  };
}

const page = (fields: Partial<FindingsPage> = {}): string =>
  findingsPage(LOOK, viewer(), data(fields)).text;

describe('a row', () => {
  test('can be selected, and shows what was decided', () => {
    const box = `<input type="checkbox" name="finding-${hex16(0xf1)}" autocomplete="off" aria-label="Select title of`;
    expect(page()).toContain(box);
    expect(page()).toContain('action="/app/findings/triage?workspace=');
    expect(page()).not.toContain('class="state');
    const mark = { state: 'confirmed', assignee: 'ann@crew.test', isExcepted: true } as const;
    const decided = page({ findings: [finding(mark)] });
    expect(page()).not.toContain('>excepted</span>');
    expect(decided).toContain('>excepted</span>');
    expect(decided).toContain('<span class="state confirmed">confirmed</span>');
    expect(decided).toContain('ann@crew.test</span>');
  });

  test('names the rule, leads to the finding and to the step of its run', () => {
    const { text } = findingRows(data());
    expect(text).toContain(
      `<a href="/app/findings/${hex16(0xf1)}?list=state%3Dopen" data-open>title of ATR-2026-00001</a>`,
    );
    expect(text).toContain(`href="/app/runs/${hex16(0xc1)}?finding=${hex16(0xf1)}#found"`);
    expect(text).toContain(`<tr id="f-${hex16(0xf1)}" data-key="${hex16(0xf1)}">`);
    expect(text).toContain(
      '<time datetime="2026-11-21T11:55:00.000Z" title="2026-11-21T11:55:00.000Z" data-ago="300">5 minutes ago</time>',
    );
  });

  test('has the excerpt from shortly before its match, which is marked', () => {
    const excerpt = `${'before '.repeat(9)}ignore all & after`;
    const start = excerpt.indexOf('ignore');
    const { place } = finding();
    const inExcerpt = { start, end: start + 'ignore all'.length };
    const found = finding({ excerpt, place: { ...place, inExcerpt } });
    expect(page({ findings: [found] })).toContain(
      '<span class="line">…ore before before before before <mark>ignore all</mark> &amp; after</span>',
    );
  });

  test('says that the excerpt is redacted', () => {
    expect(page({ findings: [finding({ excerpt: null })] })).toContain('Excerpt redacted');
  });

  test('names the agent, its service and user once each, and the tool', () => {
    const { text } = findingRows(
      data({
        findings: [
          finding({ agentName: 'shop', serviceName: 'shop', userId: 'ada', toolName: 'shell' }),
        ],
      }),
    );
    expect(text).toContain(
      '<td data-label="Agent"><a class="name" href="/app/findings?agent=%22shop%22" title="Only findings of shop">shop</a> <span class="soft below" title="ada">',
    );
    expect(text).toContain('Tool result <span class="soft below">shell</span>');
  });

  test('has a line for the user and the session', () => {
    const known = { agentName: 'shop', serviceName: 'web', userId: 'ada', sessionId: 's-1' };
    const { text } = findingRows(data({ findings: [finding(known)] }));
    expect(text).toContain(
      'shop</a> <span class="soft below" title="web">web</span> <span class="soft below" title="ada · s-1">ada · s-1</span>',
    );
    const none = { agentName: null, serviceName: null, userId: null, sessionId: null };
    const bare = findingRows(data({ findings: [finding(none)] })).text;
    expect(bare).toContain('<td data-label="Agent"><span class="soft">–</span></td>');
  });

  test('shows what a sender wrote as text', () => {
    expect(
      holdsAsText(
        page({ findings: [finding({ stepName: HOSTILE, agentName: HOSTILE, excerpt: HOSTILE })] }),
      ),
    ).toBe(true);
  });

  test('leads to the run alone when its step has no id', () => {
    expect(findingLink(finding({ stepSpanId: null }))).toBe(
      `/app/runs/${hex16(0xc1)}?finding=${hex16(0xf1)}#found`,
    );
  });
});

describe('filters', () => {
  const query = 'severity=high&q=secret+key&category=&since=2026-11-01';
  const filtered = page({ query, next: 'next-one' });

  test('are shown again', () => {
    expect(filtered).toContain('<option value="high" selected>');
    expect(filtered).toContain('name="q" value="secret key"');
    expect(filtered).toContain('name="since" value="2026-11-01"');
  });

  test('go along to the next page, to the rows fetched again, and into the exports', () => {
    expect(filtered).toContain(
      'href="/app/findings?severity=high&amp;q=secret+key&amp;category=&amp;since=2026-11-01&amp;cursor=next-one"',
    );
    expect(filtered).toContain(`data-live="/app/findings/rows?${query.replaceAll('&', '&amp;')}"`);
    for (const kind of ['csv', 'ocsf']) {
      expect(filtered).toContain(
        `href="/app/findings.${kind}?severity=high&amp;q=secret+key&amp;category=&amp;since=2026-11-01"`,
      );
    }
  });

  test('keep nothing of a cursor but on the way to older ones', () => {
    const second = page({ query: 'severity=high&cursor=this-one', next: 'next-one' });
    expect(second).toContain('href="/app/findings?severity=high"');
    expect(second).toContain('href="/app/findings?severity=high&amp;cursor=next-one"');
    expect(second).toContain('href="/app/findings.csv?severity=high"');
  });

  test('do not become markup', () => {
    const hostile = page({
      query: new URLSearchParams({ q: HOSTILE, run_id: HOSTILE }).toString(),
    });
    expect(holdsAsText(hostile)).toBe(true);
  });
});

describe('a change', () => {
  test.each([
    ['closed.3.3', '3 findings set to closed.'],
    ['false_positive.1.1', '1 finding set to false positive.'],
    ['me.2.3', '2 findings assigned to you. 1 needed no change.'],
    [
      'closed.900.1000',
      '900 findings set to closed. 100 needed no change. There may be more: repeat the change for the rest.',
    ],
  ])('%s is named in words, and is no part of the list', (done, text) => {
    const list = page({ address: `severity=high&done=${done}`, query: 'severity=high' });
    expect(list).toContain(`<p class="done" role="status" data-done>${text}</p>`);
    expect(list).not.toContain('done=');
  });

  test.each(['', 'closed', 'owned.1.1', '<b>.1.1', 'closed.x.1'])('%s is none', (done) => {
    const text = page({ address: new URLSearchParams({ done }).toString() });
    expect(text).toContain('<p class="done" role="status" data-done></p>');
  });

  test('leads back to the list as it was, at the next line', () => {
    const change = { to: 'closed', changed: 1, selected: 2 } as const;
    expect(changedPath('q=a&cursor=c&done=me.1.1', change, hex16(1))).toBe(
      `/app/findings?q=a&cursor=c&done=closed.1.2#f-${hex16(1)}`,
    );
    expect(changedPath('', change, null)).toBe('/app/findings?done=closed.1.2');
    expect(findingPath(hex16(1), 'q=a&newest=n')).toBe(`/app/findings/${hex16(1)}?list=q%3Da`);
  });
});

describe('groups', () => {
  const group: FindingGroup = {
    top: finding(),
    findings: 12,
    rules: 3,
    runs: 4,
    firstSeenAt: new Date(NOW_MS - 86_400_000),
    lastSeenAt: new Date(NOW_MS - 60_000),
    days: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 8],
    severities: { critical: 2, high: 10 },
  };

  test('by run have their severities and lead to the findings of the run', () => {
    const text = page({ findings: [], groups: [group], query: 'group_by=run&severity=high' });
    expect(text).toContain('2 critical</span>');
    expect(text).toContain('10 high</span>');
    expect(text).toContain('and 2 other rules');
    expect(text).toContain(`href="/app/findings?severity=high&amp;run_id=${hex16(0xc1)}"`);
  });

  test('of repetitions have a count, when they were seen, and lead to each of them', () => {
    const text = page({ findings: [], groups: [group], query: 'group_by=match&sort=count' });
    expect(text).toContain(`<a href="/app/findings?same_as=${hex16(0xf1)}">12 findings</a>`);
    expect(text).toContain('<span class="soft below">4 runs</span>');
    expect(text).toContain('1 day ago');
    expect(text).toContain(
      'aria-label="Findings searched, by day of the last 14: 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 8"',
    );
    expect(text.match(/<rect class="share"[^>]* height="24.0"/g)).toHaveLength(1);
    const once = { ...group, days: [...Array(13).fill(0), 1] };
    const few = page({ findings: [], groups: [once], query: 'group_by=match' });
    expect(few).toMatch(/<rect class="share"[^>]* height="6.0"/);
    expect(text).not.toContain('data-live=');
  });
});

describe('the views', () => {
  test('keep the filter when the list is grouped or sorted, and begin at its first page', () => {
    const text = page({ query: 'agent=shop&cursor=this-one' });
    expect(text).toContain('href="/app/findings?agent=shop&amp;group_by=run"');
    expect(text).toContain('href="/app/findings?agent=shop&amp;sort=severity"');
    expect(text).not.toContain('agent=shop&amp;sort=count');
    expect(page({ query: 'group_by=match&agent=a' })).toContain(
      'href="/app/findings?group_by=match&amp;agent=a&amp;sort=count"',
    );
  });

  test('have times before now, and show which of them is open', () => {
    expect(page()).toContain('href="/app/findings?severity=critical&amp;since=24h">');
    expect(page({ query: 'severity=critical&since=24h' })).toContain(
      'href="/app/findings?severity=critical&amp;since=24h" aria-current="true">',
    );
  });

  test('that are made of the newest findings say how far back, and lead on', () => {
    const searchedTo = new Date('2026-11-20T12:00:00.123Z');
    const query = 'group_by=match&sort=count&state=all';
    expect(page({ query })).not.toContain('made of the newest findings');
    const text = page({ query: `${query}&cursor=c`, searchedTo });
    expect(text).toContain('made of the newest findings');
    expect(text).toContain(
      `href="/app/findings?${query.replaceAll('&', '&amp;')}&amp;until=2026-11-20T12%3A00%3A00.123Z">Search further</a>`,
    );
    expect(page({ query, searchedTo, next: 'n' })).not.toContain('Search further');
  });

  test('say how many there are, and when there may be more', () => {
    expect(page()).toContain('<p class="total">1 finding</p>');
    const many = page({ total: { count: 10_000, isExact: false, within: null } });
    expect(many).toContain('<p class="total">10,000+ findings</p>');
  });

  test('say how many exceptions hide, with the same filter, and nothing where none are hidden', () => {
    const hidden = { count: 24, isExact: true, within: null };
    const text = page({ query: 'state=open&severity=high&cursor=c', hidden });
    expect(text).toContain(
      '<a href="/app/findings?state=excepted&amp;severity=high">24 hidden by exceptions</a>',
    );
    expect(page({ hidden: { ...hidden, isExact: false } })).toContain('24+ hidden by exceptions');
    expect(page({ hidden: { ...hidden, count: 0 } })).not.toContain('hidden by exceptions');
  });

  test('suggest names, and say how to search further', () => {
    const text = page({ names: { ...NO_NAMES, agents: [HOSTILE] }, endedEarly: true, next: 'n' });
    expect(text).toContain('list="known-agent"');
    expect(holdsAsText(text)).toBe(true);
    expect(text).toContain('Search further</a>');
  });
});

describe('an older page', () => {
  test('does not move: only the first one grows', () => {
    expect(page()).toContain('data-live="/app/findings/rows"');
    expect(page({ query: 'cursor=older' })).not.toContain('data-live=');
  });
});

describe('an empty list', () => {
  test('says what to do when nothing was found yet, and comes alive by itself', () => {
    const empty = page({ findings: [] });
    expect(empty).toContain('No findings yet');
    expect(empty).toContain('href="/docs/instrumentations"');
    expect(empty).toContain('data-live="/app/findings/rows"');
    expect(empty).toMatch(/<div hidden><form class="list"/);
  });

  test.each(['severity=low', 'q=nothing', 'run_id=1', 'since=2026-01-01'])(
    'leads back to all findings when %s fits none',
    (query) => {
      const empty = page({ findings: [], query });
      expect(empty).toContain('No findings match this filter');
      expect(empty).toContain('<a href="/app/findings?state=open">Show all open findings</a>');
    },
  );

  test('takes empty fields for no filter', () => {
    expect(page({ findings: [], query: 'severity=&q=' })).toContain('No findings yet');
  });
});
