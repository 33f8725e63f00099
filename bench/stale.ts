/**
 * `npm run bench -- stale`: results that are older than the code that they measure, by the commit that
 * each of them names.
 */
import { existsSync, readFileSync } from 'node:fs';

import { git } from './machine.ts';
import { markdownTable } from './markdown.ts';
import { MEASURED_CODE, RESULT_NAMES, type ResultName } from './pages.ts';

const fileOf = (name: ResultName): URL => new URL(`results/${name}.json`, import.meta.url);

export interface Age {
  readonly name: ResultName;
  readonly commit: string | null;
  /** commits since then that changed the code; null where the commit is not in the history */
  readonly behind: number | null;
}

function commitOf(name: ResultName): string | null {
  const text = readFileSync(fileOf(name), 'utf8');
  return /"commit":\s*"([0-9a-f]+)"/.exec(text)?.[1] ?? null;
}

/** How far every result is behind the code that it measures. @param run git, with its arguments */
export function agesOf(
  commits: ReadonlyMap<ResultName, string | null>,
  run: (...args: readonly string[]) => string | null,
): Age[] {
  return [...commits].map(([name, commit]) => {
    const range = `${commit}..HEAD`;
    const count =
      commit === null ? null : run('rev-list', '--count', range, '--', ...MEASURED_CODE[name]);
    return { name, commit, behind: count === null ? null : Number(count) };
  });
}

export function ageTable(ages: readonly Age[]): string {
  const rows = ages.map(({ name, commit, behind }) => [
    name,
    commit ?? 'unknown',
    behind === null ? 'unknown' : behind === 0 ? 'current' : `${behind} commits older`,
  ]);
  return markdownTable(['result', 'measured', 'than the code'], rows);
}

/** Prints how old the results are. @returns whether all are of the code that is here */
export function staleBench(): boolean {
  const measured = RESULT_NAMES.filter((name) => existsSync(fileOf(name)));
  const commits = new Map(measured.map((name) => [name, commitOf(name)] as const));
  const ages = agesOf(commits, git);
  process.stdout.write(`${ageTable(ages)}\n`);
  return ages.every(({ behind }) => behind === 0);
}
