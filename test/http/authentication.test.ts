/** Who is asking: what is looked up, what is remembered and for how long, and what is refused. */
import { beforeEach, describe, expect, test } from 'vitest';
import { createAuthenticator, KEY_TTL_MS } from '../../src/http/authentication.ts';
import type { Credential } from '../../src/model.ts';

const AGENT: Credential = { keyId: 1, workspaceId: 7, kind: 'agent', rateLimitPerMinute: 10 };
const READER: Credential = { keyId: 2, workspaceId: 7, kind: 'workspace', rateLimitPerMinute: 10 };

let keys: Map<string, Credential>;
let lookups: string[];
let uses: number[];
let now: number;
/** what a look-up waits for */
let answering: Promise<void>;
let authenticate: ReturnType<typeof createAuthenticator>['authenticate'];

beforeEach(() => {
  keys = new Map([
    ['agent-key', AGENT],
    ['reader-key', READER],
  ]);
  lookups = [];
  uses = [];
  now = 1_000_000;
  answering = Promise.resolve();
  ({ authenticate } = createAuthenticator(
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
    'Basic agent-key',
    'agent-key',
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

  test('a key longer than any of ours is not looked up', () => {
    expect(() => authenticate(`Bearer ${'k'.repeat(257)}`, 'agent')).toThrow(
      expect.objectContaining({ code: 'invalid_credential' }),
    );
    expect(lookups).toEqual([]);
  });

  test.each(['Bearer agent-key', 'bearer agent-key', 'BEARER   agent-key  '])(
    '"%s" is understood',
    async (header) => {
      expect(await authenticate(header, 'agent')).toBe(AGENT);
    },
  );
});

describe('kinds', () => {
  test('a key of the wrong kind may not, and is told which it is', async () => {
    await expect(authenticate('Bearer reader-key', 'agent')).rejects.toMatchObject({
      code: 'wrong_key_kind',
      message: 'This takes an agent key; the key sent is a workspace key.',
    });
    await expect(authenticate('Bearer agent-key', 'workspace')).rejects.toMatchObject({
      code: 'wrong_key_kind',
      message: 'This takes a workspace key; the key sent is an agent key.',
    });
    expect(uses).toEqual([]);
    expect(() => authenticate('Bearer reader-key', 'agent')).toThrow(
      expect.objectContaining({ code: 'wrong_key_kind' }),
    );
  });

  test('any kind will do where any is asked for', async () => {
    expect(await authenticate('Bearer reader-key', 'any')).toBe(READER);
    expect(await authenticate('Bearer agent-key', 'any')).toBe(AGENT);
    expect(uses).toEqual([2, 1]);
  });
});

describe('memory', () => {
  test('a known key is answered at once, and every use is noted', async () => {
    await authenticate('Bearer agent-key', 'agent');
    expect(authenticate('Bearer agent-key', 'agent')).toBe(AGENT);
    expect(lookups).toEqual(['agent-key']);
    expect(uses).toEqual([1, 1]);
  });

  test('a revoked key works until its entry ages out, not longer', async () => {
    await authenticate('Bearer agent-key', 'agent');
    keys.delete('agent-key');
    now += KEY_TTL_MS - 1;
    expect(authenticate('Bearer agent-key', 'agent')).toBe(AGENT);
    now += 1;
    await expect(authenticate('Bearer agent-key', 'agent')).rejects.toMatchObject({
      code: 'invalid_credential',
    });
    expect(lookups).toEqual(['agent-key', 'agent-key']);
  });

  test('an unknown key is remembered too, and found once it exists', async () => {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const asked = (async () => await authenticate('Bearer new-key', 'agent'))();
      await expect(asked).rejects.toMatchObject({ code: 'invalid_credential' });
    }
    expect(lookups).toEqual(['new-key']);
    keys.set('new-key', { ...AGENT, keyId: 3 });
    now += KEY_TTL_MS;
    expect(await authenticate('Bearer new-key', 'agent')).toMatchObject({ keyId: 3 });
  });

  test('many at once with one key cost one look-up', async () => {
    let answer = (): void => undefined;
    answering = new Promise((resolve) => {
      answer = resolve;
    });
    const asked = Array.from({ length: 50 }, () => authenticate('Bearer agent-key', 'agent'));
    answer();
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 50 }, () => AGENT));
    expect(lookups).toEqual(['agent-key']);
    expect(uses).toHaveLength(50);
  });

  test('a look-up that fails is 503 for all who wait, and is not remembered', async () => {
    const cause = new Error('the database is away');
    answering = Promise.reject(cause);
    answering.catch(() => undefined);
    const asked = await Promise.allSettled([
      authenticate('Bearer agent-key', 'agent'),
      authenticate('Bearer agent-key', 'agent'),
    ]);
    const refused = { status: 'rejected', reason: { code: 'store_unavailable', cause } };
    expect(asked).toMatchObject([refused, refused]);
    answering = Promise.resolve();
    expect(await authenticate('Bearer agent-key', 'agent')).toBe(AGENT);
    expect(lookups).toEqual(['agent-key', 'agent-key']);
  });

  test('ten thousand keys are remembered, and the next starts anew', async () => {
    await authenticate('Bearer agent-key', 'agent');
    for (let other = 1; other < 10_000; other += 1) {
      await expect(authenticate(`Bearer k${other}`, 'agent')).rejects.toThrow();
    }
    expect(authenticate('Bearer agent-key', 'agent')).toBe(AGENT);
    await expect(authenticate('Bearer one-more', 'agent')).rejects.toThrow();
    lookups = [];
    expect(await authenticate('Bearer agent-key', 'agent')).toBe(AGENT);
    expect(lookups).toEqual(['agent-key']);
  });
});
