/** The first page: its sums, what its charts say in words, and what it says while nothing is there. */
import { describe, expect, test } from 'vitest';

import type { WorkspaceOverview } from '../../../src/model/overview.ts';
import { type OverviewPage, overviewPage } from '../../../src/web/app/overview.ts';
import { LOOK, MEMBER, NOW_MS, ruleFacts, viewer } from './fixtures.ts';

const HOUR_MS = 3_600_000;
const hour = {
  runs: 2,
  steps: 10,
  withoutText: 0,
  failedEvaluations: 0,
  open: 0,
  lagMs: { mean: 70_000, most: 90_000 },
};
const OVERVIEW: WorkspaceOverview = {
  hours: [
    { atMs: NOW_MS - HOUR_MS, counts: hour },
    { atMs: NOW_MS, counts: { ...hour, steps: 1430, lagMs: null } },
  ],
  days: [
    { atMs: Date.UTC(2026, 10, 20), counts: [] },
    {
      atMs: Date.UTC(2026, 10, 21),
      counts: [
        { severity: 'critical', category: 'tool-poisoning', findings: 3 },
        { severity: 'high', category: 'tool-poisoning', findings: 1200 },
        { severity: 'high', category: 'prompt-injection', findings: 4 },
      ],
    },
  ],
  top: [],
  runs: { any: true, waiting: 0, moreWait: false, oldestWaitingMs: null },
};

function data(overview: Partial<WorkspaceOverview> = {}): OverviewPage {
  return {
    overview: { ...OVERVIEW, ...overview },
    rules: ruleFacts(),
    replica: null,
    refused: { groups: [], requests: 0 },
    visit: { since: null, newFindings: null, assigned: { findings: 0, more: false, new: 0 } },
    titleOf: (ruleId) => `title of ${ruleId}`,
    observeUrl: 'https://observe.test',
    nowMs: NOW_MS,
    iso: (ms) => new Date(ms).toISOString(),
  };
}

/** Of the open findings that the overview counts. */
const openList = (filter: string, since = '2026-11-20') =>
  `href="/app/findings?state=open&amp;since=${since}T00%3A00%3A00.000Z${filter}"`;

const page = (overview: Partial<WorkspaceOverview> = {}, who = viewer()): string =>
  overviewPage(LOOK, who, data(overview)).text;
const flat = (text: string): string => text.replaceAll(/\s+/g, ' ');

describe('figures', () => {
  test('add up what was counted', () => {
    const text = page();
    expect(text).toContain(`<a ${openList('')}>1,207</a>`);
    expect(text).toContain(`${openList('&amp;severity=high')}>1,204 high</a>`);
    expect(text).toContain(`${openList('&amp;severity=critical')}>3 critical</a>`);
    expect(text).toContain('<p class="figure">1,440</p>');
    expect(text).toContain('1.0 per minute on average, in 4 ');
    expect(text).toContain('<a href="/app/rules">51</a>');
    expect(text).toContain('Of 1,800. The experimental tier is off; 0 rules are set manually.');
    expect(text).toContain('<a href="/app/rules?state=off_by_tier">Off, experimental tier</a>');
  });

  test('tell what waits for the pass, and that there may be more', () => {
    const waiting = { any: true, waiting: 10_000, moreWait: true };
    const text = flat(page({ runs: { ...waiting, oldestWaitingMs: NOW_MS - 3 * HOUR_MS } }));
    expect(text).toContain('10,000 or more waiting');
    expect(text).toContain('the oldest has waited 3 h 0 min');
    expect(page()).toContain('every finished run has been evaluated');
  });

  test('say what went wrong, one or many', () => {
    const bad = { ...hour, withoutText: 1, failedEvaluations: 2, open: 0 };
    const text = flat(page({ hours: [{ atMs: NOW_MS, counts: bad }] }));
    expect(text).toContain('2 runs of the last day could not be evaluated');
    expect(text).toContain('1 run of the last day had no text to check');
    // The runs that are counted: since the first hour.
    const since = 'since=2026-11-21T12%3A00%3A00.000Z';
    expect(text).toContain(`"/app/runs?evaluation=evaluation_failed&amp;${since}"`);
    expect(text).toContain(`"/app/runs?checked=tool_names_only&amp;${since}"`);
    expect(page()).not.toContain('class="notice');
  });
});

