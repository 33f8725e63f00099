/** Previews: progress, results by rule, who may start and cancel, what is suggested. */
import { describe, expect, test } from 'vitest';
import {
  comparePreviews,
  EMPTY_TALLY,
  findingsPerDay,
  noisyRules,
  type Preview,
} from '../../../../src/model/previews.ts';
import { compareForm, comparePage } from '../../../../src/web/app/previews/compare.ts';
import {
  perDayText,
  previewPage,
  previewsPage,
  tierPreview,
} from '../../../../src/web/app/previews/previews.ts';
import { HOSTILE, holdsAsText, LOOK, MEMBER, NOW_MS, rule, viewer } from '../fixtures.ts';

const RUN = 'c1'.repeat(16);

function preview(fields: Partial<Preview> = {}): Preview {
  return {
    id: 'ab'.repeat(16),
    kind: 'experimental',
    ruleIds: ['ATR-2026-00001', 'ATR-2026-00002'],
    days: 7,
    requestedBy: 'ada@people.test',
    requestedAt: new Date(NOW_MS - 120_000),
    state: 'done',
    startedAt: new Date(NOW_MS - 110_000),
    finishedAt: new Date(NOW_MS - 100_000),
    failure: null,
    corpusVersion: '4.0.0',
    corpusIdentity: 'c0'.repeat(20),
    runsInRange: 7000,
    oldestDays: 7,
    sample: 10_000,
    runsPlanned: 7000,
    tally: {
      ...EMPTY_TALLY,
      read: 7000,
      found: 700,
      cpuMs: 7000,
      rules: {
        'ATR-2026-00002': { runs: 35, examples: [] },
        'ATR-2026-00001': {
          runs: 700,
          examples: [{ runId: RUN, step: 3, surface: 'tool_result' }],
        },
      },
    },
    ...fields,
  };
}

const context = { findRule: () => rule(), nowMs: NOW_MS };
const page = (fields: Partial<Preview> = {}, who = viewer()): string =>
  previewPage(LOOK, who, preview(fields), context).text;

test.each([
  ['all of its days', 7, 100],
  ['half a day', 0.5, 1400],
  ['a minute: an hour counts', 1 / 1440, 16_800],
  ['more than its days: clocks', 7.1, 100],
  ['not known', null, 100],
])('findings a day of runs that arrived within %s', (_name, oldestDays, perDay) => {
  const of = preview({ oldestDays });
  expect(findingsPerDay(700, of)).toBeCloseTo(perDay, 9);
});

test('the page says what a day is counted over, where that is less than the days requested', () => {
  expect(page({ oldestDays: 0.5 })).toContain('Counted over 12 h 0 min: the oldest');
  expect(page({ oldestDays: 7 })).not.toContain('Counted over');
});

describe('a preview', () => {
  test('shows how many findings to expect, and the noisiest rule first', () => {
    const text = page();
    expect(text).toContain('<p class="figure">105 a day</p>');
    expect(text).toContain('10% of the runs would have at least one finding.');
    expect(text).toContain('7,000 of 7,000');
    expect(text).toContain('1.00 ms a run');
    expect(text.indexOf('/app/rules/ATR-2026-00001"')).toBeLessThan(
      text.indexOf('/app/rules/ATR-2026-00002"'),
    );
    expect(text).toContain(`href="/app/runs/${RUN}?step=3" title="step 3, tool result"`);
    expect(text).not.toContain('/cancel?');
    expect(text).not.toContain('data-poll');
  });

  test('is renewed while it works, and cancelled by an admin', () => {
    const running = { state: 'running', finishedAt: null } as const;
    expect(page(running)).toContain('data-poll');
    expect(page(running)).toContain('/cancel?workspace=crew"');
    expect(page(running, MEMBER)).not.toContain('/cancel?');
    expect(page(running, MEMBER)).toContain('>Reload</a>');
  });

  test('says that it looked at a sample', () => {
    const text = page({ runsInRange: 700_000, sample: 1428, runsPlanned: 99_960 });
    expect(text).toContain('of about 99,960');
    expect(text).toContain('a sample of the 700,000 runs of these days');
  });

  test('counts for all runs of its days when it was sampled or cancelled', () => {
    const { tally } = preview();
    const text = page({ state: 'cancelled', runsInRange: 14_000, tally });
    expect(text).toContain('<p class="figure">210 a day</p>');
  });

  test('says why it failed, and when nothing matches', () => {
    expect(page({ state: 'failed', failure: 'no room' })).toContain('no room');
    expect(page({ tally: { ...EMPTY_TALLY, read: 5 } })).toContain('No matches');
  });

  test('is text, whatever it contains', () => {
    const findRule = () => rule({ title: HOSTILE });
    const hostile = preview({ requestedBy: HOSTILE, failure: HOSTILE });
    expect(holdsAsText(previewPage(LOOK, viewer(), hostile, { ...context, findRule }).text)).toBe(
      true,
    );
  });
});

