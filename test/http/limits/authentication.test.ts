/** Who is asking: what is looked up, what is remembered and for how long, and what is refused. */
import { beforeEach, describe, expect, test } from 'vitest';
import {
  type Authenticator,
  createAuthenticator,
  KEY_TTL_MS,
  REFRESH_AFTER_MS,
} from '../../../src/http/limits/authentication.ts';
import type { Credential, KeyKind } from '../../../src/model/people.ts';

const AGENT: Credential = {
  keyId: 1,
  workspaceId: 7,
  kind: 'agent',
  rateLimitPerMinute: 10,
  redaction: null,
};
const READER: Credential = {
  keyId: 2,
  workspaceId: 7,
  kind: 'workspace',
  rateLimitPerMinute: 10,
  redaction: null,
};

const AGENT_KEY = `sluice_live_${'a'.repeat(43)}`;
const READER_KEY = `sluice_key_${'b'.repeat(43)}`;
const NEW_KEY = `sluice_obs_${'c'.repeat(43)}`;

let keys: Map<string, Credential>;
let lookups: string[];
let uses: number[];
let now: number;
/** what a look-up waits for */
let answering: Promise<void>;
let authenticator: Authenticator;
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
  authenticator = createAuthenticator(
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
  );
  forget = authenticator.forget;
});

const authenticate = (
  authorization: string,
  kind: KeyKind | 'any',
  clientAddress = '192.0.2.1',
): Credential | Promise<Credential> =>
  authenticator.authenticate({ authorization, clientAddress }, kind);

/** Look-ups that begin from now on wait until what is returned is called. */
function holdLookups(): () => void {
  let answer = (): void => undefined;
  answering = new Promise((resolve) => {
    answer = resolve;
  });
  return () => {
    answering = Promise.resolve();
    answer();
  };
}

const invented = (number: number): string =>
  `Bearer sluice_live_${String(number).padStart(43, 'x')}`;

/** Begins look-ups of invented keys until one is refused; tells how many were begun. */
function flood(addressOf: (number: number) => string, from = 0): number {
  for (let number = 0; number < 2000; number += 1) {
    try {
      const authenticated = authenticate(invented(from + number), 'agent', addressOf(number));
      Promise.resolve(authenticated).catch(() => undefined);
    } catch (error) {
      expect(error).toMatchObject({ code: 'overloaded', retryAfterSeconds: 1 });
      return number;
    }
  }
  return 2000;
}

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
    AGENT_KEY.replace('_live_', '_LIVE_'),
    AGENT_KEY.replace('sluice', ''),
    AGENT_KEY.replace('aaa', 'a-a'),
    'k'.repeat(10_000),
  ])('%s has not the shape of a key of ours and is not looked up', (secret) => {
    expect(() => authenticate(`Bearer ${secret}`, 'agent')).toThrow(
      expect.objectContaining({ code: 'invalid_credential' }),
    );
    expect(lookups).toEqual([]);
  });

  test.each([
    `Bearer ${AGENT_KEY}`,
    `bearer ${AGENT_KEY}`,
    `BEARER   ${AGENT_KEY}  `,
    `Bearer%20${AGENT_KEY}`,
  ])('"%s" is understood', async (header) => {
    expect(await authenticate(header, 'agent')).toBe(AGENT);
  });
});

