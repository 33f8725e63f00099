/**
 * Authenticates requests by their bearer key, and caches the result for a few seconds.
 *
 *   valid:    looked up ──REFRESH_AFTER_MS──► served, looked up again ──KEY_TTL_MS──► waits for that
 *   unknown:  looked up ──KEY_TTL_MS──► looked up again
 *
 * Keys are cached by digest, never in clear. A revoked key stops working as soon as `forget` is
 * called for it, and at the latest KEY_TTL_MS after the start of the look-up that found it valid. A
 * token that cannot be one of our keys is refused without a look-up. Keys that were valid at their
 * last look-up and all others have separate limits and separate memory, so that a flood of invented
 * keys does not delay known senders.
 */
import { LRUCache } from 'lru-cache';
import { SluiceError } from '../../errors.ts';
import { type Credential, KEY_PREFIX_CHARS, type KeyKind } from '../../model/people.ts';
import { networkOf } from '../transport/browser-head.ts';
import type { RateLimiter } from './limiters.ts';

/** A revocation takes effect everywhere within this time. */
export const KEY_TTL_MS = 5000;
/** A valid key in use is looked up again after this time, and until then served from the cache. */
export const REFRESH_AFTER_MS = 2500;
/** Least time between attempts of that look-up. */
const REFRESH_PAUSE_MS = 500;
/** Most valid keys in the cache, and as many unknown ones. */
const ENTRIES_MAX = 10_000;
/** Of keys that were valid at their last look-up; one more is answered 503. */
const KNOWN_LOOKUPS_MAX = 500;
/**
 * The scheme in any case, then a key as `createKey` makes it: `<brand>_<kind>_` and 43 characters.
 *
 * OTEL_EXPORTER_OTLP_HEADERS is percent-encoded (OTLP exporter specification), so that the space has
 * to be written `%20`. Claude Code and the JavaScript SDK of LangSmith send that as it is.
 */
const BEARER =
  /^[Bb][Ee][Aa][Rr][Ee][Rr](?: |%20)+(([a-z][a-z0-9]{0,31}_(?:live|obs|key)_)[A-Za-z0-9]{43}) *$/;

interface Entry {
  readonly expiresAtMs: number;
  readonly credential: Credential | null;
  refreshAtMs: number;
}

export interface Sender {
  /** the Authorization header; empty when there is none */
  readonly authorization: string;
  /** the client's address, or `unknown` */
  readonly clientAddress: string;
}

export interface Authenticator {
  /**
   * The credential of a sender; synchronous when it is cached.
   *
   * @throws {SluiceError} `missing_credential`, `invalid_credential`, `wrong_key_kind`,
   *   or `overloaded`; and the database's error
   */
  readonly authenticate: (
    sender: Sender,
    kind: KeyKind | 'any',
  ) => Credential | Promise<Credential>;
  /**
   * The key of an Authorization header, without a look-up in the database; null when the header holds
   * none of this server's form.
   */
  readonly identify: (authorization: string) => IdentifiedKey | null;
  readonly forget: (keyId: number) => void;
}

interface IdentifiedKey {
  readonly digest: Buffer;
  /** the digest as text */
  readonly id: string;
  /** its first characters, as lists of keys show them */
  readonly prefix: string;
  /** null unless the key was valid at its last look-up */
  readonly credential: Credential | null;
}

interface KeyDirectory {
  /** the form in which a key is stored and looked up */
  readonly digest: (secret: string) => Buffer;
  /** looks a digest up; null when there is no such valid key */
  readonly find: (digest: Buffer) => Promise<Credential | null>;
  /** called with every key that was admitted */
  readonly noteUse: (keyId: number) => void;
}

function bearerOf(authorization: string): string {
  if (authorization === '') {
    throw new SluiceError(
      'missing_credential',
      'Send an API key: Authorization: Bearer <API_KEY>.',
    );
  }
  const secret = BEARER.exec(authorization)?.[1];
  if (secret === undefined) {
    throw new SluiceError(
      'invalid_credential',
      'The Authorization header does not contain an API key of this server.',
    );
  }
  return secret;
}

