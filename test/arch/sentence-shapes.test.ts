/**
 * Plain sentences: shapes that native speakers had to read twice (subject, verb, object instead), in
 * sources, screens and documents. The words are checked by language.ts. Exceptions may only shrink.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { filesIn, ROOT } from './source-file.ts';

/** "if there is none" is plain; "lines that are none" and "a list that is none" are not. */
const SHAPES: readonly RegExp[] = [
  /\bof (?:which|whom)\b/gi,
  /\bof (?:its|their) own\b/gi,
  /(?<!\bthere )\bis none\b/gi,
  /\bthat of\b/gi,
  /(?:\/\*\*?|\/\/|(?<=\n)\s*--) (?:What|Whether)\b[^?]/g,
  /\bWhether\b[^.:;?]*\bis\b/g,
  /\bThe\b[^.:;?`]{0,90} whose\b/g,
];

/** File → number of sentences that are left. Remove what you rewrite; add nothing. */
const LEFT: Readonly<Record<string, number>> = {};

/** One space for each line break inside a comment or paragraph, so that shapes over lines are found. */
function joined(path: string, text: string): string {
  if (path.endsWith('.md')) return text.replaceAll(/\n(?!\n)/g, ' ');
  return text
    .replaceAll(/\n\s*\*(?!\/) ?/g, ' ')
    .replaceAll(/(?<=\n\s*(?:\/\/|--) [^\n]*)\n\s*(?:\/\/|--) ?/g, ' ');
}

function shapesIn(path: string, text: string): string[] {
  const sentences = joined(path, text);
  return SHAPES.flatMap((shape) => sentences.match(shape) ?? []);
}

describe('the checker', () => {
  test.each([
    ['/** What of it is stored. */', '/** What '],
    ['/**\n * What is\n */', '/** What '],
    ['\n-- What is stored.', '-- What '],
    ['// Lines of which\n// none', 'of which'],
    ['/**\n * a process of\n * its own */', 'of its own'],
    ['// lines, and one that is none', 'is none'],
    ['// the size is that of one', 'that of'],
    ["describe('Whether the tier is on.')", 'Whether the tier is'],
    ['// The runs whose results are there', 'The runs whose'],
  ])('finds %j', (text, shape) => {
    expect(shapesIn('src/x.ts', text).map((found) => found.trimStart())).toContain(shape);
  });

  test('leaves plain sentences alone', () => {
    const text = '// Null if there is none. Returns what it read, and whether it is whole.';
    expect(shapesIn('src/x.ts', text)).toEqual([]);
  });

  test('joins the lines of a paragraph in documents', () => {
    expect(shapesIn('docs/x.md', 'a table of\nits own, and that\n\nof')).toEqual(['of its own']);
  });
});

test('sources, screens and documents have plain sentences, except for a list that shrinks', () => {
  const paths = [...filesIn('src'), ...filesIn('docs')].filter((path) =>
    /\.(ts|js|css|sql|md)$/.test(path),
  );
  const pages = ['ARCHITECTURE.md', 'README.md', 'CONTRIBUTING.md'];
  const found = [...paths, ...pages].flatMap((path) => {
    const count = shapesIn(path, readFileSync(join(ROOT, path), 'utf8')).length;
    return count === 0 ? [] : [[path, count] as const];
  });
  expect(Object.fromEntries(found)).toEqual(LEFT);
});
