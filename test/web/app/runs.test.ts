/** The list of runs: the row of each state, filters that are kept between pages, pages that end early. */
import { describe, expect, test } from 'vitest';
import { type RunsPage, runsPage } from '../../../src/web/app/runs.ts';
import { NO_RUN_NAMES } from '../../../src/web/app/shell.ts';
import { HOSTILE, holdsAsText, LOOK, NOW_MS, run, viewer } from './fixtures.ts';

const page = (fields: Partial<RunsPage> = {}): string =>
  runsPage(LOOK, viewer(), {
    names: NO_RUN_NAMES,
    runs: [run()],
    query: '',
    next: null,
    endedEarly: false,
    searchedTo: null,
    search: null,
    isRedacted: false,
    nowMs: NOW_MS,
    ...fields,
  }).text;

test('a sorted list offers older runs with the filter it has, and no other list does', () => {
  const searchedTo = new Date(NOW_MS);
  const text = page({ query: 'sort=longest&agent=a&cursor=x', searchedTo, next: 'more' });
  expect(text).toContain('<option value="longest" selected>longest</option>');
  expect(text).toContain(
    'href="/app/runs?sort=longest&amp;agent=a&amp;until=2026-11-21T12%3A00%3A00.000Z"',
  );
  expect(text).toMatch(/rel="next">Next</);
  expect(page({ next: 'more' })).not.toContain('Sort older runs');
});

describe('a row', () => {
  test('counts spans and log records as steps, and tells how long it took', () => {
    expect(page()).toContain('<td data-label="Steps" class="number">5</td>');
    expect(page()).toContain('<td data-label="Duration" class="number">2.0 s</td>');
  });

  test('says that a run of log records ended without an event, and that another one timed out', () => {
    const stateOf = (fields: Parameters<typeof run>[0]) =>
      /data-label="State">([^<]*)</.exec(page({ runs: [run(fields)] }))?.[1];
    expect(stateOf({ state: 'timed_out', spans: 0 })).toBe('ended (no end event)');
    expect(stateOf({ state: 'timed_out', spans: 1 })).toBe('timed out');
    expect(stateOf({ state: 'completed', spans: 0 })).toBe('completed');
  });

  test.each([
    ['its agent', run(), 'shopper'],
    ['its root span', run({ agentName: null }), 'invoke_agent shop'],
    ['its service', run({ agentName: null, name: null }), 'shop'],
    ['its id', run({ agentName: null, name: null, serviceName: null }), '00000000'],
  ])('is called after %s', (_what, one, name) => {
    expect(page({ runs: [one] })).toMatch(
      new RegExp(`<a href="/app/runs/\\w+" data-open>${name}</a>`),
    );
  });

  test('is called after its first prompt, cut, with agent, service and model below', () => {
    const text = page({ runs: [run({ title: 'x'.repeat(100) })] });
    expect(text).toContain(`>${'x'.repeat(80)}…</a> <span class="soft below">`);
    const links = [...text.matchAll(/href="\/app\/entities\?kind=(\w+)&amp;name=([\w-]+)">\2</g)];
    expect(links.map(([, kind, name]) => [kind, name])).toEqual([
      ['agent', 'shopper'],
      ['service', 'shop'],
      ['model', 'model-1'],
    ]);
    expect(holdsAsText(page({ runs: [run({ title: HOSTILE })] }))).toBe(true);
  });

  test('shows the tokens and the cost of all its steps', () => {
    const text = page({ runs: [run({ inputTokens: 1204, outputTokens: 87, costUsd: 0.0123 })] });
    expect(text).toContain('1,204 → 87 <span class="soft below">$0.01</span>');
  });

  test('shows the gravest of its findings, and how many there are', () => {
    const text = page({ runs: [run({ severities: ['low', 'critical', 'high'] })] });
    expect(text).toContain('<span class="badge critical">critical</span>');
    expect(text).toContain('of 3');
    expect(text).not.toContain('badge low');
  });

  test('has no length when an end did not arrive', () => {
    expect(page({ runs: [run({ endUnixNano: null })] })).toContain(
      '<td data-label="Duration" class="number"></td>',
    );
  });

  test('shows what a sender wrote as text', () => {
    const hostile = run({ agentName: HOSTILE, serviceName: HOSTILE, model: HOSTILE });
    expect(holdsAsText(page({ runs: [hostile] }))).toBe(true);
  });
});

describe('pages', () => {
  test('take their filter along', () => {
    const text = page({ query: 'state=failed&agent=a%26b', next: 'older' });
    expect(text).toContain('href="/app/runs?state=failed&amp;agent=a%26b&amp;cursor=older"');
    expect(text).toContain('name="agent" value="a&amp;b"');
    expect(text).toContain('<option value="failed" selected>');
  });

  test('that end early say so, and lead further', () => {
    const text = page({ runs: [], query: 'agent=rare', next: 'older', endedEarly: true });
    expect(text).toContain('No matching runs so far');
    expect(text).toContain('rel="next">Search further</a>');
    expect(page({ next: 'older' })).toContain('rel="next">Older</a>');
  });
});

describe('an empty list', () => {
  test('says how to send the first run', () => {
    expect(page({ runs: [] })).toContain('<a href="/app">How to send the first one</a>');
    expect(page({ runs: [], query: 'state=&agent=' })).toContain('No runs yet');
  });

  test('leads back from a filter that fits nothing', () => {
    expect(page({ runs: [], query: 'state=failed' })).toContain(
      '<a href="/app/runs">Show all runs</a>',
    );
  });
});
