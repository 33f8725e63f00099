/**
 * The last lines of a run: its ten slowest files, and the tests that were skipped, with the programs
 * they miss. With REQUIRE_ALL=1 a skipped test makes the run fail.
 */
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';

import { missingClusters, missingPrograms, mustRunAll } from './programs.ts';

const SLOWEST = 10;
const NAMED_MAX = 20;

const pathOf = ({ moduleId }: TestModule): string => relative(process.cwd(), moduleId);
const msOf = (file: TestModule): number => file.diagnostic().duration;

function slowestFiles(files: readonly TestModule[]): string[] {
  const slowest = [...files].sort((one, other) => msOf(other) - msOf(one)).slice(0, SLOWEST);
  return slowest.map((file) => `${(msOf(file) / 1000).toFixed(1).padStart(7)} s  ${pathOf(file)}`);
}

function skippedTests(files: readonly TestModule[]): TestCase[] {
  return files.flatMap((file) => [...file.children.allTests('skipped')]);
}

export default class RunSummary implements Reporter {
  #isFiltered = false;

  onInit({ config }: Vitest): void {
    // Tests that a name filter (-t) leaves out count as skipped too.
    this.#isFiltered = config.testNamePattern !== undefined;
  }

  onTestRunEnd(files: readonly TestModule[]): void {
    const lines = files.length > SLOWEST ? ['', ' Slowest files', ...slowestFiles(files)] : [];
    const skipped = this.#isFiltered ? [] : skippedTests(files);
    if (skipped.length > 0) {
      lines.push('', ` NOT TESTED: ${skipped.length} tests were skipped`);
      lines.push(...missingPrograms.map((one) => `   ${one}`));
      const names = skipped.map(({ module, fullName }) => `   ${pathOf(module)}: ${fullName}`);
      lines.push(...names.slice(0, NAMED_MAX));
      if (names.length > NAMED_MAX) lines.push(`   and ${names.length - NAMED_MAX} more`);
      if (mustRunAll) process.exitCode = 1;
    }
    if (files.length > SLOWEST) lines.push('', ...missingClusters.map((one) => ` ${one}`));
    if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
  }
}
