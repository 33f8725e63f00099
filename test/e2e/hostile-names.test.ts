/**
 * Names that senders choose, with characters that hide, turn around or break what is shown after them:
 * every page of a real browser shows these by name, and its links still find the exact names.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { showInvisible } from '../../src/model/invisible.ts';
import { openBrowser, type TestBrowser } from '../support/chromium.ts';
import { chromiumPath } from '../support/programs.ts';
import { ATTACK, ATTACK_RULE } from '../support/rows.ts';
import { waitFor } from '../support/wait-for.ts';
import { post, randomId, rawSpan } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

const FOUND_WITHIN_MS = 60_000;
/** An override, line separators, zero-width characters, a tag, an escape sequence, controls. */
const HIDING = 'a\u202eb\u2028c\u2029d\u200be\ufefff\u{e0041}g\u001b[2Jh\u0085i\u0007j';
/** Without C0 controls, which no query may have. */
const USER = 'user-a\u202eb\u2028c\u2029d\u200be\ufefff\u{e0041}g\u0085h';
const named = (what: string): string => `${what}-${HIDING}`;
const shown = (what: string): string => showInvisible(named(what));

/** Invisible characters, without what lays out the source of a page. */
const RAW =
  '/(?![\\t\\n\\r])[\\p{Cc}\\u2028\\u2029\\p{DI}\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069]/u';
/** The shown texts of a page that have one: of elements, and of attributes. */
const RAW_TEXTS = `(() => {
  const raw = ${RAW};
  const found = [document.title].filter((text) => raw.test(text));
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    if (!nodes.currentNode.parentElement.closest('script, style') && raw.test(nodes.currentNode.data))
      found.push(nodes.currentNode.data);
  }
  for (const element of document.querySelectorAll('*')) {
    for (const name of ['title', 'aria-label', 'alt', 'placeholder', 'data-label']) {
      if (raw.test(element.getAttribute(name) ?? '')) found.push(name + ': ' + element.getAttribute(name));
    }
  }
  return found.map((text) => JSON.stringify(text));
})()`;

const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });

/** A run of an agent and the tool call whose result is an attack. */
function hostileRun(): { readonly runId: string; readonly body: object } {
  const traceId = randomId(16);
  const root = rawSpan({
    traceId,
    name: named('root'),
    attributes: [
      attribute('gen_ai.operation.name', 'invoke_agent'),
      attribute('gen_ai.agent.name', named('agent')),
      attribute('gen_ai.conversation.id', named('session')),
      attribute('gen_ai.request.model', named('model')),
      attribute('user.id', USER),
    ],
  });
  const call = rawSpan({
    traceId,
    parentSpanId: root.spanId,
    spanId: randomId(8),
    name: named('step'),
    attributes: [
      attribute('gen_ai.operation.name', 'execute_tool'),
      attribute('gen_ai.tool.name', named('tool')),
      attribute('gen_ai.tool.call.result', ATTACK),
      attribute(named('key'), named('value')),
    ],
    status: { code: 2, message: named('message') },
  });
  const resource = { attributes: [attribute('service.name', named('service'))] };
  const scopeSpans = [{ scope: { name: named('scope') }, spans: [root, call] }];
  return { runId: traceId, body: { resourceSpans: [{ resource, scopeSpans }] } };
}

let gateway: SharedGateway;
let browser: TestBrowser;
let page: Page;
let runId: string;
let findingId: string;

async function findingOf(run: string): Promise<string> {
  let id: string | undefined;
  await waitFor(
    async () => {
      const { rows } = await gateway.database.query<{ id: string }>(
        `SELECT replace(id::text, '-', '') AS id FROM findings
          WHERE workspace_id = $1 AND run_id = $2 AND rule_id = $3`,
        [gateway.workspace.id, run, ATTACK_RULE],
      );
      id = rows[0]?.id;
      return id !== undefined;
    },
    { withinMs: FOUND_WITHIN_MS, what: 'the finding' },
  );
  return id ?? '';
}

const open = (path: string) => page.goto(`${gateway.server.baseUrl}${path}`);
const main = () => page.locator('main').innerText();

describe.skipIf(chromiumPath === null)('in the browser', () => {
  beforeAll(async () => {
    gateway = await openSharedGateway();
    const run = hostileRun();
    ({ runId } = run);
    const sent = await post(`${gateway.server.observeUrl}/v1/traces`, gateway.keys.agent, run.body);
    expect(sent.status, sent.text).toBe(200);
    findingId = await findingOf(runId);
    browser = await openBrowser();
    page = await browser.context.newPage();
    await open('/app');
    await page.getByLabel('E-mail address').fill(gateway.owner.email);
    await page.getByLabel('Password').fill(gateway.owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL('**/app');
  });
  afterAll(async () => {
    await browser.close();
    await gateway.close();
  });

  test.each([
    ['/app', []],
    ['/app/runs', ['agent', 'service', 'model']],
    ['/app/runs/{run}', ['root', 'step', 'agent', 'service', 'model', 'session']],
    ['/app/runs/{run}?step=2', ['tool', 'message', 'key', 'value']],
    ['/app/runs/{run}?view=texts', ['tool']],
    ['/app/runs/{run}?q=attack', []],
    ['/app/findings', ['agent']],
    ['/app/findings?group_by=run', ['agent']],
    ['/app/findings?group_by=match', ['agent']],
    ['/app/findings/{finding}', ['step', 'agent', 'service', 'model', 'session']],
    ['/app/findings/{finding}/exception', ['tool', 'agent', 'service']],
  ])('%s', async (path, names) => {
    await open(path.replace('{run}', runId).replace('{finding}', findingId));
    expect(await page.evaluate<string[]>(RAW_TEXTS)).toEqual([]);
    const text = (await page.locator('main').textContent()) ?? '';
    for (const name of names) expect(text).toContain(shown(name));
  });

  test('a link of a name finds the exact name', async () => {
    await open(`/app/findings/${findingId}`);
    await page
      .getByRole('link', { name: showInvisible(USER) })
      .first()
      .click();
    await page.waitForURL('**/app/findings?**');
    expect(new URL(page.url()).searchParams.get('user_id')).toBe(USER);
    expect(await page.locator(`tr[data-key="${findingId}"]`).count()).toBe(1);
  });

  test('an exception of the tool, and its page', async () => {
    await open(`/app/findings/${findingId}/exception`);
    for (const part of ['text', 'agent', 'service'])
      await page.locator(`input[name=${part}]`).uncheck();
    await page.getByLabel('Reason').fill('expected');
    await page.locator('main form button').first().click();
    await page.waitForURL(`**/app/findings/**`);
    await open('/app/exceptions');
    expect(await page.evaluate<string[]>(RAW_TEXTS)).toEqual([]);
    expect(await main()).toContain(shown('tool'));
  });
});
