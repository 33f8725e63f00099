/**
 * The keys of the pages, which are those that each page's own help lists: what they do, and that they do
 * nothing while a modifier is held, text is typed, or the help is open.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { findingPage } from '../../../src/web/app/finding.ts';
import { NO_NAMES } from '../../../src/web/app/findings/finding-filters.ts';
import { findingsPage } from '../../../src/web/app/findings.ts';
import { chromiumPath } from '../../support/programs.ts';
import { hex16 } from '../../support/rows.ts';
import { finding, NOW_MS, run, viewer } from '../app/fixtures.ts';
import { LOOK, openScriptPage, type ScriptPage } from './script-page.ts';
import { RUN_PATH, runOf, stepOf } from './shown-run.ts';

let tab: ScriptPage;

const titleOf = (id: string) => `title of ${id}`;
const IDS = [0xf1, 0xf2, 0xf3].map((one) => hex16(one));

const LIST = findingsPage(LOOK, viewer(), {
  findings: IDS.map((id) => finding({ id })),
  groups: null,
  endedEarly: false,
  searchedTo: null,
  total: { count: 3, isExact: true, within: null },
  hidden: null,
  names: NO_NAMES,
  views: [],
  query: '',
  address: '',
  next: null,
  titleOf,
  nowMs: NOW_MS,
}).text;

const FINDING = findingPage(LOOK, viewer(), {
  finding: finding(),
  list: { query: 'state=open', previous: hex16(0xa1), next: hex16(0xa2), isListed: true },
  references: [],
  title: 'One finding',
  run: run(),
  triage: { state: 'new', assignee: null, history: [] },
  members: [],
  exceptions: [],
  ofRun: [finding()],
  repeated: null,
  decided: null,
  titleOf,
  nowMs: NOW_MS,
}).text;

const openRun = () => tab.open(`${RUN_PATH}?step=3`, ({ path }) => ({ text: runOf(stepOf(path)) }));
const openList = () => tab.open('/app/findings', LIST);
const openFinding = () => tab.open('/app/findings/one', FINDING);

/** What a key is sent to. */
const ON_BODY = 'document.body';
const NAMES: Readonly<Record<string, string>> = { '←': 'ArrowLeft', '→': 'ArrowRight' };

/** The keys that the page's help lists, but those of the browser itself. */
async function listedKeys(): Promise<string[]> {
  const all = await tab.page.locator('dialog[data-keys-help] dt kbd').allTextContents();
  return all.map((key) => NAMES[key] ?? key).filter((key) => key !== 'Enter');
}

/** Sends keys to an element; returns those that the page took. */
function taken(keys: readonly string[], target: string, more: object = {}): Promise<string[]> {
  const sent = JSON.stringify({ bubbles: true, cancelable: true, ...more });
  return tab.page.evaluate(`{
    const target = ${target};
    ${JSON.stringify(keys)}.filter((key) =>
      !target.dispatchEvent(new KeyboardEvent('keydown', { ...${sent}, key })));
  }`);
}

/** Elements in which text is typed, added to the page. */
const FIELDS = ['input', 'select', 'textarea', 'div', 'p'] as const;
async function addFields(): Promise<void> {
  await tab.page.evaluate(`for (const name of ${JSON.stringify(FIELDS)}) {
    const field = document.createElement(name);
    field.id = 'typed-' + name;
    if (name === 'div' || name === 'p') field.contentEditable = name === 'p' ? 'plaintext-only' : 'true';
    document.body.append(field);
  }`);
}

const HELD = ['ctrlKey', 'metaKey', 'altKey', 'shiftKey', 'isComposing'] as const;
/** Behind Shift on some keyboards. */
const SHIFTED = ['/', '?'];
const PAGES = [
  ['the list', openList, ['j', 'k', 'o', 'x', 's', 'a', '/', '?']],
  ['a finding', openFinding, ['j', 'k', 'r', 's', 'n', 'a', 'e', '?']],
  ['a run', openRun, ['j', 'k', 'n', 'p', 'ArrowLeft', 'ArrowRight', 'e', '/', '?']],
] as const;

const focused = () =>
  tab.page.evaluate<string>(
    "document.activeElement.closest('tr')?.dataset.key ?? document.activeElement.name ?? document.activeElement.localName",
  );
const press = (...keys: string[]) =>
  keys.reduce((before, key) => before.then(() => tab.page.keyboard.press(key)), Promise.resolve());
