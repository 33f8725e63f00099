/** Text that people write into forms. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sentence } from '../../../src/http/dashboard/sign-in/person-fields.ts';
import { anyCharacter } from '../../support/cases.ts';

const text = sentence(100);

test.each([
  ['plain', 'plain'],
  [' two\r\nlines\rthree ', 'two\nlines\nthree'],
  ['a\tb', 'a\tb'],
  ['Zoë 柏 <b>&', 'Zoë 柏 <b>&'],
])('%j is kept as %j', (sent, kept) => {
  expect(text.parse(sent)).toBe(kept);
});

test.each(['', '  \r\n ', '\u200b', 'a\0', 'a\u001b[31m', 'a\u202eb', '\ud800', 'x'.repeat(101)])(
  '%j is refused',
  (sent) => {
    expect(text.safeParse(sent).success).toBe(false);
  },
);

test('what is accepted can be stored, and is accepted again as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 120 }), (sent) => {
      const { success, data } = text.safeParse(sent);
      if (!success) return;
      expect(data).not.toMatch(/[\0\r\u202e]/);
      expect(data.length).toBeLessThanOrEqual(100);
      expect(Buffer.from(data, 'utf8').toString('utf8')).toBe(data);
      expect(text.parse(data)).toBe(data);
    }),
  );
});
