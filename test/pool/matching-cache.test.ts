/** The file that keeps catalogue and tables: read only when nobody else can have written it. */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPrefilterTables } from '../../src/engine/prefilter/prefilter-tables.ts';
import type { MatchingData } from '../../src/pool/matching-cache.ts';
import { keepMatching, matchingKey, readMatching } from '../../src/pool/matching-cache.ts';

const KEY = Buffer.alloc(32, 1);
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const DATA: MatchingData = {
  catalog: {
    snapshot: { version: '1', date: '2026-01-01', files: 0, sha256: 'a', identity: 'b' },
    rules: [],
  },
  tables: createPrefilterTables(['ignore (all|any) instructions', '[a-z]+', 'Grüße']),
};

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-cache-'));
  file = join(folder, 'matching.cache');
  keepMatching(folder, KEY, DATA);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('what was kept is read again, and the file is for its user alone', () => {
  expect(readMatching(folder, KEY)).toEqual(DATA);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['matching.cache']);
});

test('another build, corpus or Node.js finds nothing, and replaces it', () => {
  const other = Buffer.alloc(32, 2);
  expect(readMatching(folder, other)).toBeNull();
  keepMatching(folder, other, DATA);
  expect(readMatching(folder, other)).toEqual(DATA);
  expect(readMatching(folder, KEY)).toBeNull();
});

test.each(['manifest.json', 'classification.json'])('the key depends on %s', (changed) => {
  for (const name of ['manifest.json', 'classification.json'])
    writeFileSync(join(folder, name), '');
  const keys = ['{}', '{ }'].map((text) => {
    writeFileSync(join(folder, changed), text);
    return matchingKey(join(folder, 'manifest.json')).toString('hex');
  });
  expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(keys[0]).not.toBe(keys[1]);
});

test('without the decisions beside the manifest there is no key, and it is said what to do', () => {
  writeFileSync(join(folder, 'manifest.json'), '{}');
  expect(() => matchingKey(join(folder, 'manifest.json'))).toThrow(/run sluice corpus refresh/);
});

test('a file that is torn or altered anywhere counts for nothing', () => {
  const whole = readFileSync(file);
  const altered = (at: number): Buffer => {
    const copy = Buffer.from(whole);
    copy.writeUInt8((copy.readUInt8(at) + 1) % 256, at);
    return copy;
  };
  const files: Buffer[] = [whole.subarray(0, -1), whole.subarray(0, 40), Buffer.alloc(0)];
  for (const at of [0, 40, 64, whole.length - 1]) files.push(altered(at));
  for (const bytes of files) {
    writeFileSync(file, bytes);
    expect(readMatching(folder, KEY)).toBeNull();
  }
  writeFileSync(file, whole);
  expect(readMatching(folder, KEY)).toEqual(DATA);
});

test.each([
  ['a folder that its group may write to', () => chmodSync(folder, 0o770)],
  ['a folder that all may write to, with a sticky bit', () => chmodSync(folder, 0o1777)],
  ['a file that others may write to', () => chmodSync(file, 0o602)],
  ['a file that its group may read', () => chmodSync(file, 0o640)],
  [
    'a symbolic link',
    () => {
      renameSync(file, join(folder, 'elsewhere'));
      symlinkSync(join(folder, 'elsewhere'), file);
    },
  ],
  [
    'a folder in its place',
    () => {
      rmSync(file);
      mkdirSync(file);
    },
  ],
])('%s is not trusted', (_what, change) => {
  change();
  expect(readMatching(folder, KEY)).toBeNull();
});

test.runIf(isRoot)('neither is a file or a folder of another user', () => {
  chownSync(file, NOBODY, NOBODY);
  expect(readMatching(folder, KEY)).toBeNull();
  chownSync(file, 0, 0);
  expect(readMatching(folder, KEY)).toEqual(DATA);
  chownSync(folder, NOBODY, NOBODY);
  expect(readMatching(folder, KEY)).toBeNull();
});

test('nothing is kept where others may write, nor is a folder made for it', () => {
  rmSync(file);
  chmodSync(folder, 0o777);
  keepMatching(folder, KEY, DATA);
  keepMatching(join(folder, 'new'), KEY, DATA);
  expect(readdirSync(folder)).toEqual([]);
});

test('a link that waits at the name of the draft is not written through', () => {
  const target = join(folder, 'target');
  writeFileSync(target, 'precious');
  rmSync(file);
  symlinkSync(target, `${file}.new`);
  keepMatching(folder, KEY, DATA);
  expect(readFileSync(target, 'utf8')).toBe('precious');
  expect(readMatching(folder, KEY)).toEqual(DATA);
});
