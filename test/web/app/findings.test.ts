/** The list of findings: what a row says, that filters go along, what an empty list says to do. */
import { describe, expect, test } from 'vitest';

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
    filter: {},
    query: '',
    next: null,
    titleOf: (id) => `title of ${id}`,
    nowMs: NOW_MS,
    ...fields,
  };
}

const page = (fields: Partial<FindingsPage> = {}): string =>
  findingsPage(LOOK, viewer(), data(fields)).text;

describe('a row', () => {
  test('names the rule, leads to the finding and to the step of its run', () => {
    const { text } = findingRows(data());
    expect(text).toContain(`<a href="/app/findings/${hex16(0xf1)}">title of ATR-2026-00001</a>`);
    expect(text).toContain(`href="/app/runs/${hex16(0xc1)}?finding=${hex16(0xf1)}#found"`);
    expect(text).toContain(`<tr data-key="${hex16(0xf1)}">`);
    expect(text).toContain(
      '<time datetime="2026-11-21T11:55:00.000Z" title="2026-11-21T11:55:00.000Z" data-ago="300">5 minutes ago</time>',
    );
  });

  test('never holds the excerpt', () => {
    expect(page({ findings: [finding({ excerpt: 'what the customer said' })] })).not.toContain(
      'what the customer said',
    );
  });

  test('shows what a sender wrote as text', () => {
    expect(holdsAsText(page({ findings: [finding({ stepName: HOSTILE })] }))).toBe(true);
  });

  test('leads to the run alone when its step has no id', () => {
    expect(findingLink(finding({ stepSpanId: null }))).toBe(
      `/app/runs/${hex16(0xc1)}?finding=${hex16(0xf1)}#found`,
    );
  });
});

describe('filters', () => {
  const query = 'severity=high&q=secret+key&category=&since=2026-11-01';
  const filtered = page({ query, filter: { severity: 'high' }, next: 'next-one' });

  test('are shown again', () => {
    expect(filtered).toContain('<option value="high" selected>');
    expect(filtered).toContain('name="q" value="secret key"');
    expect(filtered).toContain('type="date" name="since" value="2026-11-01"');
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
    expect(empty).toMatch(/<div hidden><div class="scroll"/);
  });

  test.each(['severity=low', 'q=nothing', 'run_id=1', 'since=2026-01-01'])(
    'leads back to all findings when %s fits none',
    (query) => {
      const empty = page({ findings: [], query });
      expect(empty).toContain('No findings match this filter');
      expect(empty).toContain('<a href="/app/findings">Show all findings</a>');
    },
  );

  test('takes empty fields for no filter', () => {
    expect(page({ findings: [], query: 'severity=&q=' })).toContain('No findings yet');
  });
});
