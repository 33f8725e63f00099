/**
 * `npm run test:mutants -- --since REV`: plants small defects (operators.ts) in the lines of `src`
 * that have changed since a revision, one at a time, and runs the tests that concern the file.
 *
 * The sample is the same at every run: defects in the order of a hash of file and change, so a higher
 * limit repeats those of a lower one and adds others.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';

import { readSources, type SourceFile } from '../arch/source-file.ts';
import {
  build,
  copyCheckout,
  firstFailure,
  OUTPUT_BYTES_MAX,
  ROOT,
  RunnerError,
} from './checkout-copy.ts';
import { defectsOf } from './operators.ts';

/** Test files run for one source file, and how many of them because they changed with it. */
const TEST_FILES_MAX = 6;
const CHANGED_TESTS_MAX = 3;
/** Tests of what sources say, and tests that need a cluster. */
const OTHER_TESTS = /^test\/(?:arch|citus)\//;
/** A defect may make a test wait for ever: this long more than three runs without one. */
const EXTRA_MS = 30_000;

/** Whatever git's configuration says; against the commit at which a branch began. */
const DIFF = ['diff', '-U0', '--merge-base', '--no-color', '--no-ext-diff', '--dst-prefix=b/'];

interface PlantedLine {
  readonly file: string;
  /** from 1 */
  readonly line: number;
  readonly before: string;
  readonly after: string;
}

function git(args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX });
}

