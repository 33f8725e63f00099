import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  buildManifest,
  CorpusError,
  type CorpusProblem,
  corpusIdentity,
  loadManifest,
  type Manifest,
  toManifestText,
  verifyCorpus,
} from '../../../src/engine/corpus/corpus.ts';

const PACKAGE = join(import.meta.dirname, '../../../node_modules/agent-threat-rules');
const PINNED = join(import.meta.dirname, '../../../corpus/manifest.json');
const FILES = 5;

describe('the pinned corpus', () => {
  const manifest = loadManifest(PINNED);

  it('is the installed package, and the lock file agrees', () => {
    const lock = JSON.parse(
      readFileSync(join(import.meta.dirname, '../../../package-lock.json'), 'utf8'),
    );
    const { version, integrity } = lock.packages['node_modules/agent-threat-rules'];
    expect(manifest).toMatchObject({ package: 'agent-threat-rules', version, integrity });
  });

  it('verifies, and is what a new build would write', () => {
    const { snapshot, files } = verifyCorpus(PACKAGE, manifest);
    const { version, date, sha256 } = manifest;
    const identity = corpusIdentity(manifest);
    expect(snapshot).toEqual({ version, date, files: files.length, sha256, identity });
    const built = buildManifest(PACKAGE, manifest.integrity);
    expect(toManifestText(built)).toBe(readFileSync(PINNED, 'utf8'));
  });

  it('has one identity, of the package archive and of the reviewed list', () => {
    const { integrity, sha256 } = manifest;
    // As `printf '%s\n%s\n' INTEGRITY SHA256 | sha256sum | cut -c1-40` prints it.
    const expected = createHash('sha256').update(`${integrity}\n${sha256}\n`).digest('hex');
    expect(corpusIdentity(manifest)).toBe(expected.slice(0, 40));
    for (const other of [{ integrity: 'sha512-other' }, { sha256: 'other' }]) {
      expect(corpusIdentity({ integrity, sha256, ...other })).not.toBe(expected.slice(0, 40));
    }
  });
});

describe('a corpus that was tampered with', () => {
  const { integrity, files } = loadManifest(PINNED);
  /** Some of the pinned files: copying all of them for each test takes long. */
  const names = ['package.json', ...Object.keys(files).slice(0, FILES)];
  const [, first = '', second = ''] = names;
  let copy: string;
  let manifest: Manifest;

  beforeEach(() => {
    copy = mkdtempSync(join(tmpdir(), 'sluice-corpus-'));
    for (const name of names) cpSync(join(PACKAGE, name), join(copy, name));
    manifest = buildManifest(copy, integrity);
    expect(problemsOf(copy, manifest)).toEqual([]);
  });
  afterEach(() => rmSync(copy, { recursive: true }));

  it('is refused with the name of every offending file', () => {
    const bytes = readFileSync(join(copy, first));
    bytes[100] = (bytes[100] ?? 0) ^ 1;
    writeFileSync(join(copy, first), bytes);
    rmSync(join(copy, second));
    writeFileSync(join(copy, 'rules/extra.yaml'), 'x');
    writeFileSync(join(copy, 'rules/not-a-rule.txt'), 'x');
    symlinkSync('extra.yaml', join(copy, 'rules/link.yaml'));
    expect(problemsOf(copy, manifest)).toEqual([
      { kind: 'file_altered', subject: first },
      { kind: 'file_extra', subject: 'rules/extra.yaml' },
      { kind: 'file_extra', subject: 'rules/not-a-rule.txt' },
      { kind: 'file_missing', subject: second },
      { kind: 'not_a_file', subject: 'rules/link.yaml' },
    ]);
  });

  it('is refused as another package or version', () => {
    writeFileSync(join(copy, 'package.json'), '{"name":"agent-threat-rules","version":"9.9.9"}');
    expect(problemsOf(copy, manifest)).toEqual([
      { kind: 'package_mismatch', subject: 'agent-threat-rules@9.9.9' },
    ]);
  });

  it('is refused when the manifest itself was changed to fit', () => {
    writeFileSync(join(copy, 'rules/extra.yaml'), 'x');
    const { files } = buildManifest(copy, manifest.integrity);
    expect(problemsOf(copy, { ...manifest, files })).toEqual([
      { kind: 'manifest_digest', subject: manifest.sha256 },
    ]);
  });

  it('cannot be described while it holds a symbolic link', () => {
    symlinkSync('/etc/hostname', join(copy, 'rules/link.yaml'));
    expect(() => buildManifest(copy, manifest.integrity)).toThrow('not_a_file rules/link.yaml');
  });
});

describe('loadManifest', () => {
  it('refuses what is no manifest', () => {
    expect(() => loadManifest(join(PACKAGE, 'package.json'))).toThrow(CorpusError);
    expect(() => loadManifest('/nowhere/manifest.json')).toThrow('manifest_invalid');
  });
});

function problemsOf(packageDir: string, manifest: Manifest): CorpusProblem[] {
  try {
    verifyCorpus(packageDir, manifest);
  } catch (error) {
    if (!(error instanceof CorpusError)) throw error;
    return [...error.problems].sort((a, b) => (a.kind + a.subject < b.kind + b.subject ? -1 : 1));
  }
  return [];
}
