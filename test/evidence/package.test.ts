/** Evidence packages: each byte counts, and a package says whose key signed it. */
import { createPublicKey, randomBytes, verify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  AUDIT_FILE,
  fileEntry,
  MANIFEST_FILE,
  parsePublicKey,
  publicKeyOf,
  SIGNATURE_FILE,
  signManifest,
} from '../../src/evidence/manifest.ts';
import { TAR_END, tarFile } from '../../src/evidence/tar.ts';
import { verifyEvidence } from '../../src/evidence/verify.ts';

const SEED = Buffer.alloc(32, 7);
const FACTS = {
  made_at: '2026-11-28T22:00:00.000Z',
  made_by: 'Sluice 0.1.0',
  workspace: 'crew',
  subject: { kind: 'finding', id: 'ab'.repeat(16) },
  runs: ['cd'.repeat(16)],
  redacted: false,
  corpus: { version: '3.6.0', identity: 'e'.repeat(4), sha256: 'f'.repeat(64) },
  left_out: [],
} as const;
const FILES: readonly (readonly [string, string])[] = [
  ['README.txt', 'read me'],
  [AUDIT_FILE, ''],
  ['runs/cd/traces-001.jsonl', `${'{"resourceSpans":[]}\n'.repeat(4)}`],
];

type Files = readonly (readonly [string, string | Buffer])[];
const bytesOf = (content: string | Buffer): Buffer => Buffer.from(content);

function archive(files: Files, end = TAR_END): Buffer {
  return Buffer.concat([...files.map(([name, content]) => tarFile(name, bytesOf(content))), end]);
}

/** The files of a package with their manifest; `signed` are those that the manifest names. */
function packaged(files: Files, signed: Files = files): Files {
  const entries = signed.map(([name, content]) => fileEntry(name, bytesOf(content)));
  const facts = { ...FACTS, runs: [...FACTS.runs], left_out: [] };
  const { manifest, signature } = signManifest(facts, entries, SEED);
  return [...files, [MANIFEST_FILE, manifest], [SIGNATURE_FILE, signature]];
}

function check(bytes: Buffer, pinnedKey: string | null = null) {
  const read = (from: number, length: number) => bytes.subarray(from, from + length);
  return verifyEvidence({ read }, pinnedKey);
}

const PACKAGE = archive(packaged(FILES));

describe('a package', () => {
  test('is valid, with the key in it and with a pinned key', () => {
    const key = publicKeyOf(SEED);
    for (const pinned of [null, key]) {
      expect(check(PACKAGE, pinned)).toMatchObject({ manifest: { ...FACTS, public_key: key } });
    }
    expect(check(PACKAGE, publicKeyOf(Buffer.alloc(32, 8)))).toContain('signed with another key');
  });

  test('has the same bytes for the same files', () => {
    expect(archive(packaged(FILES)).equals(PACKAGE)).toBe(true);
  });

  test('is not valid with any of its bits flipped', () => {
    const undetected: number[] = [];
    for (let at = 0; at < PACKAGE.length; at += 1) {
      const changed = Buffer.from(PACKAGE);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      if (typeof check(changed) !== 'string') undetected.push(at);
    }
    expect(undetected).toEqual([]);
  });

  test('is not valid cut off anywhere, nor with bytes after it', () => {
    for (let length = 0; length < PACKAGE.length; length += 13) {
      expect(check(PACKAGE.subarray(0, length))).toBeTypeOf('string');
    }
    expect(check(Buffer.concat([PACKAGE, Buffer.from([0])]))).toContain('end of the file');
  });

  test('is not valid with blocks removed, doubled or swapped', () => {
    const blocks = PACKAGE.length / 512;
    const block = (index: number) => PACKAGE.subarray(index * 512, (index + 1) * 512);
    for (let index = 0; index < blocks; index += 1) {
      const all = Array.from({ length: blocks }, (_, at) => block(at));
      const without = all.filter((_, at) => at !== index);
      const doubled = all.flatMap((one, at) => (at === index ? [one, one] : [one]));
      const swapped = all.with(index, block((index + 1) % blocks));
      for (const changed of [without, doubled, swapped]) {
        const bytes = Buffer.concat(changed);
        if (!bytes.equals(PACKAGE)) expect(check(bytes)).toBeTypeOf('string');
      }
    }
  });

  test('says what is wrong', () => {
    const [first, ...others] = FILES;
    const extra = [...FILES, ['more.txt', 'x']] as const;
    expect(check(archive(packaged(extra, FILES)))).toContain('more.txt is not in the manifest');
    expect(check(archive(packaged(FILES, extra)))).toBe('more.txt is missing');
    expect(check(archive(packaged(others, FILES)))).toContain(
      'is not in the manifest at this place',
    );
    expect(check(archive(packaged([['README.txt', 'other'], ...others], FILES)))).toBe(
      'README.txt was changed',
    );
    expect(check(archive([...packaged(FILES), ...(first ? [first] : [])]))).toContain(
      'there twice',
    );
    expect(check(archive(FILES))).toContain('is missing');
    expect(check(archive([...FILES, [MANIFEST_FILE, '{}'], [SIGNATURE_FILE, 'x']]))).toContain(
      'not a manifest',
    );
  });

  test.each(['../a', '/a', 'a//b', 'a/../b', '.a', 'a/', 'C:\\a', 'a\nb', 'ä', 'a'.repeat(101)])(
    'has no file named %j',
    (name) => {
      expect(() => tarFile(name, Buffer.from('x'))).toThrow('not a name');
      const safe = tarFile('name', Buffer.from('x'));
      safe.fill(0, 0, 100).write(name.slice(0, 100), 0, 'latin1');
      const sum = safe
        .fill(' ', 148, 156)
        .subarray(0, 512)
        .reduce((all, byte) => all + byte, 0);
      safe.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
      if (name.length <= 100) expect(check(safe)).toContain('not a safe one');
    },
  );

  test('of random bytes is refused and never thrown about', () => {
    for (let round = 0; round < 200; round += 1) {
      const from = (round * 997) % PACKAGE.length;
      const changed = Buffer.from(PACKAGE);
      randomBytes(1 + (round % 600)).copy(changed, from);
      if (!changed.equals(PACKAGE)) expect(check(changed)).toBeTypeOf('string');
    }
  });
});

test('the signature can be checked without Sluice', () => {
  const [manifest, signature] = packaged(FILES)
    .slice(-2)
    .map(([, content]) => bytesOf(content));
  const pem = `-----BEGIN PUBLIC KEY-----\n${publicKeyOf(SEED)}\n-----END PUBLIC KEY-----\n`;
  expect(parsePublicKey(pem)).toBe(publicKeyOf(SEED));
  expect(
    verify(null, manifest ?? Buffer.alloc(0), createPublicKey(pem), signature ?? Buffer.alloc(0)),
  ).toBe(true);
});

test.each(['', 'MCowBQYDK2VwAyEA', 'not base64!', `${publicKeyOf(SEED)}AAAA`])(
  '%j is no public key',
  (text) => {
    expect(parsePublicKey(text)).toBe(null);
  },
);
