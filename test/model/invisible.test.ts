/** Characters that change the direction of text, in terminals and pages. */
import { expect, test } from 'vitest';

import { escapeDirections, showDirections } from '../../src/model/invisible.ts';

const DIRECTIONS = [0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e].concat([
  0x2066, 0x2067, 0x2068, 0x2069,
]);

test.each(DIRECTIONS.map((point) => [point.toString(16).padStart(4, '0'), point] as const))(
  'U+%s is written out, and as an escape in JSON',
  (hex, point) => {
    const text = `a${String.fromCodePoint(point)}b`;
    expect(showDirections(text)).toBe(`a⟨U+${hex.toUpperCase()}⟩b`);
    expect(escapeDirections(JSON.stringify(text))).toBe(`"a\\u${hex}b"`);
    expect(JSON.parse(escapeDirections(JSON.stringify(text)))).toBe(text);
  },
);

test.each(['שלום', 'مرحبا', '\u200b\u200c\u200d', '\u2029\u2065\u206a', 'e\u0301 👩\u200d💻'])(
  'other characters stay: %j',
  (text) => {
    expect(showDirections(text)).toBe(text);
    expect(escapeDirections(text)).toBe(text);
  },
);
