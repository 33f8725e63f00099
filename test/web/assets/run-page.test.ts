/** The page of a run with its script: copying, folding, expanding, and steps that open in any order. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { chromiumPath } from '../../support/programs.ts';
import { type PausedPage, pauseClock } from './paused-page.ts';
import { type Answer, openScriptPage, type ScriptPage, scriptNumber } from './script-page.ts';
import { RUN_PATH, runOf, stepOf } from './shown-run.ts';

const COPIED_MS = scriptNumber('COPIED_MS');

let tab: ScriptPage;
let clock: PausedPage;

/** Answers that a test gives when it wants, by step. */
const held = new Map<number, (answer: Answer) => void>();
let isHolding = false;

/** Opens the page at a step; all answers come at once. */
async function openRun(number = 3): Promise<void> {
  isHolding = false;
  held.clear();
  await tab.open(`${RUN_PATH}?step=${number}`, ({ path }) => {
    const text = runOf(stepOf(path));
    if (!isHolding) return { text };
    return new Promise<Answer>((resolve) => {
      held.set(stepOf(path), (answer) => resolve(answer));
    });
  });
}
const give = (number: number, answer: Answer = { text: runOf(number) }): void => {
  const resolve = held.get(number);
  if (resolve === undefined) throw new Error(`step ${number} is not requested`);
  resolve(answer);
};
const isRequested = (number: number) => expect.poll(() => held.has(number)).toBe(true);

const link = (number: number) => tab.page.locator(`[data-tree] a[data-step="${number}"]`);
const pane = () => tab.page.locator('[data-pane]').getAttribute('id');
const current = () => tab.page.locator('[data-tree] a[aria-current]').getAttribute('data-step');
const visible = () =>
  tab.page.evaluate<string[]>(
    "[...document.querySelectorAll('.rows li:not([hidden]) a[data-step]')].map((a) => a.dataset.step)",
  );
const foldOf = (number: number) =>
  tab.page.locator(`.rows li:has(a[data-step="${number}"]) > button.fold`);
const copied = () => tab.page.evaluate<string>('navigator.clipboard.readText()');
/** Where the page is in the browser's history. */
const entry = () => tab.page.evaluate<number>('navigation.currentEntry.index');

