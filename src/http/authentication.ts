/**
 * Who is asking: the bearer key of a request, looked up once and remembered for a few seconds.
 *
 * Keys are remembered by digest, never in clear. A revoked key stops working as soon as `forget`
 * tells of it, and at the latest when its entry ages out, KEY_TTL_MS after it was looked up. What
 * cannot be a key of ours is refused unasked; unknown keys are remembered apart, so that a flood of
 * them pushes no valid one out; and only so many look-ups run at a time.
 */
import { SluiceError } from '../errors.ts';
import type { Credential, KeyKind } from '../model.ts';

/** A revocation takes effect everywhere within this time. */
export const KEY_TTL_MS = 5000;
/** Valid keys remembered, and as many unknown ones. */
const ENTRIES_MAX = 10_000;
/** Look-ups under way; the request that would be one more is answered 503. */
const LOOKUPS_MAX = 500;
/** `<brand>_<kind>_` and 43 characters, as `createKey` makes them. */
const BEARER = /^bearer +([a-z][a-z0-9]{0,31}_(?:live|obs|key)_[A-Za-z0-9]{43}) *$/i;

interface Entry {
  readonly expiresAtMs: number;
  readonly credential: Credential | null;
}

export interface Authenticator {
  /**
   * The credential of an Authorization header; at once when it is remembered.
   *
   * @throws {SluiceError} `missing_credential`, `invalid_credential`, `wrong_key_kind` or
   *   `store_unavailable`
   */
  readonly authenticate: (
    authorization: string,
    kind: KeyKind | 'any',
  ) => Credential | Promise<Credential>;
  /** Looks a key up anew at its next request. */
  readonly forget: (keyId: number) => void;
}

export interface KeyDirectory {
  /** the form in which a key is stored and looked up */
  readonly digest: (secret: string) => Buffer;
  /** looks a digest up; null when there is no such valid key */
  readonly find: (digest: Buffer) => Promise<Credential | null>;
  /** told of every key that was admitted */
  readonly noteUse: (keyId: number) => void;
}

function bearerOf(authorization: string): string {
  if (authorization === '') {
    throw new SluiceError('missing_credential', 'Send a key: Authorization: Bearer <API_KEY>.');
  }
  const secret = BEARER.exec(authorization)?.[1];
  if (secret === undefined) {
    throw new SluiceError('invalid_credential', 'The Authorization header holds no key of ours.');
  }
  return secret;
}

function admit(credential: Credential | null, kind: KeyKind | 'any'): Credential {
  if (credential === null) {
    throw new SluiceError('invalid_credential', 'The key is unknown or revoked.');
  }
  if (kind !== 'any' && credential.kind !== kind) {
    throw new SluiceError(
      'wrong_key_kind',
      `This takes ${kind === 'agent' ? 'an agent key' : 'a workspace key'}; ` +
        `the key sent is ${credential.kind === 'agent' ? 'an agent key' : 'a workspace key'}.`,
    );
  }
  return credential;
}

/** @param nowMs milliseconds since 1970 */
export function createAuthenticator(
  { digest, find, noteUse }: KeyDirectory,
  nowMs: () => number = Date.now,
): Authenticator {
  const valid = new Map<string, Entry>();
  const unknown = new Map<string, Entry>();
  const lookups = new Map<string, Promise<Credential | null>>();
  /** how often a key was forgotten */
  let changes = 0;

  const remember = (id: string, entry: Entry): void => {
    const entries = entry.credential === null ? unknown : valid;
    if (entries.size >= ENTRIES_MAX) entries.clear();
    entries.set(id, entry);
  };

  const lookUp = (id: string, key: Buffer): Promise<Credential | null> => {
    const running = lookups.get(id);
    if (running !== undefined) return running;
    if (lookups.size >= LOOKUPS_MAX) {
      throw new SluiceError('overloaded', 'More keys are being checked than the server takes.');
    }
    // From before the look-up: a revocation after its snapshot counts from that time on.
    const expiresAtMs = nowMs() + KEY_TTL_MS;
    const changesBefore = changes;
    const lookup = find(key)
      .then((credential) => {
        valid.delete(id);
        unknown.delete(id);
        // A key forgotten meanwhile may be this one, read before it was revoked.
        if (changes === changesBefore) remember(id, { expiresAtMs, credential });
        return credential;
      })
      .catch((cause: unknown) => {
        throw new SluiceError('store_unavailable', 'The key could not be checked.', { cause });
      })
      .finally(() => lookups.delete(id));
    lookups.set(id, lookup);
    return lookup;
  };

  const finish = (credential: Credential | null, kind: KeyKind | 'any'): Credential => {
    const admitted = admit(credential, kind);
    noteUse(admitted.keyId);
    return admitted;
  };

  return {
    authenticate: (authorization, kind) => {
      const key = digest(bearerOf(authorization));
      const id = key.toString('latin1');
      const entry = valid.get(id) ?? unknown.get(id);
      if (entry !== undefined && entry.expiresAtMs > nowMs()) return finish(entry.credential, kind);
      return lookUp(id, key).then((credential) => finish(credential, kind));
    },
    forget: (keyId) => {
      changes += 1;
      for (const [id, { credential }] of valid) {
        if (credential?.keyId === keyId) valid.delete(id);
      }
    },
  };
}
