/** Counting refused requests: equal ones are one group, memory is bounded and shared out, no key in clear. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';

import { type ErrorCode, SluiceError } from '../../../src/errors.ts';
import { createAuthenticator } from '../../../src/http/limits/authentication.ts';
import {
  GROUPS_EACH_MAX,
  GROUPS_MAX,
  RefusedRequests,
  SHOWN_CHARS_MAX,
} from '../../../src/http/limits/refused-requests.ts';

const keyOf = (number: number): string => `sluice_live_${String(number).padStart(43, 'x')}`;
const digest = (secret: string): Buffer => createHash('sha256').update(secret).digest();
const VALID = keyOf(1);
const KEY = {
  keyId: 1,
  workspaceId: 7,
  kind: 'agent',
  rateLimitPerMinute: 1,
  redaction: null,
} as const;

async function setUp() {
  const authenticator = createAuthenticator({
    digest,
    find: async (sought) => (sought.equals(digest(VALID)) ? KEY : null),
    noteUse: () => {},
  });
  await authenticator.authenticate(
    { authorization: `Bearer ${VALID}`, clientAddress: '192.0.2.1' },
    'agent',
  );
  const counted: string[] = [];
  const refused = new RefusedRequests(authenticator, {
    requestRefused: (reason) => void counted.push(reason),
  });
  return { refused, counted };
}

const request = (members: Record<string, string> = {}) => ({
  method: 'POST',
  path: '/v1/traces',
  authorization: `Bearer ${VALID}`,
  userAgent: 'exporter/1',
  clientAddress: '192.0.2.1',
  ...members,
});
const error = (code: ErrorCode): SluiceError => new SluiceError(code, code);

test('equal refusals are one group, which is taken once', async () => {
  const { refused, counted } = await setUp();
  for (let count = 0; count < 3; count += 1) refused.note(request(), error('unsupported_type'));
  refused.note(request(), error('rate_limited'));
  refused.note(request({ userAgent: 'exporter/2' }), error('unsupported_type'));
  const groups = refused.takeGroups();
  expect(groups.map(({ reason, userAgent, requests }) => [reason, userAgent, requests])).toEqual([
    ['unsupported_type', 'exporter/1', 3],
    ['rate_limited', 'exporter/1', 1],
    ['unsupported_type', 'exporter/2', 1],
  ]);
  expect(groups[0]?.digest).toEqual(digest(VALID));
  expect(groups[0]?.keyPrefix).toBe('sluice_live_xxxxxx');
  expect(refused.takeGroups()).toEqual([]);
  expect(counted).toHaveLength(5);
});

test.each(['overloaded', 'store_unavailable', 'body_timeout', 'shutting_down'] as const)(
  '%s is not a fault of the sender',
  async (code) => {
    const { refused, counted } = await setUp();
    refused.note(request(), error(code));
    expect(refused.takeGroups()).toEqual([]);
    expect(counted).toEqual([]);
  },
);

test('a header without a key of ours has no digest, and a key is never kept in clear', async () => {
  const { refused } = await setUp();
  const secret = keyOf(2);
  refused.note(request({ authorization: 'Basic c2VjcmV0' }), error('invalid_credential'));
  refused.note(
    request({
      authorization: `Bearer ${secret}`,
      path: `/v1/traces/${secret}`,
      userAgent: `${secret} \u0007x`,
    }),
    error('invalid_credential'),
  );
  const [foreign, unknown] = refused.takeGroups();
  expect(foreign).toMatchObject({ digest: null, keyPrefix: null });
  expect(unknown).toMatchObject({ path: '/v1/traces/…', userAgent: '… x' });
  expect(JSON.stringify([foreign, unknown])).not.toContain(secret);
  expect(JSON.stringify([foreign, unknown])).not.toContain('c2VjcmV0');
});

test('Bearer%20 is the same key', async () => {
  const { refused } = await setUp();
  refused.note(request(), error('rate_limited'));
  refused.note(request({ authorization: `Bearer%20${VALID}` }), error('rate_limited'));
  expect(refused.takeGroups()).toMatchObject([{ requests: 2 }]);
});

test('memory: a share per workspace and network, and a bound for all', async () => {
  const { refused, counted } = await setUp();
  for (let number = 0; number < 3 * GROUPS_MAX; number += 1) {
    const authorization = `Bearer ${keyOf(1000 + number)}`;
    refused.note(request({ authorization }), error('invalid_credential'));
  }
  expect(refused.takeGroups()).toHaveLength(GROUPS_EACH_MAX);

  for (let number = 0; number < 3 * GROUPS_MAX; number += 1) {
    const clientAddress = `10.${number >> 8}.${number & 255}.1`;
    const authorization = `Bearer ${keyOf(1000 + number)}`;
    refused.note(request({ authorization, clientAddress }), error('invalid_credential'));
  }
  // A flood of invented keys leaves room for a valid one.
  refused.note(request({ userAgent: 'x'.repeat(5000) }), error('unsupported_type'));
  const groups = refused.takeGroups();
  expect(groups).toHaveLength(GROUPS_MAX + 1);
  expect(groups[0]).toMatchObject({ reason: 'unsupported_type' });
  expect(groups[0]?.userAgent).toHaveLength(SHOWN_CHARS_MAX);
  expect(counted).toHaveLength(6 * GROUPS_MAX + 1);
});

test.each([
  ['192.0.2.1', '192.0.2.2', 2],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', 2],
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', 1],
])('%s and %s have %d shares', async (one, other, shares) => {
  const { refused } = await setUp();
  for (const clientAddress of [one, other]) {
    for (let number = 0; number <= GROUPS_EACH_MAX; number += 1) {
      const authorization = `Bearer ${keyOf(1000 + number)}`;
      refused.note(request({ authorization, clientAddress }), error('invalid_credential'));
    }
  }
  expect(refused.takeGroups()).toHaveLength(shares * GROUPS_EACH_MAX);
});

test.each([
  ['POST', '/', true],
  ['POST', '/otel/v1/traces', true],
  ['POST', '/v1/traces/v1/traces', true],
  ['GET', '/v1/traces', true],
  ['PUT', '/v1/logs/', true],
  ['GET', '/v1/models', true],
  ['GET', '/platform/v1/ingest/otel', true],
  ['GET', '/favicon.ico', false],
  ['GET', '/platform/v1/run', false],
  ['POST', '/app/nothing', false],
])('a request that no route takes, %s %s: counted %s', async (method, path, isCounted) => {
  const { refused, counted } = await setUp();
  refused.noteUnrouted(request({ method, path }), error('not_found'));
  expect(counted).toHaveLength(isCounted ? 1 : 0);
});