function checked(credential: Credential | null, kind: KeyKind | 'any'): Credential {
  if (credential === null) {
    throw new SluiceError('invalid_credential', 'The API key is unknown or revoked.');
  }
  if (kind !== 'any' && credential.kind !== kind) {
    throw new SluiceError(
      'wrong_key_kind',
      `Use ${kind === 'agent' ? 'an agent key' : 'a workspace key'} here; ` +
        `this request used ${credential.kind === 'agent' ? 'an agent key' : 'a workspace key'}.`,
    );
  }
  return credential;
}

/** The cached results of look-ups, and the look-ups that are under way. */
class KeyCache {
  readonly #find: KeyDirectory['find'];
  readonly #nowMs: () => number;
  /** kept after they expire: keys that were valid before have a separate limit of lookups */
  readonly #valid = new LRUCache<string, Entry>({ max: ENTRIES_MAX });
  readonly #unknown = new LRUCache<string, Entry>({ max: ENTRIES_MAX });
  readonly #lookups = new Map<string, Promise<Credential | null>>();
  readonly #shares: NetworkShares;
  #knownLookups = 0;
  /** calls of `forget` */
  #forgotten = 0;

  constructor(find: KeyDirectory['find'], nowMs: () => number) {
    this.#find = find;
    this.#nowMs = nowMs;
    this.#shares = new NetworkShares(SHARE_LIMITS, nowMs);
  }

  read(id: string, key: Buffer, sender: Sender): Credential | null | Promise<Credential | null> {
    const entry = this.#valid.get(id) ?? this.#unknown.get(id);
    const now = this.#nowMs();
    if (entry === undefined || entry.expiresAtMs <= now) return this.#lookUp(id, key, sender);
    const isDue = entry.refreshAtMs <= now && entry.credential !== null;
    if (isDue) this.#refresh(id, key, entry, sender);
    return entry.credential;
  }

  /** The credential of a key that was valid at its last look-up. */
  peek(id: string): Credential | null {
    return this.#valid.peek(id)?.credential ?? null;
  }

  /** Drops a key, also one whose look-up is under way. */
  forget(keyId: number): void {
    this.#forgotten += 1;
    for (const [id, { credential }] of [...this.#valid]) {
      if (credential?.keyId === keyId) this.#valid.delete(id);
    }
  }

  #lookUp(id: string, key: Buffer, sender: Sender): Promise<Credential | null> {
    const running = this.#lookups.get(id);
    if (running !== undefined) return running;
    const isKnown = this.#valid.has(id);
    const release = isKnown ? this.#takeKnownShare() : this.#shares.take(sender.clientAddress);
    // Taken before the look-up, whose snapshot may be older than a revocation.
    const startedAtMs = this.#nowMs();
    const forgottenBefore = this.#forgotten;
    const lookup = this.#find(key)
      .then((credential) => {
        this.#unknown.delete(id);
        if (credential === null) this.#valid.delete(id);
        // A key forgotten in the meantime may be this one, read before it was revoked.
        if (this.#forgotten !== forgottenBefore) return credential;
        this.#valid.delete(id);
        const expiresAtMs = startedAtMs + KEY_TTL_MS;
        const refreshAtMs = startedAtMs + REFRESH_AFTER_MS;
        const entries = credential === null ? this.#unknown : this.#valid;
        entries.set(id, { expiresAtMs, refreshAtMs, credential });
        return credential;
      })
      .finally(() => {
        this.#lookups.delete(id);
        release();
      });
    this.#lookups.set(id, lookup);
    return lookup;
  }

  #takeKnownShare(): () => void {
    if (this.#knownLookups >= KNOWN_LOOKUPS_MAX) {
      throw new SluiceError(
        'overloaded',
        'The server is checking too many keys. Try again later.',
        { shortage: 'key_lookups' },
      );
    }
    this.#knownLookups += 1;
    return () => {
      this.#knownLookups -= 1;
    };
  }

  /**
   * Looks up a key that is still served from the cache. An error is ignored here: a request that waits
   * for the look-up gets it.
   */
  #refresh(id: string, key: Buffer, entry: Entry, sender: Sender): void {
    entry.refreshAtMs = this.#nowMs() + REFRESH_PAUSE_MS;
    if (this.#knownLookups < KNOWN_LOOKUPS_MAX) this.#lookUp(id, key, sender).catch(() => {});
  }
}

