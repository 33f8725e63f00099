/**
 * Passwords: stored as scrypt hashes with their parameters, checked in the same time whether or not
 * there is an account, a few at a time.
 *
 *   $scrypt$ln=15,r=8,p=3$<salt, base64>$<hash, base64>     (PHC string format)
 *
 * The parameters are one of the sets of OWASP's Password Storage Cheat Sheet that are equally
 * strong; this one takes 32 MiB and, on the two slow cores this was written on, 0.27 s.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import pLimit from 'p-limit';

import { SluiceError } from '../../errors.ts';

interface Parameters {
  /** log2 of the cost */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

const PARAMETERS: Parameters = { ln: 15, r: 8, p: 3 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Most salts that one attempt is checked against; the accounts of an address share one. */
const SALTS_MAX = 4;
/** Bounds what the parameters of a stored hash can cost. */
const MEMORY_BYTES_MAX = 256 * 1024 * 1024;
/** Hashed at a time; Node's thread pool has four threads, which files and DNS need as well. */
const RUNNING_MAX = 2;
/** Further ones would wait for many seconds. */
const WAITING_MAX = 32;
const STORED = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w+/]+)\$([\w+/]+)$/;

const limit = pLimit(RUNNING_MAX);

async function derive(password: string, salt: Buffer, { ln, r, p }: Parameters): Promise<Buffer> {
  if (limit.pendingCount >= WAITING_MAX) {
    throw new SluiceError('overloaded', 'Too many sign-ins at the same time. Try again later.', {
      shortage: 'sign_ins',
    });
  }
  const options = { N: 2 ** ln, r, p, maxmem: MEMORY_BYTES_MAX };
  return limit(
    () =>
      new Promise((resolve, reject) => {
        // Systems differ in how they compose typed characters (Unicode normalization).
        scrypt(password.normalize('NFKC'), salt, HASH_BYTES, options, (error, hash) => {
          if (error === null) resolve(hash);
          else reject(error);
        });
      }),
  );
}

const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');
const describe = ({ ln, r, p }: Parameters): string => `ln=${ln},r=${r},p=${p}`;

/** Hashes a password to be stored, with a new salt by default. */
export async function hashPassword(
  password: string,
  salt: Buffer = randomBytes(SALT_BYTES),
): Promise<string> {
  const hash = await derive(password, salt, PARAMETERS);
  return `$scrypt$${describe(PARAMETERS)}$${base64(salt)}$${base64(hash)}`;
}

interface Stored {
  readonly parameters: Parameters;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

function parseStored(text: string): Stored | null {
  const match = STORED.exec(text);
  if (match === null) return null;
  const [, ln, r, p, salt = '', hash = ''] = match;
  return {
    parameters: { ln: Number(ln), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}

/** The salt of an address's first hash, so that one computation checks all of its accounts; else a new one. */
export function saltBeside(stored: string | null): Buffer {
  const parsed = stored === null ? null : parseStored(stored);
  return parsed?.salt ?? randomBytes(SALT_BYTES);
}

/**
 * The first hash that a password matches, of at most `SALTS_MAX` salts. Takes one computation for hashes of
 * the same salt and parameters, and one if there is no hash at all.
 */
export async function findFitting(
  password: string,
  stored: readonly string[],
): Promise<string | null> {
  const groups = new Map<string, { readonly text: string; readonly parsed: Stored }[]>();
  for (const text of stored) {
    const parsed = parseStored(text);
    if (parsed === null) continue;
    const group = `${describe(parsed.parameters)}$${base64(parsed.salt)}`;
    groups.set(group, [...(groups.get(group) ?? []), { text, parsed }]);
  }
  if (groups.size === 0) await derive(password, randomBytes(SALT_BYTES), PARAMETERS);
  let fitting: string | null = null;
  for (const group of [...groups.values()].slice(0, SALTS_MAX)) {
    const [first] = group;
    if (first === undefined) continue;
    const actual = await derive(password, first.parsed.salt, first.parsed.parameters);
    for (const { text, parsed } of group) {
      const fits = parsed.hash.length === actual.length && timingSafeEqual(actual, parsed.hash);
      if (fits) fitting ??= text;
    }
  }
  return fitting;
}

export function isOutdated(stored: string): boolean {
  return !stored.startsWith(`$scrypt$${describe(PARAMETERS)}$`);
}

/** 32 characters that are easy to tell apart. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

/** A random password: 25 characters (125 bits) in groups of five. */
export function generatePassword(): string {
  return [...randomBytes(25)]
    .map((byte) => ALPHABET[byte % ALPHABET.length])
    .join('')
    .replaceAll(/(.{5})(?=.)/g, '$1-');
}
