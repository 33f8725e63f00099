/**
 * A copy of this checkout in which a defect is planted: made, built, and tested. This checkout is
 * never changed.
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
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BUILD_WITHIN_MS = 300_000;
/** A defect may make a test wait for ever. */
const TESTS_WITHIN_MS = 600_000;
export const ALL_TESTS_WITHIN_MS = 3_600_000;
export const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** A message for the person who runs the mutants, without a stack. */
export class RunnerError extends Error {}

/** Every package but what is kept beside them: caches of this checkout are not those of the copy. */
function linkPackages(copy: string): void {
  const packages = join(ROOT, 'node_modules');
  mkdirSync(join(copy, 'node_modules'));
  for (const name of readdirSync(packages).filter((one) => /^(?!\.)|^\.bin$/.test(one))) {
    symlinkSync(join(packages, name), join(copy, 'node_modules', name));
  }
}

/** The files that git knows or would add, in a folder of their own beside linked packages. */
export function copyCheckout(): string {
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
export function build(copy: string): void {
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

export interface Failure {
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
export function firstFailure(
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
