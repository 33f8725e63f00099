/**
 * `npm run test:mutants`: plants one defect at a time in a copy of this checkout, builds it, and
 * runs the tests that must fail. A defect that none of them notices has survived: exit code 1.
 *
 * The tests run once without a defect first and must pass. Never changes this checkout, except for
 * results.json and the table. HELP has the options.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  ALL_TESTS_WITHIN_MS,
  build,
  copyCheckout,
  type Failure,
  firstFailure,
  ROOT,
  RunnerError,
} from './checkout-copy.ts';
import { MUTANTS } from './list.ts';
import { faultsOf } from './list-faults.ts';
import type { Mutant } from './mutant.ts';
import { runSince } from './since.ts';

const RESULTS = join(ROOT, 'test/mutants/results.json');
const PAGE = join(ROOT, 'docs/testing.md');
/** Defects of `--since` without `--limit`: about ten minutes. */
const SINCE_LIMIT = '20';
const HELP = `Usage: npm run test:mutants -- [NAME...] [OPTION]

Plants one defect at a time in a copy of this checkout and runs the tests that must notice it.
Exit code 1 when a defect survives.

  NAME           only planted defects whose names begin so
  --check        only: does every search text occur once in its file?
  --table        only: write results.json as the table of docs/testing.md
  --since REV    small defects in the lines of src changed since REV, instead of the planted ones
  --limit COUNT  at most this many of them, a sample (${SINCE_LIMIT})

Examples:
  npm run test:mutants                               all planted defects
  npm run test:mutants -- limits cookies/            those of two subjects
  npm run test:mutants -- --since main               what this branch and its changes added
  npm run test:mutants -- --since HEAD~10 --limit 60
`;

interface Outcome {
  readonly killed: boolean;
  /** the first test that failed, or why none could */
  readonly by: string;
  readonly seconds: number;
}

type Results = Record<string, Outcome>;

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

const OPTIONS = {
  check: { type: 'boolean' },
  table: { type: 'boolean' },
  help: { type: 'boolean' },
  since: { type: 'string' },
  limit: { type: 'string' },
} as const;

/** @throws {RunnerError} when the arguments are wrong */
function parseArguments(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new RunnerError(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
  }
}

function main(args: string[]): boolean {
  const { values, positionals: names } = parseArguments(args);
  if (values.help === true) {
    process.stdout.write(HELP);
    return true;
  }
  if (values.since !== undefined) {
    const limit = values.limit ?? SINCE_LIMIT;
    if (!/^[1-9]\d{0,4}$/.test(limit)) throw new RunnerError('--limit needs a count from 1');
    return runSince(values.since, Number(limit));
  }
  const faults = faultsOf(MUTANTS);
  if (faults.length > 0) throw new RunnerError(faults.join('\n'));
  if (values.check === true) return true;
  if (values.table === true) {
    writeTable();
    return true;
  }
  const chosen = MUTANTS.filter(
    ({ name }) => names.length === 0 || names.some((one) => name.startsWith(one)),
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
