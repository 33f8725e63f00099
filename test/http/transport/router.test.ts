/** Which handler a path means: exact before pattern, methods, parameters. */
import { expect, test } from 'vitest';
import { createRouter, type Match, type Route } from '../../../src/http/transport/router.ts';

const handlers = {
  list: () => undefined,
  make: () => undefined,
  show: () => undefined,
  special: () => undefined,
  step: () => undefined,
};

const ROUTES: readonly Route[] = [
  { method: 'GET', path: '/things', handler: handlers.list },
  { method: 'POST', path: '/things', handler: handlers.make },
  { method: 'GET', path: '/things/{id}', handler: handlers.show },
  { method: 'GET', path: '/things/special', handler: handlers.special },
  { method: 'POST', path: '/things/{id}/steps/{step}', handler: handlers.step },
];
const match = createRouter(ROUTES);

const PATHS = {
  list: '/things',
  make: '/things',
  show: '/things/{id}',
  special: '/things/special',
  step: '/things/{id}/steps/{step}',
};

const found = (handler: keyof typeof handlers, parameters: Record<string, string> = {}): Match => ({
  kind: 'found',
  handler: handlers[handler],
  route: PATHS[handler],
  parameters,
  refusal: null,
});
const UNKNOWN: Match = { kind: 'unknown' };

test.each<[string, string, Match]>([
  ['GET', '/things', found('list')],
  ['POST', '/things', found('make')],
  ['HEAD', '/things', found('list')],
  ['GET', '/things/7', found('show', { id: '7' })],
  ['HEAD', '/things/7', found('show', { id: '7' })],
  ['GET', '/things/special', found('special')],
  ['GET', '/things/a%20b', found('show', { id: 'a b' })],
  ['GET', '/things/a%2Fb', found('show', { id: 'a/b' })],
  ['GET', '/things/', found('list')],
  ['GET', '/things/7/', found('show', { id: '7' })],
  ['POST', '/things/7/steps/%C3%A9', found('step', { id: '7', step: 'é' })],
])('%s %s is found', (method, path, expected) => {
  expect(match(method, path)).toEqual(expected);
});

test.each([
  ['PUT', '/things', 'GET, HEAD, POST'],
  ['DELETE', '/things/7', 'GET, HEAD'],
  ['POST', '/things/special', 'GET, HEAD'],
  ['GET', '/things/7/steps/1', 'POST'],
  ['HEAD', '/things/7/steps/1', 'POST'],
  ['get', '/things', 'GET, HEAD, POST'],
])('%s %s is the wrong method', (method, path, allow) => {
  expect(match(method, path)).toEqual({ kind: 'wrong_method', allow, refusal: null });
});

test.each([
  '',
  '/',
  '/thing',
  '/Things',
  '/things//',
  '/things/7//',
  '/things/7/steps/',
  '/things/7/steps',
  '//things',
  '/things/%',
  '/things/%zz',
  '/things/%C3',
  '/things/{id}/steps',
])('"%s" is unknown', (path) => {
  expect(match('GET', path)).toEqual(UNKNOWN);
});

test('a pattern’s own text is an ordinary parameter, never the pattern', () => {
  expect(match('GET', '/things/{id}')).toEqual(found('show', { id: '{id}' }));
});
