/** The list, the page and the API say the same about a run in every state, and never more than was checked. */
import { describe, expect, test } from 'vitest';
import { toRunItem } from '../../../src/http/api/runs/run-schema.ts';
import type { RunSummary } from '../../../src/model/runs.ts';
import { runPage } from '../../../src/web/app/run.ts';
import { checkedLine } from '../../../src/web/app/run-check.ts';
import { runsPage } from '../../../src/web/app/runs.ts';
import { NO_RUN_NAMES } from '../../../src/web/app/shell.ts';
import { html } from '../../../src/web/html.ts';
import { CHECKED_CASES, checkedFields } from '../../support/checked-runs.ts';
import { LOOK, NOW_MS, run, viewer } from './fixtures.ts';

describe.each(CHECKED_CASES)('a run $what', (one) => {
  const summary = run(checkedFields(one));
  const isReassuring = one.checked === 'fully';

  test('in the list', () => {
    const list = {
      names: NO_RUN_NAMES,
      runs: [summary],
      query: '',
      next: null,
      endedEarly: false,
      searchedTo: null,
      search: null,
      isRedacted: false,
      nowMs: NOW_MS,
    };
    const { text } = runsPage(LOOK, viewer(), list);
    const cell = /<td data-label="Checked">(.*?)<\/td>/s.exec(text)?.[1] ?? '';
    expect(cell).toContain(one.cell);
    const findings = /<td data-label="Findings">(.*?)<\/td>/s.exec(text)?.[1];
    expect(findings).toContain(isReassuring || one.checked === 'partly' ? 'none' : '–');
  });

  const pageOf = (shownRun: RunSummary) =>
    runPage(LOOK, viewer(), {
      run: shownRun,
      shown: {
        steps: [],
        places: new Map(),
        count: 0,
        pageSteps: 50,
        sought: null,
        title: null,
        tree: null,
        usage: null,
        startUnixNano: '0',
        endUnixNano: '0',
      },
      wait: null,
      open: null,
      finding: null,
      search: null,
      query: '',
      findings: [],
      titleOf: (ruleId: string) => ruleId,
      isList: false,
      isRedacted: false,
      nowMs: NOW_MS,
    }).text;

  test('on its page', () => {
    const text = pageOf(summary);
    for (const part of one.page) expect(text).toContain(part);
    if (!isReassuring) expect(text).not.toContain('No rule matched.</p>');
    expect(text.includes('No rule matched. 2 texts')).toBe(isReassuring);
  });

  test('on its page, with blocks that could not be read', () => {
    const text = pageOf({ ...summary, unreadable: { blocks: 2, steps: 31 } });
    expect(text).toContain(
      '<p class="notice error">2 blocks could not be read, with 31 steps.</p>',
    );
    expect(text).not.toContain('No rule matched. 2 texts');
  });

  test('over the API', () => {
    expect(toRunItem(summary, { settleMs: 0, timeoutMs: 0 })).toMatchObject({
      checked: one.checked,
      check_limits: one.limits,
      surfaces: summary.surfaces,
      truncated_texts: summary.truncatedTexts,
      text_cap_bytes: summary.textCapBytes,
      unparsed_values: summary.unparsedValues,
      capture_hint: summary.captureHint,
    });
  });
});

test('a run that failed and has findings of single steps is not called evaluated', () => {
  const failed = run({ evaluation: 'evaluation_failed', texts: null, severities: ['high'] });
  expect(html`${checkedLine(failed)}`.text).toContain(
    'only step by step: every attempt to evaluate the whole run failed',
  );
});
