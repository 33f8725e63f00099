/** Who is asking: what is looked up, what is remembered and for how long, and what is refused. */
import { beforeEach, describe, expect, test } from 'vitest';
import {
  type Authenticator,
  createAuthenticator,
  KEY_TTL_MS,
} from '../../src/http/authentication.ts';
import type { Credential } from '../../src/model.ts';

const AGENT: Credential = { keyId: 1, workspaceId: 7, kind: 'agent', rateLimitPerMinute: 10 };
const READER: Credential = { keyId: 2, workspaceId: 7, kind: 'workspace', rateLimitPerMinute: 10 };

const AGENT_KEY = `sluice_live_${'a'.repeat(43)}`;
const READER_KEY = `sluice_key_${'b'.repeat(43)}`;
const NEW_KEY = `sluice_obs_${'c'.repeat(43)}`;

let keys: Map<string, Credential>;
let lookups: string[];
let uses: number[];
let now: number;
/** what a look-up waits for */
let answering: Promise<void>;
let authenticate: Authenticator['authenticate'];
let forget: Authenticator['forget'];

beforeEach(() => {
  keys = new Map([
    [AGENT_KEY, AGENT],
    [READER_KEY, READER],
  ]);
  lookups = [];
  uses = [];
  now = 1_000_000;
  answering = Promise.resolve();
  ({ authenticate, forget } = createAuthenticator(
    {
      digest: (secret) => Buffer.from(secret),
      find: async (digest) => {
        const secret = digest.toString();
        lookups.push(secret);
        await answering;
        return keys.get(secret) ?? null;
      },
      noteUse: (keyId) => void uses.push(keyId),
    },
    () => now,
  ));
});

describe('the header', () => {
  test('none at all', () => {
    expect(() => authenticate('', 'agent')).toThrow(
      expect.objectContaining({ code: 'missing_credential' }),
    );
  });

  test.each([
    `Basic ${AGENT_KEY}`,
    AGENT_KEY,
    'Bearer',
    'Bearer ',
    'Bearer a b',
    'Bearerkey',
    'X Bearer k',
  ])('"%s" holds no key', (header) => {
    expect(() => authenticate(header, 'agent')).toThrow(
      expect.objectContaining({ code: 'invalid_credential' }),
    );
    expect(lookups).toEqual([]);
  });

  test.each([
    `${AGENT_KEY}a`,
    AGENT_KEY.slice(0, -1),
    AGENT_KEY.replace('_live_', '_else_'),
    AGENT_KEY.replace('sluice', ''),
    AGENT_KEY.replace('aaa', 'a-a'),
    'k'.repeat(10_000),
  ])('%s has not the shape of a key of ours and is not looked up', (secret) => {
    expect(() => authenticate(`Bearer ${secret}`, 'agent')).toThrow(
      expect.objectContaining({ code: 'invalid_credential' }),
    );
    expect(lookups).toEqual([]);
  });

  test.each([`Bearer ${AGENT_KEY}`, `bearer ${AGENT_KEY}`, `BEARER   ${AGENT_KEY}  `])(
    '"%s" is understood',
    async (header) => {
      expect(await authenticate(header, 'agent')).toBe(AGENT);
    },
  );
});

describe('kinds', () => {
  test('a key of the wrong kind may not, and is told which it is', async () => {
    await expect(authenticate(`Bearer ${READER_KEY}`, 'agent')).rejects.toMatchObject({
      code: 'wrong_key_kind',
      message: 'This takes an agent key; the key sent is a workspace key.',
    });
    await expect(authenticate(`Bearer ${AGENT_KEY}`, 'workspace')).rejects.toMatchObject({
      code: 'wrong_key_kind',
      message: 'This takes a workspace key; the key sent is an agent key.',
    });
    expect(uses).toEqual([]);
    expect(() => authenticate(`Bearer ${READER_KEY}`, 'agent')).toThrow(
      expect.objectContaining({ code: 'wrong_key_kind' }),
    );
  });

  test('any kind will do where any is asked for', async () => {
    expect(await authenticate(`Bearer ${READER_KEY}`, 'any')).toBe(READER);
    expect(await authenticate(`Bearer ${AGENT_KEY}`, 'any')).toBe(AGENT);
    expect(uses).toEqual([2, 1]);
  });
});

