/** The index of the documents. */
import { expect, test } from 'vitest';

import { readDocument } from '../../../src/web/docs/document.ts';
import { indexMarkdown } from '../../../src/web/docs/pages.ts';

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
