/** Search over sections of the documentation. */
import { expect, test } from 'vitest';

import { readDocument } from '../../../src/web/docs/document.ts';
import { documentSearch, SECTIONS_FOUND_MAX } from '../../../src/web/docs/search.ts';

const document = (slug: string, markdown: string) =>
  readDocument({ slug, path: `docs/${slug}.md`, markdown }, new Map());

const LIMITS = document(
  'limits',
  '# Rate limits\n\nKeys have limits.\n\n## Per key\n\nA key may send `1000` a minute.\n\n' +
    '| code | status |\n|---|---|\n| rate_limited | 429 |\n',
);
const KEYS = document(
  'keys',
  '# Keys\n\nCreate a key & use it.\n\n### Revoking\n\nRevoke a key.\n',
);

const addresses = (query: string): string[] =>
  documentSearch([LIMITS, KEYS])(query).map(({ address }) => address);

test('all words of a query must occur, in any order and case', () => {
  expect(addresses('MINUTE send')).toEqual(['/docs/limits#per-key']);
  expect(addresses('minute revoke')).toEqual([]);
});

test('an empty query finds nothing', () => {
  expect(addresses('')).toEqual([]);
  expect(addresses('  \n')).toEqual([]);
});

test('a title counts more than text', () => {
  expect(addresses('revok')[0]).toBe('/docs/keys#revoking');
  expect(addresses('keys')[0]).toBe('/docs/keys');
});

test('cells are separate words, entities are characters, markup is not searched', () => {
  expect(addresses('rate_limited 429')).toEqual(['/docs/limits#per-key']);
  expect(documentSearch([LIMITS])('rate_limited')[0]?.excerpt).toContain('rate_limited 429');
  expect(addresses('key & use')).toEqual(['/docs/keys']);
  expect(addresses('tbody')).toEqual([]);
});

test('an excerpt begins near the first word found and ends at a word', () => {
  const text = Array.from({ length: 200 }, (_none, at) => `word${at}`).join(' ');
  const [found] = documentSearch([document('long', `# Long\n\n${text}\n`)])('word150');
  expect(found?.excerpt).toMatch(/^… word\d+ .*\bword150\b.* word\d+ …$/);
  expect(found?.excerpt.length).toBeLessThanOrEqual(204);
  expect(documentSearch([KEYS])('create')[0]?.excerpt).toBe('Keys Create a key & use it.');
});

test('at most so many sections are found', () => {
  const many = (count: number) =>
    documentSearch([
      document(
        'many',
        Array.from({ length: count }, (_none, at) => `## Part ${at}\n\nx\n`).join('\n'),
      ),
    ])('part').length;
  expect(many(SECTIONS_FOUND_MAX - 1)).toBe(SECTIONS_FOUND_MAX - 1);
  expect(many(SECTIONS_FOUND_MAX)).toBe(SECTIONS_FOUND_MAX);
  expect(many(SECTIONS_FOUND_MAX + 1)).toBe(SECTIONS_FOUND_MAX);
});
