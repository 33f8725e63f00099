/** Every rule of OTLP/HTTP has a row in docs/otlp-conformance.md, and every row a test that exists. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REASONS } from '../../src/otlp/fault.ts';

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

test('every reason for a rejection has its row', () => {
  const section = read('docs/otlp-conformance.md').split('### Reasons for a rejection')[1] ?? '';
  const listed = [...section.matchAll(/^\| ([a-z_, ]+) \|/gm)].flatMap(([, names = '']) =>
    names.split(', ').filter((name) => name.includes('_')),
  );
  // `bad_time` has two rows: one is of data points only, and so named.
  expect(listed.filter((name) => name !== 'of a data point').sort()).toEqual(
    [...Object.keys(REASONS), 'bad_time'].sort(),
  );
});

test.each(rows)('$rule is shown by a test that exists', ({ file, name }) => {
  expect(existsSync(new URL(file, ROOT)), file).toBe(true);
  expect(name).not.toBe('');
  expect(read(file)).toContain(`'${name}'`);
});
