/** Checks the list of mutants against the sources: every search text must be in its file once. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Mutant } from './mutant.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What is wrong with the list itself; a moved line must not pass for a killed mutant. */
export function faultsOf(mutants: readonly Mutant[]): string[] {
  const names = mutants.map(({ name }) => name);
  const twice = names.filter((name, at) => names.indexOf(name) !== at);
  const faults = mutants.flatMap(({ name, file, search, replacement, tests }) => {
    const missing = [file, ...tests].filter((path) => !existsSync(join(ROOT, path)));
    if (missing.length > 0) return [`${name}: no such file: ${missing.join(', ')}`];
    const count = readFileSync(join(ROOT, file), 'utf8').split(search).length - 1;
    const wrong = count === 1 ? [] : [`${name}: its search text occurs ${count} times in ${file}`];
    return search === replacement ? [...wrong, `${name}: changes nothing`] : wrong;
  });
  return [...twice.map((name) => `${name}: there twice`), ...faults];
}
