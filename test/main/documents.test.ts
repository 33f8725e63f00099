/**
 * What is served as documentation holds its source in full: every page, its Markdown twin and the
 * two indexes for machines, compared with the files. The routes are the server's own.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';

import type { Answer, Exchange } from '../../src/http/transport/exchange.ts';
import { documentFiles } from '../../src/main/documents.ts';
import { routesOf } from '../support/served-routes.ts';

const ROOT = new URL('../../', import.meta.url);
const files = documentFiles();
const served = new Map<string, string>();

beforeAll(() => {
  const isDocument = (path: string): boolean =>
    /^\/(docs|llms)/.test(path) && path !== '/docs/search';
  for (const { method, path, handler } of routesOf('PORT')) {
    if (method !== 'GET' || !isDocument(path)) continue;
    const answer = ({ body }: Answer) => void served.set(path, String(body));
    handler({ answer } as unknown as Exchange, {});
  }
});

function page(path: string): string {
  const text = served.get(path);
  if (text === undefined) throw new Error(`${path} is not served`);
  return text;
}

const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}]+/gu) ?? [];
const COMMENT = /<!--[\s\S]*?-->/g;

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

/** The text of HTML, or of the HTML in Markdown. */
function textOf(html: string): string {
  const text = html.replaceAll(COMMENT, ' ').replaceAll(/<[^>]*>/g, ' ');
  return text.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? '');
}

/** The words of a page's article, without what is put around the document. */
function articleWords(html: string): string[] {
  const [, article = ''] = /<article class="prose">([\s\S]*?)<\/article>/.exec(html) ?? [];
  const own = article
    .replace(/<p class="soft"><a href="[^"]*">This page as Markdown<\/a><\/p>\s*$/, '')
    .replaceAll(/<a class="anchor"[^>]*>#<\/a>/g, '')
    .replaceAll(/<img [^>]*alt="([^"]*)"[^>]*>/g, ' $1 ');
  return wordsOf(textOf(own));
}

/** The words of a Markdown file, without addresses, numbers of lists and the languages of code. */
function sourceWords(markdown: string): string[] {
  const parts = markdown.replaceAll(COMMENT, '').split(/(^```[\s\S]*?^```$|`[^`\n]*`)/m);
  return parts.flatMap((part, at) => {
    // Every second part is code: its text is shown as it is, but for the name of its language.
    if (at % 2 === 1) return wordsOf(part.replace(/^```\w*/, ''));
    const text = part.replaceAll(/\]\([^)]*\)/g, ' ').replaceAll(/^ *\d+\. /gm, ' ');
    return wordsOf(textOf(text));
  });
}

/** Markdown with its links and images reduced to their texts. */
const unlinked = (markdown: string): string =>
  markdown.replaceAll(/!?\[([^\]\n]*)\]\([^)\s]*\)/g, '$1');

const firstHeading = (markdown: string): string => /^# (.+)$/m.exec(markdown)?.[1] ?? '?';

describe.each(files)('$path', ({ slug, markdown }) => {
  test('is a page with every word of it, in order', () => {
    expect(articleWords(page(`/docs/${slug}`))).toEqual(sourceWords(markdown));
  });

  test('is a Markdown twin with every character of it, but for the links', () => {
    expect(unlinked(page(`/docs/${slug}.md`))).toBe(unlinked(markdown));
  });

  test('has links in its twin, and in its page as many or more', () => {
    const links = (text: string, link: RegExp) => text.match(link)?.length ?? 0;
    const twin = page(`/docs/${slug}.md`).replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '');
    const inTwin = links(twin, /[^!]\[[^\]\n]*\]\((?:\/|https?:)/g);
    expect(links(page(`/docs/${slug}`), /<a href=/g)).toBeGreaterThanOrEqual(inTwin);
    if (/\]\((?:\.\.\/)*(?:docs\/)?[\w-]+\.md/.test(markdown)) expect(inTwin).toBeGreaterThan(0);
  });

  test('is listed in both indexes, with its title and the beginning of its text', () => {
    const title = firstHeading(markdown);
    const line = (index: string, address: string): string =>
      index.split('\n').find((one) => one.startsWith(`- [${title}](${address})`)) ?? '';
    for (const listed of [
      line(page('/llms.txt'), `/docs/${slug}.md`),
      line(page('/docs.md'), `/docs/${slug}`),
    ]) {
      const [, description = ''] = listed.split('): ');
      expect(wordsOf(description).length, title).toBeGreaterThanOrEqual(4);
      const known = sourceWords(markdown).join(' ');
      expect(known).toContain(wordsOf(description).slice(0, -1).join(' '));
    }
  });

  test('is in /llms-full.txt in full', () => {
    const full = page('/llms-full.txt');
    expect(full).toContain(page(`/docs/${slug}.md`).trim());
  });
});

test('/llms-full.txt is all twins, each under its address, and nothing else', () => {
  const parts = page('/llms-full.txt').split(/^<!-- (\/docs\S*) -->$/m);
  const [before, ...rest] = parts;
  expect(before).toBe('');
  const paths = rest.filter((_part, at) => at % 2 === 0);
  const known = ['/docs/api', ...files.map(({ slug }) => `/docs/${slug}`)];
  expect([...paths].sort()).toEqual(known.sort());
  const texts = rest.filter((_part, at) => at % 2 === 1);
  const shown = texts.map((text) => text.replace(/\n+(?:---\n+)?$/, '').trim());
  expect(shown).toEqual(paths.map((path) => page(`${path}.md`).trim()));
});

test('the reference of the interface names every path in its page and in its twin', () => {
  const routes = routesOf('PORT').map(({ path }) => path);
  const described = routes.filter((path) => path.startsWith('/platform/'));
  expect(described.length).toBeGreaterThan(8);
  const text = textOf(page('/docs/api').replaceAll(/<\/?(?:wbr|b|span)[^>]*>/g, ''));
  for (const path of described) {
    expect(page('/docs/api.md')).toContain(path);
    expect(text).toContain(path);
  }
});

test('the index links every decision, and only decisions that exist', () => {
  const index = readFileSync(new URL('docs/decisions/README.md', ROOT), 'utf8');
  const linked = [...index.matchAll(/^\| \[\w+\]\(([\w.-]+\.md)\)/gm)].map(([, name = '']) => name);
  const decisions = readdirSync(new URL('docs/decisions/', ROOT));
  expect([...linked, 'README.md'].sort()).toEqual(decisions.sort());
});