/** @throws {RunnerError} when the repository has no such revision */
function requireRevision(revision: string): void {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`];
  if (spawnSync('git', args, { cwd: ROOT }).status !== 0) {
    throw new RunnerError(`this repository has no revision ${JSON.stringify(revision)}`);
  }
}

/** Returns the lines, from 1, that a diff without context (`git diff -U0`) added to each file. */
export function addedLines(diff: string): Map<string, number[]> {
  const lines = new Map<string, number[]>();
  let added: number[] = [];
  for (const text of diff.split('\n')) {
    const file = /^\+\+\+ b\/(.+)$/.exec(text)?.[1];
    if (file !== undefined) {
      added = [];
      lines.set(file, added);
    }
    const [, start, count = '1'] = /^@@ \S+ \+(\d+)(?:,(\d+))? @@/.exec(text) ?? [];
    if (start === undefined) continue;
    for (let at = 0; at < Number(count); at += 1) added.push(Number(start) + at);
  }
  return lines;
}

/** The changed lines of sources, with those of files that git does not know yet. */
function changedLines(revision: string): Map<string, number[]> {
  const lines = addedLines(git([...DIFF, revision, '--', 'src']));
  const added = git(['ls-files', '--others', '--exclude-standard', '--', 'src']).split('\n');
  for (const file of added.filter((one) => one !== '')) {
    const count = readFileSync(join(ROOT, file), 'utf8').split('\n').length;
    lines.set(
      file,
      Array.from({ length: count }, (_, at) => at + 1),
    );
  }
  return new Map([...lines].filter(([file]) => file.endsWith('.ts')));
}

function plantedIn([file, numbers]: readonly [string, readonly number[]]): PlantedLine[] {
  const text = readFileSync(join(ROOT, file), 'utf8').split('\n');
  return numbers.flatMap((line) => {
    const before = text[line - 1] ?? '';
    return defectsOf(before).map((after) => ({ file, line, before, after }));
  });
}

/** Returns `limit` of them, chosen by their hashes, in the order of their files and lines. */
export function sampleOf(planted: readonly PlantedLine[], limit: number): PlantedLine[] {
  const hash = ({ file, before, after }: PlantedLine): string =>
    createHash('sha256')
      .update(JSON.stringify([file, before, after]))
      .digest('hex');
  const hashed = planted.map((one, at) => ({ one, at, key: hash(one) }));
  const chosen = hashed.sort((a, b) => (a.key < b.key ? -1 : 1)).slice(0, limit);
  return chosen.sort((a, b) => a.at - b.at).map(({ one }) => one);
}

/** The tests that commits since a revision changed together with a file. */
function changedWith(file: string, revision: string): string[] {
  const args = ['log', '--full-diff', '--name-only', '--format=', `${revision}..HEAD`, '--', file];
  const names = new Set(git(args).split('\n'));
  return [...names].filter((name) => name.endsWith('.test.ts') && !OTHER_TESTS.test(name));
}

type Imports = Pick<SourceFile, 'path' | 'specifiers'>;

/** The tests that import a file; without any, those that import its importers, and so on. */
function importingTests(file: string, sources: readonly Imports[]): string[] {
  const seen = new Set<string>();
  let paths = new Set([file]);
  while (paths.size > 0) {
    for (const path of paths) seen.add(path);
    const importers = sources.filter(({ path, specifiers }) =>
      specifiers.some((one) => paths.has(posix.join(posix.dirname(path), one))),
    );
    const names = importers.map(({ path }) => path).filter((path) => !seen.has(path));
    const tests = names.filter((path) => path.endsWith('.test.ts') && !OTHER_TESTS.test(path));
    if (tests.length > 0) return tests;
    paths = new Set(names);
  }
  return [];
}

/** Returns the test at the source's path, tests that changed with it, and tests that import it. */
export function testsOf(
  file: string,
  sources: readonly Imports[],
  changed: readonly string[],
): string[] {
  const mirrored = file.replace(/^src/, 'test').replace(/\.ts$/, '.test.ts');
  const wanted = [mirrored, ...changed.slice(0, CHANGED_TESTS_MAX)];
  const known = new Set(sources.map(({ path }) => path));
  const present = wanted.filter((path) => known.has(path));
  const tests = new Set([...present, ...importingTests(file, sources)]);
  return [...tests].slice(0, TEST_FILES_MAX);
}

/** Checks whether a test notices the line, or it does not compile. */
function isKilled(copy: string, planted: PlantedLine, tests: string[], timeout: number): boolean {
  const path = join(copy, planted.file);
  const source = readFileSync(path, 'utf8');
  const lines = source.split('\n');
  lines[planted.line - 1] = planted.after;
  writeFileSync(path, lines.join('\n'));
  try {
    build(copy);
    return firstFailure(copy, tests, { timeout }) !== null;
  } catch (error) {
    if (!(error instanceof RunnerError)) throw error;
    return true;
  } finally {
    writeFileSync(path, source);
  }
}

/** Plants the defects of one file; returns how many survived. */
function judgeFile(copy: string, planted: readonly PlantedLine[], tests: string[]): number {
  build(copy);
  const begun = performance.now();
  const failed = tests.length === 0 ? null : firstFailure(copy, tests);
  if (failed !== null) {
    throw new RunnerError(`without any defect this fails: ${failed.name}\n${failed.message}`);
  }
  const timeout = EXTRA_MS + Math.ceil(3 * (performance.now() - begun));
  let survived = 0;
  for (const one of planted) {
    const killed = tests.length > 0 && isKilled(copy, one, tests, timeout);
    if (!killed) survived += 1;
    const change = `\n    - ${one.before.trim()}\n    + ${one.after.trim()}\n`;
    const place = `${one.file}:${one.line}`;
    process.stdout.write(killed ? `killed   ${place}\n` : `SURVIVED ${place}${change}`);
  }
  return survived;
}

/** @returns whether every defect of the sample was noticed @throws {RunnerError} */
export function runSince(revision: string, limit: number): boolean {
  requireRevision(revision);
  const all = [...changedLines(revision)].flatMap(plantedIn);
  const sample = sampleOf(all, limit);
  process.stdout.write(
    `${sample.length} of ${all.length} defects in lines of src changed since ${revision}\n`,
  );
  if (sample.length === 0) return true;
  const sources = [...readSources('src'), ...readSources('test')];
  const copy = copyCheckout();
  try {
    let survived = 0;
    for (const file of new Set(sample.map((one) => one.file))) {
      const planted = sample.filter((one) => one.file === file);
      const tests = testsOf(file, sources, changedWith(file, revision));
      process.stdout.write(`${file}: ${tests.join(' ') || 'no test imports it'}\n`);
      survived += judgeFile(copy, planted, tests);
    }
    process.stdout.write(`${sample.length} planted, ${survived} survived\n`);
    return survived === 0;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
