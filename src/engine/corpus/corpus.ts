/**
 * Owns the pinned corpus on disk: the manifest, and the check that every rule file is the one that
 * was reviewed. The only file of the engine that reads files.
 *
 * Each file is read once, and the bytes that were hashed are returned. Must never parse a rule, use
 * the network, or accept a file that is not in the manifest.
 */
import { createHash } from 'node:crypto';
import { type Dirent, promises, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { z } from 'zod';
import type { Snapshot } from '../../model/rules.ts';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const ManifestSchema = z.strictObject({
  package: z.string().min(1),
  version: z.string().min(1),
  /** newest date in a rule file, YYYY-MM-DD */
  date: z.iso.date(),
  /** Subresource Integrity of the package archive, as package-lock.json has it */
  integrity: z.string().regex(/^sha512-[A-Za-z0-9+/]+={0,2}$/),
  /** path inside the package → digest of its bytes */
  files: z.record(z.string().regex(/^rules\/[^\\]+$/), Sha256),
  /** digest of the file list itself, see `filesDigest` */
  sha256: Sha256,
});

export type Manifest = z.infer<typeof ManifestSchema>;

type CorpusProblemKind =
  | 'manifest_invalid'
  | 'manifest_digest'
  | 'package_mismatch'
  | 'file_missing'
  | 'file_extra'
  | 'file_altered'
  | 'not_a_file'
  | 'duplicate_rule_id'
  | 'classification_invalid'
  | 'classification_outdated';

export interface CorpusProblem {
  readonly kind: CorpusProblemKind;
  readonly subject: string;
}

/** Most problems listed in the message of a `CorpusError`. */
const NAMED_MAX = 20;

/** The corpus is not the reviewed one. Has all problems, not only the first. */
export class CorpusError extends Error {
  readonly problems: readonly CorpusProblem[];

  constructor(problems: readonly CorpusProblem[]) {
    const named = problems.slice(0, NAMED_MAX).map(({ kind, subject }) => `${kind} ${subject}`);
    const more = problems.length > NAMED_MAX ? `; and ${problems.length - NAMED_MAX} more` : '';
    super(`the rule corpus cannot be trusted: ${named.join('; ')}${more}`);
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
  return toManifest(readJson(path), path);
}

function toManifest(json: unknown, path: string): Manifest {
  const parsed = ManifestSchema.safeParse(json);
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
 * @throws CorpusError naming every missing, extra, altered or irregular file, another package or
 *   version, and a manifest whose digest does not fit its list
 */
export function verifyCorpus(packageDir: string, manifest: Manifest): VerifiedCorpus {
  const listed = listRuleFiles(packageDir);
  const problems = listProblems(manifest, readPackage(packageDir), listed);
  const files: CorpusFile[] = [];
  for (const path of listed.paths) {
    const expected = digestOf(manifest, path);
    if (expected === undefined) continue;
    const bytes = readFileSync(join(packageDir, path));
    if (sha256(bytes) === expected) files.push({ path, bytes });
    else problems.push({ kind: 'file_altered', subject: path });
  }
  if (problems.length > 0) throw new CorpusError(problems);
  const { date, sha256: digest, version } = manifest;
  const identity = corpusIdentity(manifest);
  return { snapshot: { version, date, files: files.length, sha256: digest, identity }, files };
}

/**
 * One id for the package archive and the reviewed file list, in the form of a commit id: the first
 * 40 hexadecimal digits of the SHA-256 of the lines `<integrity>\n<sha256>\n`. Two servers with the
 * same identity have the same rules.
 */
export function corpusIdentity({
  integrity,
  sha256: digest,
}: Pick<Manifest, 'integrity' | 'sha256'>): string {
  return sha256(`${integrity}\n${digest}\n`).slice(0, IDENTITY_CHARS);
}
const IDENTITY_CHARS = 40;

/**
 * The checks of `verifyCorpus` without blocking: one file at a time, none kept in memory.
 *
 * @throws CorpusError when a file differs; any other error means that the check failed to run
 */
export async function checkCorpus(packageDir: string, manifestPath: string): Promise<void> {
  const manifest = toManifest(await readJsonAsync(manifestPath), manifestPath);
  const packagePath = join(packageDir, 'package.json');
  const installed = toPackage(await readJsonAsync(packagePath), packagePath);
  const listed = await listRuleFilesAsync(packageDir);
  const problems = listProblems(manifest, installed, listed);
  for (const path of listed.paths) {
    const expected = digestOf(manifest, path);
    if (expected === undefined) continue;
    const digest = sha256(await promises.readFile(join(packageDir, path)));
    if (digest !== expected) problems.push({ kind: 'file_altered', subject: path });
  }
  if (problems.length > 0) throw new CorpusError(problems);
}

/**
 * Creates a reader of single files of a verified corpus, by their paths.
 *
 * @returns reads a file; throws CorpusError when it is not the one of the manifest
 */
export function corpusFiles(
  packageDir: string,
  manifestPath: string,
): (path: string) => Promise<Buffer> {
  const manifest = loadManifest(manifestPath);
  return async (path) => {
    const expected = digestOf(manifest, path);
    if (expected === undefined) throw new CorpusError([{ kind: 'file_extra', subject: path }]);
    const bytes = await promises.readFile(join(packageDir, path));
    if (sha256(bytes) === expected) return bytes;
    throw new CorpusError([{ kind: 'file_altered', subject: path }]);
  };
}

/** Problems that are found before any rule file is read. */
function listProblems(
  manifest: Manifest,
  { name, version }: Package,
  listed: RuleFiles,
): CorpusProblem[] {
  const problems = [...listed.problems];
  if (filesDigest(manifest.files) !== manifest.sha256) {
    problems.push({ kind: 'manifest_digest', subject: manifest.sha256 });
  }
  if (name !== manifest.package || version !== manifest.version) {
    problems.push({ kind: 'package_mismatch', subject: `${name}@${version}` });
  }
  const present = new Set(listed.paths);
  for (const path of Object.keys(manifest.files)) {
    if (!present.has(path)) problems.push({ kind: 'file_missing', subject: path });
  }
  for (const path of listed.paths) {
    if (digestOf(manifest, path) === undefined)
      problems.push({ kind: 'file_extra', subject: path });
  }
  return problems;
}

function digestOf({ files }: Manifest, path: string): string | undefined {
  return Object.hasOwn(files, path) ? files[path] : undefined;
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

interface RuleFiles {
  readonly paths: string[];
  readonly problems: CorpusProblem[];
}

const EVERY = { recursive: true, withFileTypes: true } as const;

/** Every name under rules/, by path. Symbolic links and the like are problems, never followed. */
function listRuleFiles(packageDir: string): RuleFiles {
  try {
    return toRuleFiles(packageDir, readdirSync(join(packageDir, 'rules'), EVERY));
  } catch (error) {
    return withoutFiles(error);
  }
}

function listRuleFilesAsync(packageDir: string): Promise<RuleFiles> {
  const reading = promises.readdir(join(packageDir, 'rules'), EVERY);
  return reading.then((entries) => toRuleFiles(packageDir, entries)).catch(withoutFiles);
}

function toRuleFiles(packageDir: string, entries: readonly Dirent[]): RuleFiles {
  const found: RuleFiles = { paths: [], problems: [] };
  for (const entry of entries) {
    if (entry.isDirectory()) continue;
    const path = relative(packageDir, join(entry.parentPath, entry.name)).replaceAll(sep, '/');
    if (entry.isFile()) found.paths.push(path);
    else found.problems.push({ kind: 'not_a_file', subject: path });
  }
  found.paths.sort();
  return found;
}

/** Where the folder is absent, all its files are then reported as missing. @throws any other error */
function withoutFiles(error: unknown): RuleFiles {
  if (isAbsent(error)) return { paths: [], problems: [] };
  throw error;
}

const PackageSchema = z.object({ name: z.string(), version: z.string() });
type Package = z.infer<typeof PackageSchema>;

function readPackage(packageDir: string): Package {
  const path = join(packageDir, 'package.json');
  return toPackage(readJson(path), path);
}

function toPackage(json: unknown, path: string): Package {
  const parsed = PackageSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new CorpusError([{ kind: 'package_mismatch', subject: path }]);
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    return noJson(error);
  }
}

function readJsonAsync(path: string): Promise<unknown> {
  const parsed = promises.readFile(path, 'utf8').then((text): unknown => JSON.parse(text));
  return parsed.catch(noJson);
}

/**
 * Undefined, which no schema accepts, for a file that is absent or not JSON.
 * @throws other errors (disk, open files), which are no fault of the corpus
 */
function noJson(error: unknown): undefined {
  if (error instanceof SyntaxError || isAbsent(error)) return undefined;
  throw error;
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ABSENT.has(error.code);
}

const ABSENT: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR']);

/**
 * The date of a rule file, by a regular expression: the file need not be valid YAML.
 */
function dateOf(bytes: Buffer): string {
  const found = /^date:\s*['"]?(\d{4})[-/](\d{2})[-/](\d{2})/m.exec(bytes.toString());
  return found === null ? '' : found.slice(1).join('-');
}

function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
