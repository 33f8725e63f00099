/** `sluice corpus refresh`: what it refuses, what it warns of, and its review. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type CorpusFiles,
  disagreement,
  lockedPackage,
  refreshCorpus,
} from '../../src/cli/corpus-refresh.ts';
import { reviewLines, reviewOf } from '../../src/cli/corpus-review.ts';
import { loadManifest } from '../../src/engine/corpus/corpus.ts';
import { LOCKFILE_PATH, pinnedCorpus } from '../../src/main/corpus-location.ts';
import { classificationPathOf, loadClassification } from '../../src/pool/kept-catalog.ts';
import { inFull } from '../support/cases.ts';

const PINNED = pinnedCorpus();
const RULE = 'rules/prompt-injection/ATR-2026-00001-direct-prompt-injection.yaml';
const NEW_RULE = 'rules/new.yaml';

let folder: string;
/** A copy of the installed package; tests undo what they change. */
let packageDir: string;
let files: CorpusFiles;
beforeAll(() => {
  packageDir = mkdtempSync(join(tmpdir(), 'sluice-package-'));
  cpSync(join(PINNED.packageDir, 'rules'), join(packageDir, 'rules'), { recursive: true });
  cpSync(join(PINNED.packageDir, 'package.json'), join(packageDir, 'package.json'));
});
afterAll(() => rmSync(packageDir, { recursive: true }));
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-refresh-'));
  mkdirSync(join(folder, 'corpus'));
  files = {
    packageDir,
    manifestPath: join(folder, 'corpus/manifest.json'),
    lockfilePath: LOCKFILE_PATH,
    coveragePath: join(folder, 'rules-coverage.md'),
  };
  cpSync(PINNED.manifestPath, files.manifestPath);
  writeFileSync(classificationPathOf(files.manifestPath), 'before');
  writeFileSync(files.coveragePath, 'before');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  rmSync(join(packageDir, NEW_RULE), { force: true });
  cpSync(join(PINNED.packageDir, RULE), join(packageDir, RULE));
});

test.each<[string, RegExp, () => void]>([
  [
    'altered',
    /file_altered .*ATR-2026-00001/,
    () => writeFileSync(join(files.packageDir, RULE), '\n# harmless\n', { flag: 'a' }),
  ],
  ['missing', /file_missing .*ATR-2026-00001/, () => rmSync(join(files.packageDir, RULE))],
  [
    'extra',
    /file_extra rules\/new\.yaml/,
    () => writeFileSync(join(files.packageDir, NEW_RULE), ''),
  ],
])('an installed rule file that is %s is refused, and nothing is written', (_, problem, change) => {
  change();
  const manifest = readFileSync(files.manifestPath, 'utf8');
  expect(() => refreshCorpus(files)).toThrow(problem);
  expect(readFileSync(files.manifestPath, 'utf8')).toBe(manifest);
  expect(readFileSync(classificationPathOf(files.manifestPath), 'utf8')).toBe('before');
  expect(readFileSync(files.coveragePath, 'utf8')).toBe('before');
});

// Classifies the whole corpus. `npm test` compares each file with what is written where that is done
// once for many tests: corpus.test.ts, classification.test.ts, coverage.test.ts; and e2e refreshes
// small packages.
inFull('the installed package as it is pinned gives exactly the committed files', async () => {
  const { warnings, rules } = refreshCorpus(files);
  expect(warnings).toEqual([]);
  expect(rules).toEqual({ added: [], removed: [], changed: [] });
  const same = (path: string, committed: string) =>
    expect(readFileSync(path, 'utf8')).toBe(readFileSync(committed, 'utf8'));
  same(files.manifestPath, PINNED.manifestPath);
  same(classificationPathOf(files.manifestPath), classificationPathOf(PINNED.manifestPath));
  same(files.coveragePath, 'docs/rules-coverage.md');
});

test('a manifest that is not of the package in package-lock.json is named, with both', () => {
  const manifest = loadManifest(PINNED.manifestPath);
  const locked = lockedPackage(LOCKFILE_PATH, manifest.package);
  expect(disagreement(locked, manifest)).toBeNull();
  const newer = disagreement({ ...locked, version: '9.9.9', integrity: 'sha512-new' }, manifest);
  expect(newer).toContain(`pins ${manifest.package} 9.9.9 (sha512-new)`);
  expect(newer).toContain(`is of ${manifest.version} (${manifest.integrity})`);
  expect(newer).not.toContain('same version');
  const republished = disagreement({ ...locked, integrity: 'sha512-new' }, manifest);
  expect(republished).toContain('the same version with other content');
  expect(() => lockedPackage(LOCKFILE_PATH, 'no-such-package')).toThrow(/does not pin/);
});

test('the review lists rules that are added, removed or of another class, and overrides', () => {
  const before = loadClassification(PINNED.manifestPath);
  const { 'ATR-2026-00001': one, 'ATR-2026-00002': two, ...others } = before.rules;
  if (one === undefined || two === undefined) throw new Error('the corpus has neither rule');
  const after = {
    ...before,
    rules: {
      ...others,
      'ATR-2026-00002': { ...two, support: 'unsupported' as const },
      'ATR-2027-00001': { ...one, status: 'draft' as const },
    },
  };
  const review = reviewOf(before, after);
  expect(review).toMatchObject({
    added: [{ id: 'ATR-2027-00001', runs: 'never' }],
    removed: [{ id: 'ATR-2026-00001', runs: 'by default' }],
    changed: [{ from: { runs: 'by default' }, to: { id: 'ATR-2026-00002', runs: 'never' } }],
  });
  const unusable = [{ workspace: 'acme', ruleId: 'ATR-2026-00001', enabled: true }];
  expect(reviewLines(review, { checked: true, unusable })).toEqual([
    'rules      1 added, 1 removed, 1 of another class or status',
    '  + ATR-2027-00001  draft, degraded, runs never',
    '  - ATR-2026-00001  stable, degraded, runs by default',
    '  ~ ATR-2026-00002  stable, as_written, runs by default → stable, unsupported, runs never',
    'overrides  1 of rules that are gone or cannot run',
    '  ! ATR-2026-00001  on in workspace "acme"',
  ]);
  expect(reviewOf(before, before)).toEqual({ added: [], removed: [], changed: [] });
});
