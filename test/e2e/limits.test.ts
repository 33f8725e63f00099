/**
 * Limits and revoked keys over two real server processes that share one PostgreSQL and one real
 * Redis: a burst is admitted once, an outage of Redis costs nobody an answer, and a revoked key ends
 * everywhere.
 */
import { Agent, request as httpRequest } from 'node:http';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { createKey, listKeys, revokeKey, setKeyLimit } from '../../src/db/people/keys.ts';
import { findWorkspace } from '../../src/db/people/workspaces.ts';
import { REFRESH_AFTER_MS } from '../../src/http/limits/authentication.ts';
import { casesOf, someOf } from '../support/cases.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { addPerson } from '../support/people.ts';
import { canStartRedis } from '../support/programs.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { quickAttempt, waitFor } from '../support/wait-for.ts';
import { Browser } from './browser.ts';
import { openEyes, request } from './gateway.ts';

const SETTLES_WITHIN_MS = 60_000;
/** No request hangs: what Redis does not answer is counted without it after half a second. */
const ANSWER_WITHIN_MS = 60_000;
const CONNECTIONS = 32;
const WINDOW_MS = 60_000;
/** Requests per minute of the key that a burst uses up; three times as many are sent. */
const ADMITTED = casesOf(1000, 3);

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
}

interface Pair {
  readonly servers: readonly [TestServer, TestServer];
  readonly database: ReturnType<typeof openEyes>;
  readonly makeKey: (limit: number) => Promise<{ readonly id: number; readonly key: string }>;
  readonly close: () => Promise<void>;
}

/** Two servers over one new database. */
async function openPair(settings: Record<string, string>): Promise<Pair> {
  const home: TestDatabase = await createTestDatabase({ template: inject('migratedTemplate') });
  const all = { DATABASE_URL: home.url, ...settings };
  const servers = [await startServer(all), await startServer(all)] as const;
  const database = openEyes(home.url);
  return {
    servers,
    database,
    makeKey: async (rateLimitPerMinute) => {
      const { id: workspaceId } = await findWorkspace(database, 'default');
      const kind = 'agent';
      const made = { workspaceId, kind, name: 'e2e', rateLimitPerMinute, brand: 'sluice' } as const;
      return await createKey(database, made);
    },
    close: async () => {
      for (const server of servers) await server.stop();
      await database.end();
      await home.drop();
    },
  };
}

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
afterAll(() => agent.destroy());

/** Posts an empty export, on a connection that is kept. */
function post(server: TestServer, key: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const url = new URL('/v1/traces', server.observeUrl);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const outgoing = httpRequest(url, { method: 'POST', agent, headers }, (response) => {
      response.resume().once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          retryAfter: response.headers['retry-after'] ?? null,
        }),
      );
    });
    outgoing.setTimeout(ANSWER_WITHIN_MS, () => outgoing.destroy(new Error('no answer in time')));
    outgoing.once('error', reject).end('{}');
  });
}

/** Posts so many exports, as many at a time as there are connections, to the servers in turn. */
async function postMany(
  servers: readonly TestServer[],
  key: string,
  count: number,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  let next = 0;
  const sender = async (): Promise<void> => {
    while (next < count) {
      const server = servers[next % servers.length];
      next += 1;
      if (server === undefined) throw new Error('no servers');
      answers.push(await post(server, key));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sender));
  return answers;
}

