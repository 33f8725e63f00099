/** Requests of signed-in people: both ceilings, which one is named, and that processes share them. */
import { afterEach, expect, test, vi } from 'vitest';
import {
  createSessionLimiter,
  SESSION_LIMITS,
  type SessionDecision,
  type SessionLimiter,
} from '../../../src/http/limits/limiters.ts';
import { createMinuteCounts, type MinuteCounts } from '../../../src/http/limits/minute-counts.ts';
import { canStartRedis } from '../../support/programs.ts';
import { startRedis } from '../../support/redis.ts';

const UNHEARD = { limiterUnavailable: () => {}, limiterAnswered: () => {}, countedHere: () => {} };
const LIMITS = { user: 3, workspace: 5 };

let open: MinuteCounts[] = [];
afterEach(async () => {
  for (const counts of open) await counts.close();
  open = [];
});

function create(redisUrl: string | null = null, limits = LIMITS): SessionLimiter {
  const counts = createMinuteCounts(redisUrl, UNHEARD);
  open.push(counts);
  return createSessionLimiter(counts, limits);
}

function outcome(decision: SessionDecision): 'admitted' | 'user' | 'workspace' {
  if (decision.admitted) return 'admitted';
  expect(Number.isInteger(decision.retryAfterSeconds)).toBe(true);
  expect(decision.retryAfterSeconds).toBeGreaterThanOrEqual(1);
  expect(decision.retryAfterSeconds).toBeLessThanOrEqual(60);
  return decision.scope;
}

async function ask(
  limiter: SessionLimiter,
  userId: number,
  workspaceId: number,
  requests: number,
): Promise<string[]> {
  const outcomes: string[] = [];
  for (let request = 0; request < requests; request += 1) {
    outcomes.push(outcome(await limiter.consume({ userId, workspaceId })));
  }
  return outcomes;
}

const times = (count: number, word: string): string[] => Array.from({ length: count }, () => word);

test('a user past the ceiling is refused by name of it, and takes nothing from the others', async () => {
  const limiter = create();
  expect(await ask(limiter, 1, 9, 50)).toEqual([...times(3, 'admitted'), ...times(47, 'user')]);
  expect(await ask(limiter, 2, 9, 3)).toEqual([...times(2, 'admitted'), 'workspace']);
});

test('the users of a workspace share its ceiling; another workspace has its own', async () => {
  const limiter = create();
  expect(await ask(limiter, 1, 9, 2)).toEqual(times(2, 'admitted'));
  expect(await ask(limiter, 2, 9, 3)).toEqual(times(3, 'admitted'));
  expect(await ask(limiter, 3, 9, 1)).toEqual(['workspace']);
  expect(await ask(limiter, 4, 8, 1)).toEqual(['admitted']);
});

test('a user is counted over all workspaces', async () => {
  const limiter = create();
  expect(await ask(limiter, 1, 7, 2)).toEqual(times(2, 'admitted'));
  expect(await ask(limiter, 1, 8, 2)).toEqual(['admitted', 'user']);
});

test('users, workspaces and keys of the same number are counted apart', async () => {
  const counts = createMinuteCounts(null, UNHEARD);
  const limiter = createSessionLimiter(counts, { user: 1, workspace: 1 });
  await counts.consume('rate:5', 1);
  expect(await ask(limiter, 5, 5, 2)).toEqual(['admitted', 'user']);
});

test('the ceilings of the product let a workspace have ten busy users', () => {
  expect(SESSION_LIMITS).toEqual({ user: 600, workspace: 6000 });
});

test.runIf(canStartRedis)('processes that share a Redis share both ceilings', async () => {
  const redis = await startRedis();
  try {
    const [here, there] = [create(redis.url), create(redis.url)];
    for (const counts of open) {
      await vi.waitFor(() => counts.ping?.(), { timeout: 20_000, interval: 20 });
    }
    expect(await ask(here, 1, 9, 2)).toEqual(times(2, 'admitted'));
    expect(await ask(there, 1, 9, 2)).toEqual(['admitted', 'user']);
    expect(await ask(there, 2, 9, 2)).toEqual(times(2, 'admitted'));
    expect(await ask(here, 3, 9, 1)).toEqual(['workspace']);
  } finally {
    await redis.kill();
  }
});
