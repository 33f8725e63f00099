/** Escapes are resolved alike inside a valid string and anywhere else. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { resolveEscapes } from '../../../../src/engine/surfaces/reader/json-escapes.ts';

test('the content of a JSON string is what was written', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(resolveEscapes(JSON.stringify(text).slice(1, -1))).toBe(text);
    }),
  );
});

test('a text that is no JSON string has its escapes resolved, too', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      // A raw quote and a raw line feed are in no JSON string.
      const escaped = JSON.stringify(text).slice(1, -1);
      expect(resolveEscapes(`"\n${escaped}`)).toBe(`"\n${text}`);
    }),
  );
});

test.each([
  ['\\x41 \\u00e9 \\u12', '\\x41 é \\u12'],
  ['a\\', 'a\\'],
  ['\\"', '"'],
  ['\\/ \\b\\f\\n\\r\\t', '/ \b\f\n\r\t'],
])('%j is read as %j', (text, resolved) => {
  expect(resolveEscapes(text)).toBe(resolved);
});

test('texts around the size of a chunk', () => {
  for (const length of [8191, 8192, 8193, 16_385]) {
    expect(resolveEscapes(`"${'\\n'.repeat(length)}`)).toBe(`"${'\n'.repeat(length)}`);
  }
});
