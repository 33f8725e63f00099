/** What people may type about themselves and their things. */
import { describe, expect, test } from 'vitest';
import { email, name, slug } from '../../../../src/http/dashboard/sign-in/person-fields.ts';

describe('an e-mail address', () => {
  test.each(['a@b', ' ana+x@people.test ', "o'hara@people.test", 'x@xn--bcher-kva.test'])(
    '"%s" is one',
    (text) => {
      expect(email.parse(text)).toBe(text.trim());
    },
  );

  test.each([
    ['', 'nothing'],
    ['no address', 'no @'],
    ['a@b@c.test', 'two @'],
    ['a b@c.test', 'a space'],
    ['a@b\0.test', 'NUL'],
    ['a@b.test\r\nBcc: x@y.test', 'lines'],
    ['an\u200ba@people.test', 'a character nobody sees'],
    // In small letters it is kate@people.test, in PostgreSQL and here.
    ['\u212aate@people.test', 'the Kelvin sign'],
    ['\u0430na@people.test', 'a Cyrillic letter'],
    ['\u202eana@people.test', 'text turned round'],
    [`${'a'.repeat(250)}@b.test`, 'too long'],
  ])('%j is none: %s', (text) => {
    expect(email.safeParse(text).success).toBe(false);
  });
});

describe('a name', () => {
  test.each(['Ana', 'Zoë 柏', '<b>&', 'O\u2019Hara', '👩\u200d💻', '\u0646\u200c\u0627'])(
    '"%s" is one',
    (text) => {
      expect(name.parse(text)).toBe(text);
    },
  );

  test.each([
    '',
    '   ',
    '\u200b',
    '\u200d\u2060',
    'a\u0000',
    'a\u001b[31m',
    'a\u202eb',
    'a\u2028b',
  ])('%j is none', (text) => {
    expect(name.safeParse(text).success).toBe(false);
  });

  test('has a hundred characters at most', () => {
    expect(name.safeParse('x'.repeat(100)).success).toBe(true);
    expect(name.safeParse('x'.repeat(101)).success).toBe(false);
  });
});

test.each(['', 'a\0', 'A', '-a', 'a'.repeat(64), '../a'])('%j is no slug', (text) => {
  expect(slug.safeParse(text).success).toBe(false);
});