describe('memory', () => {
  test('a known key is answered at once, and every use is noted', async () => {
    await authenticate(`Bearer ${AGENT_KEY}`, 'agent');
    expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
    expect(lookups).toEqual([AGENT_KEY]);
    expect(uses).toEqual([1, 1]);
  });

  test('a revoked key works until its entry ages out, not longer', async () => {
    await authenticate(`Bearer ${AGENT_KEY}`, 'agent');
    keys.delete(AGENT_KEY);
    now += KEY_TTL_MS - 1;
    expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
    now += 1;
    await expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).rejects.toMatchObject({
      code: 'invalid_credential',
    });
    expect(lookups).toEqual([AGENT_KEY, AGENT_KEY]);
  });

  test('an unknown key is remembered too, and found once it exists', async () => {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const asked = (async () => await authenticate(`Bearer ${NEW_KEY}`, 'agent'))();
      await expect(asked).rejects.toMatchObject({ code: 'invalid_credential' });
    }
    expect(lookups).toEqual([NEW_KEY]);
    keys.set(NEW_KEY, { ...AGENT, keyId: 3 });
    now += KEY_TTL_MS;
    expect(await authenticate(`Bearer ${NEW_KEY}`, 'agent')).toMatchObject({ keyId: 3 });
  });

  test('many at once with one key cost one look-up', async () => {
    let answer = (): void => undefined;
    answering = new Promise((resolve) => {
      answer = resolve;
    });
    const asked = Array.from({ length: 50 }, () => authenticate(`Bearer ${AGENT_KEY}`, 'agent'));
    answer();
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 50 }, () => AGENT));
    expect(lookups).toEqual([AGENT_KEY]);
    expect(uses).toHaveLength(50);
  });

  test('a look-up that fails is 503 for all who wait, and is not remembered', async () => {
    const cause = new Error('the database is away');
    answering = Promise.reject(cause);
    answering.catch(() => undefined);
    const asked = await Promise.allSettled([
      authenticate(`Bearer ${AGENT_KEY}`, 'agent'),
      authenticate(`Bearer ${AGENT_KEY}`, 'agent'),
    ]);
    const refused = { status: 'rejected', reason: { code: 'store_unavailable', cause } };
    expect(asked).toMatchObject([refused, refused]);
    answering = Promise.resolve();
    expect(await authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
    expect(lookups).toEqual([AGENT_KEY, AGENT_KEY]);
  });

  test('a flood of unknown keys pushes no valid one out', async () => {
    await authenticate(`Bearer ${AGENT_KEY}`, 'agent');
    for (let other = 0; other < 10_001; other += 1) {
      const secret = `sluice_live_${String(other).padStart(43, 'x')}`;
      await expect(authenticate(`Bearer ${secret}`, 'agent')).rejects.toThrow();
    }
    lookups = [];
    expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
    expect(lookups).toEqual([]);
  });

  test('only so many look-ups run at a time; one more is refused and may come again', async () => {
    let answer = (): void => undefined;
    answering = new Promise((resolve) => {
      answer = resolve;
    });
    const ask = (other: number) =>
      authenticate(`Bearer sluice_live_${String(other).padStart(43, 'x')}`, 'agent');
    const running = Array.from({ length: 500 }, (_, other) => ask(other));
    expect(() => ask(500)).toThrow(expect.objectContaining({ code: 'overloaded' }));
    answer();
    for (const outcome of await Promise.allSettled(running)) {
      expect(outcome).toMatchObject({ reason: { code: 'invalid_credential' } });
    }
    await expect(ask(500)).rejects.toMatchObject({ code: 'invalid_credential' });
  });
});

describe('forgetting', () => {
  test('a revoked key that is forgotten works no more, and other keys stay remembered', async () => {
    await authenticate(`Bearer ${AGENT_KEY}`, 'agent');
    await authenticate(`Bearer ${READER_KEY}`, 'workspace');
    keys.delete(AGENT_KEY);
    forget(AGENT.keyId);
    await expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).rejects.toMatchObject({
      code: 'invalid_credential',
    });
    expect(authenticate(`Bearer ${READER_KEY}`, 'workspace')).toBe(READER);
    expect(lookups).toEqual([AGENT_KEY, READER_KEY, AGENT_KEY]);
  });

  test('what was read before the revocation and arrives after it is not remembered', async () => {
    let answer = (): void => undefined;
    answering = new Promise((resolve) => {
      answer = resolve;
    });
    const read = keys.get(AGENT_KEY);
    const asked = authenticate(`Bearer ${AGENT_KEY}`, 'agent');
    forget(AGENT.keyId);
    answer();
    expect(await asked).toBe(read);
    keys.delete(AGENT_KEY);
    await expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).rejects.toMatchObject({
      code: 'invalid_credential',
    });
  });

  test('a key nobody used is forgotten without harm', async () => {
    forget(404);
    expect(await authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
  });

  test('a slow look-up is remembered from its beginning, when the key was read', async () => {
    let answer = (): void => undefined;
    answering = new Promise((resolve) => {
      answer = resolve;
    });
    const asked = authenticate(`Bearer ${AGENT_KEY}`, 'agent');
    now += KEY_TTL_MS;
    answer();
    await asked;
    keys.delete(AGENT_KEY);
    await expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).rejects.toMatchObject({
      code: 'invalid_credential',
    });
  });
});