describe('a read replica', () => {
  const withReplica = (isUsed: boolean): string =>
    overviewPage(LOOK, viewer(), { ...data(), replica: { isUsed, lagMs: 1240 } }).text;

  test('is shown with its lag, and when pages come from the primary', () => {
    expect(withReplica(true)).toContain('Read replica: at most 1.2 s behind.');
    expect(withReplica(false)).toContain('not used, last known to be up to date 1.2 s ago');
    expect(page()).not.toContain('Read replica');
  });
});

describe('what changed', () => {
  const withDays = (...findings: number[]): Partial<WorkspaceOverview> => ({
    days: findings.map((one, at) => ({
      atMs: NOW_MS - (findings.length - at) * 24 * HOUR_MS,
      counts: [{ severity: 'high', category: 'tool-poisoning', findings: one }],
    })),
  });
  const weeks = (before: number, last: number) => [
    ...Array(7).fill(before),
    ...Array(7).fill(last),
  ];

  test('compares this week with the one before', () => {
    expect(page(withDays(...weeks(2, 3)))).toContain('21 this week, 14 the week before</p>');
    expect(page(withDays(...weeks(1, 1)))).toContain('7 this week, as the week before');
    expect(page()).not.toContain('the week before');
  });

  test('since the last visit is counted, not on the first one', () => {
    const since = new Date(NOW_MS - 3 * HOUR_MS);
    const visit = { ...data().visit, since, newFindings: { findings: 1000, more: true } };
    const text = overviewPage(LOOK, viewer(), { ...data(), visit }).text;
    expect(text).toContain(
      '<a href="/app/findings?state=open&amp;since=2026-11-21T09%3A00%3A00.000Z">1,000+</a>',
    );
    expect(text).toContain('3 hours ago');
    expect(page()).not.toContain('New since your last visit');
  });

  test('assigned findings are counted, with those that were assigned since the last visit', () => {
    const withAssigned = (assigned: OverviewPage['visit']['assigned']): string =>
      overviewPage(LOOK, viewer(), { ...data(), visit: { ...data().visit, assigned } }).text;
    const link = '<a href="/app/findings?state=open&amp;assignee=me">';
    const text = withAssigned({ findings: 3, more: false, new: 2 });
    expect(text).toContain(`<h2>Assigned to you</h2><p class="figure">${link}3</a>`);
    expect(text).toContain('<strong>2 assigned since your last visit</strong>');
    const seen = withAssigned({ findings: 2000, more: true, new: 0 });
    expect(seen).toContain(`${link}2,000+</a>`);
    expect(seen).not.toContain('assigned since');
  });

  test('agents, services and rules with most findings have links to their lists', () => {
    const top = [
      { by: 'agent', name: 'a & b', findings: 12 },
      { by: 'agent', name: 'c', findings: 3 },
      { by: 'rule', name: 'ATR-2026-00001', findings: 9 },
    ] as const;
    const text = page({ top });
    expect(text).toContain(`<a ${openList('&amp;agent=%22a+%26+b%22')}>a &amp; b</a>`);
    expect(text).toContain(
      `<a ${openList('&amp;rule_id=ATR-2026-00001')}>title of ATR-2026-00001</a>`,
    );
    expect(text).toContain('<rect class="share" width="25" height="6"/>');
    expect(text).not.toContain('Services with most');
  });
});

