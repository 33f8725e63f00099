/**
 * `npm run test:mutants`: plants one defect at a time in a copy of this checkout, builds it, and
 * runs the tests that must fail. A defect that none of them notices has survived: exit code 1.
 *
 *   npm run test:mutants                     all of them
 *   npm run test:mutants -- limits cookies/  only names that begin so
 *   npm run test:mutants -- --check          only: does every search text occur once in its file?
 *   npm run test:mutants -- --table          only: write results.json as the table of docs/testing.md
 *
 * The tests run once without a defect first and must pass. Never changes this checkout, except for
 * results.json and the table.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MUTANTS } from './list.ts';
import { faultsOf } from './list-faults.ts';
import type { Mutant } from './mutant.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const RESULTS = join(ROOT, 'test/mutants/results.json');
const PAGE = join(ROOT, 'docs/testing.md');
const BUILD_WITHIN_MS = 300_000;
/** A defect may make a test wait for ever. */
const TESTS_WITHIN_MS = 600_000;
const ALL_TESTS_WITHIN_MS = 3_600_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

interface Outcome {
  readonly killed: boolean;
  /** the first test that failed, or why none could */
  readonly by: string;
  readonly seconds: number;
}

type Results = Record<string, Outcome>;

class RunnerError extends Error {}

/** Every package but what is kept beside them: caches of this checkout are not those of the copy. */
function linkPackages(copy: string): void {
  const packages = join(ROOT, 'node_modules');
  mkdirSync(join(copy, 'node_modules'));
  for (const name of readdirSync(packages).filter((one) => /^(?!\.)|^\.bin$/.test(one))) {
    symlinkSync(join(packages, name), join(copy, 'node_modules', name));
  }
}

/** The files that git knows or would add, in a folder of their own beside linked packages. */
function copyCheckout(): string {
  const copy = mkdtempSync(join(tmpdir(), 'sluice-mutants-'));
  // PostgreSQL runs as another user when root runs the tests.
  chmodSync(copy, 0o755);
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    { cwd: ROOT, encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX },
  );
  for (const path of listed
    .split('\0')
    .filter((one) => one !== '' && existsSync(join(ROOT, one)))) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(ROOT, path), join(copy, path));
  }
  linkPackages(copy);
  return copy;
}

/** @throws {RunnerError} */
function build(copy: string): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['bin/build.js'], {
    cwd: copy,
    encoding: 'utf8',
    timeout: BUILD_WITHIN_MS,
  });
  if (status !== 0) throw new RunnerError(`it does not build:\n${stdout}${stderr}`);
}

