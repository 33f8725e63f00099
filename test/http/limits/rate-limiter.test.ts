/** Requests per key: each key under its own limit, counted by its id. */
import { expect, test } from 'vitest';
import { createRateLimiter } from '../../../src/http/limits/limiters.ts';
import { createMinuteCounts } from '../../../src/http/limits/minute-counts.ts';
import type { Credential } from '../../../src/model/people.ts';

const UNHEARD = { limiterUnavailable: () => {}, limiterAnswered: () => {}, countedHere: () => {} };

function credential(keyId: number, rateLimitPerMinute: number): Credential {
  return { keyId, workspaceId: 1, kind: 'agent', rateLimitPerMinute, redaction: null };
}

test('keys of one workspace are counted apart, under the limit each was made with', async () => {
  const limiter = createRateLimiter(createMinuteCounts(null, UNHEARD));
  const decisions = async (key: Credential, requests: number): Promise<boolean[]> => {
    const admitted: boolean[] = [];
    for (let request = 0; request < requests; request += 1) {
      admitted.push((await limiter.consume(key)).admitted);
    }
    return admitted;
  };
  expect(await decisions(credential(1, 1), 2)).toEqual([true, false]);
  expect(await decisions(credential(2, 2), 3)).toEqual([true, true, false]);
  expect(await decisions(credential(1, 1), 1)).toEqual([false]);
});
