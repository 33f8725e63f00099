/** What people may type about themselves and their things. */
import { describe, expect, test } from 'vitest';
import {
  email,
  name,
  newPassword,
  password,
  requireId,
  slug,
} from '../../../../src/http/dashboard/sign-in/person-fields.ts';

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
    [`${'a'.repeat(248)}@b.test`, 'too long'],
  ])('%j is none: %s', (text) => {
    expect(email.safeParse(text).success).toBe(false);
  });
});

test('an e-mail address has 254 characters at most', () => {
  const longest = `${'a'.repeat(247)}@b.test`;
  expect(email.parse(longest)).toBe(longest);
  expect(longest).toHaveLength(254);
});

test.each([
  [newPassword, 11, false],
  [newPassword, 12, true],
  [newPassword, 200, true],
  [newPassword, 201, false],
  [password, 0, false],
  [password, 1, true],
  [password, 200, true],
  [password, 201, false],
])('a password, %#, of %i characters: %s', (schema, length, isOne) => {
  expect(schema.safeParse('x'.repeat(length)).success).toBe(isOne);
});

test.each(['1', '2147483647'])('%s is an id', (text) => {
  expect(requireId(text)).toBe(Number(text));
});

test.each(['', '0', '01', '-1', '1.0', '2147483648', '10000000000'])('"%s" is no id', (text) => {
  expect(() => requireId(text)).toThrow(expect.objectContaining({ code: 'not_found' }));
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

test.each(['a', '7', 'a-1', 'a'.repeat(63)])('%j is a slug', (text) => {
  expect(slug.parse(text)).toBe(text);
});

test.each(['', 'a\0', 'A', '-a', 'a'.repeat(64), '../a'])('%j is no slug', (text) => {
  expect(slug.safeParse(text).success).toBe(false);
});