function statuses(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

interface Ready {
  readonly status: string;
  readonly probes: Record<string, string>;
  readonly degraded?: readonly string[];
}

async function readiness(server: TestServer): Promise<{ code: number; body: Ready }> {
  const { status, text } = await request(`${server.baseUrl}/ready`);
  return { code: status, body: JSON.parse(text) as Ready };
}

/** Waits until a server reports the expected state of Redis; it is ready all the time. */
async function degraded(server: TestServer, expected: readonly string[] | undefined) {
  return await waitFor(
    async () => {
      const { code, body } = await readiness(server);
      expect({ code, status: body.status }).toEqual({ code: 200, status: 'ready' });
      expect(Object.keys(body.probes)).not.toContain('redis');
      return JSON.stringify(body.degraded) === JSON.stringify(expected);
    },
    { withinMs: SETTLES_WITHIN_MS, what: `degraded is ${JSON.stringify(expected)}` },
  );
}

async function metric(server: TestServer, name: string): Promise<number> {
  const { text } = await request(server.metricsUrl);
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

// ── A shared Redis ───────────────────────────────────────────────────────────────────────────

describe.runIf(canStartRedis)('two servers and a Redis', () => {
  let redis: TestRedis;
  let pair: Pair;
  let eyes: Redis;

  beforeAll(async () => {
    redis = await startRedis();
    pair = await openPair({ REDIS_URL: redis.url });
    eyes = new Redis(redis.url, { maxRetriesPerRequest: null });
    eyes.on('error', () => undefined);
  });
  afterAll(async () => {
    eyes.disconnect();
    await pair.close();
    await redis.kill();
  });

  test('of a burst in one window exactly as many are admitted as the key allows', async () => {
    const { servers, makeKey } = pair;
    const countedHere = async (): Promise<number> => {
      const name = 'sluice_limits_counted_here_total';
      const counts = await Promise.all(servers.map((server) => metric(server, name)));
      return counts.reduce((sum, count) => sum + count, 0);
    };
    const burst = async () => {
      for (const server of servers) await degraded(server, undefined);
      const before = await countedHere();
      // The window of a key that was never used opens with its first request.
      const { id, key } = await makeKey(ADMITTED);
      const answers = await postMany(servers, key, 3 * ADMITTED);
      return { id, answers, alone: (await countedHere()) - before };
    };
    // On a busy machine Redis may answer too late, and then a server counts alone, or so late that it
    // counts ahead as for another region, and some of that is not used.
    const { id, answers } = await quickAttempt(
      WINDOW_MS,
      burst,
      (result) => result.alone === 0 && (statuses(result.answers)[200] ?? 0) >= ADMITTED,
    );
    expect(statuses(answers)).toEqual({ 200: ADMITTED, 429: 2 * ADMITTED });
    for (const { status, retryAfter } of answers) {
      if (status === 200) expect(retryAfter).toBeNull();
      else expect(retryAfter).toMatch(/^([1-9]|[1-5]\d|60)$/);
    }
    // Once a process knows that the key is used up, it asks no more: only what was under way.
    const counted = Number(await eyes.get(`sluice:rate:${id}`));
    expect(counted).toBeLessThanOrEqual(ADMITTED + 2 * CONNECTIONS);
    for (const server of servers) {
      expect(await metric(server, 'sluice_limits_shared')).toBe(1);
    }
  });

  test('attempts to sign in are counted once, whichever server they go to', async () => {
    const { servers, database } = pair;
    const { id } = await findWorkspace(database, 'default');
    const password = 'the right password';
    const { email } = await addPerson(database, id, 'member', { password });
    const attempts: number[] = [];
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const server = servers[attempt % 2] ?? servers[0];
      const { status } = await new Browser(server.baseUrl).signIn(email, `guess ${attempt}`);
      attempts.push(status);
    }
    expect(attempts).toEqual([401, 401, 401, 401, 401]);
    for (const server of servers) {
      const refused = await new Browser(server.baseUrl).signIn(email.toUpperCase(), password);
      expect(refused.status).toBe(429);
      expect(refused.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/);
    }
    // Redis holds neither address nor password, but a digest and the network.
    const names = await eyes.keys('sluice:sign-in:*');
    expect(names).toHaveLength(2);
    expect(names.join()).not.toContain('@');
  });

  test('Redis killed and started again under load: every request is admitted, in time', async () => {
    const { servers, makeKey } = pair;
    const { id, key } = await makeKey(100_000);
    const name = `sluice:rate:${id}`;
    // As many as the limit allows: one that is counted twice anywhere is a false 429.
    const tight = await makeKey(600);
    let isOver = false;
    const load = (async () => {
      const answers: Answer[] = [];
      while (!isOver) answers.push(...(await postMany(servers, key, CONNECTIONS)));
      return answers;
    })();
    const exact = await postMany(servers, tight.key, 200);
    await redis.kill();
    for (const server of servers) await degraded(server, ['redis']);
    for (const server of servers) {
      expect(await metric(server, 'sluice_limits_shared')).toBe(0);
      expect(server.stderr()).toContain(
        'Redis does not respond; rate limits are counted per process',
      );
    }
    exact.push(...(await postMany(servers, tight.key, 200)));
    for (const server of servers) {
      await waitFor(async () => (await metric(server, 'sluice_limits_counted_here_total')) > 100, {
        withinMs: SETTLES_WITHIN_MS,
        what: 'requests to be counted in the process',
      });
    }
    await redis.restart();
    for (const server of servers) await degraded(server, undefined);
    await waitFor(async () => Number(await eyes.get(name)) > 100, {
      withinMs: SETTLES_WITHIN_MS,
      what: 'requests to be counted in Redis again',
    });
    exact.push(...(await postMany(servers, tight.key, 200)));
    isOver = true;
    const answers = await load;
    expect(statuses(answers)).toEqual({ 200: answers.length });
    expect(statuses(exact)).toEqual({ 200: 600 });
    for (const server of servers) {
      await waitFor(async () => (await metric(server, 'sluice_limits_shared')) === 1, {
        withinMs: SETTLES_WITHIN_MS,
        what: 'the metric to say that limits are shared',
      });
    }
  });

  test('after the outage a limit holds over both servers again', async () => {
    const { servers, makeKey } = pair;
    for (const server of servers) await degraded(server, undefined);
    const { key } = await makeKey(50);
    expect(statuses(await postMany(servers, key, 200))).toEqual({ 200: 50, 429: 150 });
  });
});

// ── Revoked keys ─────────────────────────────────────────────────────────────────────────────

describe('two servers and a key that is revoked', () => {
  let pair: Pair;
  let outside: pg.Client;
  let database: string;

  beforeAll(async () => {
    pair = await openPair({});
    outside = new pg.Client({ connectionString: inject('databaseUrl') });
    await outside.connect();
    const { rows } = await pair.database.query<{ name: string }>('SELECT current_database() name');
    database = rows[0]?.name ?? '';
  });
  afterAll(async () => {
    await outside.end();
    await pair.close();
  });
  afterEach(async () => {
    await outside.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`);
  });

  const listeners = async (): Promise<number[]> => {
    const { rows } = await pair.database.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND query = 'LISTEN sluice_key_changed'`,
    );
    return rows.map(({ pid }) => pid);
  };
  const bothListen = () =>
    waitFor(async () => (await listeners()).length === 2, {
      withinMs: SETTLES_WITHIN_MS,
      what: 'both servers to listen',
    });

  /** Uses a key at both servers, then ends it, and waits until both refuse it. */
  async function revoke(id: number, key: string): Promise<void> {
    for (const server of pair.servers) expect((await post(server, key)).status).toBe(200);
    await revokeKey(pair.database, id);
    for (const server of pair.servers) {
      await waitFor(async () => (await post(server, key)).status === 401, {
        withinMs: SETTLES_WITHIN_MS,
        what: 'the key to be refused',
      });
    }
  }

  test('it is refused at both before either could have forgotten it by itself', async () => {
    await bothListen();
    const id = await quickAttempt(REFRESH_AFTER_MS, async () => {
      const { id, key } = await pair.makeKey(1000);
      await revoke(id, key);
      return id;
    });
    const [revoked] = (await listKeys(pair.database, null)).filter((one) => one.id === id);
    expect(revoked?.revokedAt).toBeInstanceOf(Date);
  });

  test('a limit that is changed applies at both before either could have looked it up again', async () => {
    await bothListen();
    const statusesOfBoth = async (key: string) =>
      (await Promise.all(pair.servers.map((server) => post(server, key)))).map((one) => one.status);
    await quickAttempt(REFRESH_AFTER_MS, async () => {
      const { id, key } = await pair.makeKey(1);
      await statusesOfBoth(key);
      expect(await statusesOfBoth(key)).toEqual([429, 429]);
      await setKeyLimit(pair.database, id, 1000);
      await waitFor(async () => (await statusesOfBoth(key)).every((status) => status === 200), {
        withinMs: SETTLES_WITHIN_MS,
        what: 'the higher limit at both',
      });
      await setKeyLimit(pair.database, id, 1);
      await waitFor(async () => (await statusesOfBoth(key)).every((status) => status === 429), {
        withinMs: SETTLES_WITHIN_MS,
        what: 'the lower limit at both',
      });
    });
  });

  test('while neither hears of it, it is refused once its memory ages out', async () => {
    await bothListen();
    const { id, key } = await pair.makeKey(1000);
    // Each server has a connection by now: no other can be made, the open ones keep working.
    for (const server of pair.servers) expect((await post(server, key)).status).toBe(200);
    await outside.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
    await pair.database.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid', [
      await listeners(),
    ]);
    await waitFor(async () => (await listeners()).length === 0, {
      withinMs: SETTLES_WITHIN_MS,
      what: 'no listener',
    });
    // That it is no later than KEY_TTL_MS is tested with a clock, in authentication.test.ts.
    await revoke(id, key);
    for (const server of someOf(pair.servers)) {
      expect(server.stderr()).toContain('key changes are not received immediately');
    }
  });

  test('and once they listen again, at once', async () => {
    await bothListen();
    await quickAttempt(REFRESH_AFTER_MS, async () => {
      const { id, key } = await pair.makeKey(1000);
      await revoke(id, key);
    });
  });
});
