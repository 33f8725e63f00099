/** The cookies: their attributes with and without TLS, and what is read of what a browser sends. */
import { describe, expect, test } from 'vitest';
import { createCookieJar } from '../../../../src/http/dashboard/sign-in/session-cookie.ts';

const TOKEN = 'a'.repeat(43);
const END = new Date('2026-11-28T00:00:00Z');
const secure = createCookieJar('acme', true);
const plain = createCookieJar('acme', false);

test('behind TLS: __Host-, Secure, HttpOnly, SameSite=Strict, the whole host and no domain', () => {
  expect(secure.writeSession(TOKEN, END)).toBe(
    `__Host-acme_session=${TOKEN}; Path=/; Expires=Sat, 28 Nov 2026 00:00:00 GMT; HttpOnly; ` +
      'SameSite=Strict; Secure',
  );
  expect(secure.clearSession()).toBe(
    '__Host-acme_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure',
  );
  expect(secure.writeFlow('x.y', 600)).toBe(
    '__Host-acme_sign_in=x.y; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure',
  );
});

test('without TLS: the same but for the prefix and Secure', () => {
  expect(plain.writeSession(TOKEN, END)).toBe(
    `acme_session=${TOKEN}; Path=/; Expires=Sat, 28 Nov 2026 00:00:00 GMT; HttpOnly; ` +
      'SameSite=Strict',
  );
});

describe('what is read', () => {
  test.each([
    [`acme_session=${TOKEN}`, TOKEN],
    [`a=b; acme_session=${TOKEN}; c=d`, TOKEN],
    [`xacme_session=${TOKEN}`, null],
    [`acme_session=${TOKEN}; acme_session=${'b'.repeat(43)}`, null],
    [`acme_session=${TOKEN}x`, null],
    [`acme_session="${TOKEN}"`, null],
    ['acme_session=', null],
    ['acme_session', null],
    ['', null],
  ])('"%s"', (header, expected) => {
    expect(plain.readSession(header)).toBe(expected);
  });

  test('behind TLS a cookie without the prefix, which a neighbour could plant, is none', () => {
    expect(secure.readSession(`acme_session=${TOKEN}`)).toBeNull();
    expect(secure.readSession(`__Host-acme_session=${TOKEN}`)).toBe(TOKEN);
  });
});