const checked = () =>
  tab.page.evaluate<string[]>(
    "[...document.querySelectorAll('tbody input:checked')].map((box) => box.closest('tr').dataset.key)",
  );
const selected = () => tab.page.locator('[data-selected]').innerText();

describe.skipIf(chromiumPath === null)('keys', () => {
  beforeAll(async () => {
    tab = await openScriptPage();
  });
  afterAll(() => tab.close());

  describe.each(PAGES)('of %s', (_name, open, keys) => {
    test('are those of its help', async () => {
      await open();
      expect((await listedKeys()).sort()).toEqual([...keys].sort());
    });

    describe('act on nothing', () => {
      let before: string;
      beforeAll(async () => {
        await open();
        await addFields();
        before = await tab.page.content();
      });

      test.each(HELD)('with %s', async (held) => {
        const kept = held === 'shiftKey' ? keys.filter((key) => !SHIFTED.includes(key)) : keys;
        const sent = [...kept, 'ArrowUp', 'ArrowDown'];
        const tree = "(document.querySelector('[data-tree]') ?? document.body)";
        for (const target of [ON_BODY, tree]) {
          expect(await taken(sent, target, { [held]: true })).toEqual([]);
        }
        expect(await tab.page.content()).toBe(before);
        expect(tab.requests).toHaveLength(1);
      });

      test.each(FIELDS)('typed into %s', async (name) => {
        expect(await taken(keys, `document.getElementById('typed-${name}')`)).toEqual([]);
        expect(await tab.page.content()).toBe(before);
      });
    });

    test('act on nothing while the help is open, which ? closes', async () => {
      await open();
      const dialog = tab.page.locator('dialog[data-keys-help]');
      await tab.page.locator('[data-keys-open]').click();
      expect(await dialog.isVisible()).toBe(true);
      const others = keys.filter((key) => key !== '?');
      expect(await taken(others, ON_BODY)).toEqual([]);
      expect(await taken(['?'], ON_BODY)).toEqual(['?']);
      expect(await dialog.isVisible()).toBe(false);
      // It is behind Shift on most keyboards.
      expect(await taken(['?'], ON_BODY, { shiftKey: true })).toEqual(['?']);
      expect(await dialog.isVisible()).toBe(true);
    });
  });

  describe('of the list', () => {
    test('move to the next and the previous line, and no further', async () => {
      await openList();
      await press('j');
      expect(await focused()).toBe(IDS[0]);
      await press('j', 'j', 'j');
      expect(await focused()).toBe(IDS[2]);
      await press('k');
      expect(await focused()).toBe(IDS[1]);
      await press('k', 'k');
      expect(await focused()).toBe(IDS[0]);
    });

    test('begin at the line of the address', async () => {
      await tab.open(`/app/findings#f-${IDS[1]}`, LIST);
      await press('j');
      expect(await focused()).toBe(IDS[2]);
    });

    test('open the line that has the focus', async () => {
      await openList();
      await press('o');
      expect(tab.requests).toHaveLength(1);
      await press('j', 'j', 'o');
      await tab.page.waitForURL(`**/app/findings/${IDS[1]}?list=state%3Dopen`);
    });

    test('select lines, also from a box, and say how many', async () => {
      await openList();
      await press('j', 'x');
      expect([await checked(), await selected()]).toEqual([[IDS[0]], '1 selected']);
      // A box that has the focus is not typed into.
      await tab.page.locator('tbody input').nth(1).focus();
      await press('x', 'j', 'x');
      expect([await checked(), await selected()]).toEqual([IDS, '3 selected']);
      const all = tab.page.getByLabel('All lines');
      expect(await all.isChecked()).toBe(true);
      await press('x');
      expect([await checked(), await selected()]).toEqual([IDS.slice(0, 2), '2 selected']);
      expect(await all.isChecked()).toBe(false);
      const half = tab.page.locator('[data-all] input:indeterminate');
      expect(await half.count()).toBe(1);
      await press('k', 'x', 'k', 'x');
      expect([await checked(), await selected()]).toEqual([[], '']);
      expect(await half.count()).toBe(0);
    });

    test('set the state of the selected findings, or the focused one', async () => {
      await openList();
      await press('j', 's');
      expect([await checked(), await focused()]).toEqual([[IDS[0]], 'state']);
      await openList();
      await press('j', 'x', 'j', 's');
      expect([await checked(), await focused()]).toEqual([[IDS[0]], 'state']);
    });

    test('assign the selected lines, and nothing while no line is chosen', async () => {
      await openList();
      await press('a');
      expect(tab.requests).toHaveLength(1);
      await press('j', 'j', 'a');
      await tab.page.waitForFunction(
        "performance.getEntriesByType('navigation')[0].type === 'reload'",
      );
      const [, write] = tab.requests;
      expect(write?.method).toBe('POST');
      const fields = new URLSearchParams(write?.body);
      expect(fields.get('assign')).toBe('me');
      expect([...fields.keys()].filter((name) => name.startsWith('finding-'))).toEqual([
        `finding-${IDS[1]}`,
      ]);
    });

    test('search, with or without Shift', async () => {
      await openList();
      await press('/');
      expect(await focused()).toBe('q');
      await openList();
      expect(await taken(['/'], ON_BODY, { shiftKey: true })).toEqual(['/']);
      expect(await focused()).toBe('q');
    });
  });

  test.each([
    ['j', hex16(0xa2)],
    ['k', hex16(0xa1)],
  ])('of a finding go to its neighbours: %s', async (key, id) => {
    await openFinding();
    await press(key);
    await tab.page.waitForURL(`**/app/findings/${id}?list=state%3Dopen`);
  });

  test.each([
    ['s', 'state'],
    ['n', 'note'],
  ])('of a finding go to its fields: %s', async (key, name) => {
    await openFinding();
    await press(key);
    expect(await focused()).toBe(name);
  });

  describe('of a run', () => {
    const current = () => tab.page.locator('[data-tree] a[aria-current]').getAttribute('data-step');
    const shows = (number: number) => tab.page.locator(`section#step-${number}`).waitFor();
    const visible = () =>
      tab.page.evaluate<string[]>(
        "[...document.querySelectorAll('.rows li:not([hidden]) a')].map((link) => link.dataset.step)",
      );

    test.each([
      ['j', 4],
      ['ArrowDown', 4],
      ['k', 2],
      ['ArrowUp', 2],
    ])('go to the next and the previous step: %s', async (key, number) => {
      await openRun();
      await tab.page.locator('[data-tree]').focus();
      await press(key);
      await shows(number);
      expect(await current()).toBe(String(number));
      expect(stepOf(tab.page.url())).toBe(number);
    });

    test('go no further than the last step and the first', async () => {
      await openRun();
      for (const [key, last] of [
        ['j', 5],
        ['k', 1],
      ] as const) {
        for (let times = 0; times < 6; times += 1) await press(key);
        await shows(last);
        const { length } = tab.requests;
        await press(key);
        expect([await current(), tab.requests.length]).toEqual([String(last), length]);
      }
    });

    test('arrows scroll what is not the tree', async () => {
      await openRun();
      const arrows = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'];
      expect(await taken(arrows, ON_BODY)).toEqual([]);
      expect(await taken(arrows, "document.querySelector('[data-tree]')")).toEqual(arrows);
    });

    test('buttons, summaries and texts keep their keys', async () => {
      await openRun();
      for (const name of ['button', 'summary', 'pre']) {
        const target = `document.querySelector('[data-steps] ${name}')`;
        expect(await taken(['j', 'e', 'ArrowDown'], target)).toEqual([]);
      }
    });

    test('fold what is below a step, and skip what is folded', async () => {
      await openRun();
      await press('k');
      await shows(2);
      await tab.page.locator('[data-tree]').focus();
      await press('ArrowLeft');
      expect(await visible()).toEqual(['1', '2', '4', '5']);
      await press('j');
      await shows(4);
      await press('k');
      await shows(2);
      await tab.page.locator('[data-tree]').focus();
      await press('ArrowRight');
      expect(await visible()).toEqual(['1', '2', '3', '4', '5']);
    });

    test.each([
      ['n', hex16(0xa3)],
      ['p', hex16(0xa1)],
    ])('go to the next and the previous finding: %s', async (key, id) => {
      await openRun();
      await press(key);
      await tab.page.waitForURL(`**${RUN_PATH}?finding=${id}#found`);
    });

    test('expand all of the step, and search', async () => {
      await openRun();
      const closed = tab.page.locator('[data-pane] details:not([open])');
      await tab.page.evaluate(
        "for (const one of document.querySelectorAll('[data-pane] details')) one.open = false",
      );
      expect(await closed.count()).toBe(2);
      await press('e');
      expect(await closed.count()).toBe(0);
      await press('/');
      expect(await focused()).toBe('q');
    });
  });
});
