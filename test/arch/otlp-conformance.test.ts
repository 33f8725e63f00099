/** Every rule of OTLP/HTTP has a row in docs/otlp-conformance.md, and every row a test that exists. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');

const ROW = /^\| ([HJV]\d+) \|.*\| `(test\/[\w/.-]+)`: (.*) \|$/gm;
const rows = [...read('docs/otlp-conformance.md').matchAll(ROW)].map(
  ([, rule = '', file = '', name = '']) => ({ rule, file, name }),
);

function numbered(letter: string, last: number): string[] {
  return Array.from({ length: last }, (_, index) => `${letter}${index + 1}`);
}

test('every rule has its row', () => {
  expect(rows.map(({ rule }) => rule)).toEqual([
    ...numbered('H', 20),
    ...numbered('J', 14),
    ...numbered('V', 12),
  ]);
});

test.each(rows)('$rule is shown by a test that exists', ({ file, name }) => {
  expect(existsSync(new URL(file, ROOT)), file).toBe(true);
  expect(name).not.toBe('');
  expect(read(file)).toContain(`'${name}'`);
});
