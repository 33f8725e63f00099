/** Calls of signed-in command lines are counted by the limits of their user and of their workspace. */
import { afterAll, expect, test } from 'vitest';
import { digestKey } from '../../../src/db/people/keys.ts';
import { type CliDependencies, withCliSession } from '../../../src/http/cli/cli-call.ts';
import { createSessionLimiter } from '../../../src/http/limits/limiters.ts';
import { createMinuteCounts } from '../../../src/http/limits/minute-counts.ts';
import type { Answer, Exchange } from '../../../src/http/transport/exchange.ts';
import type { Session } from '../../../src/model/people.ts';
import { hex16 } from '../../support/rows.ts';

const LIMITS = { user: 4, workspace: 10 };
const SECRET_CHARS = 43;
const USERS = [1, 2, 3, 4, 10];

const counts = createMinuteCounts(null, {
  limiterUnavailable: () => {},
  limiterAnswered: () => {},
  countedHere: () => {},
});
afterAll(() => counts.close());

/** The login of a user; users below 10 are members of workspace 1, the others of workspace 2. */
function sessionOf(userId: number): Session {
  return {
    id: hex16(userId),
    kind: 'cli',
    userAgent: 'laptop',
    userId,
    email: `user${userId}@test`,
    displayName: '',
    expiresAt: new Date(8.64e15),
    workspace: {
      id: userId < 10 ? 1 : 2,
      slug: 'crew',
      name: 'Crew',
      plan: 'free',
      redactExcerpts: false,
      role: 'member',
    },
  };
}

const tokenOf = (userId: number): string =>
  `sluice_cli_${String(userId).padStart(SECRET_CHARS, '0')}`;

const handler = withCliSession(async () => ({ status: 200, contentType: 'text/plain', body: '' }), {
  db: {
    accounts: {
      query: async ({ values: [digest] }: { values: [Buffer] }) => ({
        rows: USERS.filter((id) => digestKey(tokenOf(id)).equals(digest)).map(sessionOf),
      }),
    },
  },
  sessionLimiter: createSessionLimiter(counts, LIMITS),
  events: {
    requestFailed: () => {},
    requestUnavailable: () => {},
    signInTried: () => {},
    signedOut: () => {},
  },
} as unknown as CliDependencies);

/** @returns `200`, or the scope of the limit that was reached */
async function call(userId: number): Promise<number | string | undefined> {
  let given: Answer | undefined;
  const exchange = {
    authorization: `Bearer ${tokenOf(userId)}`,
    clientAddress: '192.0.2.1',
    query: '',
    answer: (answer: Answer) => {
      given = answer;
    },
  };
  await handler(exchange as unknown as Exchange, {});
  if (given?.status !== 429) return given?.status;
  const headers = new Map(given.headers);
  expect(headers.get('retry-after')).toMatch(/^\d+$/);
  expect(headers.get('cache-control')).toBe('no-store');
  return headers.get('x-ratelimit-scope');
}

async function calls(userId: number, times: number) {
  const outcomes = [];
  for (let at = 0; at < times; at += 1) outcomes.push(await call(userId));
  return outcomes;
}

test('one user’s, then all users’ of the workspace; another workspace has its own', async () => {
  expect(await calls(1, 5)).toEqual([200, 200, 200, 200, 'user']);
  expect(await calls(2, 4)).toEqual([200, 200, 200, 200]);
  // The refused call of the first user did not count for the workspace.
  expect(await calls(3, 4)).toEqual([200, 200, 'workspace', 'workspace']);
  expect(await calls(4, 1)).toEqual(['workspace']);
  expect(await calls(10, 1)).toEqual([200]);
});