describe.skipIf(chromiumPath === null)('the page of a run', () => {
  beforeAll(async () => {
    tab = await openScriptPage();
    clock = await pauseClock(tab.page);
  });
  afterAll(() => tab.close());

  describe('copies', () => {
    test('the text beside the button, which says so for a while', async () => {
      await openRun();
      const buttons = tab.page.locator('[data-pane] .tools button');
      expect(await buttons.allTextContents()).toEqual(['Copy', 'Copy']);
      for (const at of [0, 1]) {
        await tab.page.locator('[data-pane] details').evaluateAll((all) => {
          for (const one of all) one.setAttribute('open', '');
        });
        await tab.page.evaluate("navigator.clipboard.writeText('before')");
        await buttons.nth(at).click();
        await expect.poll(() => buttons.nth(at).textContent()).toBe('Copied');
        const text = tab.page.locator('[data-pane] details > pre').nth(at);
        expect(await copied()).toBe(await text.textContent());
        await clock.pass(COPIED_MS - 1);
        expect(await buttons.nth(at).textContent()).toBe('Copied');
        await clock.pass(1);
        expect(await buttons.nth(at).textContent()).toBe('Copy');
      }
    });

    test('again before its button has its label again', async () => {
      await openRun();
      const copy = tab.page.locator('[data-copy-link]');
      const label = await copy.textContent();
      for (const _click of [1, 2]) {
        await copy.click();
        await expect.poll(() => copy.textContent()).toBe('Copied');
        await clock.pass(COPIED_MS / 2);
      }
      await clock.pass(COPIED_MS);
      expect(await copy.textContent()).toBe(label);
    });

    test('nothing, and says so, where the browser refuses', async () => {
      await openRun();
      await tab.page.evaluate(
        "navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))",
      );
      const button = tab.page.locator('[data-pane] .tools button').first();
      await button.evaluate((one) => one.closest('details')?.setAttribute('open', ''));
      await button.click();
      await expect.poll(() => button.textContent()).toBe('Could not copy');
      await clock.pass(COPIED_MS);
      expect(await button.textContent()).toBe('Copy');
    });

    test('the address of the step, without opening it', async () => {
      await openRun();
      const copy = tab.page.locator('[data-copy-link]');
      const address = await copy.evaluate((one) => (one as unknown as { href: string }).href);
      await copy.click();
      await expect.poll(() => copy.textContent()).toBe('Copied');
      expect(await copied()).toBe(address);
      expect([await clock.begun(), tab.requests.length]).toEqual([0, 1]);
    });
  });

  describe('folds', () => {
    test('what is below a step, and shows it again', async () => {
      await openRun();
      expect(await tab.page.locator('button.fold').count()).toBe(2);
      await foldOf(2).click();
      expect(await visible()).toEqual(['1', '2', '4', '5']);
      expect(await foldOf(2).getAttribute('aria-expanded')).toBe('false');
      expect(await foldOf(2).textContent()).toBe('▸');
      expect(await foldOf(2).getAttribute('aria-label')).toBe('Steps below step 2');
      await foldOf(2).click();
      expect(await visible()).toEqual(['1', '2', '3', '4', '5']);
      expect(await foldOf(2).getAttribute('aria-expanded')).toBe('true');
      expect(await foldOf(2).textContent()).toBe('▾');
    });

    test('only what has steps below it', async () => {
      await tab.open(`${RUN_PATH}?step=4`, runOf(4, [1, 2, 4, 5]));
      expect(await visible()).toEqual(['1', '2', '4', '5']);
      expect([await foldOf(1).count(), await foldOf(2).count()]).toEqual([1, 0]);
      expect(await tab.page.locator('button.fold').count()).toBe(1);
    });

    test('a step whose steps below are folded keeps them folded', async () => {
      await openRun();
      await foldOf(2).click();
      await foldOf(1).click();
      expect(await visible()).toEqual(['1', '5']);
      await foldOf(1).click();
      expect(await visible()).toEqual(['1', '2', '4', '5']);
    });

    test('all, and shows all', async () => {
      await openRun();
      const all = tab.page.locator('[data-fold-all]');
      expect(await all.isVisible()).toBe(true);
      await all.click();
      expect([await visible(), await all.getAttribute('aria-pressed')]).toEqual([
        ['1', '5'],
        'true',
      ]);
      await all.click();
      expect([await visible(), await all.getAttribute('aria-pressed')]).toEqual([
        ['1', '2', '3', '4', '5'],
        'false',
      ]);
    });

    test('and shows a folded step again when it is opened from elsewhere', async () => {
      await openRun(4);
      await openStep(3);
      await openStep(4);
      await foldOf(2).click();
      await tab.page.goBack();
      await tab.page.locator('#step-3').waitFor();
      expect(await visible()).toEqual(['1', '2', '3', '4', '5']);
      expect(await current()).toBe('3');
    });
  });

  test('expands all texts of the step, and folds them', async () => {
    await openRun();
    const closed = tab.page.locator('[data-pane] details:not([open])');
    const button = tab.page.getByRole('button', { name: /^(Expand|Collapse) all$/ });
    await tab.page.evaluate(
      "for (const one of document.querySelectorAll('[data-pane] details')) one.open = false",
    );
    expect([await button.textContent(), await closed.count()]).toEqual(['Expand all', 2]);
    await button.click();
    expect([await button.textContent(), await closed.count()]).toEqual(['Collapse all', 0]);
    await button.click();
    expect([await button.textContent(), await closed.count()]).toEqual(['Expand all', 2]);
    // One that is closed is enough to expand all.
    await tab.page
      .locator('[data-pane] details')
      .first()
      .evaluate((one) => {
        one.setAttribute('open', '');
      });
    await button.click();
    expect([await button.textContent(), await closed.count()]).toEqual(['Collapse all', 0]);
  });

  async function openStep(number: number): Promise<void> {
    await link(number).click();
    await tab.page.locator(`#step-${number}`).waitFor();
  }

  describe('opens steps', () => {
    test('beside the tree, with tools, an address and a way back', async () => {
      await openRun();
      const before = await entry();
      await tab.page.evaluate("document.querySelector('[data-tree]').dataset.kept = 'true'");
      await openStep(4);
      expect([await pane(), await current(), stepOf(tab.page.url())]).toEqual(['step-4', '4', 4]);
      expect(await tab.page.locator('[data-tree][data-kept]').count()).toBe(1);
      expect(await tab.page.locator('[data-pane] .tools button').count()).toBe(2);
      expect(await entry()).toBe(before + 1);
      await tab.page.goBack();
      await tab.page.locator('#step-3').waitFor();
      expect([await current(), await entry()]).toEqual(['3', before]);
    });

    test('the last one requested, whichever answer comes last', async () => {
      await openRun();
      const before = await entry();
      isHolding = true;
      await link(4).click();
      await isRequested(4);
      await link(5).click();
      await isRequested(5);
      give(5);
      await tab.page.locator('#step-5').waitFor();
      give(4);
      await clock.done(2);
      expect([await pane(), await current(), stepOf(tab.page.url())]).toEqual(['step-5', '5', 5]);
      expect(await entry()).toBe(before + 1);
    });

    test('the last one requested, also when its answer comes last', async () => {
      await openRun();
      isHolding = true;
      await link(4).click();
      await isRequested(4);
      await link(5).click();
      await isRequested(5);
      give(4);
      await clock.done(1);
      expect([await pane(), stepOf(tab.page.url())]).toEqual(['step-3', 3]);
      give(5);
      await tab.page.locator('#step-5').waitFor();
      expect([await current(), stepOf(tab.page.url())]).toEqual(['5', 5]);
    });

    test('the one of the address after going back, not a late one', async () => {
      await openRun();
      await openStep(4);
      isHolding = true;
      await link(5).click();
      await isRequested(5);
      await tab.page.evaluate('history.back()');
      await isRequested(3);
      give(3);
      await tab.page.locator('#step-3').waitFor();
      give(5);
      await clock.done(3);
      expect([await pane(), await current(), stepOf(tab.page.url())]).toEqual(['step-3', '3', 3]);
    });

    test('that the tree does not list, with a tree that does', async () => {
      await tab.open(`${RUN_PATH}?step=3`, ({ path }) => ({
        text: stepOf(path) === 3 ? runOf(3, [1, 2, 3]) : runOf(stepOf(path)),
      }));
      expect(await visible()).toEqual(['1', '2', '3']);
      await tab.page.evaluate(
        `const added = document.createElement('a'); added.href = '${RUN_PATH}?step=5';
         added.textContent = 'elsewhere'; document.querySelector('main').prepend(added);`,
      );
      await tab.page.getByText('elsewhere').click();
      await tab.page.locator('#step-5').waitFor();
      expect([await visible(), await current()]).toEqual([['1', '2', '3', '4', '5'], '5']);
      expect(await tab.page.locator('button.fold').count()).toBe(2);
      expect(await tab.page.locator('[data-fold-all]').isVisible()).toBe(true);
    });

    test.each([
      ['an error', { status: 500, text: runOf(5) }],
      ['a page without a step', { text: '<!doctype html><title>another</title>' }],
      ['a redirect to another page', { status: 303, headers: { location: '/app' }, text: '' }],
    ])('as a page, where the answer has no step of this run: %s', async (_name, answer) => {
      await openRun();
      isHolding = true;
      await tab.page.evaluate('window.isSame = true');
      await link(5).click();
      await isRequested(5);
      isHolding = false;
      give(5, answer as Answer);
      await tab.page.waitForFunction('window.isSame === undefined');
      await tab.page.waitForURL(`**${RUN_PATH}?step=5*`);
      expect(await pane()).toBe('step-5');
    });

    test.each(['Control', 'Shift', 'Alt', 'Meta'])('in another way with %s held', async (key) => {
      await openRun();
      const isTaken = await tab.page.evaluate<boolean>(`{
        const click = new MouseEvent('click', { bubbles: true, cancelable: true,
          ctrlKey: ${key === 'Control'}, shiftKey: ${key === 'Shift'},
          altKey: ${key === 'Alt'}, metaKey: ${key === 'Meta'} });
        let isTaken;
        window.addEventListener('click', (event) => {
          isTaken = event.defaultPrevented;
          event.preventDefault();
        }, { once: true });
        document.querySelector('[data-tree] a[data-step="5"]').dispatchEvent(click);
        isTaken;
      }`);
      expect([isTaken, await clock.begun()]).toEqual([false, 0]);
    });
  });
});
