/**
 * The documentation surfaces of a running server, as a machine finds them: from `/llms.txt` on, every
 * page with its twin and its structured data, every link to something that is there.
 */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { documentFiles } from '../../src/main/documents.ts';
import { someOf } from '../support/cases.ts';
import { openBrowser } from '../support/chromium.ts';
import { chromiumPath } from '../support/programs.ts';
import { head, openSocket } from '../support/sockets.ts';
import { type Answer, type Gateway, openGateway, request } from './gateway.ts';

let gateway: Gateway;
let base: string;
const pages = ['/docs/api', ...documentFiles().map(({ slug }) => `/docs/${slug}`)];

beforeAll(async () => {
  gateway = await openGateway();
  base = gateway.server.baseUrl;
});
afterAll(() => gateway.close());

const get = (path: string): Promise<Answer> => request(`${base}${path}`);

/** Each page links to all others: without this, each would be requested once for each page. */
const answers = new Map<string, Promise<Answer>>();
function getOnce(path: string): Promise<Answer> {
  const answer = answers.get(path) ?? get(path);
  answers.set(path, answer);
  return answer;
}

/** Paths of this server that a page refers to. */
function linksOf(page: string): string[] {
  return [...page.matchAll(/(?:href|src)="(\/[^"#]*)/g)].map(([, path]) => path ?? '');
}

describe.each(['/docs', ...pages])('%s', (path) => {
  test('is a page that nothing can run in', async () => {
    const { status, headers } = await getOnce(path);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('says in one TechArticle block what it is and where its twin is', async () => {
    const { text } = await getOnce(path);
    const blocks = [...text.matchAll(/<script type="application\/ld\+json">(.*?)<\/script>/gs)];
    expect(blocks).toHaveLength(1);
    const article = JSON.parse(blocks[0]?.[1] ?? '') as Record<string, unknown>;
    expect(article).toMatchObject({
      '@context': 'https://schema.org',
      '@type': 'TechArticle',
      headline: expect.stringMatching(/./),
      description: expect.stringMatching(/./),
      encoding: { encodingFormat: 'text/markdown' },
    });
    const canonical = /<link rel="canonical" href="([^"]*)">/.exec(text)?.[1] ?? '';
    expect(article.url).toBe(canonical);
    expect(new URL(canonical).pathname).toBe(path);
  });

  test('has a Markdown twin with the same title', async () => {
    const [page, twin] = await Promise.all([getOnce(path), getOnce(`${path}.md`)]);
    expect(twin.status).toBe(200);
    expect(twin.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    const title = /^# (.+)$/m.exec(twin.text)?.[1] ?? '?';
    expect(page.text).toContain(title.replaceAll(/[`*]/g, '').split(' ')[0]);
  });

  test('leads nowhere that is not there', async () => {
    const { text } = await getOnce(path);
    const { text: twin } = await getOnce(`${path}.md`);
    const inTwin = [...twin.matchAll(/\]\((\/[^)#]*)/g)].map(([, link]) => link ?? '');
    // What needs a session is another page's business.
    const links = [...new Set([...linksOf(text), ...inTwin])].filter(
      (link) => link !== '/' && !/^\/app(\/|$)/.test(link),
    );
    const found = await Promise.all(
      links.map(async (link) => ({ link, status: (await getOnce(link)).status })),
    );
    expect(found.filter(({ status }) => status !== 200).map(({ link }) => link)).toEqual([]);
  });
});

describe('/llms.txt', () => {
  test('lists every page, and each address in it answers', async () => {
    const { text, headers } = await get('/llms.txt');
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const paths = [...text.matchAll(/\]\(([^)]+)\)/g)].map(
      ([, url]) => new URL(url ?? '').pathname,
    );
    for (const page of pages) expect(paths).toContain(`${page}.md`);
    for (const path of paths) expect((await getOnce(path)).status, path).toBe(200);
  });

  test('begins as llmstxt.org asks: a title, then a summary in quotes', async () => {
    expect((await get('/llms.txt')).text).toMatch(/^# \S+\n\n> /);
  });
});

test('/llms-full.txt has every page in full', async () => {
  const { text } = await get('/llms-full.txt');
  for (const { slug, markdown } of someOf(documentFiles())) {
    expect(text).toContain(/^# .+$/m.exec(markdown)?.[0] ?? slug);
  }
});

test('files that pages need come once and for all, under the name of their content', async () => {
  const { text } = await get('/docs');
  const assets = linksOf(text).filter((link) => link.startsWith('/assets/'));
  expect(assets).toHaveLength(3);
  for (const asset of assets) {
    const { status, headers } = await get(asset);
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toContain('immutable');
  }
});

test('a search answers with links to sections, and refuses a query that is too long', async () => {
  const { status, headers, text } = await get('/docs/search?q=Retry-After+429');
  expect(status).toBe(200);
  expect(headers.get('cache-control')).toBe('no-store');
  const found = [...text.matchAll(/<li><a href="(\/docs\/[^"]*)">/g)].map(([, link]) => link);
  expect(found.some((link) => link?.startsWith('/docs/limits'))).toBe(true);
  expect((await get(`/docs/search?q=${'x'.repeat(200)}`)).status).toBe(200);
  expect((await get(`/docs/search?q=${'x'.repeat(201)}`)).status).toBe(400);
  expect((await get('/docs/search?query=x')).status).toBe(400);
});

test.runIf(chromiumPath)('a reader finds a section in the browser and copies a block', async () => {
  const browser = await openBrowser({ viewport: { width: 1280, height: 800 } });
  const page = await browser.context.newPage();
  await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`${base}/docs`);
  await page.getByRole('searchbox').fill('retry-after');
  await page.keyboard.press('Enter');
  await page.locator('ol.found a').first().click();
  const block = page.locator('.prose .code').first();
  await page.goto(`${base}/docs/overview`);
  await block.getByRole('button', { name: 'Copy' }).click();
  await block.getByRole('button', { name: 'Copied' }).waitFor();
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(copied).toBe(await block.locator('pre').textContent());
  await page.locator('a[rel="next"]').click();
  await page.waitForURL('**/docs/getting-started');
  await browser.close();
});

test('the documentation is on the base host alone', async () => {
  expect((await request(`${gateway.server.observeUrl}/docs`)).status).toBe(404);
});

/** Of the server's process; Linux tells. */
async function residentBytes(): Promise<number> {
  const status = await readFile(`/proc/${gateway.server.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

test.runIf(process.platform === 'linux')(
  '2,000 pages that a stranger asks for and never reads cost the server no memory',
  async () => {
    const page = await get('/llms-full.txt');
    const before = await residentBytes();
    const client = await openSocket(Number(new URL(base).port));
    client.socket.pause();
    await client.send(head('GET', '/llms-full.txt').repeat(2000));
    expect((await get('/health')).status).toBe(200);
    // Every page that was copied for that connection would be there by now: 2,000 are over 160 MB.
    expect(page.text.length * 2000).toBeGreaterThan(160_000_000);
    expect((await residentBytes()) - before).toBeLessThan(50_000_000);
    client.socket.destroy();
  },
);
