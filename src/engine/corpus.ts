/**
 * Owns the pinned corpus on disk: the manifest, and the check that every rule file is the one that
 * was reviewed. The one file of the engine that reads disk.
 *
 * What is verified is what is handed on: each file is read once, hashed, and its bytes are
 * returned. Must never parse a rule, fetch anything, or accept a file the manifest does not name.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Snapshot } from '../model.ts';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const ManifestSchema = z.strictObject({
  package: z.string().min(1),
  version: z.string().min(1),
  /** newest date a rule file carries, YYYY-MM-DD */
  date: z.iso.date(),
  /** Subresource Integrity of the package archive, as package-lock.json has it */
  integrity: z.string().regex(/^sha512-[A-Za-z0-9+/]+={0,2}$/),
  /** path inside the package → digest of its bytes */
  files: z.record(z.string().regex(/^rules\/[^\\]+$/), Sha256),
  /** digest of the file list itself, see `filesDigest` */
  sha256: Sha256,
});

/** `corpus/manifest.json`. */
export type Manifest = z.infer<typeof ManifestSchema>;

export type CorpusProblemKind =
  | 'manifest_invalid'
  | 'manifest_digest'
  | 'package_mismatch'
  | 'file_missing'
  | 'file_extra'
  | 'file_altered'
  | 'not_a_file'
  | 'duplicate_rule_id';

export interface CorpusProblem {
  readonly kind: CorpusProblemKind;
  /** the offending file, package or key */
  readonly subject: string;
}

/** The corpus is not the reviewed one. Holds every problem found, not the first. */
export class CorpusError extends Error {
  readonly problems: readonly CorpusProblem[];

  constructor(problems: readonly CorpusProblem[]) {
    super(
      `the rule corpus cannot be trusted: ${problems
        .map(({ kind, subject }) => `${kind} ${subject}`)
        .join('; ')}`,
    );
    this.name = 'CorpusError';
    this.problems = problems;
  }
}

export interface CorpusFile {
  /** path inside the package, as the manifest names it */
  readonly path: string;
  readonly bytes: Buffer;
}

/** Rule files whose bytes were checked against the manifest, by path. */
export interface VerifiedCorpus {
  readonly snapshot: Snapshot;
  readonly files: readonly CorpusFile[];
}

/**
 * Reads and checks the shape of a manifest; its own digest is checked by `verifyCorpus`.
 * @throws CorpusError when it cannot be read as a manifest
 */
export function loadManifest(path: string): Manifest {
  const parsed = ManifestSchema.safeParse(readJson(path));
  if (parsed.success) return parsed.data;
  throw new CorpusError(
    parsed.error.issues.map((issue) => ({
      kind: 'manifest_invalid',
      subject: `${issue.path.join('.') || path}: ${issue.message}`,
    })),
  );
}

/**
 * Describes an installed corpus package, for a person to review as a diff.
 * @param packageDir the package's folder (it holds package.json and rules/)
 * @param integrity the package's integrity as package-lock.json has it
 * @throws CorpusError when a name under rules/ is neither a plain file nor a folder
 */
export function buildManifest(packageDir: string, integrity: string): Manifest {
  const { name, version } = readPackage(packageDir);
  const { paths, problems } = listRuleFiles(packageDir);
  if (problems.length > 0) throw new CorpusError(problems);
  const dates: string[] = [];
  const files: Record<string, string> = {};
  for (const path of paths) {
    const bytes = readFileSync(join(packageDir, path));
    files[path] = sha256(bytes);
    dates.push(dateOf(bytes));
  }
  const date = dates.sort().at(-1) ?? '';
  return ManifestSchema.parse({
    package: name,
    version,
    date,
    integrity,
    files,
    sha256: filesDigest(files),
  });
}

/**
 * Reads every rule file once and compares it with the manifest.
 * @returns the verified bytes, sorted by path
 * @throws CorpusError naming every missing, extra, altered or irregular file, another package or
 *   version, and a manifest whose digest does not fit its list
 */
export function verifyCorpus(packageDir: string, manifest: Manifest): VerifiedCorpus {
  const problems: CorpusProblem[] = [];
  if (filesDigest(manifest.files) !== manifest.sha256) {
    problems.push({ kind: 'manifest_digest', subject: manifest.sha256 });
  }
  const { name, version } = readPackage(packageDir);
  if (name !== manifest.package || version !== manifest.version) {
    problems.push({ kind: 'package_mismatch', subject: `${name}@${version}` });
  }
  const listed = listRuleFiles(packageDir);
  problems.push(...listed.problems);
  const present = new Set(listed.paths);
  for (const path of Object.keys(manifest.files)) {
    if (!present.has(path)) problems.push({ kind: 'file_missing', subject: path });
  }
  const files: CorpusFile[] = [];
  for (const path of listed.paths) {
    const expected = Object.hasOwn(manifest.files, path) ? manifest.files[path] : undefined;
    if (expected === undefined) {
      problems.push({ kind: 'file_extra', subject: path });
      continue;
    }
    const bytes = readFileSync(join(packageDir, path));
    if (sha256(bytes) === expected) files.push({ path, bytes });
    else problems.push({ kind: 'file_altered', subject: path });
  }
  if (problems.length > 0) throw new CorpusError(problems);
  const { date, sha256: digest } = manifest;
  return { snapshot: { version, date, files: files.length, sha256: digest }, files };
}

/** The text of a manifest file: the same manifest always gives the same bytes. */
export function toManifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** sha256 over the lines `<digest>  <path>\n`, by path: what `sha256sum` would print. */
function filesDigest(files: Readonly<Record<string, string>>): string {
  const lines = Object.entries(files)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, digest]) => `${digest}  ${path}\n`);
  return sha256(lines.join(''));
}

/** Every name under rules/, by path. Symbolic links and the like are problems, never followed. */
function listRuleFiles(packageDir: string): { paths: string[]; problems: CorpusProblem[] } {
  const paths: string[] = [];
  const problems: CorpusProblem[] = [];
  const visit = (folder: string): void => {
    for (const entry of readdirSync(join(packageDir, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) visit(path);
      else if (entry.isFile()) paths.push(path);
      else problems.push({ kind: 'not_a_file', subject: path });
    }
  };
  visit('rules');
  return { paths: paths.sort(), problems };
}

const PackageSchema = z.object({ name: z.string(), version: z.string() });

function readPackage(packageDir: string): z.infer<typeof PackageSchema> {
  const path = join(packageDir, 'package.json');
  const parsed = PackageSchema.safeParse(readJson(path));
  if (parsed.success) return parsed.data;
  throw new CorpusError([{ kind: 'package_mismatch', subject: path }]);
}

/** Parsed JSON, or undefined when the file is absent or not JSON: no schema accepts that. */
function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError || (error instanceof Error && 'code' in error)) {
      return undefined;
    }
    throw error;
  }
}

/**
 * The date line of a rule file, by line and not by YAML: it must not depend on the file parsing.
 */
function dateOf(bytes: Buffer): string {
  const found = /^date:\s*['"]?(\d{4})[-/](\d{2})[-/](\d{2})/m.exec(bytes.toString());
  return found === null ? '' : found.slice(1).join('-');
}

function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