describe('charts', () => {
  test('say in words what they show, and have their numbers in a table', () => {
    const text = page();
    for (const label of [
      'Open findings by day and severity, from 20 Nov to 21 Nov; most at once 1,207',
      'Steps by hour, from 11:00 UTC to 12:00 UTC; most at once 1,430',
      'Time to evaluation by hour, from 11:00 UTC to 12:00 UTC; most at once 1 min 30 s',
    ]) {
      expect(text).toContain(`role="img" aria-label="${label}"`);
    }
    // The script shows the viewer's own time.
    const hour = (at: number) =>
      `<th scope="row"><time datetime="2026-11-21T${at}:00:00.000Z" data-slot>${at}:00 UTC</time></th>`;
    expect(text).toContain('<g data-at="2026-11-21T11:00:00.000Z"><title>11:00 UTC: ');
    expect(text).toContain('<title>21 Nov: 3 critical, 1,204 high</title>');
    expect(text).toContain(`${hour(11)}<td class="number">1 min 30 s</td>`);
    expect(text).toContain(`${hour(12)}<td class="number">–</td>`);
  });

  test('show each category over time, the most frequent first', () => {
    const text = page();
    const [first, second] = ['tool poisoning', 'prompt injection'].map((name) =>
      text.indexOf(`">${name}</a></th>`),
    );
    expect(first).toBeGreaterThan(0);
    expect(second).toBeGreaterThan(first ?? 0);
    expect(text).toContain('aria-label="per day: 0, 1,203"');
    expect(text).toContain(openList('&amp;category=atr_tool_poisoning'));
  });

  test('have no style of their own, which the pages’ policy would refuse', () => {
    expect(page()).not.toMatch(/ style=|<style/);
  });

  test('of nothing are empty and say so', () => {
    const nothing = [{ atMs: NOW_MS, counts: [] }];
    const text = page({
      days: nothing,
      hours: [{ atMs: NOW_MS, counts: { ...hour, runs: 0, steps: 0, lagMs: null } }],
    });
    expect(text).toContain('None in two weeks.');
    expect(text).toContain('Steps by hour: nothing from 12:00 UTC to 12:00 UTC');
    expect(text).not.toMatch(/NaN|Infinity|undefined/);
  });

  test('leave open what was not counted yet', () => {
    const text = page({ hours: [{ atMs: NOW_MS - 2 * HOUR_MS, counts: null }, ...OVERVIEW.hours] });
    expect(text).toContain('still being counted');
    // Their links begin where the counts do.
    expect(text).toContain('"/app/runs?since=2026-11-21T11%3A00%3A00.000Z"');
    expect(text).toContain('<title>10:00 UTC: not known</title>');
    expect(page()).not.toContain('still being counted');
  });
});

describe('refused requests', () => {
  const refusal = {
    reason: 'unsupported_type',
    address: '192.0.2.7',
    userAgent: 'Deno/2.5 <b>',
    path: '/v1/traces',
    requests: 1200,
    keyName: 'collector',
    keyPrefix: 'sluice_live_AbCdEf',
    lastAt: new Date(NOW_MS - 61_000),
  };
  const shown = (overview: Partial<WorkspaceOverview> = {}, groups = [refusal], requests = 1200) =>
    overviewPage(LOOK, viewer(), { ...data(overview), refused: { groups, requests } }).text;

  test('are listed with their key, their sender, and what to change there', () => {
    const text = shown();
    expect(text).toContain('Refused requests, last hour: 1,200');
    expect(text).toContain('OTEL_EXPORTER_OTLP_PROTOCOL=http/json');
    expect(text).toContain('<code>sluice_live_AbCdEf…</code>');
    expect(text).toContain('192.0.2.7');
    expect(text).toContain('Deno/2.5 &lt;b&gt;');
    expect(text).toContain('1 minute ago');
    expect(text).not.toContain('Only the most frequent are listed');
  });

  test('show also before anything has arrived, and say when there are more', () => {
    const none = { any: false, waiting: 0, moreWait: false, oldestWaitingMs: null };
    const text = shown({ runs: none }, [refusal], 1300);
    expect(text).toContain('Refused requests, last hour: 1,300');
    expect(text).toContain('Only the most frequent are listed');
  });

  test('none: says where requests without a known key are', () => {
    expect(page()).toContain('No request with a key of this workspace was refused');
    expect(page()).not.toContain('href="#refused"');
    expect(page()).toContain('sluice_ingest_refused_requests_total');
  });

  test('a reason without advice of its own links to the error table', () => {
    expect(shown({}, [{ ...refusal, reason: 'conflict' }])).toContain(
      'href="/docs/errors#conflict"',
    );
  });
});

describe('before anything has arrived', () => {
  const none = { any: false, waiting: 0, moreWait: false, oldestWaitingMs: null };

  test('it says where to send, with which key, and what to switch on', () => {
    const text = page({ runs: none });
    expect(text).toContain('OTEL_EXPORTER_OTLP_ENDPOINT=https://observe.test\n');
    expect(text).toContain('<a href="/app/keys">agent key</a>');
    expect(text).toContain('href="/docs/instrumentations"');
    expect(text).not.toContain('<svg');
  });

  test('a member, who cannot create keys, is referred to an admin', () => {
    expect(page({ runs: none }, MEMBER)).toContain('Ask an admin for an agent key');
  });
});
