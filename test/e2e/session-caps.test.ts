/** A signed-in person's requests are capped, and the answer tells whose ceiling it was. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SESSION_LIMITS } from '../../src/http/limits/limiters.ts';
import { addPerson } from '../support/people.ts';
import { Browser } from './browser.ts';
import type { Answer } from './gateway.ts';
import { openSharedGateway, type SharedGateway } from './shared-gateway.ts';

const AT_ONCE = 20;

let gateway: SharedGateway;
let workspaceId: number;
beforeAll(async () => {
  gateway = await openSharedGateway();
  workspaceId = gateway.workspace.id;
});
afterAll(() => gateway.close());

test('past it every request is 429 with Retry-After, another user’s is not', async () => {
  const { baseUrl } = gateway.server;
  const { token } = await addPerson(gateway.database, workspaceId, 'member');
  const browser = new Browser(baseUrl, token);
  const answers: Answer[] = [];
  while (answers.length < SESSION_LIMITS.user + AT_ONCE) {
    const batch = Array.from({ length: AT_ONCE }, () => browser.get('/app/settings'));
    answers.push(...(await Promise.all(batch)));
  }
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused).toHaveLength(AT_ONCE);
  for (const answer of refused) {
    expect(answer.status).toBe(429);
    expect(answer.headers.get('x-ratelimit-scope')).toBe('user');
    expect(answer.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/);
    expect(answer.text).toContain('has used up the requests of this minute');
  }
  const other = await addPerson(gateway.database, workspaceId, 'member');
  expect((await new Browser(baseUrl, other.token).get('/app/settings')).status).toBe(200);
});
