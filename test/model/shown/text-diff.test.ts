/** A difference gives back both texts, and marks as little as it can. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type DiffPart, diffOf, schemaLines } from '../../../src/model/shown/text-diff.ts';

const without = (kind: DiffPart['kind'], parts: readonly DiffPart[]): string =>
  parts
    .filter((part) => part.kind !== kind)
    .map(({ text }) => text)
    .join('');

test('both texts are whole, whatever they are', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '\0', '\uD800') });
  fc.assert(
    fc.property(text, text, fc.constantFrom('words', 'lines'), (one, other, by) => {
      const parts = diffOf(one, other, by);
      expect([without('added', parts), without('removed', parts)]).toEqual([one, other]);
    }),
  );
});

test('words, and lines', () => {
  expect(diffOf('Sends a mail.', 'Sends a secret mail.', 'words')).toEqual([
    { kind: 'same', text: 'Sends a ' },
    { kind: 'added', text: 'secret ' },
    { kind: 'same', text: 'mail.' },
  ]);
  expect(diffOf('a\nb\nc\n', 'a\nx\nc\n', 'lines')).toEqual([
    { kind: 'same', text: 'a\n' },
    { kind: 'removed', text: 'b\n' },
    { kind: 'added', text: 'x\n' },
    { kind: 'same', text: 'c\n' },
  ]);
  expect(diffOf('', '', 'words')).toEqual([]);
});

test('texts that differ in too many places are a replacement', () => {
  const words = (letter: string) => Array.from({ length: 3000 }, (_, at) => letter + at).join(' ');
  const parts = diffOf(words('a'), words('b'), 'words');
  expect(parts.map(({ kind }) => kind)).toEqual(['removed', 'added']);
});

test('a schema has a line for each member; a part of one stays as it is', () => {
  expect(schemaLines('{"a":1}')).toBe('{\n  "a": 1\n}');
  expect(schemaLines('{"a":')).toBe('{"a":');
});
