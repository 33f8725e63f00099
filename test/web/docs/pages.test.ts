/** The index of the documents, and what surrounds one of them. */
import { expect, test } from 'vitest';

import { readDocument } from '../../../src/web/docs/document.ts';
import { documentPage, indexMarkdown, searchPage } from '../../../src/web/docs/pages.ts';

const SITE = {
  brand: 'Sluice',
  baseUrl: 'http://localhost:8080',
  version: '1.0.0',
  assets: { style: '/style.css', script: '/app.js', icon: '/icon.svg' },
};

test('what a document writes in angle brackets is text in the index, not a tag', () => {
  const addresses = new Map<string, string>();
  const file = { slug: 'keys', path: 'docs/keys.md', markdown: '# Keys\n\nSend `Bearer <key>`.\n' };
  const chapters = [{ title: 'Guides', documents: [readDocument(file, addresses)] }];
  const index = { slug: '', path: 'docs', markdown: indexMarkdown(chapters, SITE) };
  expect(readDocument(index, addresses).html.text).toContain(
    '<a href="/docs/keys">Keys</a>: Send Bearer &lt;key&gt;.',
  );
});

const chapter = (title: string, ...slugs: string[]) => ({
  title,
  documents: slugs.map((slug) =>
    readDocument(
      { slug, path: `docs/${slug}.md`, markdown: `# ${slug} page\n\nText.\n` },
      new Map(),
    ),
  ),
});
const CHAPTERS = [chapter('Send', 'one', 'two'), chapter('Look', 'three')];

function pageOf(slug: string): string {
  const document = CHAPTERS.flatMap(({ documents }) => documents).find((one) => one.slug === slug);
  if (document === undefined) throw new Error(slug);
  return documentPage(document, CHAPTERS, SITE).text;
}

test('the menu names every page, marks the current one, and opens its chapter only', () => {
  const text = pageOf('three');
  for (const slug of ['one', 'two']) expect(text).toContain(`<a href="/docs/${slug}">${slug} page`);
  expect(text).toContain('<a href="/docs/three" aria-current="page">three page');
  expect(text).toContain('<details><summary>Send');
  expect(text).toContain('<details open><summary>Look');
});

test('a page links the one before and the one after, over chapters', () => {
  const linkOf = (slug: string, rel: string) =>
    new RegExp(`<a rel="${rel}" href="([^"]*)"`).exec(pageOf(slug))?.[1];
  expect(linkOf('one', 'prev')).toBeUndefined();
  expect(linkOf('one', 'next')).toBe('/docs/two');
  expect(linkOf('two', 'next')).toBe('/docs/three');
  expect(linkOf('three', 'prev')).toBe('/docs/two');
  expect(linkOf('three', 'next')).toBeUndefined();
});

test('a query is text on its page, never markup', () => {
  const query = '"><script>alert(1)</script>';
  const text = searchPage(query, [], CHAPTERS, SITE).text;
  expect(text).not.toContain('<script>alert');
  expect(text).toContain('No page has all of these words.');
  expect(searchPage('', [], CHAPTERS, SITE).text).toContain('Enter words to search for.');
});

test.each([
  ['a short text is whole', 'One. Two', 'One. Two'],
  ['at the limit', 'x'.repeat(300), 'x'.repeat(300)],
  [
    'past it, the last whole sentence',
    `${'One two. '.repeat(33)}Three four five`,
    'One two. '.repeat(33).trim(),
  ],
  ['without a sentence that fits, a whole word', 'word '.repeat(80), `${'word '.repeat(59)}word …`],
])('a description: %s', (_case, summary, description) => {
  const file = { slug: 'a', path: 'docs/a.md', markdown: '# A' };
  expect(readDocument(file, new Map(), () => summary).description).toBe(description);
});
