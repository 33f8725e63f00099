/** Whether a write comes from a page of ours, and which paths are ours to lead to. */
import { expect, test } from 'vitest';
import { isSameOrigin, ownPath } from '../../../../src/http/dashboard/sign-in/same-origin.ts';

const BASE = 'https://sluice.test';

test.each([
  ['https://sluice.test', '', 'internal:8080', true],
  ['https://sluice.test', 'same-origin', 'sluice.test', true],
  ['', 'same-origin', 'sluice.test', true],
  ['https://localhost:8080', 'same-origin', 'localhost:8080', true],
  ['https://LOCALHOST:8080', '', 'localhost:8080', false],
  // Where people come over TLS, a page of the same host without it is none of ours.
  ['http://sluice.test', '', 'sluice.test', false],
  ['http://sluice.test', 'same-origin', 'sluice.test', false],
  ['', '', 'sluice.test', false],
  ['', 'none', 'sluice.test', false],
  ['https://sluice.test', 'cross-site', 'sluice.test', false],
  ['https://sluice.test', 'same-site', 'sluice.test', false],
  ['https://evil.test', 'same-origin', 'sluice.test', false],
  ['https://sluice.test.evil.test', '', 'sluice.test', false],
  ['https://evil.test/https://sluice.test', '', 'sluice.test', false],
  ['https://sluice.test/', '', 'sluice.test', false],
  ['https://sluice.test:444', '', 'sluice.test', false],
  ['http://sluice.test:81', '', 'sluice.test', false],
  ['null', '', 'sluice.test', false],
  ['https://', '', '', false],
])('Origin "%s", Sec-Fetch-Site "%s", Host "%s": %s', (origin, fetchSite, host, expected) => {
  expect(isSameOrigin({ origin, fetchSite }, host, BASE)).toBe(expected);
});

test.each([
  ['http://localhost:8080', 'localhost:8080', true],
  // TLS ends at a proxy that BASE_URL does not know of.
  ['https://sluice.test', 'sluice.test', true],
  ['http://evil.test', 'localhost:8080', false],
])('without TLS: Origin "%s", Host "%s": %s', (origin, host, expected) => {
  expect(isSameOrigin({ origin, fetchSite: '' }, host, 'http://127.0.0.1:8080')).toBe(expected);
});

test.each([
  ['/app', '/app'],
  ['/app/', '/app/'],
  ['/app/rules/ATR-2026-00001?tab=own%20examples', '/app/rules/ATR-2026-00001?tab=own%20examples'],
  ['/app?x=1', '/app?x=1'],
  [null, '/app'],
  [undefined, '/app'],
  ['', '/app'],
  ['/', '/app'],
  ['/application', '/app'],
  ['app/rules', '/app'],
  ['https://evil.test/app', '/app'],
  ['//evil.test/app', '/app'],
  ['/\\evil.test', '/app'],
  ['/app\\..\\evil', '/app'],
  ['/app//evil.test', '/app'],
  ['/app/..', '/app'],
  ['/app/./x', '/app'],
  ['/app/../../evil', '/app'],
  ['/app/%2E%2e/evil', '/app'],
  ['/app/%2f%2fevil', '/app'],
  ['/app/%5cevil', '/app'],
  ['/app#x', '/app'],
  ['/app\r\nset-cookie: a=b', '/app'],
  ['/app/\t', '/app'],
  ['/app/"><script>', '/app'],
  ['javascript:alert(1)', '/app'],
])('%s leads to %s', (next, expected) => {
  expect(ownPath(next)).toBe(expected);
});