test('the list begins one as an admin, and links each', () => {
  const pageContext = { ...context, compare: null };
  const list = (who = viewer()) => previewsPage(LOOK, who, [preview()], pageContext).text;
  expect(list()).toContain('action="/app/rules/previews?workspace=crew"');
  expect(list(MEMBER)).not.toContain('action="/app/rules/previews?');
  expect(list(MEMBER)).toContain(`href="/app/rules/previews/${'ab'.repeat(16)}"`);
  expect(previewsPage(LOOK, MEMBER, [], pageContext).text).toContain('No previews yet');
});

describe('the rules that are suggested to be left off', () => {
  const rules = ['ATR-2026-00001', 'ATR-2026-00002', 'ATR-2026-00003'].map((id) => rule({ id }));
  const of = (rules_: Readonly<Record<string, number>>, read = 7000) =>
    preview({
      tally: {
        ...preview().tally,
        read,
        rules: Object.fromEntries(
          Object.entries(rules_).map(([id, runs]) => [id, { runs, examples: [] }]),
        ),
      },
    });

  test('are those that matched one in a hundred runs, the noisiest first', () => {
    const measured = { 'ATR-2026-00001': 70, 'ATR-2026-00002': 69, 'ATR-2026-00003': 700 };
    expect(noisyRules(rules, of(measured))).toEqual([
      { ruleId: 'ATR-2026-00003', runs: 700, percentOfRuns: 10 },
      { ruleId: 'ATR-2026-00001', runs: 70, percentOfRuns: 1 },
    ]);
  });

  test('are none without a preview, or with one of few runs, whatever their authors state', () => {
    const { quality } = rule();
    const stated = rules.map((one) => ({ ...one, quality: { ...quality, wildFpRate: 52 } }));
    expect(noisyRules(stated, null)).toEqual([]);
    expect(noisyRules(stated, of({ 'ATR-2026-00001': 99 }, 99))).toEqual([]);
  });

  test('are not rules that the tier does not switch on', () => {
    expect(noisyRules(rules.slice(1), of({ 'ATR-2026-00001': 700 }))).toEqual([]);
  });

  test('may be many', () => {
    const many = Array.from({ length: 60 }, (_, index) =>
      rule({ id: `ATR-2026-001${index + 10}` }),
    );
    const measured = Object.fromEntries(many.map(({ id }) => [id, 700]));
    expect(noisyRules(many, of(measured))).toHaveLength(50);
  });
});