/** @param nowMs milliseconds of a clock that never jumps */
export function createAuthenticator(
  { digest, find, noteUse }: KeyDirectory,
  nowMs: () => number = () => performance.now(),
): Authenticator {
  const cache = new KeyCache(find, nowMs);
  const finish = (credential: Credential | null, kind: KeyKind | 'any'): Credential => {
    const admitted = checked(credential, kind);
    noteUse(admitted.keyId);
    return admitted;
  };
  return {
    authenticate: (sender, kind) => {
      const key = digest(bearerOf(sender.authorization));
      const found = cache.read(key.toString('latin1'), key, sender);
      if (!(found instanceof Promise)) return finish(found, kind);
      return found.then((credential) => finish(credential, kind));
    },
    identify: (authorization) => {
      const [, secret, head = ''] = BEARER.exec(authorization) ?? [];
      if (secret === undefined) return null;
      const key = digest(secret);
      const id = key.toString('latin1');
      const prefix = secret.slice(0, head.length + KEY_PREFIX_CHARS);
      return { digest: key, id, prefix, credential: cache.peek(id) };
    },
    forget: (keyId) => cache.forget(keyId),
  };
}

export interface AdmissionDependencies {
  readonly authenticator: Authenticator;
  readonly rateLimiter: Pick<RateLimiter, 'consume'>;
}

/** @throws {SluiceError} as the authenticator, or `rate_limited` */
export async function admit(
  sender: Sender,
  kind: KeyKind | 'any',
  { authenticator, rateLimiter }: AdmissionDependencies,
): Promise<Credential> {
  const known = authenticator.authenticate(sender, kind);
  const credential = known instanceof Promise ? await known : known;
  const decision = await rateLimiter.consume(credential);
  if (decision.admitted) return credential;
  throw new SluiceError(
    'rate_limited',
    `This key is limited to ${credential.rateLimitPerMinute} requests per minute.`,
    { retryAfterSeconds: decision.retryAfterSeconds },
  );
}

// Limits look-ups of keys that this process has not found valid before: concurrent ones in total,
// and per network concurrent ones and ones per second, so that a network that sends invented keys does
// not use up the look-ups of others. Never sees a key.

interface ShareLimits {
  /** most concurrent look-ups, of all networks */
  readonly inAll: number;
  /** most concurrent look-ups of one network */
  readonly ofNetwork: number;
  readonly perSecond: number;
}

const SHARE_LIMITS: ShareLimits = { inAll: 200, ofNetwork: 20, perSecond: 100 };
const NETWORKS_MAX = 10_000;
const SECOND_MS = 1000;

interface Network {
  running: number;
  started: number;
  secondEndsAtMs: number;
}

export class NetworkShares {
  readonly #limits: ShareLimits;
  readonly #nowMs: () => number;
  /** in the order in which they were first seen */
  readonly #networks = new Map<string, Network>();
  #running = 0;

  constructor(limits: ShareLimits, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /**
   * Starts a look-up for an address. A network is an IPv4 address or an IPv6 /64.
   *
   * @returns a function that ends the look-up; call it once
   * @throws {SluiceError} `overloaded`
   */
  take(address: string): () => void {
    const { inAll, ofNetwork, perSecond } = this.#limits;
    const network = this.#of(networkOf(address, 4, 4));
    if (this.#running >= inAll || network.running >= ofNetwork || network.started >= perSecond) {
      throw new SluiceError('overloaded', 'Too many requests with unknown keys. Try again later.', {
        shortage: 'unknown_keys',
      });
    }
    this.#running += 1;
    network.running += 1;
    network.started += 1;
    return () => {
      this.#running -= 1;
      network.running -= 1;
    };
  }

  #of(name: string): Network {
    const nowMs = this.#nowMs();
    let network = this.#networks.get(name);
    if (network === undefined) {
      this.#makeRoom();
      network = { running: 0, started: 0, secondEndsAtMs: nowMs + SECOND_MS };
      this.#networks.set(name, network);
    } else if (nowMs >= network.secondEndsAtMs) {
      network.started = 0;
      network.secondEndsAtMs = nowMs + SECOND_MS;
    }
    return network;
  }

  #makeRoom(): void {
    if (this.#networks.size < NETWORKS_MAX) return;
    for (const [name, { running }] of this.#networks) {
      if (running > 0) continue;
      this.#networks.delete(name);
      return;
    }
  }
}