describe('kinds', () => {
  test('a key of the wrong kind may not, and the error names its kind', async () => {
    await expect(authenticate(`Bearer ${READER_KEY}`, 'agent')).rejects.toMatchObject({
      code: 'wrong_key_kind',
      message: 'Use an agent key here; this request used a workspace key.',
    });
    await expect(authenticate(`Bearer ${AGENT_KEY}`, 'workspace')).rejects.toMatchObject({
      code: 'wrong_key_kind',
      message: 'Use a workspace key here; this request used an agent key.',
    });
    expect(uses).toEqual([]);
    expect(() => authenticate(`Bearer ${READER_KEY}`, 'agent')).toThrow(
      expect.objectContaining({ code: 'wrong_key_kind' }),
    );
  });

  test('any kind will do where any is accepted', async () => {
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
      const authenticated = (async () => await authenticate(`Bearer ${NEW_KEY}`, 'agent'))();
      await expect(authenticated).rejects.toMatchObject({ code: 'invalid_credential' });
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
    const authenticated = Array.from({ length: 50 }, () =>
      authenticate(`Bearer ${AGENT_KEY}`, 'agent'),
    );
    answer();
    expect(await Promise.all(authenticated)).toEqual(Array.from({ length: 50 }, () => AGENT));
    expect(lookups).toEqual([AGENT_KEY]);
    expect(uses).toHaveLength(50);
  });

  test('a look-up that fails does so for all who wait, and is not remembered', async () => {
    const cause = new Error('the database is away');
    answering = Promise.reject(cause);
    answering.catch(() => undefined);
    const authenticated = await Promise.allSettled([
      authenticate(`Bearer ${AGENT_KEY}`, 'agent'),
      authenticate(`Bearer ${AGENT_KEY}`, 'agent'),
    ]);
    const refused = { status: 'rejected', reason: cause };
    expect(authenticated).toMatchObject([refused, refused]);
    answering = Promise.resolve();
    expect(await authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
    expect(lookups).toEqual([AGENT_KEY, AGENT_KEY]);
  });

  test('a flood of unknown keys pushes no valid one out', async () => {
    await authenticate(`Bearer ${AGENT_KEY}`, 'agent');
    for (let other = 0; other < 10_001; other += 1) {
      const address = `10.0.${other >> 8}.${other & 255}`;
      await expect(authenticate(invented(other), 'agent', address)).rejects.toThrow();
    }
    lookups = [];
    expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
    expect(lookups).toEqual([]);
  });
});

describe('a key that is looked up again', () => {
  test('is served meanwhile, once it has been remembered for a while', async () => {
    await authenticate(`Bearer ${AGENT_KEY}`, 'agent');
    const answer = holdLookups();
    now += REFRESH_AFTER_MS;
    for (let request = 0; request < 3; request += 1) {
      expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
    }
    expect(lookups).toEqual([AGENT_KEY, AGENT_KEY]);
    answer();
    await new Promise(setImmediate);
    now += KEY_TTL_MS - 1;
    expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
  });

  test('is served no longer than before while the database does not answer', async () => {
    await authenticate(`Bearer ${AGENT_KEY}`, 'agent');
    const answer = holdLookups();
    now += REFRESH_AFTER_MS;
    expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
    now += KEY_TTL_MS - REFRESH_AFTER_MS;
    const authenticated = authenticate(`Bearer ${AGENT_KEY}`, 'agent');
    expect(authenticated).toBeInstanceOf(Promise);
    answer();
    expect(await authenticated).toBe(AGENT);
  });

  test('is served while that fails, and it is tried again after a pause', async () => {
    await authenticate(`Bearer ${AGENT_KEY}`, 'agent');
    answering = Promise.reject(new Error('the database is away'));
    answering.catch(() => undefined);
    now += REFRESH_AFTER_MS;
    for (let request = 0; request < 3; request += 1) {
      expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
      await new Promise(setImmediate);
    }
    expect(lookups).toHaveLength(2);
    now += 500;
    expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
    expect(lookups).toHaveLength(3);
  });

  test('and was revoked ends with what the look-up says', async () => {
    await authenticate(`Bearer ${AGENT_KEY}`, 'agent');
    keys.delete(AGENT_KEY);
    now += REFRESH_AFTER_MS;
    expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
    await new Promise(setImmediate);
    expect(() => authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toThrow(
      expect.objectContaining({ code: 'invalid_credential' }),
    );
  });

  test('and is forgotten meanwhile is not served again', async () => {
    await authenticate(`Bearer ${AGENT_KEY}`, 'agent');
    const answer = holdLookups();
    now += REFRESH_AFTER_MS;
    expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
    forget(AGENT.keyId);
    expect(authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBeInstanceOf(Promise);
    answer();
  });

  test('and is revoked during a look-up that began before is not remembered', async () => {
    const early = createAuthenticator(
      {
        digest: (secret) => Buffer.from(secret),
        find: async (digest) => {
          const found = keys.get(digest.toString()) ?? null;
          await answering;
          return found;
        },
        noteUse: () => undefined,
      },
      () => now,
    );
    const sender = { authorization: `Bearer ${AGENT_KEY}`, clientAddress: '192.0.2.1' };
    const answer = holdLookups();
    const first = early.authenticate(sender, 'agent');
    keys.delete(AGENT_KEY);
    early.forget(AGENT.keyId);
    answer();
    expect(await first).toBe(AGENT);
    await expect(early.authenticate(sender, 'agent')).rejects.toMatchObject({
      code: 'invalid_credential',
    });
  });
});

describe('invented keys', () => {
  test('on 700 connections do not hold up a known sender', async () => {
    await authenticate(`Bearer ${AGENT_KEY}`, 'agent', '198.51.100.9');
    const answer = holdLookups();
    flood((number) => `192.0.2.${number % 256}`);
    // From the network of the flood, too.
    now += KEY_TTL_MS;
    const authenticated = authenticate(`Bearer ${AGENT_KEY}`, 'agent', '192.0.2.1');
    answer();
    expect(await authenticated).toBe(AGENT);
  });

  test('of one network take no look-up from another network', async () => {
    const answer = holdLookups();
    expect(flood(() => '192.0.2.1')).toBe(20);
    const authenticated = authenticate(`Bearer ${AGENT_KEY}`, 'agent', '192.0.2.2');
    answer();
    expect(await authenticated).toBe(AGENT);
  });

  test('of a /64 of IPv6 are those of one network', () => {
    holdLookups();
    expect(flood((number) => `2001:db8:1:2::${number.toString(16)}`)).toBe(20);
  });

  test('of many networks are looked up so many at a time', async () => {
    const answer = holdLookups();
    expect(flood((number) => `192.0.2.${number % 256}`)).toBe(200);
    answer();
    await new Promise(setImmediate);
    expect(await authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
  });

  test('of one network are looked up so many a second, however fast they are answered', async () => {
    let begun = 0;
    for (; begun < 2000; begun += 20) {
      if (flood(() => '192.0.2.1', begun) < 20) break;
      await new Promise(setImmediate);
    }
    expect(lookups).toHaveLength(100);
    now += 1000;
    await new Promise(setImmediate);
    expect(await authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
  });

  test('of more networks than are remembered cost no more memory', async () => {
    for (let number = 0; number < 12_000; number += 1) {
      const address = `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
      await expect(authenticate(invented(number), 'agent', address)).rejects.toThrow();
    }
    expect(await authenticate(`Bearer ${AGENT_KEY}`, 'agent')).toBe(AGENT);
  });
});
