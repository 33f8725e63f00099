/** Invisible characters in names, on pages, in terminals and in messages. */
import { expect, test } from 'vitest';

import {
  escapeInvisible,
  REPEATS_MAX,
  seenParts,
  showInvisible,
} from '../../src/model/invisible.ts';

const DIRECTIONS = [0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e].concat([
  0x2066, 0x2067, 0x2068, 0x2069,
]);
const LINE_ENDS = [0x0b, 0x0c, 0x85, 0x2028, 0x2029];
const CONTROLS = [0x00, 0x07, 0x08, 0x1b, 0x7f, 0x80, 0x9b, 0x9f];
const ZERO_WIDTH = [0xad, 0x34f, 0x200b, 0x200c, 0x200d, 0x2060, 0x2064, 0xfe00, 0xfe0f, 0xfeff];
const POINTS = [...DIRECTIONS, ...LINE_ENDS, ...CONTROLS, ...ZERO_WIDTH];

const hexOf = (point: number): string => point.toString(16).padStart(4, '0');

test.each(POINTS.map((point) => [hexOf(point), point] as const))(
  'U+%s is written out, and as an escape in JSON',
  (hex, point) => {
    const text = `a${String.fromCodePoint(point)}b`;
    expect(showInvisible(text)).toBe(`a⟨U+${hex.toUpperCase()}⟩b`);
    const json = escapeInvisible(JSON.stringify(text));
    expect(json).toMatch(/^"a\\[\w]+b"$/);
    expect(showInvisible(json)).toBe(json);
    expect(JSON.parse(json)).toBe(text);
  },
);

test('tag characters are written as the text that they hide, and as surrogate escapes in JSON', () => {
  const text = 'a\u{e0068}\u{e0069}b';
  expect(showInvisible(text)).toBe('a⟨tag characters: hi⟩b');
  const json = escapeInvisible(JSON.stringify(text));
  expect(json).toBe('"a\\udb40\\udc68\\udb40\\udc69b"');
  expect(JSON.parse(json)).toBe(text);
});

test('an escape sequence is text', () => {
  expect(showInvisible('\u001b[31mred\u001b[0m \u009b2J')).toBe(
    '⟨U+001B⟩[31mred⟨U+001B⟩[0m ⟨U+009B⟩2J',
  );
});

test.each(['שלום', 'مرحبا', 'a\tb\r\nc', 'e\u0301 👩\u200d💻 ❤\ufe0f', '\u00a0\u202f\u3000', ''])(
  'other characters stay: %j',
  (text) => {
    expect(showInvisible(text)).toBe(text);
    expect(escapeInvisible(text)).toBe(text);
  },
);

test('what is written out is not written out again', () => {
  const text = POINTS.map((point) => String.fromCodePoint(point)).join('-');
  expect(showInvisible(showInvisible(text))).toBe(showInvisible(text));
});

test('a character that is repeated is written each time, and with its number when there are many', () => {
  const named = (times: number) => seenParts('\u200b'.repeat(times)).map(({ text }) => text);
  expect(named(REPEATS_MAX)).toEqual(['⟨U+200B⟩'.repeat(REPEATS_MAX)]);
  expect(named(REPEATS_MAX + 1)).toEqual([`⟨U+200B⟩×${REPEATS_MAX + 1}`]);
});