interface Report {
  readonly numTotalTests: number;
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

interface Failure {
  /** of the test */
  readonly name: string;
  readonly message: string;
}

/**
 * Runs tests in the copy.
 *
 * @returns the first that failed; null when all passed
 * @throws {RunnerError} when there is no verdict: nothing ran, or the set-up failed
 */
function firstFailure(
  copy: string,
  files: readonly string[],
  { only, timeout = TESTS_WITHIN_MS }: { only?: string | undefined; timeout?: number } = {},
): Failure | null {
  const named = (name: string, message = ''): Failure => ({ name, message });
  const report = join(copy, 'mutant-report.json');
  rmSync(report, { force: true });
  const names = only === undefined ? [] : ['-t', only];
  const vitest = join(copy, 'node_modules/vitest/vitest.mjs');
  const reporters = ['--reporter=json', `--outputFile=${report}`];
  const args = [vitest, 'run', '--bail=1', ...reporters, ...names, ...files];
  const {
    error,
    status: exitCode,
    stdout,
    stderr,
  } = spawnSync(process.execPath, args, {
    cwd: copy,
    encoding: 'utf8',
    timeout,
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  if (error !== undefined && 'code' in error && error.code === 'ETIMEDOUT')
    return named('no end in time');
  if (!existsSync(report)) throw new RunnerError(`no report:\n${stdout}${stderr}`);
  const { numPassedTests, testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  for (const { name, status, message, assertionResults } of testResults) {
    const failed = assertionResults.find((one) => one.status === 'failed');
    if (failed !== undefined) return named(failed.fullName, failed.failureMessages.join('\n'));
    if (status === 'failed')
      return named(`${name.slice(copy.length + 1)}: ${message.split('\n')[0]}`);
  }
  if (numPassedTests === 0) throw new RunnerError(`no test ran:\n${stdout}${stderr}`);
  // A test that never yields fails no assertion: its worker runs out of memory.
  return exitCode === 0 ? null : named('the tests’ process, which ended in the middle of one');
}

/** The first test of any mutant that fails although nothing is planted; null when all pass. */
function baselineFailure(copy: string, mutants: readonly Mutant[]): Failure | null {
  const timeout = ALL_TESTS_WITHIN_MS;
  const filesOf = (some: readonly Mutant[]) => [...new Set(some.flatMap(({ tests }) => tests))];
  const whole = mutants.filter(({ only }) => only === undefined);
  const parts = mutants.filter(({ only }) => only !== undefined);
  const failed = whole.length === 0 ? null : firstFailure(copy, filesOf(whole), { timeout });
  if (failed !== null || parts.length === 0) return failed;
  const only = parts.map((mutant) => mutant.only).join('|');
  return firstFailure(copy, filesOf(parts), { only, timeout });
}

function judge(mutant: Mutant, copy: string): Outcome {
  const startedAt = performance.now();
  const path = join(copy, mutant.file);
  const source = readFileSync(path, 'utf8');
  try {
    writeFileSync(
      path,
      source.replace(mutant.search, () => mutant.replacement),
    );
    build(copy);
    const failed = firstFailure(copy, mutant.tests, { only: mutant.only });
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    return { killed: failed !== null, by: failed?.name ?? 'no test', seconds };
  } finally {
    writeFileSync(path, source);
  }
}

const readResults = (): Results =>
  existsSync(RESULTS) ? (JSON.parse(readFileSync(RESULTS, 'utf8')) as Results) : {};

/** In the order of the list; of mutants that are no more on it nothing is kept. */
function keep(name: string, outcome: Outcome): void {
  const results = { ...readResults(), [name]: outcome };
  const known = MUTANTS.flatMap((one) => {
    const result = results[one.name];
    return result === undefined ? [] : [[one.name, result] as const];
  });
  writeFileSync(RESULTS, `${JSON.stringify(Object.fromEntries(known), null, 2)}\n`);
}

function writeTable(): void {
  const results = readResults();
  const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const rows = MUTANTS.map(({ name, defect, file }) => {
    const { killed, by } = results[name] ?? { killed: false, by: 'not run' };
    return `| ${name} | ${cell(defect)} | \`${file}\` | ${killed ? cell(by) : `**${by}**`} |`;
  });
  const table = ['| mutant | defect | file | caught by |', '|---|---|---|---|', ...rows].join('\n');
  const page = readFileSync(PAGE, 'utf8');
  const marks = /(<!-- mutants: begin -->\n)[\s\S]*?(<!-- mutants: end -->)/;
  if (!marks.test(page)) throw new RunnerError('docs/testing.md has no place for the table');
  writeFileSync(
    PAGE,
    page.replace(marks, (_whole, begin: string, end: string) => `${begin}\n${table}\n\n${end}`),
  );
}

function run(mutants: readonly Mutant[]): boolean {
  const copy = copyCheckout();
  try {
    build(copy);
    process.stdout.write(`${mutants.length} defects; first their tests without any\n`);
    const failed = baselineFailure(copy, mutants);
    if (failed !== null) {
      throw new RunnerError(`without any defect this fails: ${failed.name}\n${failed.message}`);
    }
    let survived = 0;
    for (const mutant of mutants) {
      const outcome = judge(mutant, copy);
      if (!outcome.killed) survived += 1;
      keep(mutant.name, outcome);
      const verdict = outcome.killed ? 'killed  ' : 'SURVIVED';
      process.stdout.write(`${verdict} ${mutant.name} (${outcome.seconds} s): ${outcome.by}\n`);
    }
    process.stdout.write(`${mutants.length} planted, ${survived} survived\n`);
    return survived === 0;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function main(args: readonly string[]): boolean {
  const faults = faultsOf(MUTANTS);
  if (faults.length > 0) throw new RunnerError(faults.join('\n'));
  if (args.includes('--check')) return true;
  if (args.includes('--table')) {
    writeTable();
    return true;
  }
  const chosen = MUTANTS.filter(
    ({ name }) => args.length === 0 || args.some((arg) => name.startsWith(arg)),
  );
  if (chosen.length === 0) throw new RunnerError('no mutant has such a name');
  return run(chosen);
}

try {
  process.exitCode = main(process.argv.slice(2)) ? 0 : 1;
} catch (error) {
  if (!(error instanceof RunnerError)) throw error;
  process.stderr.write(`mutants: ${error.message}\n`);
  process.exitCode = 1;
}