describe('the experimental tier on the Rules page', () => {
  const noisy = noisyRules([rule({ id: 'ATR-2026-00001' })], preview()).map((one) => {
    return { ...one, title: HOSTILE };
  });
  const shown = { last: preview(), open: null, noisy };

  test('has the last preview and its noisy rules, with one button that leaves them off', () => {
    const { text } = tierPreview(shown, viewer());
    expect(text).toContain('<strong>105 a day</strong> findings');
    expect(text).toContain('fired in 10% of the runs: 700 of 7,000');
    expect(text).toContain('name="leave_off" value="ATR-2026-00001"');
    expect(text).toContain('Switch on, leave the noisy rule off');
    expect(text).toContain('Switch on with all rules');
    expect(holdsAsText(text)).toBe(true);
  });

  test('has the same list while it is on, to leave rules off', () => {
    const { text } = tierPreview(shown, viewer(), true);
    expect(text).toContain('Leave the noisy rule off');
    expect(text).toContain('name="experimental" value="true"');
    expect(text).not.toContain('Switch on');
  });

  test('asks for a preview where there is none', () => {
    const { text } = tierPreview({ last: null, open: null, noisy: [] }, viewer());
    expect(text).toContain('Preview these rules on your own runs first');
    expect(text).toContain('action="/app/rules/previews?workspace=crew"');
    expect(text).not.toContain('leave_off');
    expect(text).not.toContain('data-poll');
  });

  test('shows the progress of the preview that runs, and stays fresh', () => {
    const open = preview({ state: 'running', tally: { ...EMPTY_TALLY, read: 1400 } });
    const { text } = tierPreview({ last: null, open, noisy: [] }, viewer());
    expect(text).toContain('<progress max="100" value="20"');
    expect(text).toContain('data-fresh="tier" data-poll');
    expect(text).not.toContain('action="/app/rules/previews?workspace=crew"');
  });

  test('says that few runs, or no noisy rule, suggest nothing', () => {
    const few = preview({ tally: { ...preview().tally, read: 99 } });
    expect(tierPreview({ last: few, open: null, noisy: [] }, viewer()).text).toContain(
      'too few runs',
    );
    expect(tierPreview({ ...shown, noisy: [] }, viewer()).text).toContain('No rule fired on 1%');
  });
});

test.each([
  [0, '0.0 a day'],
  [0.01, '<0.1 a day'],
  [2.44, '2.4 a day'],
  [1234.4, '1,234 a day'],
])('%d findings a day are written %s', (perDay, text) => {
  expect(perDayText(perDay)).toBe(text);
});

describe('two previews', () => {
  const other = preview({
    id: 'cd'.repeat(16),
    days: 14,
    ruleIds: ['ATR-2026-00001', 'ATR-2026-00003'],
    tally: {
      ...EMPTY_TALLY,
      read: 3500,
      found: 400,
      cpuMs: 1,
      rules: {
        'ATR-2026-00001': { runs: 350, examples: [] },
        'ATR-2026-00003': { runs: 70, examples: [] },
      },
    },
  });
  const page = (a = preview(), b = other) =>
    comparePage(LOOK, viewer(), {
      previews: [b, a],
      chosen: { a, b },
      findRule: () => rule({ title: HOSTILE }),
      nowMs: NOW_MS,
    }).text;

  test('differ where another share of the runs matches, whatever their number', () => {
    const { differing, equal } = comparePreviews(preview(), other);
    expect(equal).toBe(1);
    expect(differing.map(({ ruleId, a, b }) => [ruleId, a?.percent, b?.percent])).toEqual([
      ['ATR-2026-00003', undefined, 2],
      ['ATR-2026-00002', 0.5, undefined],
    ]);
    expect(comparePreviews(other, other)).toEqual({ differing: [], equal: 2 });
  });

  test('are shown side by side, with what one of them did not preview', () => {
    const text = page();
    expect(text).toContain('not previewed');
    expect(text).toContain('2% <span class="soft below">70 runs</span>');
    expect(text).toContain('1 rule with the same share of the runs in both.');
    expect(text).toContain(`<option value="${other.id}" selected>`);
    expect(holdsAsText(text)).toBe(true);
    expect(page(other, other)).toContain('No differences');
  });

  test('can be chosen once two are done', () => {
    const findRule = () => null;
    expect(compareForm([other], findRule)).toBe(null);
    const form = compareForm([other, preview()], findRule);
    expect(String(form === null ? '' : Object(form).text)).toContain(
      `action="/app/rules/previews/compare"`,
    );
    const none = { previews: [other], chosen: null, findRule, nowMs: NOW_MS };
    expect(comparePage(LOOK, viewer(), none).text).toContain('Nothing to compare yet');
  });
});
