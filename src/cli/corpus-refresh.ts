/**
 * `sluice corpus refresh`: pins the installed rule package. Writes the manifest, what classification
 * decides and the coverage page together, and nothing when the package is not the published one.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  buildManifest,
  CorpusError,
  loadManifest,
  type Manifest,
  toManifestText,
  verifyCorpus,
} from '../engine/corpus/corpus.ts';
import { createCatalog } from '../engine/rules/catalog.ts';
import {
  type Classification,
  classificationOf,
  toClassificationText,
} from '../engine/rules/classification.ts';
import { OperatorError } from '../errors.ts';
import { hasNoExamples, type Rule } from '../model/rules.ts';
import { classificationPathOf, loadClassification } from '../pool/kept-catalog.ts';
import { type RuleReview, reviewOf } from './corpus-review.ts';
import { coveragePage } from './coverage.ts';

export interface CorpusFiles {
  readonly packageDir: string;
  readonly manifestPath: string;
  readonly lockfilePath: string;
  readonly coveragePath: string;
}

export interface Refresh {
  readonly before: Manifest;
  readonly after: Manifest;
  readonly warnings: readonly string[];
  readonly rules: RuleReview;
  readonly classification: Classification;
}

/** @throws {OperatorError} when the lock file does not pin it */
export function lockedPackage(lockfilePath: string, name: string): LockedPackage {
  const lock = JSON.parse(readFileSync(lockfilePath, 'utf8')) as {
    packages?: Record<string, { version?: string; integrity?: string }>;
  };
  const { version, integrity } = lock.packages?.[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined) {
    throw new OperatorError(`package-lock.json does not pin ${name}: run npm install`);
  }
  return { name, version, integrity };
}

/** Why the lock file and the manifest are not about the same package; null when they are. */
export function disagreement(locked: LockedPackage, manifest: Manifest): string | null {
  if (locked.integrity === manifest.integrity && locked.version === manifest.version) return null;
  const republished =
    locked.version === manifest.version
      ? ' It is the same version with other content: find out why before you commit.'
      : '';
  return (
    `package-lock.json pins ${locked.name} ${locked.version} (${locked.integrity}), and ` +
    `corpus/manifest.json is of ${manifest.version} (${manifest.integrity}).${republished}`
  );
}

const NAMED_MAX = 3;

/** @throws {OperatorError} when most rules have no examples: then hardly any rule would run */
function exampleWarning(
  { package: name, version }: Manifest,
  rules: readonly Rule[],
  acceptsUntested: boolean,
): string | null {
  const without = rules.filter(({ ownExamples }) => hasNoExamples(ownExamples));
  if (without.length === 0) return null;
  const counted = `${without.length} of ${rules.length} rules of ${name} ${version} ship no test cases`;
  if (!acceptsUntested && without.length > rules.length / 2) {
    throw new OperatorError(
      `${counted}, and a rule without test cases never runs. Nothing was written. Install a version that ` +
        'has them, or run sluice corpus refresh --without-tests to pin this one all the same.',
    );
  }
  const named = without.slice(0, NAMED_MAX).map(({ id }) => id);
  const more = without.length > NAMED_MAX ? ', …' : '';
  return `${counted} and never run: ${named.join(', ')}${more}`;
}

/**
 * @param acceptsUntested also pins a package in which most rules ship no examples
 * @throws {CorpusError} when installed files differ from the package that the lock file pins
 * @throws {OperatorError} when that package cannot be fetched, or most of its rules ship no examples
 */
export function refreshCorpus(files: CorpusFiles, acceptsUntested = false): Refresh {
  const { packageDir, manifestPath, lockfilePath, coveragePath } = files;
  const before = loadManifest(manifestPath);
  const locked = lockedPackage(lockfilePath, before.package);
  const warning = disagreement(locked, before);
  // The manifest of this integrity was compared with the archive when it was written.
  const after = warning === null ? before : publishedManifest(locked);
  const catalog = createCatalog(verifyCorpus(packageDir, after));
  const untested = exampleWarning(after, catalog.rules, acceptsUntested);
  const classification = classificationOf(catalog);
  const rules = reviewOf(keptBefore(manifestPath) ?? classification, classification);
  writeFileSync(manifestPath, toManifestText(after));
  writeFileSync(classificationPathOf(manifestPath), toClassificationText(classification));
  writeFileSync(coveragePath, coveragePage(catalog));
  const warnings = [warning, untested].filter((one) => one !== null);
  return { before, after, warnings, rules, classification };
}

/** null when there is none that can be read. */
function keptBefore(manifestPath: string): Classification | null {
  try {
    return loadClassification(manifestPath);
  } catch (error) {
    if (error instanceof CorpusError) return null;
    throw error;
  }
}

/** A megabyte from the registry; npm tries again by itself. */
const NPM_TIMEOUT_MS = 180_000;
const UNPACK_TIMEOUT_MS = 60_000;

interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** sha512-… */
  readonly integrity: string;
}

/**
 * Returns the manifest of the published package: its archive is fetched by npm, or taken from its cache. What is
 * installed may have been changed; the archive cannot, as package-lock.json pins its integrity.
 *
 * @throws {OperatorError} when it cannot be fetched, or its archive has another integrity
 */
function publishedManifest(locked: LockedPackage): Manifest {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-corpus-'));
  try {
    const archive = fetchArchive(locked, folder);
    const unpacked = join(folder, 'unpacked');
    mkdirSync(unpacked);
    run(
      'tar',
      ['-xzf', archive, '-C', unpacked, '--strip-components=1'],
      folder,
      UNPACK_TIMEOUT_MS,
    );
    return buildManifest(unpacked, locked.integrity);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function fetchArchive({ name, version, integrity }: LockedPackage, folder: string): string {
  const wanted = `${name}@${version}`;
  run('npm', ['pack', wanted, '--ignore-scripts', '--prefer-offline'], folder, NPM_TIMEOUT_MS);
  const [file] = readdirSync(folder).filter((one) => one.endsWith('.tgz'));
  if (file === undefined) throw new OperatorError(`npm pack ${wanted} wrote no archive`);
  const archive = join(folder, file);
  const actual = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (actual === integrity) return archive;
  throw new OperatorError(
    `The registry's archive of ${wanted} is not the one that package-lock.json pins: it has the ` +
      `integrity ${actual}, not ${integrity}. Nothing was written.`,
  );
}

function run(program: string, args: readonly string[], cwd: string, timeoutMs: number): void {
  const { status, error, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    timeout: timeoutMs,
  });
  if (status === 0) return;
  const why = error?.message ?? stderr.trim();
  throw new OperatorError(`${program} ${args[0]} failed: ${why}`, { cause: error });
}
